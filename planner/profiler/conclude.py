"""From the facts of a look at this machine to the Machine they amount to, with a sentence for every conclusion."""

from functools import cache
from typing import NamedTuple

from planner.errors import UnknownNameError
from planner.hardware.accelerator import GIB, Accelerator
from planner.hardware.catalog import resolve, same_name, with_memory
from planner.hardware.cpus import resolve_cpu
from planner.hardware.interconnect import Link, default_link, takes_bridge
from planner.hardware.machine import Cpu, Machine, cpu_machine
from planner.hardware.power import at_power_limit
from planner.profiler.local_facts import GpuFacts, HostFacts

# What the driver keeps of the memory it reports: 24.00 GiB reported, 23.69 usable on an RTX 3090
# (docs/model.md, "The prototype").
_DRIVER_OVERHEAD_BYTES = 0.31 * GIB
# Generations whose laptop parts go by the desktop part's name at the driver, with their cores per multiprocessor.
_SHARED_NAMES = {"Pascal": 128, "Turing": 64}
_POWER_TOLERANCE_W = 1.0
_MIG = " MIG "
_SLICES = 7


class Conclusion(NamedTuple):
    """The machine, and what was taken for granted to say so."""

    machine: Machine
    notes: tuple[str, ...]


@cache
def conclude(host: HostFacts, gpus: tuple[GpuFacts, ...]) -> Conclusion:
    """The machine with its commonest trainable GPU; with its CPU where it has none."""
    cpu, notes = _cpu(host)
    notes += list(host.limits)
    if host.cloud:
        notes.append(f"this machine is a virtual machine: {host.cloud}")
    devices: dict[Accelerator, int] = {}
    for gpu in gpus:
        device, sentence = identify(gpu, portable=host.portable)
        if sentence is not None and sentence not in notes:
            notes.append(sentence)
        if device is not None:
            devices[device] = devices.get(device, 0) + 1
    if not devices:
        if not gpus:
            notes.append("no GPU was found in this machine: it trains on its CPU")
        alone = not (host.cloud or host.container or host.limits)
        return Conclusion(
            cpu_machine(cpu, host.vcpus, host.ram_bytes, name="this machine", whole_socket=alone), tuple(notes)
        )
    chosen = max(devices, key=lambda device: devices[device] * _rate(device))
    shares = [share_of_gpu(gpu.name) for gpu in gpus]
    notes += [
        f"{count} x {device.name} in this machine beside the {chosen.name}: left out"
        for device, count in devices.items()
        if device is not chosen
    ]
    machine = Machine(
        name="this machine",
        accelerator=chosen,
        num_gpus=devices[chosen] if min(shares) == 1.0 else max(shares),
        link=_link(chosen, devices[chosen], gpus),
        cpu=cpu,
        vcpus=host.vcpus,
        ram_bytes=host.ram_bytes,
    )
    return Conclusion(machine, tuple(notes))


def identify(gpu: GpuFacts, *, portable: bool = False) -> tuple[Accelerator | None, str | None]:
    """The accelerator behind a driver's facts, as limited here, and the sentence that goes with it.

    None where the name is in no table or the GPU cannot train; the sentence then says why.
    """
    memory_gib = gpu.memory_bytes / GIB if gpu.memory_bytes is not None else None
    name, part, _ = gpu.name.partition(_MIG)
    if part:
        return _slice_of(name, gpu)
    try:
        resolution = resolve(gpu.name)
        if resolution.assumption is not None and memory_gib is not None:
            resolution = resolve(gpu.name, memory_gib=memory_gib)
    except UnknownNameError:
        return None, f"the GPU {gpu.name!r} of this machine is in no table and is left out"
    device = _twin(gpu, resolution.accelerator, portable)
    if not device.trains:
        return None, f"the {device.name} of this machine is left out: {device.note}"
    if memory_gib is not None and device.stack == "mps":
        device = with_memory(device, memory_gib)
    elif gpu.memory_bytes is not None:
        device = device._replace(usable_memory_bytes=gpu.memory_bytes - _DRIVER_OVERHEAD_BYTES)
    limit_w, rated_w = gpu.power_limit_w, device.power_w
    if limit_w is not None and (rated_w is None or abs(limit_w - rated_w) > _POWER_TOLERANCE_W):
        device = at_power_limit(device, limit_w)
    return device, resolution.assumption if device.key == resolution.accelerator.key else None


def _slice_of(name: str, gpu: GpuFacts) -> tuple[Accelerator | None, str | None]:
    """The whole accelerator behind a MIG slice: the machine then has a fraction of it."""
    whole, sentence = identify(GpuFacts(name))
    if whole is None:
        return None, sentence
    return whole, f"this machine has the slice {gpu.name} of a partitioned GPU: rates and memory are that share's"


def share_of_gpu(name: str) -> float:
    """What a GPU's name is of the whole: 3/7 of 'NVIDIA A100-SXM4-40GB MIG 3g.20gb' (sevenths of its multiprocessors,
    NVIDIA's Multi-Instance GPU user guide), 1 of a whole one."""
    _, part, profile = name.partition(_MIG)
    sevenths = profile.partition("g.")[0]
    return int(sevenths) / _SLICES if part and sevenths.isdigit() else 1.0


def _twin(gpu: GpuFacts, named: Accelerator, portable: bool) -> Accelerator:
    """The laptop or the desktop part where both have one name: told by multiprocessors, by the machine, by power."""
    cores_per_multiprocessor = _SHARED_NAMES.get(named.architecture)
    if cores_per_multiprocessor is None or named.form_factor not in ("desktop", "laptop"):
        return named
    twins = [twin for twin in same_name(gpu.name) if twin.form_factor in ("desktop", "laptop")]
    if gpu.cores is not None:
        multiprocessors = gpu.cores // cores_per_multiprocessor
        twins = [twin for twin in twins if twin.sm_count == multiprocessors] or twins
    twins = [twin for twin in twins if twin.memory_bytes == named.memory_bytes] or twins
    wanted = "laptop" if portable else "desktop"
    if not portable and gpu.power_limit_w is not None:
        limit_w = gpu.power_limit_w
        twins.sort(key=lambda twin: abs((twin.power_w or 0.0) - limit_w))
        wanted = twins[0].form_factor
    return next((twin for twin in twins if twin.form_factor == wanted), twins[0])


def _cpu(host: HostFacts) -> tuple[Cpu, list[str]]:
    resolution = resolve_cpu(host.cpu_name, host.cpu_flags, host.cpu_clock_hz, host.cpu_identity)
    cpu = resolution.cpu._replace(vcpus_per_core=max(1, round(host.threads_per_core)))
    return cpu, [] if resolution.assumption is None else [resolution.assumption]


def _link(device: Accelerator, count: int, gpus: tuple[GpuFacts, ...]) -> Link | None:
    bridged = any(gpu.nvlink for gpu in gpus) and takes_bridge(device)
    return default_link(device, count, bridge=bridged)


def _rate(device: Accelerator) -> float:
    return device.bf16_flops_per_s or device.fp16_flops_per_s or device.fp32_flops_per_s or 0.0
