"""An ONNX graph as a workload: forward from the graph, backward by the rules of a :class:`Tape`."""

from collections import Counter
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from planner.errors import InputError
from planner.workloads.compaction import compacted
from planner.workloads.formulas.layers import convolution, cross_entropy, layer_norm, linear, look_up, matmul, softmax
from planner.workloads.formulas.moving import batch_norm, pooled, reduced, transposed_convolution
from planner.workloads.formulas.recurrent import recurrent
from planner.workloads.formulas.tape import LONG, SINGLE, Tape, Value
from planner.workloads.onnx_file import Graph, open_onnx
from planner.workloads.own_recipe import assumed_recipe
from planner.workloads.workload import Workload

_ACTIVATIONS = """
    Relu Sigmoid Tanh Gelu Erf LeakyRelu HardSwish HardSigmoid Clip Elu Selu Celu Softplus Exp Sqrt Pow Neg Abs Log
    Reciprocal Sin Cos Softsign Mish Swish PRelu ThresholdedRelu Sign Floor Ceil Round
"""
_KEEPING_RESULTS = ("Relu", "Sigmoid", "Tanh", "Exp", "Sqrt")
_VIEWS = "Reshape Flatten Squeeze Unsqueeze Identity Transpose Expand Slice Split Cast Tile DepthToSpace SpaceToDepth"
_SUMS = "Add Sub Max Min Sum Where"
_PRODUCTS = "Mul Div"
_POOLS = "MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool Resize Upsample Pad GridSample"
_REDUCTIONS = "ReduceMean ReduceSum ReduceMax ReduceMin ReduceL2 ReduceProd ReduceLogSumExp ArgMax CumSum TopK"
_RECURRENT_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def workload_of_onnx(path: Path, seq_length: int | None = None) -> Workload:
    """The workload of an ONNX file. Raises InputError; PlannerError where the onnx package is missing.

    What an export has lost stays lost: normalisation folded into convolutions, dropout, the loss.
    """
    graph = open_onnx(path, seq_length)
    mixed, single = _Walk(graph, amp=True), _Walk(graph, amp=False)
    for walk in (mixed, single):
        walk.run()
    tape = mixed.tape
    if not tape.parameters:
        raise InputError(f"{graph.subject} has no weights to train")
    image_size, tokens = _sizes(graph)
    recipe = assumed_recipe(image_size, tokens)
    return Workload(
        name=f"onnx:{path.stem}",
        task="own model",
        family="own",
        parameters=tape.parameters,
        parameter_tensors=tape.parameter_tensors,
        operations=tuple(compacted(tape.operations)),
        memory_amp=tape.memory(),
        memory_fp32=single.tape.memory(),
        default_dataset=None,
        recipe_batch_size_per_gpu=recipe.batch_size_per_gpu,
        max_global_batch_size=recipe.max_global_batch_size,
        recipe_source=recipe.source,
        source=f"{path.name}, forward from the graph and backward by rule",
        optimizer=recipe.optimizer,
        sample_unit=recipe.sample_unit,
        image_size=image_size,
        seq_length=tokens,
        embedding_parameters=tape.embedding_parameters,
        notes=mixed.notes(),
    )


def _sizes(graph: Graph) -> tuple[int | None, int | None]:
    """Pixels a side of a square image, or tokens of a sequence, by the first input."""
    first = graph.tensors[graph.inputs[0]]
    if first.is_float and len(first.shape) == 4 and first.shape[2] == first.shape[3]:
        return first.shape[2], None
    return (None, first.shape[1]) if not first.is_float and len(first.shape) == 2 else (None, None)


