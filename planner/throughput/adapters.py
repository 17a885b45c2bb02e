"""LoRA and QLoRA by rule: what a frozen network no longer does, and what its adapters do beside it.

An adapter of rank r beside a frozen product of d input and e output features (Hu et al., "LoRA", 2021) is two products,
d x r and r x e, a scaling and a sum, as peft's ``lora.Linear`` runs them: without dropout (its default), adapters in
fp32 under autocast, whose input it then casts once more. Every product of the network that has a gradient gets one, but
for the output layer ('all-linear'). Frozen weights have no gradient, so what only that needed is neither computed nor
kept: a product's second backward half, a convolution's input, what a norm scaled. tools/check_adapters.py holds all of
it against peft itself; nothing was fitted.
"""

from collections.abc import Iterator
from typing import NamedTuple

from planner.throughput.vocabulary import log_probability_bytes
from planner.workloads.workload import Linear, Memory, Operation, Workload

# Weights in 4-bit NormalFloat with doubly quantised block scales take 0.516 bytes (Dettmers et al., 2023, "QLoRA");
# each pass reads them and writes 2-byte copies for its products.
FOUR_BIT_WEIGHT_BYTES = 0.516
# At half the rate of an ordinary copy: on an A100 bitsandbytes 0.41 added 38, 88 and 202 ms to a step of 3.6, 6.7 and
# 13.0 billion weights (Lightning-AI/litgpt@4839345, tutorials/resource-tables.md, bnb.nf4-dq less none); copies of
# these bytes take 22, 42 and 81 ms by the fitted constants: 0.58, 0.48 and 0.40.
UNPACKING_SHARE = 0.48

# A table of positions counts as embedding, too, so the output layer's weights are nearly its size.
_SAME_SIZE = 0.05
_CONVOLUTIONS = ("conv", "conv1", "gconv", "dw")
_FP32, _HALF = 4, 2


class Matrices(NamedTuple):
    """The products that get adapters. A sample has ``elements`` in all their inputs and outputs, ``rows`` of them in
    all; ``features`` are input and output features: an adapter's parameters are its rank times those."""

    elements: float
    rows: float
    features: float
    number: float
    weights: float


_NO_MATRICES = Matrices(0.0, 0.0, 0.0, 0.0, 0.0)


def adapted_matrices(workload: Workload) -> Matrices:
    """The products whose input and weights have gradients in the record, without the output layer.

    Backward, a product of N rows has 4 N d e FLOPs in two kernels, which move N (d + e) elements of a sample and d e of
    the weights each.
    """
    products = [_matrices_of(operation) for operation in workload.operations if _is_product_backward(operation)]
    every = Matrices(*(sum(column) for column in zip(*products, strict=True))) if products else _NO_MATRICES
    return Matrices(*(all_of - output for all_of, output in zip(every, _output_layer(workload), strict=True)))


def _matrices_of(operation: Operation) -> Matrices:
    rows = operation.flops.per_sample * operation.element_bytes / (2 * operation.bytes.fixed)
    elements, count = operation.bytes.per_sample / (2 * operation.element_bytes), operation.kernels / 2
    weights = operation.bytes.fixed / (2 * operation.element_bytes)
    return Matrices(elements, count * rows, elements / rows, count, weights)


def _output_layer(workload: Workload) -> Matrices:
    """From a hidden width to the words, whose product with it is the embedding's size; nothing of other models."""
    words = 0.0 if workload.seq_length is None else log_probability_bytes(workload) / _FP32 / workload.seq_length
    if words**2 <= workload.embedding_parameters or not workload.embedding_parameters:
        return _NO_MATRICES
    rows, features = float(workload.seq_length or 0), words + workload.embedding_parameters / words
    return Matrices(rows * features, rows, features, 1.0, float(workload.embedding_parameters))


def adapter_parameters(workload: Workload, rank: int) -> float:
    """Parameters of all adapters: rank times input and output features."""
    return rank * adapted_matrices(workload).features


