"""Linux: what /proc and /sys say of the CPU, the memory, the limits of a container, and the kind of machine."""

from __future__ import annotations

import os

from planner.profiler.local_facts import HostFacts

# One processor's block of /proc/cpuinfo is about 1.5 kB; the first one is all that is read, since large machines take
# tens of milliseconds to write all of them.
_CPUINFO_BYTES = 8192
_VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}
_FLAGS = ("avx512f", "avx2", "avx", "sve", "asimd", "sse2")
_LAPTOP_CHASSIS = ("8", "9", "10", "14", "31", "32")  # SMBIOS: portable, laptop, notebook, sub-notebook, convertible
_AZURE_ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"
_CLOUD_VENDORS = {
    "amazon ec2": "AWS",
    "google": "GCP",
    "alibaba cloud": "Alibaba Cloud",
    "digitalocean": "DigitalOcean",
    "hetzner": "Hetzner",
    "openstack foundation": "OpenStack",
    "scaleway": "Scaleway",
    "vultr": "Vultr",
    "lambda": "Lambda",
    "qemu": "QEMU virtual machine",
    "xen": "Xen virtual machine",
}


def read_host(root: str = "/", allowed_cpus: int | None = None) -> HostFacts:
    """The host's facts from the /proc and /sys under ``root``; ``allowed_cpus`` is the size of the affinity mask."""
    tree = Tree(root)
    first = _first_processor(tree)
    threads = allowed_cpus or _count_range(tree.text("sys/devices/system/cpu/online")) or 1
    quota = _cpu_quota(tree)
    vcpus = min(float(threads), quota) if quota is not None else float(threads)
    ram, limited_ram = _memory_total(tree), _memory_limit(tree)
    ram_bytes = min(value for value in (ram, limited_ram) if value is not None) if ram or limited_ram else None
    limits = []
    if quota is not None and quota < threads:
        limits.append(f"a CPU quota leaves {quota:g} of {threads} vCPUs")
    if ram is not None and limited_ram is not None and limited_ram < ram:
        limits.append(f"a memory limit leaves {limited_ram / 2**30:.1f} of {ram / 2**30:.1f} GiB")
    return HostFacts(
        cpu_name=first.get("model name", "") or _named_by_arm(tree),
        vcpus=vcpus,
        threads_per_core=_threads_per_core(first, tree),
        ram_bytes=ram_bytes,
        cpu_identity=_identity(first),
        cpu_flags=tuple(flag for flag in _FLAGS if flag in (first.get("flags") or first.get("Features", "")).split()),
        cpu_clock_hz=_clock_hz(first, tree),
        portable=_has_battery(tree) or tree.text("sys/class/dmi/id/chassis_type") in _LAPTOP_CHASSIS,
        cloud=_cloud(tree),
        container=_in_container(tree),
        limits=tuple(limits),
    )


class Tree:
    """Files below a root; what cannot be read is empty."""

    def __init__(self, root: str) -> None:
        self.root = root

    def text(self, path: str, size: int = -1) -> str:
        try:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                return file.read(size).strip()
        except OSError:
            return ""

    def names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(os.path.join(self.root, path)))
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        return os.path.exists(os.path.join(self.root, path))


def _first_processor(tree: Tree) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in tree.text("proc/cpuinfo", _CPUINFO_BYTES).splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            if fields:
                break
            continue
        fields[key.strip()] = value.strip()
    return fields


def _identity(first: dict[str, str]) -> str:
    vendor = _VENDORS.get(first.get("vendor_id", ""))
    if vendor is not None:
        return f"{vendor} {first.get('cpu family', '')} {first.get('model', '')}"
    implementer, part = first.get("CPU implementer", ""), first.get("CPU part", "")
    if implementer.startswith("0x") and part.startswith("0x"):
        return f"arm {int(implementer, 16)} {int(part, 16)}"
    return ""


def _named_by_arm(tree: Tree) -> str:
    """ARM kernels give no model name: the device tree or the firmware's processor version may."""
    return tree.text("proc/device-tree/model").rstrip("\0") or tree.text("sys/class/dmi/id/product_name")


