"""ONNX graphs against counts made by hand, and graphs that are broken. Needs the onnx package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

from planner.errors import InputError  # noqa: E402
from planner.workloads.catalog import load_workload  # noqa: E402
from planner.workloads.workload import Workload  # noqa: E402

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def weight(name: str, *shape: int, values: bool = True) -> Any:
    """An initializer; without ``values`` it only declares its size."""
    tensor = TensorProto(name=name, data_type=FLOAT, dims=shape)
    if values:
        count = 1
        for size in shape:
            count *= size
        tensor.float_data.extend([0.0] * count)
    return tensor


def save(
    path: Path, nodes: list[Any], weights: list[Any], shape: list[Any], *, kind: int = FLOAT, out: str = "y"
) -> str:
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(out, FLOAT, None)], weights,
    )  # fmt: skip
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return str(path)


def network(path: Path, batch: Any = "N") -> Workload:
    """3 x 3 convolution (2 groups of 2 to 4), batch norm, ReLU, mean over 8 x 8, and a linear layer to 10."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], group=2, pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "g", "h"], ["y"], transB=1),
    ]
    weights = [weight("w", 8, 2, 3, 3), weight("b", 8), *(weight(name, 8) for name in "stmv"), weight("g", 10, 8)]
    return load_workload(save(path, nodes, [*weights, weight("h", 10)], [batch, 4, 8, 8]))


def flops(workload: Workload, phase: str, op_class: str) -> float:
    return sum(op.flops.per_sample for op in workload.operations if (op.phase, op.op_class) == (phase, op_class))


@pytest.mark.parametrize("batch", ["N", None, 1, 4])
def test_a_small_network_by_hand(tmp_path: Path, batch: Any) -> None:
    net = network(tmp_path / "net.onnx", batch)
    grouped = 2 * 8 * 64 * 2 * 9
    assert net.parameters == 8 * 2 * 9 + 8 + 2 * 8 + 10 * 8 + 10
    assert flops(net, "forward", "gconv") == grouped
    assert flops(net, "backward", "gconv_wg") == grouped
    assert flops(net, "backward", "gconv_dg") == 0  # the input of the network needs no gradient
    assert flops(net, "forward", "mm") == 2 * 8 * 10
    assert flops(net, "backward", "mm") == 2 * 2 * 8 * 10
    assert (net.image_size, net.sample_unit, net.name) == (8, "image", "onnx:net")


@pytest.mark.parametrize(
    ("shape", "attributes", "kernel_size", "stride", "few_channels"),
    [
        ((8, 4, 3, 3), {}, 3, 1, 4),
        ((8, 4, 3, 3), {"strides": [2, 2]}, 3, 2, 4),
        ((8, 4, 1, 7), {}, 1, 1, 4),
        ((4, 1, 3, 3), {"strides": [2, 2], "group": 4}, 3, 2, 0),
    ],
)
def test_the_window_and_the_stride_of_convolutions(
    tmp_path: Path,
    shape: tuple[int, ...],
    attributes: dict[str, Any],
    kernel_size: int,
    stride: int,
    few_channels: int,
) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], **attributes),
        helper.make_node("GlobalAveragePool", ["c"], ["p"]),
        helper.make_node("Flatten", ["p"], ["y"]),
    ]
    net = load_workload(save(tmp_path / "net.onnx", nodes, [weight("w", *shape)], ["N", 4, 16, 16]))
    (row,) = [op for op in net.operations if op.op_class in ("conv", "dw")]
    assert (row.kernel_size, row.stride, row.width) == (kernel_size, stride, few_channels)


