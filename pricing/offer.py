"""An offer: what one hour of one machine costs, where, how it is bought, and on which day that was seen."""

from typing import NamedTuple


class Offer(NamedTuple):
    """One price of one whole machine.

    ``instance_type`` is the provider's own name of the machine. Where a machine is put together the name says of what:
    ``n1-standard-8+1xT4`` is a Google Cloud N1 machine with one attached T4; marketplace asks are named
    ``GPUs x model - vCPUs - RAM in MiB``; where one name stands for several machines, what differs is appended
    (``-80GB``, ``-4vcpu-8gb``). ``region`` is 'all' or 'any' where one price holds everywhere or the place is not said.

    A NamedTuple because a plan reads thousands of them and SQLite rows become one in a single call. ``price`` is the
    published decimal as text, exact; ``usd_per_hour`` the same as a float for ranking. ``purchase`` is one of
    on_demand, spot, reserved, savings_plan, capacity_block.
    """

    provider: str
    instance_type: str
    region: str
    zone: str | None
    purchase: str
    price: str
    usd_per_hour: float
    flags: tuple[str, ...]
    price_as_of: str
    price_source: str


class InstanceType(NamedTuple):
    """What a cloud machine is made of. ``num_gpus`` may be a fraction; memory in GiB is per accelerator (None unknown).

    ``accelerator`` is the key of the planner's accelerator table, form factor included, and ``cpu`` of its CPU table;
    a machine without accelerators has none and 0 of them, an unknown CPU family is empty.
    ``link`` is a link kind of the planner's table; ``network_gbit_s`` and ``network`` (e.g. "EFA", "InfiniBand NDR",
    "Ethernet") describe the network and ``rdma`` whether accelerators reach it without the CPU (GPUDirect);
    ``unranked`` says why such a machine can never be ranked (empty: it can).
    """

    provider: str
    instance_type: str
    accelerator: str
    num_gpus: float
    memory_gib_per_gpu: float | None
    link: str
    network_gbit_s: float | None
    network: str
    vcpus: float | None
    cpu: str
    memory_gib: float | None
    local_disk_gb: float | None
    unranked: str
    source: str
    rdma: bool = False


class Quarantined(NamedTuple):
    """A price row kept apart, never ranked, with the reason."""

    offer: Offer
    accelerator: str
    num_gpus: float | None
    reason: str
