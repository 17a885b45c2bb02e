# mypy: disable-error-code="misc"
"""The tracer against hand counts. Needs torch, which users of the planner do not: skipped where it is missing."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402, N812
from torch import nn  # noqa: E402

from planner.workloads.compaction import StepPair, compacted, operations_of  # noqa: E402
from planner.workloads.torch_trace import StepTrace, trace_model, trace_step  # noqa: E402


def _images(channels: int, size: int) -> Any:
    return lambda batch: (torch.empty(batch, channels, size, size, device="meta"),)


def _sum_loss(model: Any, inputs: tuple[Any, ...]) -> Any:
    return model(*inputs).float().sum()


def _step(model: Any, inputs: tuple[Any, ...], *, autocast: bool = False) -> StepTrace:
    return trace_step(model, inputs, _sum_loss, autocast=autocast)


def _flops(step: StepTrace, op_class: str) -> float:
    return sum(row.flops for row in step.rows if row.op_class == op_class)


def _count(step: StepTrace, op_class: str, phase: str | None = None) -> int:
    return sum(row.op_class == op_class and phase in (None, row.phase) for row in step.rows)


@pytest.mark.parametrize(
    ("groups", "kernel", "op_class"), [(1, 3, "conv"), (1, 1, "conv1"), (8, 3, "gconv"), (32, 3, "dw")]
)
def test_convolutions_and_their_gradients(groups: int, kernel: int, op_class: str) -> None:
    layers = nn.Sequential(
        nn.Conv2d(32, 32, 1, device="meta"),
        nn.Conv2d(32, 32, kernel, padding=kernel // 2, groups=groups, bias=False, device="meta"),
    )
    step = _step(layers, (torch.empty(2, 32, 8, 8, device="meta"),))
    flops = 2.0 * 2 * 32 * 8 * 8 * (32 // groups) * kernel**2
    once = 1 + (op_class == "conv1")  # the first layer is a 1 x 1 too, but its input needs no gradient
    assert _flops(step, op_class) == flops * once
    assert _flops(step, op_class + "_dg") == flops
    assert _flops(step, op_class + "_wg") == flops * once


def test_the_shape_key_of_grouped_convolutions() -> None:
    step = _step(nn.Conv2d(64, 128, 3, groups=4, device="meta"), _images(64, 8)(2))
    (row,) = [row for row in step.rows if row.op_class == "gconv"]
    assert row.groups == 4
    assert row.width == pytest.approx((16 * 32) ** 0.5)


@pytest.mark.parametrize(
    ("layer", "op_class", "kernel_size", "stride"),
    [
        (lambda: nn.Conv2d(8, 8, 3, device="meta"), "conv", 3, 1),
        (lambda: nn.Conv2d(8, 8, (1, 7), device="meta"), "conv", 1, 1),
        (lambda: nn.Conv2d(8, 8, 5, stride=2, device="meta"), "conv", 5, 2),
        (lambda: nn.Conv2d(8, 8, 3, stride=2, groups=8, device="meta"), "dw", 3, 2),
        (lambda: nn.Conv2d(8, 8, 1, stride=2, device="meta"), "conv1", 0, 1),
    ],
)
def test_the_window_and_the_stride_of_convolutions(layer: Any, op_class: str, kernel_size: int, stride: int) -> None:
    step = _step(layer(), _images(8, 16)(2))
    rows = [row for row in step.rows if row.op_class in (op_class, f"{op_class}_wg")]
    assert [(row.kernel_size, row.stride) for row in rows] == [(kernel_size, stride)] * 2


@pytest.mark.parametrize(
    ("layer", "few"),
    [
        (lambda: nn.Conv2d(3, 64, 7, device="meta"), 3),
        (lambda: nn.ConvTranspose2d(3, 64, 2, stride=2, device="meta"), 3),
        (lambda: nn.Conv2d(3, 1, 1, device="meta"), 1),
    ],
)
def test_few_channels_of_convolutions(layer: Any, few: int) -> None:
    step = _step(layer(), _images(3, 16)(2))
    assert [row.width for row in step.rows if row.op_class.startswith("conv")] == [few, few]


def test_transposed_convolution_counts_its_input() -> None:
    step = _step(nn.ConvTranspose2d(16, 8, 2, stride=2, device="meta"), _images(16, 8)(2))
    assert _flops(step, "conv") == 2.0 * 2 * 16 * 64 * 8 * 4


def test_linear_layers() -> None:
    step = _step(nn.Linear(64, 32, device="meta"), (torch.empty(4, 10, 64, device="meta"),))
    assert _flops(step, "mm") == 2 * 2.0 * 40 * 64 * 32  # forward, and the weight's gradient


def test_autocast_casts_weights_once_and_keeps_losses_in_fp32() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shared = nn.Linear(8, 8, bias=False, device="meta")
            self.norm = nn.LayerNorm(8, device="meta")

        def forward(self, data: Any) -> Any:
            return self.norm(self.shared(self.shared(data)))

    step = _step(Twice(), (torch.empty(4, 8, device="meta"),), autocast=True)
    products = [row for row in step.rows if row.op_class == "mm"]
    assert {row.element_bytes for row in products} == {2}
    assert _count(step, "cast", "forward") == 3  # the weight, the input, and the half output before layer norm
    assert [row.element_bytes for row in step.rows if row.op_class == "ln"] == [4, 4]


def test_without_autocast_nothing_is_cast() -> None:
    assert _count(_step(nn.Linear(8, 8, device="meta"), (torch.empty(4, 8, device="meta"),)), "cast") == 0


def test_autocast_switched_off_inside_a_model_is_honoured() -> None:
    class Exact(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8, device="meta")

        def forward(self, data: Any) -> Any:
            with torch.autocast("cuda", enabled=False):
                return self.layer(data)

    step = _step(Exact(), (torch.empty(4, 8, device="meta"),), autocast=True)
    assert {row.element_bytes for row in step.rows if row.op_class == "mm"} == {4}


def test_fused_attention_is_one_row_of_two_products() -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(64, 192, device="meta")

        def forward(self, data: Any) -> Any:
            q, k, v = self.qkv(data).view(2, 16, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
            return F.scaled_dot_product_attention(q, k, v)

    step = _step(Attention(), (torch.empty(2, 16, 64, device="meta"),))
    assert _flops(step, "sdpa") == 4.0 * 2 * 4 * 16 * 16 * 16
    assert _flops(step, "sdpa_bw") == 2.5 * _flops(step, "sdpa")
    assert not _count(step, "bmm")
    assert not _count(step, "softmax")


def test_multi_head_attention_is_seen_through() -> None:
    attention = nn.MultiheadAttention(64, 4, batch_first=True, device="meta")

    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = attention

        def forward(self, data: Any) -> Any:
            return self.attention(data, data, data, need_weights=False)[0]

    assert _count(_step(Wrapped(), (torch.empty(2, 16, 64, device="meta"),)), "sdpa") == 1


@pytest.mark.parametrize("bidirectional", [False, True])
def test_lstm_products(bidirectional: bool) -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(32, 64, bidirectional=bidirectional, batch_first=True, device="meta")

        def forward(self, data: Any) -> Any:
            output, _ = self.lstm(data)
            assert output.shape == (3, 10, 64 * (2 if bidirectional else 1))
            return output

    step = _step(Last(), (torch.empty(3, 10, 32, device="meta"),))
    cells = 3 * 10 * (2 if bidirectional else 1)
    assert _flops(step, "rnn") == 3 * 2.0 * cells * 4 * 64 * 64
    assert _flops(step, "mm") == 3 * 2.0 * cells * 4 * 64 * 32


def test_an_lstm_cell_is_two_products_and_one_kernel_a_frame() -> None:
    """10 frames of 3 x 32 through 64 units: the gates are 256 wide; each product has two gradients, but for the first
    hidden state, and every frame's weight gradients are summed."""

    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(32, 64, device="meta")

        def forward(self, data: Any) -> Any:
            state = data.new_zeros(3, 64), data.new_zeros(3, 64)
            for frame in data.unbind(1):
                state = self.cell(frame, state)
            return state[0]

    step = _step(Loop(), (torch.empty(3, 10, 32, device="meta"),))
    of_data, of_state = 2.0 * 3 * 256 * 32, 2.0 * 3 * 256 * 64
    assert _flops(step, "mm") == 10 * 2 * of_data + (10 * 3 - 1) * of_state
    assert _count(step, "mm", "forward") == 2 * 10
    assert _count(step, "ew", "forward") == 10
    assert _count(step, "red", "backward") >= 10


