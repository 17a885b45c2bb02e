"""The roofline per operation class: seconds on the device of one forward and backward pass.

For each merged operation, time is the larger of arithmetic and bytes (Williams et al., "Roofline", CACM 2009) with a
rounded corner, where arithmetic runs at a class's share of peak in series with what an SM can feed per clock (kappa),
and bytes at a class's share of bandwidth in series with what an SM can move per clock (beta). docs/model.md has the
equations.

A workload is prepared once per precision, layout and batch size; then one device costs a few dozen multiplications.
"""

import math
from typing import NamedTuple

from planner.throughput.adapters import adapter_operations, frozen
from planner.throughput.calibration import Calibration, DeviceConstants, LayoutConstants
from planner.throughput.device import CONV32, HALF, MATMUL32, VECTOR, DeviceRates
from planner.throughput.precision import DevicePrecision
from planner.workloads.workload import Operation, Workload

DEPTHWISE = ("dw", "dw_dg", "dw_wg")
GROUPED = ("gconv", "gconv_dg", "gconv_wg")
WINOGRAD = ("conv", "conv_dg", "conv_wg")
_WHOLE_CONVOLUTIONS = (*WINOGRAD, "conv1", "conv1_dg", "conv1_wg")
CONVOLUTIONS = (*_WHOLE_CONVOLUTIONS, *GROUPED, *DEPTHWISE)
PRODUCTS = ("mm", "bmm")
GEMM = (*CONVOLUTIONS, *PRODUCTS, "sdpa", "sdpa_bw", "rnn")
FUSABLE = ("bn", "ln", "gn", "ew", "copy", "cast", "softmax", "red")
_CUDNN = frozenset((*CONVOLUTIONS, "rnn"))
_FALLBACK_CLASS = "ew"
# A transformer may begin with one convolution (its patch embedding): a larger share of the FLOPs says more than that.
_CONVOLUTIONAL_FROM = 0.1

# Where arithmetic and bytes take alike, neither hides all of the other: (a^4 + b^4)^(1/4), a fifth more at the corner.
ROOFLINE_NORM = 4

# What transforms of cuDNN work on, and the window whose gain is fitted.
_TILE, _MOST_COMMON_WINDOW = 32, 3
_BYTES_AT_ONCE = 16.0

# PyTorch has its own depthwise kernels up to 5 x 5; larger ones run on a general, slower path.
LARGE_KERNEL = 5


class ArithmeticRow(NamedTuple):
    """One merged matrix operation, ready for any device: its seconds follow from two dot products with the rates."""

    engine: int
    flops_over_share: float
    sm_clocks: float
    bytes_over_share: float


class PhaseWork(NamedTuple):
    """Forward or backward work at one batch size: rows with arithmetic, the bytes of all others, and launches."""

    rows: tuple[ArithmeticRow, ...]
    memory_bytes: float
    kernels: float

    def seconds(self, rates: DeviceRates) -> tuple[float, float]:
        """Device seconds, launches included, and the seconds of them in which arithmetic is the limit."""
        per_flop, per_fed_clock, per_byte = rates.seconds_per_flop, rates.seconds_per_fed_clock, rates.seconds_per_byte
        moving_s = self.memory_bytes * per_byte
        arithmetic_s = 0.0
        for engine, flops, sm_clocks, num_bytes in self.rows:
            arithmetic = flops * per_flop[engine] + sm_clocks * per_fed_clock
            moving = num_bytes * per_byte
            if arithmetic > moving:
                arithmetic_s += roofline_s(arithmetic, moving)
            else:
                moving_s += roofline_s(arithmetic, moving)
        return arithmetic_s + moving_s + self.kernels * rates.launch_s, arithmetic_s


def roofline_s(arithmetic_s: float, moving_s: float) -> float:
    """Seconds of an operation that takes these alone: the ``ROOFLINE_NORM``-norm of both."""
    arithmetic, moving = arithmetic_s * arithmetic_s, moving_s * moving_s
    return math.sqrt(math.sqrt(arithmetic * arithmetic + moving * moving))