def test_attention_by_products_and_a_free_length(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["table", "x"], ["e"]),
        helper.make_node("MatMul", ["e", "q"], ["a"]),
        helper.make_node("Transpose", ["a"], ["k"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["a", "k"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"]),
        helper.make_node("MatMul", ["p", "a"], ["o"]),
        helper.make_node("MatMul", ["o", "out"], ["y"]),
    ]
    weights = [weight("table", 50, 16), weight("q", 16, 16), weight("out", 16, 50)]
    path = save(tmp_path / "net.onnx", nodes, weights, ["N", "T"], kind=INT64)
    with pytest.raises(InputError, match="'T' of 'x' is free: say --seq-length"):
        load_workload(path)
    net = load_workload(path, 12)
    assert net.seq_length == 12
    assert net.parameters == 50 * 16 + 256 + 16 * 50
    assert net.embedding_parameters == 800
    assert flops(net, "forward", "bmm") == 2 * 2 * 12 * 12 * 16
    assert flops(net, "forward", "mm") == 2 * 12 * 16 * 16 + 2 * 12 * 16 * 50


def test_recurrent_layers(tmp_path: Path) -> None:
    """(steps, batch, inputs) with a fixed batch of 1: 10 steps of 32 numbers, 64 units, 4 gates."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node("LSTM", ["t", "W", "R", "B"], ["y"], hidden_size=64),
    ]
    weights = [weight("W", 1, 256, 32), weight("R", 1, 256, 64), weight("B", 1, 512)]
    net = load_workload(save(tmp_path / "net.onnx", nodes, weights, [1, 10, 32]))
    assert net.parameters == 256 * (32 + 64) + 512
    assert flops(net, "forward", "rnn") == 2 * 10 * 256 * 64


def test_an_operator_without_a_rule_is_told(tmp_path: Path) -> None:
    nodes = [helper.make_node("Gemm", ["x", "g"], ["a"]), helper.make_node("Hardmax", ["a"], ["y"])]
    net = load_workload(save(tmp_path / "net.onnx", nodes, [weight("g", 8, 10)], ["N", 8]))
    assert any("1 x Hardmax" in note for note in net.notes)


class TestBroken:
    def refused(self, path: Path | str, sentence: str) -> None:
        with pytest.raises(InputError) as caught:
            load_workload(str(path))
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_cycle(self, tmp_path: Path) -> None:
        nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
                 helper.make_node("Relu", ["a"], ["y"])]  # fmt: skip
        self.refused(save(tmp_path / "net.onnx", nodes, [], ["N", 4]), "is cyclic or out of order")

    def test_a_tensor_from_nowhere(self, tmp_path: Path) -> None:
        self.refused(
            save(tmp_path / "net.onnx", [helper.make_node("Relu", ["z"], ["y"])], [], ["N", 4]), "lacks a tensor"
        )

    def test_bytes_that_are_no_graph(self, tmp_path: Path) -> None:
        (tmp_path / "net.onnx").write_bytes(b"\x08\x96\x01 not a model")
        self.refused(tmp_path / "net.onnx", "not ONNX that can be read")

    def test_nothing_in_it(self, tmp_path: Path) -> None:
        (tmp_path / "net.onnx").write_bytes(b"")
        self.refused(tmp_path / "net.onnx", "no nodes or no outputs")

    def test_half_a_file(self, tmp_path: Path) -> None:
        network(tmp_path / "net.onnx")
        whole = (tmp_path / "net.onnx").read_bytes()
        for length in range(0, len(whole) - 1, 37):
            (tmp_path / "net.onnx").write_bytes(whole[:length])
            with pytest.raises(InputError):
                load_workload(str(tmp_path / "net.onnx"))

    def test_a_weight_that_declares_five_gigabytes(self, tmp_path: Path) -> None:
        """It has no data: what is declared is counted, nothing is allocated."""
        nodes = [helper.make_node("MatMul", ["x", "g"], ["y"])]
        path = save(tmp_path / "net.onnx", nodes, [weight("g", 8, 160_000_000, values=False)], ["N", 8])
        assert load_workload(path).parameters == 1_280_000_000
        path = save(tmp_path / "net.onnx", nodes, [weight("g", 8, 1 << 60, values=False)], ["N", 8])
        self.refused(path, "declares")

    def test_a_file_of_five_gigabytes(self, tmp_path: Path) -> None:
        with (tmp_path / "net.onnx").open("wb") as file:
            file.truncate(5 << 30)
        self.refused(tmp_path / "net.onnx", "more than 2,147,483,647 are not read")

    def test_sizes_that_contradict(self, tmp_path: Path) -> None:
        nodes = [helper.make_node("Gemm", ["x", "g"], ["y"])]
        self.refused(save(tmp_path / "net.onnx", nodes, [weight("g", 7, 10)], ["N", 8]), "net.onnx")

    def test_groups_that_do_not_divide(self, tmp_path: Path) -> None:
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"], group=0)]
        self.refused(save(tmp_path / "net.onnx", nodes, [weight("w", 8, 2, 3, 3)], ["N", 4, 8, 8]), "net.onnx")

    def test_no_weights(self, tmp_path: Path) -> None:
        self.refused(save(tmp_path / "net.onnx", [helper.make_node("Relu", ["x"], ["y"])], [], ["N", 4]), "net.onnx")


def test_the_other_layers_of_convolutional_networks(tmp_path: Path) -> None:
    """Up 2 x 2, a skip, pooling, a learned scale, layer norm, dropout and a mean: parameters and FLOPs by hand."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("ConvTranspose", ["half", "u"], ["up"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Concat", ["up", "x"], ["both"], axis=1),
        helper.make_node("Mul", ["both", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "one"], ["shifted"]),
        helper.make_node("ReduceMean", ["shifted"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("LayerNormalization", ["mean", "g", "b"], ["normed"]),
        helper.make_node("Dropout", ["normed"], ["dropped"]),
        helper.make_node("Gemm", ["dropped", "last"], ["y"], transB=1),
    ]
    weights = [weight("u", 4, 6, 2, 2), weight("scale", 10, 1, 1), weight("one"), weight("g", 10), weight("b", 10),
               weight("last", 5, 10)]  # fmt: skip
    net = load_workload(save(tmp_path / "net.onnx", nodes, weights, ["N", 4, 8, 8]))
    assert net.parameters == 4 * 6 * 4 + 10 + 20 + 50
    up = 2 * (4 * 16) * 6 * 4  # every one of 4 x 4 x 4 inputs meets the whole window
    assert flops(net, "forward", "conv") == flops(net, "backward", "conv_wg") == up
    assert flops(net, "backward", "conv_dg") == 0
    classes = {op.op_class for op in net.operations}
    assert {"pool", "copy", "red", "ln", "mm"} <= classes


def test_a_product_of_two_activations_and_a_regression(tmp_path: Path) -> None:
    """An output that is no score a class is compared with a target of its shape."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Sigmoid", ["a"], ["s"]),
        helper.make_node("Sub", ["s", "x"], ["y"]),
    ]
    net = load_workload(save(tmp_path / "net.onnx", nodes, [weight("w", 4, 4, 1, 1)], ["N", 4, 8, 8]))
    assert flops(net, "forward", "conv1") == 2 * 4 * 4 * 64
    assert "softmax" not in {op.op_class for op in net.operations}


def test_a_shape_that_no_one_knows_is_named(tmp_path: Path) -> None:
    """As exports have it that compute shapes as they run."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["where"]),
        helper.make_node("Gemm", ["x", "g"], ["a"]),
        helper.make_node("Reshape", ["a", "where"], ["r"]),
        helper.make_node("Relu", ["r"], ["y"]),
    ]
    with pytest.raises(InputError, match="is not known; export it with sizes that are fixed"):
        load_workload(save(tmp_path / "net.onnx", nodes, [weight("g", 8, 10)], ["N", 8]))