def adapter_tensors(workload: Workload) -> float:
    """Two matrices an adapter."""
    return 2.0 * adapted_matrices(workload).number


def four_bit_weights(workload: Workload) -> float:
    """Weights that QLoRA packs: those of products, a mixture's experts among them, but for the output layer's."""
    experts = sum(
        operation.bytes.fixed / (2 * operation.element_bytes)
        for operation in workload.operations
        if operation.op_class == "bmm" and operation.phase == "backward"
    )
    return adapted_matrices(workload).weights + experts


def unpacked_bytes(workload: Workload) -> float:
    """Of the largest packed product's weights while they are in two bytes (the mean of those that share its row)."""
    products = [_matrices_of(operation) for operation in workload.operations if _is_product_backward(operation)]
    output = _output_layer(workload)
    alone = [p for p in products if p.number == 1.0 and abs(p.weights - output.weights) > _SAME_SIZE * output.weights]
    packed = [*alone, *(p for p in products if p.number > 1.0)]  # a model by numbers is one product of any number
    return max((_HALF * product.weights / product.number for product in packed), default=0.0)


def adapter_operations(
    workload: Workload, rank: int, *, element_bytes: int, mixed: bool, four_bit: bool
) -> Iterator[Operation]:
    """What the adapters of ``rank`` do in operands of ``element_bytes``; ``mixed`` is autocast, ``four_bit`` QLoRA.

    Forward, x A reads inputs and writes rows of the rank, (x A) B reads those and writes outputs, which are scaled
    (read and written) and added (two read, one written). Backward, each product runs twice, the gradient is scaled, and
    the input's is added to that of the frozen product. Inputs and outputs are taken as equally wide: together they are.
    """
    matrices = adapted_matrices(workload)
    size, count, weights = element_bytes, matrices.number, rank * matrices.features
    moved = size * (matrices.elements + 2.0 * rank * matrices.rows)
    flops = 2.0 * rank * matrices.elements
    around = Linear(0.0, 2.5 * size * matrices.elements)
    nothing = Linear(0.0, 0.0)

    def operation(op_class: str, width: int, flops: Linear, moved: Linear, kernels: float) -> Operation:
        return Operation(op_class, "forward", width, 0.0, 0, 0, flops, moved, kernels)

    yield operation("mm", size, Linear(0.0, flops), Linear(size * weights, moved), 2.0 * count)
    yield _backward(
        operation("mm", size, Linear(0.0, 2.0 * flops), Linear(2.0 * size * weights, 2.0 * moved), 4.0 * count)
    )
    for both in (operation("ew", size, nothing, around, 2.0 * count), *_casts(matrices, weights, mixed)):
        yield both
        yield _backward(both)
    if four_bit:
        unpacked = Linear(four_bit_weights(workload) * (FOUR_BIT_WEIGHT_BYTES + 2.0) / UNPACKING_SHARE, 0.0)
        for phase in (lambda made: made, _backward):
            yield phase(operation("copy", size, nothing, unpacked, count))
        yield operation("copy", size, nothing, Linear(0.0, size * matrices.elements), count)  # outputs are cloned


def _casts(matrices: Matrices, weights: float, mixed: bool) -> Iterator[Operation]:
    """Under autocast: each adapter's two weights, and its input once more than the frozen product's, whose weights are
    in two bytes already."""
    if mixed:
        each = _FP32 + _HALF
        moved = Linear(each * weights, each * matrices.elements / 2.0)
        yield Operation("cast", "forward", _HALF, 0.0, 0, 0, Linear(0.0, 0.0), moved, 3.0 * matrices.number)


def _backward(operation: Operation) -> Operation:
    return operation._replace(phase="backward")