class StepWork(NamedTuple):
    """The two phases of one micro step."""

    forward: PhaseWork
    backward: PhaseWork

    @property
    def kernels(self) -> float:
        return self.forward.kernels + self.backward.kernels


class Variant(NamedTuple):
    """What changes the operations themselves: the layout's constants, fusion by a compiler, adapters of a rank beside
    weights that are frozen."""

    layout: LayoutConstants
    fused_bytes_factor: float = 1.0
    adapter_rank: int | None = None
    four_bit_weights: bool = False


def prepare(
    workload: Workload, precision: DevicePrecision, batch_size: float, variant: Variant, calibration: Calibration
) -> StepWork:
    """The work of one micro step of ``batch_size`` samples, with every class efficiency already divided out."""
    phases: dict[str, tuple[list[ArithmeticRow], list[float]]] = {
        "forward": ([], [0.0, 0.0]),
        "backward": ([], [0.0, 0.0]),
    }
    precision = precision_in(workload, precision)
    for operation in operations_run(workload, precision, variant):
        rows, totals = phases[operation.phase]
        totals[1] += operation.kernels
        row = _row(operation, batch_size, variant, calibration.device, precision)
        if row.flops_over_share > 0.0:
            rows.append(row)
        else:
            totals[0] += row.bytes_over_share
    forward, backward = (PhaseWork(tuple(rows), totals[0], totals[1]) for rows, totals in phases.values())
    return StepWork(forward, backward)


def training_flops(workload: Workload, variant: Variant) -> float:
    """FLOPs of one sample's step that are computed: frozen weights have no gradients, their adapters have."""
    if variant.adapter_rank is None:
        return workload.training_flops_per_sample
    adapters = adapter_operations(workload, variant.adapter_rank, element_bytes=2, mixed=False, four_bit=False)
    return frozen(workload).training_flops_per_sample + sum(operation.flops.per_sample for operation in adapters)


def operations_run(workload: Workload, precision: DevicePrecision, variant: Variant) -> tuple[Operation, ...]:
    """What runs in one micro step: the workload's operations, or those of a frozen one and its adapters."""
    rank = variant.adapter_rank
    if rank is None:
        return operations_in(workload, precision)
    mixed = precision.autocast and not precision.pure
    adapters = adapter_operations(
        workload,
        rank,
        element_bytes=2 if mixed or precision.pure else 4,
        mixed=mixed,
        four_bit=variant.four_bit_weights,
    )
    return (*operations_in(frozen(workload), precision), *adapters)


def operations_in(workload: Workload, precision: DevicePrecision) -> tuple[Operation, ...]:
    """The workload's operations as the precision runs them: autocast as recorded, all fp32, or all 2-byte."""
    if precision.pure:
        return tuple(_as_half(operation) for operation in workload.operations if operation.op_class != "cast")
    return workload.operations if precision.autocast else workload.as_fp32().operations


def _as_half(operation: Operation) -> Operation:
    if operation.element_bytes != 4:
        return operation
    return operation._replace(element_bytes=2, bytes=operation.bytes.scaled(0.5))


def _row(
    operation: Operation,
    batch_size: float,
    variant: Variant,
    device: DeviceConstants,
    precision: DevicePrecision,
) -> ArithmeticRow:
    op_class, size = operation.op_class, 4 if operation.element_bytes >= 4 else 2
    efficiency = variant.layout.classes.get(op_class) or variant.layout.classes[_FALLBACK_CLASS]
    moved = operation.bytes.at(batch_size) / efficiency.bandwidth_share(size)
    if op_class not in GEMM:
        fused = variant.fused_bytes_factor if op_class in FUSABLE else 1.0
        return ArithmeticRow(VECTOR, 0.0, 0.0, moved * fused)
    flops = operation.flops.at(batch_size)
    share = efficiency.compute * shape_factor(operation, variant.layout)
    share /= worked_per_counted(operation, precision)
    if runs_winograd(operation, precision):
        share *= math.exp(device.winograd_log_gain)
    fed = 0.0 if op_class in DEPTHWISE else flops / device.kappa_flop_per_clock_sm[feed_of(op_class, size)]
    return ArithmeticRow(engine_of(op_class, size, precision), flops / share, fed, moved)


