"""The same model at another image size or sequence length, from records where they exist and by rule between them."""

from __future__ import annotations

from collections.abc import Callable

from planner.errors import InputError
from planner.workloads.catalog import ModelSummary, load_workload, recorded_variants
from planner.workloads.workload import Linear, Memory, Operation, Workload

FUSED_ATTENTION = ("sdpa", "sdpa_bw")
MAX_LENGTH_RATIO = 64  # farther than this from a record, the rule for sequence lengths has nothing to stand on


def at_image_size(workload: Workload, image_size: int) -> Workload:
    """The workload on square images of ``image_size`` pixels a side.

    A recorded size is taken as recorded; between two recorded sizes all quantities are linear in the area. Raises
    InputError outside the recorded range, naming the sizes known.
    """
    if workload.image_size is None:
        raise InputError(f"{workload.name} does not take images of a given size, so --img-size does not apply to it")
    if workload.image_size == image_size:
        return workload
    name = _base_name(workload)
    sizes = {row.image_size: row for row in recorded_variants(name) if row.image_size is not None}
    if image_size in sizes:
        return load_workload(sizes[image_size].name)._replace(name=name)
    smaller = max((size for size in sizes if size < image_size), default=None)
    larger = min((size for size in sizes if size > image_size), default=None)
    if smaller is None or larger is None:
        raise InputError(_size_refused(name, image_size, sorted(sizes) or [workload.image_size]))
    share = (image_size**2 - smaller**2) / (larger**2 - smaller**2)
    mixed = _mixed(load_workload(sizes[smaller].name), load_workload(sizes[larger].name), share)
    return mixed._replace(name=name, image_size=image_size)


def size_nearest(workload: Workload, image_size: int) -> int | None:
    """The smallest image size that the model is known at, and as large as ``image_size`` at least; None for none."""
    sizes = [row.image_size for row in recorded_variants(_base_name(workload)) if row.image_size is not None]
    if sizes and min(sizes) <= image_size <= max(sizes):
        return image_size
    return min((size for size in sizes if size > image_size), default=None)