def test_embeddings_read_rows_not_the_table() -> None:
    class Look(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(1_000_000, 16, device="meta")

        def forward(self, tokens: Any) -> Any:
            return self.table(tokens)

    step = _step(Look(), (torch.empty(4, 8, dtype=torch.long, device="meta"),))
    (forward,) = [row for row in step.rows if row.op_class == "gather" and row.phase == "forward"]
    assert forward.bytes == 2 * 32 * 16 * 4 + 32 * 8


def test_views_move_nothing_and_broadcasts_are_read_once() -> None:
    class Views(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.empty(1, 64, device="meta"))

        def forward(self, data: Any) -> Any:
            return data.transpose(0, 1).reshape(1, 64, 32)[0].t() * self.weight.expand(32, 64)

    forward = [row for row in _step(Views(), (torch.empty(64, 32, device="meta").t(),)).rows if row.phase == "forward"]
    product = next(row for row in forward if row.op_class == "ew")
    assert product.bytes == 4 * (64 * 32 * 2 + 64)


def test_live_bytes_of_a_chain_are_its_saved_activations() -> None:
    """Three ReLUs of 1 MiB each keep their outputs; the sum's scalar is rounded to the allocator's 512 bytes."""
    model = nn.Sequential(nn.ReLU(), nn.ReLU(), nn.ReLU())
    data = torch.empty(1, 256 * 1024, device="meta", requires_grad=True)
    step = _step(model, (data,))
    mebibyte = 1 << 20
    assert step.saved_bytes == 4 * mebibyte + 512
    assert step.peak_live_bytes >= step.saved_bytes


def test_half_models_count_their_weights_as_live() -> None:
    model = nn.Linear(1024, 1024, bias=False, device="meta")
    inputs = lambda batch: (torch.empty(batch, 1024, device="meta", dtype=model.weight.dtype),)  # noqa: E731
    trace = trace_model(model, inputs, _sum_loss, (4, 8), pure_half=True)
    assert trace.amp[0].saved_bytes >= 2 * 1024 * 1024
    assert trace.fp32[0].saved_bytes < 1024 * 1024


def test_compaction_keeps_the_sums_of_a_real_network() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, groups=4), nn.Flatten(),
        nn.Linear(16 * 14 * 14, 10),
    ).to("meta")  # fmt: skip
    trace = trace_model(model, _images(3, 16), _sum_loss, (4, 8))
    operations = operations_of(StepPair((4, 8), *trace.amp))
    merged = compacted(operations)
    assert len(merged) < len(operations)
    for batch in (4, 8, 64):
        assert sum(op.bytes.at(batch) for op in merged) == pytest.approx(sum(op.bytes.at(batch) for op in operations))
        assert sum(op.flops.at(batch) for op in merged) == pytest.approx(sum(op.flops.at(batch) for op in operations))
    assert sum(row.bytes for row in trace.amp[1].rows) == pytest.approx(sum(op.bytes.at(8) for op in merged))
    assert trace.parameters == sum(parameter.numel() for parameter in model.parameters())


def test_work_that_depends_on_data_is_named() -> None:
    class Branch(nn.Module):
        def forward(self, data: Any) -> Any:
            return data * 2 if data.sum() > 0 else data

    with pytest.raises(RuntimeError, match="meta"):
        _step(Branch(), (torch.empty(2, 2, device="meta", requires_grad=True),))


def test_torch_is_left_as_it_was() -> None:
    before = F.has_torch_function, torch.is_autocast_enabled()
    with pytest.raises(RuntimeError):
        _step(nn.Linear(3, 3, device="meta"), (torch.empty(2, 4, device="meta"),), autocast=True)
    assert (F.has_torch_function, torch.is_autocast_enabled()) == before