def _threads_per_core(first: dict[str, str], tree: Tree) -> float:
    siblings, cores = first.get("siblings", ""), first.get("cpu cores", "")
    if siblings.isdecimal() and cores.isdecimal() and int(cores) > 0:
        return int(siblings) / int(cores)
    return float(_count_range(tree.text("sys/devices/system/cpu/cpu0/topology/thread_siblings_list")) or 1)


def _clock_hz(first: dict[str, str], tree: Tree) -> float | None:
    highest_khz = tree.text("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    if highest_khz.isdecimal():
        return float(highest_khz) * 1e3
    try:
        return float(first["cpu MHz"]) * 1e6
    except (KeyError, ValueError):
        return None


def _count_range(text: str) -> int:
    """How many numbers '0-3,8,10-11' lists; 0 where it is no list."""
    total = 0
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            return 0
        total += int(high) - int(low) + 1 if dash else 1
    return total


def _memory_total(tree: Tree) -> float | None:
    for line in tree.text("proc/meminfo", 4096).splitlines():
        if line.startswith("MemTotal:"):
            return float(line.split()[1]) * 1024
    return None


def _control_groups(tree: Tree) -> dict[str, str]:
    """Controller ('' is version 2's unified hierarchy) -> this process's path below the controller's mount."""
    groups = {}
    for line in tree.text("proc/self/cgroup").splitlines():
        _, controllers, path, *_ = [*line.split(":", 2), "", ""]
        for controller in controllers.split(","):
            groups[controller] = path.strip("/")
    return groups


def _ancestors(mount: str, path: str) -> list[str]:
    """The group's directory and all above it: each may hold a limit. Inside a container only the mount exists."""
    parts = path.split("/") if path else []
    return [os.path.join(mount, *parts[:depth]) for depth in range(len(parts), -1, -1)]


def _cpu_quota(tree: Tree) -> float | None:
    """CPUs that the control groups grant; None where nothing limits them."""
    groups = _control_groups(tree)
    quotas = []
    for directory in _ancestors("sys/fs/cgroup", groups.get("", "")):
        quota, _, period = tree.text(f"{directory}/cpu.max").partition(" ")
        if quota.isdecimal() and period.isdecimal() and int(period) > 0:
            quotas.append(int(quota) / int(period))
    for mount in ("sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"):
        for directory in _ancestors(mount, groups.get("cpu", "")):
            quota, period = tree.text(f"{directory}/cpu.cfs_quota_us"), tree.text(f"{directory}/cpu.cfs_period_us")
            if quota.isdecimal() and period.isdecimal() and int(period) > 0:
                quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def _memory_limit(tree: Tree) -> float | None:
    groups = _control_groups(tree)
    files = [f"{directory}/memory.max" for directory in _ancestors("sys/fs/cgroup", groups.get("", ""))]
    files += [
        f"{directory}/memory.limit_in_bytes"
        for directory in _ancestors("sys/fs/cgroup/memory", groups.get("memory", ""))
    ]
    limits = [float(text) for text in map(tree.text, files) if text.isdecimal()]
    return min(limits, default=None)


def _has_battery(tree: Tree) -> bool:
    """Whether a battery feeds the machine; a mouse's or headset's battery has the scope 'Device'."""
    supplies = [f"sys/class/power_supply/{name}" for name in tree.names("sys/class/power_supply")]
    return any(tree.text(f"{path}/type") == "Battery" and tree.text(f"{path}/scope") != "Device" for path in supplies)


def _cloud(tree: Tree) -> str:
    """The provider whose firmware runs this virtual machine; '' on real hardware and desktop hypervisors."""
    vendor = tree.text("sys/class/dmi/id/sys_vendor").casefold()
    asset_tag = tree.text("sys/class/dmi/id/chassis_asset_tag")
    if vendor == "microsoft corporation":
        return "Azure" if asset_tag == _AZURE_ASSET_TAG else ""
    if asset_tag.casefold() == "oraclecloud.com":
        return "Oracle Cloud"
    return next((name for words, name in _CLOUD_VENDORS.items() if vendor.startswith(words)), "")


def _in_container(tree: Tree) -> bool:
    if tree.exists(".dockerenv") or tree.exists("run/.containerenv"):
        return True
    paths = " ".join(_control_groups(tree).values())
    return any(word in paths for word in ("docker", "kubepods", "containerd", "lxc", "libpod"))