def feed_of(op_class: str, element_bytes: int) -> str:
    """Which kappa feeds an operation: plain products keep more of an SM busy than convolutions and fused attention."""
    return f"{'matmul' if op_class in PRODUCTS else 'convolution'}{element_bytes}"


def engine_of(op_class: str, element_bytes: int, precision: DevicePrecision) -> int:
    """The arithmetic unit a matrix operation runs on; depthwise convolutions have nothing for a matrix unit to do."""
    if op_class in DEPTHWISE:
        return VECTOR
    if element_bytes == 2 and (precision.autocast or precision.pure):
        return HALF
    return CONV32 if op_class in _CUDNN else MATMUL32


def precision_in(workload: Workload, precision: DevicePrecision) -> DevicePrecision:
    """The precision as this workload's kernels have it: cuDNN has no Winograd convolution of volumes."""
    return precision._replace(winograd=False) if workload.sample_unit == "volume" else precision


def runs_winograd(operation: Operation, precision: DevicePrecision) -> bool:
    """Convolutions of fp32 units that take fewer multiplications than they count (Lavin and Gray, 2016; by Fourier
    transforms where windows are larger, Mathieu et al., 2014): windows wider than a row, without a stride.

    Where the record does not know the window, it is as most are.
    """
    if not precision.winograd or operation.op_class not in WINOGRAD or operation.kernel_size == 1:
        return False
    size = 4 if operation.element_bytes >= 4 else 2
    return operation.stride <= 1 and engine_of(operation.op_class, size, precision) == CONV32


def multiplies_less(workload: Workload, precision: DevicePrecision) -> bool:
    """Whether any of the workload's convolutions takes fewer multiplications than it counts."""
    inside = precision_in(workload, precision)
    return inside.winograd and any(runs_winograd(o, inside) for o in operations_in(workload, inside))


def shape_factor(operation: Operation, layout: LayoutConstants) -> float:
    """What a grouped or depthwise convolution's shape leaves of its class's share of peak (m of docs/model.md)."""
    if operation.op_class in GROUPED:
        part = GROUPED.index(operation.op_class)
        width = min(max(operation.width, 4.0), 128.0)
        gain = layout.group_resnext_log_gain[part] if operation.groups == 32 and operation.width <= 33 else 0.0
        exponent = layout.group_width_exponent[part]
        return math.exp(exponent * math.log(width / 32.0) + gain)
    if operation.op_class in DEPTHWISE:
        part = DEPTHWISE.index(operation.op_class)
        penalty = math.exp(layout.depthwise_log_kernel_penalty[part]) / max(operation.kernel_size, 1) ** 2
        large = layout.depthwise_log_large_kernel[part] if operation.kernel_size > LARGE_KERNEL else 0.0
        return math.exp(large) / (1.0 + penalty)
    return 1.0


def worked_per_counted(operation: Operation, precision: DevicePrecision) -> float:
    """How many multiplications an engine does for each that is counted, by rule.

    The gradient of a depthwise convolution's data tries every input with every tap, of which a stride leaves one in its
    square. Matrix engines take 16 bytes of channels at once and fill up what is missing: three channels of an image
    work like eight. Fourier transforms need fewer multiplications the wider the window is.
    """
    if operation.op_class == "dw_dg":
        return operation.stride**2
    if operation.op_class not in _WHOLE_CONVOLUTIONS:
        return 1.0
    if runs_winograd(operation, precision):
        return _counted_in_a_tile(_MOST_COMMON_WINDOW) / _counted_in_a_tile(
            operation.kernel_size or _MOST_COMMON_WINDOW
        )
    return _filled_up(operation, precision)


