"""``gpuplanner explain``: what the time on one machine is made of, and what would change it."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from typing import Any

from planner.cli.money import Currency, currency_of
from planner.cli.opened_world import opened_world
from planner.cli.options import add_choice_arguments, add_plan_arguments, experiment_request, question
from planner.cli.plan_json import SCHEMA_VERSION, experiment_record
from planner.cli.table import Column, markdown, render, styled, terminal_width, use_color, wrapped
from planner.errors import InputError, NothingFitsError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import describe, resolve_experiment
from planner.plan.explain import Explanation, explain
from planner.plan.operation_kinds import by_kind
from planner.plan.pick import Choice, pick
from planner.plan.plan import Estimate
from planner.plan.planning import answer
from planner.plan.rows import ranked_estimate
from planner.plan.sentence import machine_words
from planner.units import GIB, UNKNOWN, Interval, format_bytes, format_rate

_PART_COLUMNS = (Column("part"), Column("ms", "right"), Column("share", "right"))
_CLASS_COLUMNS = (
    Column("operations"),
    Column("GFLOP", "right"),
    Column("GB", "right"),
    Column("ms", "right"),
    Column("binds"),
)
_BESIDE_COLUMNS = (
    Column("part"),
    Column("CPU ms", "right"),
    Column("here ms", "right"),
    Column("speed-up", "right"),
    Column("why", width=200, least=24),
)
_LEVER_COLUMNS = (
    Column("lever", width=34, least=16),
    Column("time", "right"),
    Column("cost", "right"),
    Column("memory", "right"),
    Column("note", width=200, least=24),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser)
    add_choice_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.output == "csv":
        raise InputError("explain has several tables, which CSV has not; say -o json")
    now = datetime.now().astimezone()
    currency = currency_of(arguments.currency, arguments.output)
    experiment = resolve_experiment(experiment_request(arguments))
    world = opened_world(arguments)
    ranked = answer(experiment, question(arguments, now), world, now)
    by_machine = arguments.group == "machine"
    choice = pick(ranked, world.providers(), arguments.on, arguments.row, by_machine=by_machine)
    machine = choice.candidate.machine
    explanation = explain(experiment, machine, world.local.machine, ranked.competition.knowledge)
    row = _estimate(choice, now)
    if arguments.output == "json":
        json.dump(_record(experiment, choice, explanation, row), sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    else:
        costs = [] if row is None else [_cost_line(row, currency), *currency.rate(now)]
        sys.stdout.write("\n".join(_lines(experiment, choice, explanation, costs, arguments.output)) + "\n")
    return 0 if explanation.step.fits else NothingFitsError.exit_code


def _estimate(choice: Choice, now: datetime) -> Estimate | None:
    """The row as the plan writes it out; None for a machine that has none."""
    if choice.row is None or choice.rank is None:
        return None
    return ranked_estimate(choice.row, choice.rank, on_front=False, now=now)


def _record(experiment: Experiment, choice: Choice, explanation: Explanation, row: Estimate | None) -> dict[str, Any]:
    step = explanation.step
    parts = step.parts
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment_record(experiment),
        "machine": _machine_record(choice),
        "fits": step.fits,
        "reason": step.reason or None,
        "step": None if parts is None else {**parts._asdict(), "total_s": parts.total_s},
        "bound_by": step.bound_by,
        "samples_per_s": step.samples_per_s._asdict() if step.samples_per_s else None,
        "cost_usd": row.cost_usd._asdict() if row and row.cost_usd else None,
        "usd_per_hour": row.usd_per_hour if row else None,
        "mfu": step.mfu,
        "memory_gib": {
            "required": None if step.memory_required_bytes is None else step.memory_required_bytes / GIB,
            "available": None if step.memory_available_bytes is None else step.memory_available_bytes / GIB,
        },
        "by_operation": [
            {"class": row.op_class, **{key: getattr(row, key) for key in ("flops", "bytes", "seconds", "bound_by")}}
            for row in explanation.by_operation
        ],
        "cpu_vs_gpu": [row._asdict() for row in explanation.cpu_vs_gpu],
        "crossover_batch": explanation.crossover_batch,
        "sensitivity": [row._asdict() for row in explanation.sensitivity],
        "levers": [
            {
                "name": lever.name,
                "time_factor": lever.time_factor,
                "cost_factor": lever.time_factor,  # the same machine at the same hourly price
                "memory_factor": lever.memory_factor,
                "note": lever.note,
            }
            for lever in explanation.levers
        ],
        "stages": [stage._asdict() for stage in explanation.stages],
    }


def _machine_record(choice: Choice) -> dict[str, Any]:
    candidate, machine = choice.candidate, choice.candidate.machine
    return {
        "name": candidate.name,
        "place": candidate.place,
        "provider": candidate.provider,
        "instance_type": candidate.instance_type,
        "region": choice.row.offer.region if choice.row and choice.row.offer else None,
        "purchase": choice.row.offer.purchase if choice.row and choice.row.offer else None,
        "accelerator": machine.accelerator.key,
        "num_gpus": machine.num_gpus,
        "num_nodes": machine.num_nodes,
        "vcpus": machine.vcpus,
        "hypothetical": candidate.hypothetical,
    }


def _lines(
    experiment: Experiment, choice: Choice, explanation: Explanation, costs: list[str], output: str
) -> list[str]:
    color = use_color() and output == "table"
    width = 10_000 if output == "markdown" else terminal_width()
    lines = [styled(line, "bold", color) for line in wrapped(describe(experiment), width)]
    lines += [line for text in (*_machine_lines(choice, explanation), *costs) for line in wrapped(text, width)]
    if choice.candidate.blocked:
        blocked = f"Not ranked: {choice.candidate.blocked}"
        lines += [styled(line, "warn", color) for line in wrapped(blocked, width)]
    for title, columns, cells in _tables(explanation):
        if cells:
            table = markdown(columns, cells) if output == "markdown" else render(columns, cells, color=color)
            lines += ["", styled(title, "bold", color), *table]
    return lines


def _cost_line(row: Estimate, currency: Currency) -> str:
    """What the run costs there, at what an hour, and of which day the price is."""
    hourly = f"{currency.show(row.usd_per_hour)} an hour"
    cost = row.cost_usd
    text = hourly if cost is None else f"{currency.show(cost.p50)} a run ({_range(cost, currency)}) at {hourly}"
    if "cost_incomplete" in row.flags:
        text += ", and what nobody knows the price of"
    return text + (f"; price seen {row.price_as_of}" if row.price_as_of else "")


def _range(cost: Interval, currency: Currency) -> str:
    return f"{currency.show(cost.p10)}–{currency.show(cost.p90)}"


def _machine_lines(choice: Choice, explanation: Explanation) -> list[str]:
    step = explanation.step
    machine = choice.candidate.machine
    needs = f"needs {format_bytes(step.memory_required_bytes)} of {format_bytes(step.memory_available_bytes)} a device"
    name = f"{choice.candidate.name}: {machine_words(choice.candidate)}"
    if step.parts is None or step.samples_per_s is None:
        return [name, f"does not fit: {step.reason or needs}"]
    p10, p50, p90 = (format_rate(rate) for rate in step.samples_per_s)
    copies = step.global_batch_size // (step.batch_size_per_gpu * step.grad_accum_steps)
    over = (
        f"{machine.devices} devices" if copies == machine.devices else f"{copies} x {machine.devices // copies} devices"
    )
    batch = f"{step.batch_size_per_gpu:,} a device x {step.grad_accum_steps} passes x {over}"
    mfu = UNKNOWN if step.mfu is None else f"{step.mfu:.0%}"
    lines = [
        name,
        f"{p50} samples/s ({p10}–{p90}), bound by {step.bound_by}, {step.global_batch_size:,} a step ({batch})",
        f"{needs}; MFU {mfu}; evidence: {step.evidence.replace('_', ' ')}",
    ]
    lines += step.notes
    if explanation.crossover_batch is not None:
        lines.append(f"one device overtakes the machine's CPU from batch {explanation.crossover_batch} on")
    return lines


def _tables(explanation: Explanation) -> list[tuple[str, tuple[Column, ...], list[list[str]]]]:
    """(title, columns, cells) of each table, empty ones included."""
    return [
        ("One step", _PART_COLUMNS, _part_cells(explanation)),
        ("By operation class, forward and backward on one device", _CLASS_COLUMNS, _class_cells(explanation)),
        ("The same step on the CPU", _BESIDE_COLUMNS, _beside_cells(explanation)),
        (
            "If a specification were 10 % higher",
            (Column("specification"), Column("time", "right")),
            [[row.spec, f"{row.time_change:+.1%}"] for row in explanation.sensitivity],
        ),
        ("Levers", _LEVER_COLUMNS, _lever_cells(explanation)),
        (
            "Around training",
            (Column("stage"), Column("amount", "right"), Column("unit"), Column("note", width=200, least=24)),
            [[stage.name, format_rate(stage.value), stage.unit, stage.note] for stage in explanation.stages],
        ),
    ]


def _part_cells(explanation: Explanation) -> list[list[str]]:
    parts = explanation.step.parts
    if parts is None:
        return []
    named = {name.removesuffix("_s"): seconds for name, seconds in parts._asdict().items()}
    cells = [[name, _ms(seconds), f"{seconds / parts.total_s:.0%}"] for name, seconds in named.items()]
    return [*cells, ["total", _ms(parts.total_s), "100%"]]


def _class_cells(explanation: Explanation) -> list[list[str]]:
    return [
        [row.op_class, f"{row.flops / 1e9:,.1f}", f"{row.bytes / 1e9:,.2f}", _ms(row.seconds), row.bound_by]
        for row in by_kind(explanation.by_operation)
    ]


def _beside_cells(explanation: Explanation) -> list[list[str]]:
    return [
        [row.part, _ms(row.cpu_s), _ms(row.gpu_s), f"{row.speedup:,.1f}x" if row.speedup else UNKNOWN, row.why]
        for row in explanation.cpu_vs_gpu
    ]


def _lever_cells(explanation: Explanation) -> list[list[str]]:
    return [
        [lever.name, _factor(lever.time_factor), _factor(lever.time_factor), _factor(lever.memory_factor), lever.note]
        for lever in explanation.levers
    ]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.1f}"


def _factor(value: float | None) -> str:
    return UNKNOWN if value is None else f"x{value:.2f}"
