"""A cuDNN-style recurrent layer on a :class:`Tape`, counted as ``torch_trace`` counts it."""

from __future__ import annotations

from planner.workloads.formulas.tape import Tape, Value, total
from planner.workloads.workload import Linear


def recurrent(
    tape: Tape, a: Value, gates: int, steps: int, inputs: int, hidden: int, *, directions: int = 1, bias: bool = True
) -> Value:
    """``steps`` of ``gates`` x ``hidden`` units: one product over all inputs, one small product a step."""
    gate_width = gates * hidden
    data = tape.half(a)
    weights = [tape.half(tape.weight(gate_width, width)) for _ in range(directions) for width in (inputs, hidden)]
    for _ in range(2 * directions if bias else 0):
        tape.half(tape.weight(gate_width))
    cells, size = Linear(0.0, float(directions * steps)), data.size
    count = cells.scaled(hidden)
    products = cells.scaled(2.0 * gate_width * inputs)
    product_bytes = total(cells.scaled(inputs + gate_width), Linear(float(directions * gate_width * inputs), 0.0))
    step_flops = cells.scaled(2.0 * gate_width * hidden)
    reread = Linear(float(steps * directions * gate_width * hidden), 0.0)
    step_bytes = total(reread, cells.scaled(2 * gate_width + 4 * hidden))
    reserve = cells.scaled((gates + 2) * hidden * size)

    def rows(passes: int) -> None:
        tape.row("mm", size, product_bytes.scaled(passes * size), products.scaled(passes), kernels=passes)
        kernels = 2 * steps * directions
        tape.row("rnn", size, step_bytes.scaled(passes * size), step_flops.scaled(passes), kernels=kernels)

    def backward() -> None:
        rows(2)
        for value in (data, *weights):
            tape.give(value, size)

    rows(1)
    tape.keep(data)
    tape.keep_bytes(reserve.per_sample)
    result = tape.made(count, size, [data, *weights], backward)
    tape.keep(result)
    return result
