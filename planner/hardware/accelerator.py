"""One accelerator: a GPU, a TPU chip, or a CPU seen as a device. SI units, dense rates."""

from typing import Literal, NamedTuple

Stack = Literal["cuda", "rocm", "xla", "neuron", "hpu", "xpu", "mps", "cpu", "none"]
Kind = Literal["gpu", "tpu", "npu", "cpu"]

GIB = 1 << 30


class Accelerator(NamedTuple):
    """Specifications of one device as a program sees it (a die of a K80, one TPU chip). Unknown is None, never 0.

    Rates are dense FLOP/s (a multiply-add is 2), matrix rates with fp32 accumulation; bandwidth is device memory's.
    ``nvlink_bytes_per_s`` is the device's own fabric (NVLink, xGMI, ICI, NeuronLink ...), all links, one direction.
    Laptop parts state clocks and rates at ``power_w``; ``boost_min_hz`` is the boost clock at ``power_min_w``.
    """

    key: str
    name: str
    kind: Kind
    vendor: str
    architecture: str
    form_factor: str
    stack: Stack
    trains: bool
    note: str = ""
    compute_capability: tuple[int, int] | None = None
    release_year: int | None = None
    sm_count: int | None = None
    boost_hz: float | None = None
    boost_min_hz: float | None = None
    fp32_flops_per_s: float | None = None
    tf32_flops_per_s: float | None = None
    fp16_flops_per_s: float | None = None
    bf16_flops_per_s: float | None = None
    fp8_flops_per_s: float | None = None
    measured_bf16_flops_per_s: float | None = None
    memory_bytes: float | None = None
    usable_memory_bytes: float | None = None
    bandwidth_bytes_per_s: float | None = None
    power_w: float | None = None
    power_min_w: float | None = None
    pcie_gen: int | None = None
    pcie_lanes: int | None = None
    nvlink_bytes_per_s: float | None = None
    launch_price_usd: float | None = None

    @property
    def sm_clock_hz(self) -> float | None:
        """SM count x boost clock: the pace at which the device can feed its arithmetic units."""
        if self.sm_count is None or self.boost_hz is None:
            return None
        return self.sm_count * self.boost_hz