class _Walk:
    """One pass over the graph's nodes."""

    def __init__(self, graph: Graph, *, amp: bool) -> None:
        self.graph = graph
        self.tape = Tape(amp=amp)
        self.values: dict[str, Value] = {}
        self.weights: dict[str, Value] = {}
        self.unknown: Counter[str] = Counter()
        for name in graph.inputs:
            tensor = graph.tensors.get(name)
            if tensor is None:
                raise InputError(f"{graph.subject}: the shape of the input {name[:60]!r} is not known")
            self.values[name] = self.tape.given(tensor.elements.per_sample, SINGLE if tensor.is_float else LONG)

    def run(self) -> None:
        for node in self.graph.nodes:
            self._node(node)
        outputs = [self.values[name] for name in self.graph.outputs if name in self.values]
        trained = [value for value in outputs if value.needs_grad]
        if not trained:
            raise InputError(f"{self.graph.subject}: no output depends on its weights")
        self.tape.finish(self._loss(trained[0]))

    def notes(self) -> tuple[str, ...]:
        notes = ["loss: cross entropy where the first output is a score a class, else squared error (assumed)"]
        if self.unknown:
            listed = ", ".join(f"{count} x {name}" for name, count in sorted(self.unknown.items()))
            notes.append(f"operators without a rule, counted as one pass over their data: {listed}")
        return tuple(notes)

    def _loss(self, output: Value) -> Value:
        shape = self.graph.tensors[self.graph.outputs[0]].shape if self.graph.outputs[0] in self.graph.tensors else ()
        if len(shape) in (2, 3) and shape[-1] > 1:
            return cross_entropy(self.tape, output, shape[-1])
        return self.tape.activation(output)

    def _node(self, node: Any) -> None:
        """Turn one node into rows; integers, shapes and constants cost nothing."""
        tensor = self.graph.tensors.get(node.output[0]) if node.output else None
        operands = [self.values[name] for name in node.input if name in self.values]
        looks_up = node.op_type == "Gather" and node.input[0] in self.graph.weights
        if not operands or (tensor is not None and not tensor.is_float):
            return
        if tensor is None:
            raise InputError(
                f"{self.graph.subject}: the shape of {node.output[0][:60]!r} ({node.op_type}) is not known; export it "
                "with sizes that are fixed, the batch too"
            )
        rule = _RULES.get(node.op_type)
        if rule is None or not (looks_up or any(value.size != LONG for value in operands)):
            self.unknown[node.op_type] += 1
            rule = _Walk._one_pass
        result = rule(self, node, operands[0])
        if result is None:
            return
        for name in node.output:
            if name in self.graph.tensors:
                self.values[name] = result if name == node.output[0] else self._view_as(result, name)

    def _view_as(self, value: Value, name: str) -> Value:
        return self.tape.view(value, self.graph.tensors[name].elements)

    def _shape(self, name: str) -> tuple[int, ...]:
        if name not in self.graph.tensors:
            raise InputError(f"{self.graph.subject}: the shape of {name[:60]!r} is not known")
        return self.graph.tensors[name].shape

    def _weight(self, name: str) -> Value | None:
        """An initializer of numbers as a parameter, made once; None for one that is no tensor of floats."""
        tensor = self.graph.tensors.get(name)
        if name not in self.graph.weights or tensor is None or not tensor.is_float:
            return None
        if name not in self.weights:
            self.weights[name] = self.tape.weight(*tensor.shape)
        return self.weights[name]

    # --- rules: (walk, node, first operand) -> result ---

    def _one_pass(self, node: Any, data: Value) -> Value:
        return self._view_as(self.tape.activation(data), node.output[0])

    def _activation(self, node: Any, data: Value) -> Value:
        return self.tape.activation(data, keeps_result=node.op_type in _KEEPING_RESULTS)

    def _view(self, node: Any, data: Value) -> Value:
        return self._view_as(data, node.output[0])

    def _convolution(self, node: Any, data: Value) -> Value:
        """Weights are (out, in / groups, window ...); of a transposed one (in, out / groups, window ...)."""
        weights, out = self._shape(node.input[1]), self._shape(node.output[0])
        groups = int(_attribute(node, "group", 1))
        if groups < 1 or len(weights) < 3 or len(out) < 3 or out[1] % groups or prod(weights) == 0:
            raise InputError(f"{self.graph.subject}: {node.op_type} {node.name[:60]!r} has impossible sizes")
        bias = len(node.input) > 2 and bool(node.input[2])
        positions = self.graph.tensors[node.output[0]].elements.per_sample / out[1]
        strides = _strides(node, len(weights) - 2)
        if node.op_type == "ConvTranspose":
            return transposed_convolution(
                self.tape, data, weights, positions, strides=strides, groups=groups, bias=bias
            )
        channels = (weights[1] * groups, weights[0])
        return convolution(self.tape, data, channels, weights[2:], positions, strides=strides, groups=groups, bias=bias)

    def _product(self, node: Any, data: Value) -> Value:
        """Gemm and MatMul: with a weight a layer, of two activations a batched product."""
        held = [name for name in node.input[:2] if name in self.graph.weights]
        if not held:
            others = [self.values[name] for name in node.input[:2] if name in self.values]
            if len(others) < 2:
                return self._one_pass(node, data)
            inner = self._shape(node.input[0])[-1]
            return matmul(self.tape, others[0], others[1], self.graph.tensors[node.output[0]].elements, inner)
        shape, into = self._shape(held[0]), self._shape(node.input[0])
        inner = into[0] if node.op_type == "Gemm" and _attribute(node, "transA", 0) else into[-1]
        if len(shape) != 2 or inner not in shape or prod(shape) == 0:
            raise InputError(f"{self.graph.subject}: {node.op_type} {node.name[:60]!r} has impossible sizes")
        bias = node.op_type == "Gemm" and len(node.input) > 2 and node.input[2] in self.graph.weights
        return linear(self.tape, data, inner, prod(shape) // inner, bias=bias)

    def _batch_norm(self, node: Any, data: Value) -> Value:
        return batch_norm(self.tape, data, self._shape(node.input[1])[0])

    def _layer_norm(self, node: Any, data: Value) -> Value:
        return layer_norm(self.tape, data, prod(self._shape(node.input[1])), bias=len(node.input) > 2)

    def _softmax(self, node: Any, data: Value) -> Value:
        return softmax(self.tape, data)

    def _binary(self, node: Any, data: Value) -> Value:
        """With another activation, a weight, or a constant of the graph."""
        result = data
        combine: Callable[[Value, Value], Value] = self.tape.mul if node.op_type in _PRODUCTS.split() else self.tape.add
        for name in node.input[1:] if node.input[0] in self.values else node.input[:1]:
            other = self.values.get(name) or self._weight_or_constant(name)
            if other is not None and other.size != LONG:
                result = combine(result, other)
        return result if result is not data else self.tape.scale(data)

    def _weight_or_constant(self, name: str) -> Value | None:
        """A tensor of several numbers is a parameter; a single one is a constant of the formula."""
        tensor = self.graph.tensors.get(name)
        if tensor is None or prod(tensor.shape) <= 1:
            return None
        return self._weight(name)

    def _pool(self, node: Any, data: Value) -> Value:
        return pooled(self.tape, data, self.graph.tensors[node.output[0]].elements)

    def _reduction(self, node: Any, data: Value) -> Value:
        return reduced(self.tape, data, self.graph.tensors[node.output[0]].elements)

    def _concatenation(self, node: Any, data: Value) -> Value:
        return self.tape.cat(*(self.values[name] for name in node.input if name in self.values))

    def _look_up(self, node: Any, data: Value) -> Value:
        table = self._weight(node.input[0])
        if table is None:
            return self._view_as(data, node.output[0])
        shape = self._shape(node.input[0])
        self.tape.embedding_parameters += prod(shape)
        return look_up(self.tape, table, prod(shape[1:]), data)

    def _recurrent(self, node: Any, data: Value) -> Value:
        """X is (steps, batch, inputs); weights W, R and biases are inputs 1 to 3."""
        steps, _, inputs = self._shape(node.input[0])
        directions, _, hidden = self._shape(node.input[2])
        bias = len(node.input) > 3 and bool(node.input[3])
        gates = _RECURRENT_GATES[node.op_type]
        return recurrent(self.tape, data, gates, steps, inputs, hidden, directions=directions, bias=bias)

    def _dropout(self, node: Any, data: Value) -> Value:
        return self.tape.dropout(data, 0.5)


def _strides(node: Any, sides: int) -> tuple[int, ...]:
    given = next((tuple(attribute.ints) for attribute in node.attribute if attribute.name == "strides"), ())
    return given or (1,) * sides


def _attribute(node: Any, name: str, default: int) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)


_Rule = Callable[[_Walk, Any, Value], Value | None]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_ACTIVATIONS.split(), _Walk._activation),
    **dict.fromkeys(_VIEWS.split(), _Walk._view),
    **dict.fromkeys(_SUMS.split(), _Walk._binary),
    **dict.fromkeys(_PRODUCTS.split(), _Walk._binary),
    **dict.fromkeys(_POOLS.split(), _Walk._pool),
    **dict.fromkeys(_REDUCTIONS.split(), _Walk._reduction),
    **dict.fromkeys(_RECURRENT_GATES, _Walk._recurrent),
    **dict.fromkeys(("Conv", "ConvTranspose"), _Walk._convolution),
    **dict.fromkeys(("Gemm", "MatMul"), _Walk._product),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization", "GroupNormalization"), _Walk._batch_norm),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _Walk._layer_norm),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _Walk._softmax),
    "Concat": _Walk._concatenation,
    "Gather": _Walk._look_up,
    "Dropout": _Walk._dropout,
}