def at_seq_length(workload: Workload, seq_length: int) -> Workload:
    """The workload on sequences of ``seq_length`` tokens.

    A recorded length is taken as recorded. Else the nearest record is scaled by r = seq_length / its length: FLOPs of
    attention with r^2, everything else a sample costs with r; parts that do not grow with the batch stay. Bytes of
    fused attention go with r (scores are never stored), those of unfused attention with r^2. Approximations: the
    elementwise work on stored scores (scaling, mask, dropout) and position embeddings beyond the trained length are
    scaled with r; a second (target) length is scaled along with the first. Raises InputError for workloads without
    sequences and farther than 64-fold from every record.
    """
    if workload.seq_length is None:
        raise InputError(f"{workload.name} does not take token sequences, so --seq-length does not apply to it")
    if workload.seq_length == seq_length:
        return workload
    name = _base_name(workload)
    lengths = {row.seq_length: row for row in recorded_variants(name) if row.seq_length is not None}
    if seq_length in lengths:
        return load_workload(lengths[seq_length].name)._replace(name=name)
    nearest = _nearest(workload, seq_length, lengths)
    assert nearest.seq_length is not None
    ratio = seq_length / nearest.seq_length
    if not 1 / MAX_LENGTH_RATIO <= ratio <= MAX_LENGTH_RATIO:
        low, high = max(1, nearest.seq_length // MAX_LENGTH_RATIO), nearest.seq_length * MAX_LENGTH_RATIO
        raise InputError(
            f"{name} is recorded at {nearest.seq_length:,} tokens; --seq-length may be {low:,} to {high:,}, "
            f"not {seq_length:,}"
        )
    return _stretched(nearest._replace(name=name, seq_length=seq_length), ratio)


def _base_name(workload: Workload) -> str:
    return workload.name.partition("@")[0]


def _size_refused(name: str, image_size: int, known: list[int]) -> str:
    if len(known) == 1:
        return f"{name} is known at image size {known[0]} only, not {image_size}"
    listed = ", ".join(map(str, known))
    return f"{name} is known at image sizes {listed} and between them, not {image_size}"


def _mixed(low: Workload, high: Workload, share: float) -> Workload:
    """(1 - share) of ``low`` with ``share`` of ``high``; what has no mixture is taken from the nearer one."""
    nearer = high if share > 0.5 else low
    return nearer._replace(
        operations=(*_weighted(low.operations, 1 - share), *_weighted(high.operations, share)),
        memory_amp=_mixed_memory(low.memory_amp, high.memory_amp, share),
        memory_fp32=_mixed_memory(low.memory_fp32, high.memory_fp32, share),
    )


def _weighted(operations: tuple[Operation, ...], weight: float) -> tuple[Operation, ...]:
    return tuple(
        op._replace(flops=op.flops.scaled(weight), bytes=op.bytes.scaled(weight), kernels=op.kernels * weight)
        for op in operations
    )


def _mixed_memory(low: Memory, high: Memory, share: float) -> Memory:
    def between(a: Linear, b: Linear) -> Linear:
        return Linear(a.fixed + share * (b.fixed - a.fixed), a.per_sample + share * (b.per_sample - a.per_sample))

    return Memory(between(low.live_bytes, high.live_bytes), between(low.saved_bytes, high.saved_bytes))


def _nearest(workload: Workload, seq_length: int, lengths: dict[int, ModelSummary]) -> Workload:
    """The recorded variant whose length is nearest as a ratio; the workload itself where none is recorded."""
    if not lengths:
        return workload
    nearest = min(lengths, key=lambda length: max(length / seq_length, seq_length / length))
    return workload if nearest == workload.seq_length else load_workload(lengths[nearest].name)


def _stretched(workload: Workload, ratio: float) -> Workload:
    is_score = _score_rows(workload.operations)
    score_bytes = sum(
        op.bytes.per_sample
        for op in workload.operations
        if op.op_class == "softmax" and op.phase == "forward" and is_score(op)
    )
    return workload._replace(
        operations=tuple(_stretched_operation(op, ratio, is_score(op)) for op in workload.operations),
        memory_amp=_stretched_memory(workload.memory_amp, ratio, score_bytes),
        memory_fp32=_stretched_memory(workload.memory_fp32, ratio, score_bytes),
    )


def _score_rows(operations: tuple[Operation, ...]) -> Callable[[Operation], bool]:
    """Which rows work on stored attention scores: batched products, and the softmax that comes once for two or three.

    A row with fewer softmax launches is the loss's softmax over a vocabulary, which is linear in the length.
    """
    attentions = sum(op.kernels for op in operations if op.op_class == "bmm" and op.phase == "forward") / 3

    def is_score(op: Operation) -> bool:
        if op.op_class == "bmm":
            return True
        return op.op_class == "softmax" and 0 < attentions <= op.kernels

    return is_score


def _stretched_operation(op: Operation, ratio: float, is_score: bool) -> Operation:
    flops_ratio = ratio**2 if is_score or op.op_class in FUSED_ATTENTION else ratio
    bytes_ratio = ratio**2 if is_score else ratio
    return op._replace(flops=_grown(op.flops, flops_ratio), bytes=_grown(op.bytes, bytes_ratio))


def _grown(line: Linear, ratio: float) -> Linear:
    return Linear(line.fixed, line.per_sample * ratio)


def _stretched_memory(memory: Memory, ratio: float, score_bytes: float) -> Memory:
    """Stored scores (the bytes its softmax moves: output and dropped-out copy) go with r^2."""

    def stretched(line: Linear) -> Linear:
        scores = min(score_bytes, line.per_sample)
        return Linear(line.fixed, (line.per_sample - scores) * ratio + scores * ratio**2)

    return Memory(stretched(memory.live_bytes), stretched(memory.saved_bytes))
