"""What Google Cloud machines are put together from: cores, memory, GPUs and bundled local SSD, or TPU chips."""

from decimal import Decimal
from typing import NamedTuple

from pricing.offer import InstanceType
from pricing.providers.gcp_skus import SSD, Rates

# Local SSD comes in partitions of 375 GiB; the table of machines counts it in GB.
SSD_PARTITION_GIB = 375
GB_PER_PARTITION = SSD_PARTITION_GIB * 1.073741824


class Family(NamedTuple):
    """Machines of one name: ``host`` is how core and memory SKUs call it ('' where the GPU's price holds them).

    ``gpus`` are the spellings of the GPU's SKU, ``has_ssd`` says whether local SSD comes with the machine.
    """

    prefix: str
    host: str
    gpus: tuple[str, ...]
    has_ssd: bool = False
    sold_on_demand: bool = True


FAMILIES = (
    Family("a2-highgpu-", "a2", ("a100 gpu",)),
    Family("a2-megagpu-", "a2", ("a100 gpu",)),
    Family("a2-ultragpu-", "a2", ("a100 80gb gpu",), has_ssd=True),
    Family("a3-highgpu-8g", "a3", ("h100 80gb gpu",), has_ssd=True),
    Family("a3-highgpu-", "a3", ("h100 80gb gpu",), has_ssd=True, sold_on_demand=False),
    Family("a3-megagpu-", "a3plus", ("h100 80gb mega gpu", "h100 mega 80gb gpu", "h100 80gb plus gpu"), has_ssd=True),
    Family("a3-ultragpu-", "a3ultra", ("h200 141gb gpu",), has_ssd=True, sold_on_demand=False),
    Family("a4-highgpu-", "", ("a4 b200 (1 gpu slice)",), sold_on_demand=False),
    Family("g2-standard-", "g2", ("l4 gpu",)),
    Family("g4-standard-", "g4", ("rtx 6000 96gb", "rtx 6000 96gb gpu")),
)
_N1_GPUS = {"T4": "t4 gpu", "V100": "v100 gpu", "P100": "p100 gpu", "P4": "p4 gpu"}

# Names of v2, v3, v4 and v5p count cores, the others chips; the SKU of v2, v3 and v4 is of eight cores, else of a chip.
_TPU_VERSIONS = {"v2": "v2", "v3": "v3", "v4": "v4", "v5litepod": "v5e", "v5p": "v5p", "v6e": "v6e"}
DEVICE_CORES = 8
CORES_PER_CHIP = 2


class Need(NamedTuple):
    """So many units of a part under any of its names."""

    amount: Decimal
    names: tuple[str, ...]


class Recipe(NamedTuple):
    """The parts of one machine; ``lacks_ssd`` where local SSD comes with it and nobody knows how much."""

    needs: tuple[Need, ...]
    sold_on_demand: bool = True
    lacks_ssd: bool = False


def recipe(machine: InstanceType) -> Recipe | None:
    """What the machine is put together from; None where this module cannot say."""
    name = machine.instance_type
    if name.startswith("tpu-"):
        return _tpu_recipe(name)
    if name.startswith("n1-"):
        return _n1_recipe(machine)
    for family in FAMILIES:
        if name.startswith(family.prefix):
            return _family_recipe(machine, family)
    return None


def price(parts: Recipe, rates: Rates, region: str, spot: bool) -> tuple[Decimal | None, str]:
    """USD per hour of the machine to the millionth, or None and the part that has no price in the region."""
    total = Decimal(0)
    for need in parts.needs:
        rate = rates.rate(region, need.names, spot)
        if rate is None:
            return None, need.names[0]
        total += need.amount * rate
    return round(total, 6), ""


def _family_recipe(machine: InstanceType, family: Family) -> Recipe | None:
    needs = _host(machine, family.host) if family.host else ()
    if needs is None:
        return None
    needs += (Need(_exact_share(machine.num_gpus), family.gpus),)
    ssd = machine.local_disk_gb
    if family.has_ssd and ssd:
        partitions = round(ssd / GB_PER_PARTITION)
        needs += (Need(Decimal(partitions * SSD_PARTITION_GIB), (SSD,)),)
    return Recipe(needs, family.sold_on_demand, lacks_ssd=(family.has_ssd or not family.host) and not ssd)


def _n1_recipe(machine: InstanceType) -> Recipe | None:
    needs = _host(machine, "n1 predefined")
    if needs is None:
        return None
    gpu = machine.instance_type.partition("+")[2].partition("x")[2]
    if machine.num_gpus:
        if gpu not in _N1_GPUS:
            return None
        needs += (Need(Decimal(machine.num_gpus), (_N1_GPUS[gpu],)),)
    return Recipe(needs)


def _host(machine: InstanceType, name: str) -> tuple[Need, ...] | None:
    if machine.vcpus is None or machine.memory_gib is None:
        return None
    return (
        Need(Decimal(str(machine.vcpus)), (f"{name} instance core",)),
        Need(Decimal(str(machine.memory_gib)), (f"{name} instance ram",)),
    )


def _tpu_recipe(name: str) -> Recipe | None:
    _, version, count = [*name.split("-"), "", ""][:3]
    if version not in _TPU_VERSIONS or not count.isdecimal():
        return None
    device = f"tpu {_TPU_VERSIONS[version]}"
    pod = f"{device} pod"
    if version in ("v2", "v3"):
        # The eight cores of one device have a price of their own, slices of a pod another.
        alone = int(count) <= DEVICE_CORES
        return Recipe((Need(Decimal(count) / DEVICE_CORES, (device if alone else pod,)),))
    per_unit = {"v4": DEVICE_CORES, "v5p": CORES_PER_CHIP}.get(version, 1)
    return Recipe((Need(Decimal(count) / per_unit, (device, pod)),))


def _exact_share(num_gpus: float) -> Decimal:
    return Decimal(str(num_gpus))
