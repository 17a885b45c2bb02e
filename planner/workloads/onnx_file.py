"""Open an ONNX file: nothing is run, external data is not read; what comes out is a checked graph with its shapes."""

from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, PlannerError
from planner.workloads.reading import read_bytes
from planner.workloads.workload import Linear

MAX_BYTES = (1 << 31) - 1  # a protocol buffer's own limit
_MAX_NODES = 200_000
_MAX_ELEMENTS = 1e15
_BATCHES = (2, 3)
_FLOATS = (1, 10, 11, 16)  # TensorProto: FLOAT, FLOAT16, DOUBLE, BFLOAT16


class Tensor(NamedTuple):
    """A named tensor: its shape at one sample (the batch where it has one), its elements as a line in the batch."""

    shape: tuple[int, ...]
    elements: Linear
    is_float: bool


class Graph(NamedTuple):
    """A graph in order; ``weights`` are the names of its initializers, ``outputs`` of its results."""

    subject: str
    nodes: tuple[Any, ...]
    tensors: dict[str, Tensor]
    weights: frozenset[str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def open_onnx(path: Path, seq_length: int | None) -> Graph:
    """The graph in a file; a free dimension other than the batch is ``seq_length``. Raises InputError, PlannerError."""
    subject = f"the model file {str(path)!r}"
    data = read_bytes(path, MAX_BYTES, "model file")
    try:
        import onnx
    except ImportError as error:
        raise PlannerError("reading ONNX needs the onnx package: pip install 'gpuplanner[onnx]'") from error
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's DecodeError, whose module differs between versions
        raise InputError(f"{subject} is not ONNX that can be read") from error
    graph = model.graph
    if not graph.node or not graph.output:
        raise InputError(f"{subject} has no nodes or no outputs")
    if len(graph.node) > _MAX_NODES:
        raise InputError(f"{subject} has {len(graph.node):,} nodes; more than {_MAX_NODES:,} are not read")
    weights = frozenset(tensor.name for tensor in graph.initializer)
    inputs = tuple(value.name for value in graph.input if value.name not in weights)
    if not inputs:
        raise InputError(f"{subject} has no inputs")
    _check_order(graph, subject)
    return Graph(
        subject=subject,
        nodes=tuple(graph.node),
        tensors=_tensors(model, inputs, seq_length, subject),
        weights=weights,
        inputs=inputs,
        outputs=tuple(value.name for value in graph.output),
    )


def _check_order(graph: Any, subject: str) -> None:
    """Raise InputError unless every node's inputs are there before it, as ONNX asks for: a cycle never is."""
    known = {value.name for value in (*graph.input, *graph.initializer)}
    known.update(tensor.values.name for tensor in graph.sparse_initializer)
    later = {name for node in graph.node for name in node.output}
    for node in graph.node:
        for name in node.input:
            if name and name not in known:
                why = "is cyclic or out of order" if name in later else "lacks a tensor"
                raise InputError(
                    f"{subject} {why}: {node.op_type} {node.name[:60]!r} needs {name[:60]!r} before it exists"
                )
        known.update(node.output)


def _tensors(model: Any, inputs: tuple[str, ...], seq_length: int | None, subject: str) -> dict[str, Tensor]:
    """Every tensor's shape and elements. A free batch is tried at two sizes; a fixed one is divided out."""
    fixed = _fixed_batch(model, inputs[0], subject)
    shapes = [
        _inferred(model, inputs, batch, seq_length, subject) for batch in (_BATCHES if fixed is None else (fixed,))
    ]
    weights = {tensor.name for tensor in model.graph.initializer}
    tensors = {}
    for name, (shape, is_float) in shapes[0].items():
        elements = _product(shape)
        if name in weights:
            count = Linear(elements, 0.0)
        elif fixed is not None:
            count = Linear(0.0, elements / fixed)
        else:
            other = _product(shapes[1].get(name, (shape, True))[0])
            slope = (other - elements) / (_BATCHES[1] - _BATCHES[0])
            count = Linear(elements - slope * _BATCHES[0], slope)
        if max(count.at(1.0), abs(count.fixed)) > _MAX_ELEMENTS:
            raise InputError(f"{subject} declares {elements:,.0f} elements in {name[:60]!r}")
        tensors[name] = Tensor(shape, count, is_float)
    return tensors


def _product(shape: tuple[int, ...]) -> float:
    elements = 1.0
    for size in shape:
        elements *= size
    return elements


def _fixed_batch(model: Any, first: str, subject: str) -> int | None:
    """The first dimension of the first input where it is a number."""
    value = next(value for value in model.graph.input if value.name == first)
    dimensions = value.type.tensor_type.shape.dim
    if not dimensions:
        raise InputError(f"{subject}: the input {first[:60]!r} has no shape")
    return int(dimensions[0].dim_value) or None


def _inferred(
    model: Any, inputs: tuple[str, ...], batch: int, seq_length: int | None, subject: str
) -> dict[str, tuple[tuple[int, ...], bool]]:
    """Shapes with the batch set to ``batch``; only tensors whose every dimension is known."""
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if batch != _fixed_batch(model, inputs[0], subject):  # recorded shapes are those of another batch
        del copy.graph.value_info[:]
    for value in copy.graph.input:
        if value.name in inputs:
            _settle(value, batch, seq_length, subject)
    for value in copy.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(copy, data_prop=True).graph
    except Exception as error:  # an error of the library's own C++ part, whatever it is
        said = next(iter(str(error).splitlines()), "")[:200]
        raise InputError(f"{subject}: its shapes cannot be inferred: {said}") from error
    found: dict[str, tuple[tuple[int, ...], bool]] = {}
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        tensor = value.type.tensor_type
        shape = tuple(int(dimension.dim_value) for dimension in tensor.shape.dim)
        if tensor.HasField("shape") and all(size > 0 for size in shape):
            found[value.name] = (shape, tensor.elem_type in _FLOATS)
    for tensor in inferred.initializer:
        if any(size < 0 for size in tensor.dims):
            raise InputError(f"{subject} has a negative size in {tensor.name[:60]!r}")
        found[tensor.name] = (tuple(map(int, tensor.dims)), tensor.data_type in _FLOATS)
    return found


def _settle(value: Any, batch: int, seq_length: int | None, subject: str) -> None:
    """Replace free dimensions: the first is the batch, others are the sequence length."""
    for place, dimension in enumerate(value.type.tensor_type.shape.dim):
        if place == 0:
            dimension.dim_value = batch
        elif dimension.dim_value <= 0:
            if seq_length is None:
                free = dimension.dim_param or "?"
                raise InputError(f"{subject}: the size {free[:60]!r} of {value.name[:60]!r} is free: say --seq-length")
            dimension.dim_value = seq_length