def _counted_in_a_tile(window: int) -> float:
    """Multiplications counted for the results of one tile, which the transform's are the same for: k^2 for each of
    (33 - k)^2 results (Mathieu, Henaff and LeCun, 2014). Windows wider than half of a tile are taken like that."""
    side = min(window, _TILE // 2)
    return (side * (_TILE + 1 - side)) ** 2


def _filled_up(operation: Operation, precision: DevicePrecision) -> float:
    """The channels a matrix engine takes for each that there is; 1 on vector units."""
    size = 4 if operation.element_bytes >= 4 else 2
    engine = engine_of(operation.op_class, size, precision)
    rate = precision.half_flops_per_s if engine == HALF else precision.conv32_flops_per_s
    if operation.width <= 0.0 or rate <= precision.vector_flops_per_s:
        return 1.0
    return max(_BYTES_AT_ONCE / size / operation.width, 1.0)


def kind_of(workload: Workload) -> str:
    """The class of operations that makes a workload hard or easy to predict: its own row of the interval table."""
    flops: dict[str, float] = {}
    for operation in workload.operations:
        flops[operation.op_class] = flops.get(operation.op_class, 0.0) + operation.flops.per_sample
    total = sum(flops.values()) or 1.0
    convolution = sum(flops.get(name, 0.0) for name in CONVOLUTIONS) / total
    attention = any(name in flops for name in ("bmm", "sdpa"))
    if "rnn" in flops:
        return "recurrent"
    if attention:
        return "hybrid" if convolution > _CONVOLUTIONAL_FROM else "transformer"
    if any(name in flops for name in DEPTHWISE):
        return "depthwise"
    if any(name in flops for name in GROUPED):
        return "grouped"
    return "convolutional" if convolution > _CONVOLUTIONAL_FROM else "dense"


def operation_s(
    operation: Operation,
    precision: DevicePrecision,
    batch_size: float,
    variant: Variant,
    calibration: Calibration,
    rates: DeviceRates,
) -> float:
    """Seconds of one operation alone on the device, its launches included."""
    row = _row(operation, batch_size, variant, calibration.device, precision)
    moving_s = row.bytes_over_share * rates.seconds_per_byte
    return roofline_s(_arithmetic_s(row, rates), moving_s) + operation.kernels * rates.launch_s


def _arithmetic_s(row: ArithmeticRow, rates: DeviceRates) -> float:
    return row.flops_over_share * rates.seconds_per_flop[row.engine] + row.sm_clocks * rates.seconds_per_fed_clock


class ClassTime(NamedTuple):
    """One operation class of the step, for ``explain``: FLOPs and bytes of a micro step, seconds, and the limit."""

    op_class: str
    flops: float
    bytes: float
    seconds: float
    bound_by: str


def time_by_class(
    workload: Workload,
    precision: DevicePrecision,
    batch_size: float,
    variant: Variant,
    calibration: Calibration,
    rates: DeviceRates,
) -> list[ClassTime]:
    """Seconds on the device by operation class, slowest first; they add up to the two phases of :func:`prepare`."""
    sums: dict[str, list[float]] = {}
    precision = precision_in(workload, precision)
    for operation in operations_run(workload, precision, variant):
        row = _row(operation, batch_size, variant, calibration.device, precision)
        arithmetic = _arithmetic_s(row, rates)
        moving = row.bytes_over_share * rates.seconds_per_byte
        entry = sums.setdefault(operation.op_class, [0.0, 0.0, 0.0, 0.0])
        entry[0] += operation.flops.at(batch_size)
        entry[1] += operation.bytes.at(batch_size)
        seconds = roofline_s(arithmetic, moving)
        entry[2] += seconds + operation.kernels * rates.launch_s
        entry[3] += seconds if arithmetic > moving else 0.0
    table = [
        ClassTime(name, flops, moved, seconds, "compute" if 2.0 * computing > seconds else "memory")
        for name, (flops, moved, seconds, computing) in sums.items()
    ]
    return sorted(table, key=lambda entry: -entry.seconds)
