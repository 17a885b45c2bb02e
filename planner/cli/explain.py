"""``gpuplanner explain``: what the time on one machine is made of, and what would change it."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from planner.cli.explain_run import (
    LEVER_COLUMNS,
    RUN_COLUMNS,
    lever_cells,
    lever_records,
    lever_title,
    run_cells,
    run_record,
)
from planner.cli.money import Currency, currency_of
from planner.cli.opened_world import opened_world
from planner.cli.options import add_choice_arguments, add_plan_arguments, experiment_request, question
from planner.cli.plan_json import SCHEMA_VERSION, experiment_record, interval_record
from planner.cli.table import Column, markdown, paragraph, render, styled, terminal_width, use_color, wrapped
from planner.errors import InputError, NothingFitsError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import describe, resolve_experiment
from planner.plan.cautions import cautions_on
from planner.plan.explain import Explanation, explain
from planner.plan.lever_runs import Runs, runs_of
from planner.plan.operation_kinds import by_kind
from planner.plan.pick import Choice, pick
from planner.plan.planning import answer
from planner.plan.rows import ranked_estimate, refused_estimate
from planner.plan.search import Refusal
from planner.plan.sentence import credit_words, machine_words
from planner.plan.whole_run import WholeRun
from planner.plan.words import at_most_words, place_of_offer, purchase_words
from planner.units import GIB, UNKNOWN, Interval, format_bytes, format_duration, format_rate, format_span

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
    Column("why", width=200, least=12, wraps=True),
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
    asked = question(arguments, now)
    ranked = answer(experiment, asked, world, now)
    by_machine = arguments.group == "machine"
    choice = pick(ranked, world.providers(), arguments.on, arguments.row, by_machine=by_machine)
    machine = choice.candidate.machine
    explanation = explain(experiment, machine, world.local.machine, ranked.competition.knowledge)
    runs = runs_of(experiment, choice, explanation, ranked.competition, now)
    warnings = [*ranked.competition.warnings, *_cautions(experiment, choice, explanation, now)]
    if arguments.output == "json":
        json.dump(_record(experiment, choice, explanation, runs, warnings), sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    else:
        lines = _lines(experiment, choice, explanation, runs, warnings, currency, arguments.output, now)
        sys.stdout.write("\n".join(lines) + "\n")
    return 0 if explanation.step.fits else NothingFitsError.exit_code


def _cautions(experiment: Experiment, choice: Choice, explanation: Explanation, now: datetime) -> Iterable[str]:
    """What most often makes a run on the machine other than estimated, whether it is ranked or not."""
    step = explanation.step
    if choice.row is not None and choice.rank is not None:
        return cautions_on(experiment, [ranked_estimate(choice.row, choice.rank, on_front=False, now=now)])
    if not step.fits:
        return ()
    unranked = Refusal(choice.candidate, choice.offer, step, choice.candidate.blocked)
    return cautions_on(experiment, [refused_estimate(unranked, now)])


def _record(
    experiment: Experiment, choice: Choice, explanation: Explanation, runs: Runs, warnings: list[str]
) -> dict[str, Any]:
    step = explanation.step
    parts = step.parts
    run = runs.asked
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment_record(experiment),
        "machine": _machine_record(choice),
        "fits": step.fits,
        "reason": step.reason or None,
        "notes": list(step.notes),
        "warnings": warnings,
        "step": None if parts is None else {**parts._asdict(), "total_s": parts.total_s},
        "bound_by": step.bound_by,
        "evidence": step.evidence,
        "flags": list(step.flags),
        "samples_per_s": step.samples_per_s._asdict() if step.samples_per_s else None,
        "time_s": interval_record(run.time_s) if run else None,
        "cost_usd": interval_record(run.cost_usd) if run and run.cost_usd else None,
        "credit_usd": run.credit_usd if run else None,
        **run_record(run),
        "cost_complete": _cost_known(choice),
        "usd_per_hour": choice.candidate.usd_per_hour(choice.offer),
        "price_as_of": _price_as_of(choice),
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
        "levers": lever_records(runs.levers),
        "stages": [stage._asdict() for stage in explanation.stages],
    }


def _machine_record(choice: Choice) -> dict[str, Any]:
    candidate, machine = choice.candidate, choice.candidate.machine
    return {
        "name": candidate.name,
        "place": candidate.place,
        "provider": candidate.provider,
        "instance_type": candidate.instance_type,
        "region": choice.offer.region if choice.offer else None,
        "zone": choice.offer.zone if choice.offer else None,
        "purchase": candidate.purchase(choice.offer),
        "accelerator": machine.accelerator.key,
        "num_gpus": machine.num_gpus,
        "num_nodes": machine.num_nodes,
        "vcpus": machine.vcpus,
        "hypothetical": candidate.hypothetical,
    }


def _lines(
    experiment: Experiment,
    choice: Choice,
    explanation: Explanation,
    runs: Runs,
    warnings: list[str],
    currency: Currency,
    output: str,
    now: datetime,
) -> list[str]:
    facts = [_name_line(choice), *_run_lines(choice, runs.asked, currency, now), *_step_lines(choice, explanation)]
    tables = [table for table in _tables(explanation, runs, currency) if table[2]]
    refused = [f"Not ranked: {choice.candidate.blocked}"] if choice.candidate.blocked else []
    if output == "markdown":
        lines = [f"# {describe(experiment)}", ""]
        lines += [f"- {text}" for text in (*facts, *refused, *(f"Warning: {text}" for text in warnings))]
        for title, columns, cells in tables:
            lines += ["", f"## {title}", "", *markdown(columns, cells)]
        return lines
    width, color = terminal_width(), use_color()
    lines = [styled(line, "bold", color) for line in wrapped(describe(experiment), width)]
    lines += [line for text in facts for line in wrapped(text, width)]
    lines += [styled(line, "warn", color) for text in refused for line in wrapped(text, width)]
    lines += paragraph("Warning", warnings, width, color, "warn")[:-1]
    for title, columns, cells in tables:
        lines += ["", styled(title, "bold", color), *render(columns, cells, color=color)]
    return lines


def _name_line(choice: Choice) -> str:
    """The machine, where it is and how it is had; that it is nobody's, where it is."""
    candidate, offer = choice.candidate, choice.offer
    name = f"{candidate.name}: {machine_words(candidate)}"
    if offer is not None:
        place = place_of_offer(offer.region, offer.zone)
        return f"{name}, {candidate.provider} {place}, {purchase_words(offer.purchase, hypothetical=False)}"
    if candidate.free_tier is not None:
        return f"{name}, free at {candidate.provider}"
    return f"{name}, a machine to buy: neither rented out nor yours" if candidate.hypothetical else name


