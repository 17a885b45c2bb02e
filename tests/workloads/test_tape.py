"""The tape against counts made by hand: elements, bytes, FLOPs and what is kept, under autocast and in fp32."""

from __future__ import annotations

import pytest

from planner.workloads.formulas.layers import (
    attention,
    convolution,
    cross_entropy,
    embedding,
    layer_norm,
    linear,
    rms_norm,
)
from planner.workloads.formulas.moving import batch_norm, transposed_convolution
from planner.workloads.formulas.recurrent import recurrent
from planner.workloads.formulas.tape import LONG, Tape, Value
from planner.workloads.workload import Linear, Phase


def flops(tape: Tape, phase: Phase, op_class: str | None = None) -> Linear:
    rows = [op.flops for op in tape.operations if op.phase == phase and op_class in (None, op.op_class)]
    return Linear(sum(row.fixed for row in rows), sum(row.per_sample for row in rows))


def rows(tape: Tape, op_class: str, phase: Phase) -> list[Linear]:
    return [op.bytes for op in tape.operations if op.op_class == op_class and op.phase == phase]


def activation(tape: Tape, elements: float) -> Value:
    """Something that needs a gradient, as a layer before would have left it."""
    return tape.expanded(tape.weight(round(elements)))


def test_a_linear_layer_under_autocast() -> None:
    """10 tokens of 64 to 32: 2 x 10 x 64 x 32 FLOPs, the same again for each gradient."""
    tape = Tape(amp=True)
    tape.finish(linear(tape, activation(tape, 640), 64, 32))
    assert tape.parameters == 640 + 64 * 32 + 32
    assert flops(tape, "forward") == Linear(0.0, 2 * 10 * 64 * 32)
    assert flops(tape, "backward") == Linear(0.0, 2 * 2 * 10 * 64 * 32)
    # fp32 to half: 6 bytes an element, the activation once a sample, weight and bias once a step
    assert rows(tape, "cast", "forward") == [
        Linear(0.0, 6 * 640), Linear(6 * 2048, 0.0), Linear(6 * 32, 0.0)
    ]  # fmt: skip
    assert rows(tape, "mm", "forward") == [Linear(2 * 2048 + 2 * 32, 2 * 640 + 2 * 320)]
    assert tape.saved == Linear(2 * 2048 + 2 * 32, 2 * 640)


def test_without_autocast_nothing_is_cast() -> None:
    tape = Tape(amp=False)
    tape.finish(linear(tape, activation(tape, 640), 64, 32))
    assert not rows(tape, "cast", "forward")
    assert {op.element_bytes for op in tape.operations} == {4}
    assert tape.saved == Linear(0.0, 4 * 640)


def test_an_input_of_the_network_needs_no_gradient() -> None:
    tape = Tape(amp=True)
    tape.finish(linear(tape, tape.given(64), 64, 32, bias=False))
    assert flops(tape, "backward") == flops(tape, "forward")


