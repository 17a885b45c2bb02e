"""What was measured on this machine: written by the profiler, read by the throughput model, handed on by the fronts."""

from collections.abc import Mapping
from typing import NamedTuple

CORE_CLASSES = frozenset({"mm", "conv", "ew"})
"""Without the rates of these (numpy alone, or interrupted early) an estimate rests on specifications still."""


class ClassRate(NamedTuple):
    """What one class of operations reaches here: arithmetic (None where it has none) and bytes moved a second."""

    flops_per_s: float | None
    bytes_per_s: float | None


class MeasuredRates(NamedTuple):
    """Rates of a device by operation class (the classes of :mod:`planner.workloads.workload`), in single precision.

    ``updates`` are seconds a parameter by optimizer; ``launch_s`` is what one operation costs that does nothing.
    ``held_s_per_byte`` is what the system takes to hand out memory that a step holds: activations and gradients. All
    classes but those of the records are parts of some: 'gelu' and 'dropout' of a transformer's elementwise operations.
    ``surroundings`` is ln(predicted / measured) of a small network by its kind: what operations take inside a step more
    than alone.
    """

    classes: Mapping[str, ClassRate]
    updates: Mapping[str, float]
    launch_s: float | None = None
    held_s_per_byte: float | None = None
    surroundings: Mapping[str, float] = {}

    @property
    def complete(self) -> bool:
        """Whether an estimate from them is one from measurements."""
        return self.classes.keys() >= CORE_CLASSES


class Measured(NamedTuple):
    """A rate, and the standard deviation of its logarithm by what was measured."""

    rate: float
    log_sd: float


class Kernel(NamedTuple):
    """One operation that was timed alone, counted as in a workload's record; ``shape`` is common to its phases."""

    shape: str
    op_class: str
    phase: str
    element_bytes: int
    flops: float
    bytes: float
    kernels: float
    seconds: float
    width: float = 0.0
    groups: int = 1
    kernel_size: int = 0


class GpuRates(NamedTuple):
    """What was measured on this machine's GPUs, which are all of one kind.

    ``products`` are FLOP/s of the largest matrix products by engine ('half', 'tf32', 'fp32'), ``moved`` bytes/s read
    and written by large copies and sums. ``all_reduce`` is the bus bandwidth of a sum over ``num_reduced`` GPUs: bytes
    that cross each GPU's link a second, one direction.
    """

    products: Mapping[str, Measured]
    moved: Measured | None = None
    kernels: tuple[Kernel, ...] = ()
    from_host_bytes_per_s: float | None = None
    all_reduce_bytes_per_s: float | None = None
    num_reduced: int = 0


class TrainingRun(NamedTuple):
    """Real training steps of a model on this machine. Seconds are the median step's and the quartiles of all.

    Joules are counted by the hardware: by its processors, by all of its GPUs, and both.
    """

    model: str
    device: str
    precision: str
    optimizer: str
    batch_size: int
    step_time_s: float
    low_s: float
    high_s: float
    steps: int
    measured_at: str
    seq_length: int | None = None
    image_size: int | None = None
    energy_j_per_step: float | None = None
    processor_j_per_step: float | None = None
    gpus_j_per_step: float | None = None


class Profile(NamedTuple):
    """The measurements of this machine: ``rates`` are its CPU's, ``gpu`` its GPUs'. They are stored in ``path``."""

    path: str
    made_at: str
    rates: MeasuredRates | None = None
    runs: tuple[TrainingRun, ...] = ()
    host_launch_s: float | None = None
    decode_images_per_s_per_core: float | None = None
    disk_bytes_per_s: float | None = None
    gpu: GpuRates | None = None

    @property
    def words(self) -> str:
        """'rates of the CPU, 2 training runs, 2026-11-30'; '' where nothing was measured to the end."""
        parts = [] if self.gpu is None else ["rates of the GPU"]
        if self.rates is not None:
            parts.append(
                "rates of the CPU" if self.rates.complete else "a few rates of the CPU (too few to count as measured)"
            )
        if self.runs:
            parts.append(f"{len(self.runs)} training {'run' if len(self.runs) == 1 else 'runs'}")
        if self.decode_images_per_s_per_core is not None:
            parts.append("decoding of images")
        return f"{', '.join(parts)}, {self.made_at[:10]}" if parts else ""