def _run_lines(choice: Choice, run: WholeRun | None, currency: Currency, now: datetime) -> list[str]:
    """What the whole run takes and costs there, at what an hour, of which day the price is, and whose rate is used."""
    if run is None:
        return []
    hourly = choice.candidate.usd_per_hour(choice.offer)
    text = f"{format_duration(run.time_s.p50)} ({_range(run.time_s, format_duration)})"
    if run.cost_usd is None or hourly is None:
        return [f"{text} a run; no price of it is known"]
    cost = f"{at_most_words(run)}{currency.show(run.cost_usd.p50)} a run ({_range(run.cost_usd, currency.show)})"
    credit = credit_words(run.credit_usd, choice.candidate, currency.show)
    text += f", {cost}{credit} at {currency.show(hourly)} an hour"
    if not _cost_known(choice):
        text += ", and what nobody knows the price of"
    seen = _price_as_of(choice)
    return [text + (f"; price seen {seen}" if seen else ""), *currency.rate(now)]


def _cost_known(choice: Choice) -> bool:
    """In full, or what it is at most."""
    return choice.candidate.tariff.complete if choice.row is None else choice.row.cost_known


def _price_as_of(choice: Choice) -> str | None:
    return choice.offer.price_as_of if choice.offer else choice.candidate.tariff.price_as_of


def _range(value: Interval, show: Callable[[float | None], str]) -> str:
    return format_span(value, show)


def _step_lines(choice: Choice, explanation: Explanation) -> list[str]:
    step = explanation.step
    machine = choice.candidate.machine
    needs = f"needs {format_bytes(step.memory_required_bytes)} of {format_bytes(step.memory_available_bytes)} a device"
    if step.parts is None or step.samples_per_s is None:
        return [f"does not fit: {f'{step.reason}; {needs}' if step.reason else needs}"]
    p10, p50, p90 = (format_rate(rate) for rate in step.samples_per_s)
    copies = step.global_batch_size // (step.batch_size_per_gpu * step.grad_accum_steps)
    over = (
        f"{machine.devices} devices" if copies == machine.devices else f"{copies} x {machine.devices // copies} devices"
    )
    batch = f"{step.batch_size_per_gpu:,} a device x {step.grad_accum_steps} passes x {over}"
    mfu = UNKNOWN if step.mfu is None else f"{step.mfu:.0%}"
    lines = [
        f"{p50} samples/s ({p10}–{p90}), bound by {step.bound_by}, {step.global_batch_size:,} a step ({batch})",
        f"{needs}; MFU {mfu}; evidence: {step.evidence.replace('_', ' ')}",
    ]
    lines += step.notes
    if explanation.crossover_batch is not None:
        lines.append(f"one device overtakes the machine's CPU from batch {explanation.crossover_batch} on")
    return lines


def _tables(
    explanation: Explanation, runs: Runs, currency: Currency
) -> list[tuple[str, tuple[Column, ...], list[list[str]]]]:
    """(title, columns, cells) of each table, empty ones included."""
    return [
        ("The whole run", RUN_COLUMNS, run_cells(runs.asked, currency)),
        ("One step", _PART_COLUMNS, _part_cells(explanation)),
        ("By operation class, forward and backward on one device", _CLASS_COLUMNS, _class_cells(explanation)),
        ("The same step on the CPU", _BESIDE_COLUMNS, _beside_cells(explanation)),
        (
            "If a specification were 10 % higher",
            (Column("specification"), Column("time", "right")),
            [[row.spec, f"{row.time_change:+.1%}"] for row in explanation.sensitivity],
        ),
        (lever_title(runs.asked, currency), LEVER_COLUMNS, lever_cells(runs.levers, currency)),
        (
            "Around training",
            (
                Column("stage", least=16, wraps=True),
                Column("amount", "right"),
                Column("unit"),
                Column("note", width=200, least=12, wraps=True),
            ),
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


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.1f}"