@pytest.mark.parametrize(("groups", "op_class"), [(1, "conv"), (8, "gconv"), (32, "dw")])
def test_the_gradients_of_grouped_and_depthwise_convolutions(groups: int, op_class: str) -> None:
    """3 x 3 on 8 x 8 positions, 32 channels to 32: each gradient costs what the forward pass does, groups counted."""
    tape = Tape(amp=True)
    data = activation(tape, 32 * 64)
    tape.finish(convolution(tape, data, (32, 32), (3, 3), 64, groups=groups, bias=False))
    once = 2.0 * 32 * 64 * (32 // groups) * 9
    assert tape.parameters == 32 * 64 + 32 * (32 // groups) * 9
    assert flops(tape, "forward", op_class).per_sample == once
    assert flops(tape, "backward", op_class + "_dg").per_sample == once
    assert flops(tape, "backward", op_class + "_wg").per_sample == once


def test_a_transposed_convolution_counts_its_input() -> None:
    tape = Tape(amp=True)
    data = activation(tape, 16 * 64)
    tape.finish(transposed_convolution(tape, data, (16, 8, 2, 2), 256, strides=(2, 2), groups=1, bias=True))
    assert flops(tape, "forward").per_sample == 2 * 16 * 64 * 8 * 4
    assert tape.parameters == 16 * 64 + 16 * 8 * 4 + 8


def test_fused_attention_is_two_products_and_five_back() -> None:
    """4 heads of 16 over 10 positions; the scores are never stored."""
    tape = Tape(amp=True)
    q, k, v = (activation(tape, 640) for _ in range(3))
    tape.finish(attention(tape, q, k, v, head_width=16, keys=10))
    assert flops(tape, "forward").per_sample == 2 * 2 * 4 * 10 * 10 * 16
    assert flops(tape, "backward").per_sample == 5 * 2 * 4 * 10 * 10 * 16
    # queries, keys, values and result in half, and 40 fp32 sums
    assert tape.saved.per_sample == 4 * 2 * 640 + 4 * 40


def test_a_residual_gradient_is_added() -> None:
    """x + f(x): two gradients of x meet, one pass of three fp32 tensors."""
    tape = Tape(amp=False)
    data = activation(tape, 100)
    tape.finish(tape.add(tape.activation(data), data))
    # the activation's own backward, then the sum
    assert rows(tape, "ew", "backward") == [Linear(0.0, 3 * 400), Linear(0.0, 3 * 400)]


def test_norms_keep_their_input() -> None:
    """Layer norm keeps its input, mean and deviation; RMS norm its input, the root and the normed values."""
    tape = Tape(amp=True)
    tape.finish(layer_norm(tape, activation(tape, 640), 64))
    assert tape.saved.per_sample == 4 * 640 + 2 * 4 * 10
    tape = Tape(amp=True)
    tape.finish(rms_norm(tape, activation(tape, 640), 64))
    assert tape.saved.per_sample == 2 * 4 * 640 + 4 * 10


def test_batch_norm_reads_and_writes_once() -> None:
    tape = Tape(amp=False)
    tape.finish(batch_norm(tape, activation(tape, 640), 10))
    assert rows(tape, "bn", "forward")[0].per_sample == 2 * 4 * 640
    assert rows(tape, "bn", "backward")[0].per_sample == 3 * 4 * 640


def test_embeddings_read_rows_and_fill_their_table_with_gradients() -> None:
    tape = Tape(amp=True)
    looked_up, table = embedding(tape, 1000, 16, tape.given(8, LONG))
    tape.finish(looked_up)
    assert rows(tape, "gather", "forward") == [Linear(0.0, 2 * 4 * 8 * 16 + 8 * 8)]
    assert rows(tape, "gather", "backward") == [Linear(4 * 1000 * 16, 4 * 8 * 16 + 8 * 8)]
    assert tape.embedding_parameters == table.count.fixed == 16_000


def test_an_lstm_rereads_its_recurrent_weights_every_step() -> None:
    """One direction, 32 to 64 units, 10 steps: 4 gates; backward twice the FLOPs."""
    tape = Tape(amp=True)
    tape.finish(recurrent(tape, activation(tape, 320), 4, 10, 32, 64))
    assert flops(tape, "forward", "mm").per_sample == 2 * 10 * 4 * 64 * 32
    assert flops(tape, "forward", "rnn").per_sample == 2 * 10 * 4 * 64 * 64
    assert flops(tape, "backward").per_sample == 2 * flops(tape, "forward").per_sample
    assert tape.parameters == 320 + 4 * 64 * (32 + 64) + 2 * 4 * 64


def test_layers_repeated_are_counted_as_often() -> None:
    once, thrice = Tape(amp=True), Tape(amp=True)
    for tape, times in ((once, 1), (thrice, 3)):
        data = activation(tape, 64)
        with tape.repeated(times):
            data = linear(tape, data, 64, 64)
        tape.finish(cross_entropy(tape, data, 64))
    assert thrice.parameters - once.parameters == 2 * (64 * 64 + 64)
    assert flops(thrice, "forward", "mm").per_sample == 3 * flops(once, "forward", "mm").per_sample
    assert flops(thrice, "backward", "mm").per_sample == 3 * flops(once, "backward", "mm").per_sample
    assert thrice.memory().live_bytes.per_sample > thrice.saved.per_sample