def frozen(workload: Workload) -> Workload:
    """The workload without gradients of its weights, and without what is kept for them alone."""
    tokens = _rows_of_a_sample(workload)
    scaled = _scaled_by_norms(workload, tokens)
    operations = (_without_weight_gradients(operation, workload, tokens, scaled) for operation in workload.operations)
    convolved = sum(
        operation.bytes.per_sample / 2.0
        for operation in workload.operations
        if operation.op_class in _CONVOLUTIONS and operation.phase == "forward"
    )
    return workload._replace(
        operations=tuple(operation for operation in operations if operation is not None),
        memory_amp=_without(workload.memory_amp, scaled + convolved),
        memory_fp32=_without(workload.memory_fp32, scaled + 2.0 * convolved),
    )


def with_low_rank(memory: Memory, workload: Workload, rank: int, element_bytes: int) -> Memory:
    """Backward keeps what comes between an adapter's two products; the first one's input is kept as without it."""
    return _without(memory, -float(element_bytes * rank * adapted_matrices(workload).rows))


def _without(memory: Memory, per_sample: float) -> Memory:
    return Memory(*(line._replace(per_sample=line.per_sample - per_sample) for line in memory))


def _without_weight_gradients(
    operation: Operation, workload: Workload, tokens: float, scaled: float
) -> Operation | None:
    op_class, moved, kernels = operation.op_class, operation.bytes, operation.kernels
    if op_class == "cast":  # of weights, and of their gradients: frozen weights are in two bytes
        weights = _matrices(workload) if moved.fixed > 0.0 else 0.0
        return operation._replace(bytes=moved._replace(fixed=0.0), kernels=max(kernels - weights, 0.0))
    if operation.phase == "forward":
        return operation
    if op_class.endswith("_wg"):
        return None
    if op_class in ("mm", "bmm") and moved.fixed > 0.0:
        return operation._replace(flops=operation.flops.scaled(0.5), bytes=moved.scaled(0.5), kernels=kernels / 2)
    if op_class == "gather":  # the embedding's gradient is a table
        return operation._replace(bytes=moved._replace(fixed=0.0))
    if op_class == "red" and moved.per_sample > 0.0:  # biases, scales of norms, positions: a sum over rows each
        kept = 1.0 - min(tokens * moved.fixed / moved.per_sample, 1.0)
        return operation._replace(bytes=Linear(0.0, moved.per_sample * kept), kernels=kernels * kept)
    if op_class == "ew" and operation.element_bytes == _FP32:  # gradient times input, read and written, for norms
        return operation._replace(bytes=moved._replace(per_sample=max(moved.per_sample - 3.0 * scaled, 0.0)))
    return operation


def _scaled_by_norms(workload: Workload, tokens: float) -> float:
    """Bytes of a sample that norms written in Python scale by a vector, which they keep for its gradient.

    That gradient is summed over rows in fp32. Fused norms sum inside their kernel, and a position's gradient is a sum
    over samples: of that there is less than rows times what is written.
    """
    for operation in workload.operations:
        if operation.op_class == "red" and operation.phase == "backward" and operation.element_bytes == _FP32:
            summed = tokens * operation.bytes.fixed
            return summed if summed <= operation.bytes.per_sample else 0.0
    return 0.0


def _rows_of_a_sample(workload: Workload) -> float:
    """Tokens of a sequence, or the most rows that a product has of a sample."""
    if workload.seq_length is not None:
        return float(workload.seq_length)
    products = (_matrices_of(operation) for operation in workload.operations if _is_product_backward(operation))
    return max((product.rows / product.number for product in products), default=1.0)


def _matrices(workload: Workload) -> float:
    """Weights that autocast casts: those of products and of convolutions."""
    return sum(
        operation.kernels
        for operation in workload.operations
        if operation.phase == "forward"
        and (operation.op_class == "mm" or operation.op_class in _CONVOLUTIONS)
        and operation.bytes.fixed > 0.0
    )


def _is_product_backward(operation: Operation) -> bool:
    known = operation.bytes.fixed > 0.0 and operation.flops.per_sample > 0.0
    return known and operation.op_class == "mm" and operation.phase == "backward"
