"""``gpuplanner scale``: is a second GPU worth it, or a tenth, and are separate experiments better."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from planner.cli.marks import marked
from planner.cli.money import Currency, currency_of
from planner.cli.opened_world import opened_world
from planner.cli.options import add_plan_arguments, experiment_request, question
from planner.cli.plan_json import SCHEMA_VERSION, experiment_record
from planner.cli.table import Column, markdown, paragraph, render, styled, terminal_width, use_color, wrapped
from planner.errors import InputError, NothingFitsError, UnknownNameError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import describe, resolve_experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.interconnect import Network, network
from planner.hardware.machine import Machine
from planner.hardware.selection import parse_selection, resolve_count
from planner.plan.candidates import Tariff
from planner.plan.competition import Competition
from planner.plan.extras import tariffs
from planner.plan.hint import fitting_flags
from planner.plan.planning import answer
from planner.plan.scaling import (
    WORTH_IT,
    Market,
    Scale,
    Scan,
    counts,
    machine_of,
    machines_with,
    scan,
    separate,
    with_kept_batch,
)
from planner.plan.search import Limits
from planner.plan.words import BINDS_WORDS, had_word
from planner.plan.world import World
from planner.throughput.calibration import load_calibration
from planner.units import UNKNOWN, format_duration, format_rate

DEFAULT_PER_NODE = 8
MOST_PER_NODE = 64
CREDITED, NOBODYS = "c", "*"
"""Marks of a cost after the user's credit and of what nobody has, as in the ranking's table."""

_MEETS = "meets"
_COLUMNS = (
    Column("GPUs", "right"), Column("batch/GPU", "right", drop=1), Column("accum.", "right", drop=5),
    Column("global", "right", drop=4), Column("samples/s", "right"), Column("time", "right"),
    Column("speed-up", "right", drop=3), Column("eff.", "right"), Column("each adds", "right"),
    Column("comm.", "right", drop=7), Column("binds", drop=6), Column("machine", width=26, least=12, drop=2),
    Column("buy", drop=2), Column("cost", "right"), Column(_MEETS, "right"),
)  # fmt: skip


_EPILOG = """\
examples:
  gpuplanner scale -m resnet50 -e 90 --gpus A100:8
  gpuplanner scale -m resnet50 -e 90 --gpus A100:8 --num-nodes 4 --network '100 Gb/s Ethernet'
  gpuplanner scale -m gnmt --gpus 'RTX 3090:4' --batch kept
  gpuplanner scale -m resnet50 -e 90 --gpus A100:8 --deadline 12h --budget 100
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser)
    parser.epilog = _EPILOG
    group = parser.add_argument_group("scaling")
    group.add_argument(
        "--batch", choices=("scaled", "kept"), default="scaled",
        help="the global batch grows with the GPUs up to the largest useful one, or is kept (scaled)",
    )  # fmt: skip
    group.add_argument(
        "--network", metavar="NAME", help="between nodes: '100 Gb/s Ethernet', '8x 400 Gb/s IB' (as rented)"
    )


def run(arguments: argparse.Namespace) -> int:
    now = datetime.now().astimezone()
    currency = currency_of(arguments.currency, arguments.output)
    device, per_node = _device(arguments.gpus)
    nodes = arguments.num_nodes or 1
    said = _network(arguments.network, nodes)
    experiment = resolve_experiment(experiment_request(arguments))
    if arguments.batch == "kept":
        experiment = with_kept_batch(experiment)
    asked = question(arguments, now)._replace(gpus=device.key, num_nodes=None)
    world = opened_world(arguments)
    answered = answer(experiment, asked, world, now)
    market = _market(experiment, answered.competition, device, said, world)
    sizes = counts(per_node, nodes)
    limits = answered.competition.limits
    found = scan(experiment, market, sizes, limits, now, answered.competition.knowledge)
    between, of = market.between(per_node)
    notes = sentences(found, arguments.batch, limits, currency)
    notes += _credit_sentences(found, answered.competition, currency)
    if nodes > 1:
        notes.append(_network_sentence(between, of))
    if found.knee is None:
        notes += _what_would_fit(experiment, machine_of(device, *sizes[-1], between))
    warnings = answered.competition.warnings
    if arguments.output == "json":
        document = _record(experiment, device, found, arguments.batch, notes, between if nodes > 1 else None)
        document["warnings"] = list(warnings)
        json.dump(document, sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    elif arguments.output == "csv":
        _write_csv(found)
    else:
        as_markdown = arguments.output == "markdown"
        text = _lines(experiment, device, found, notes, warnings, currency, as_markdown=as_markdown)
        text += [f"{rate[0].upper()}{rate[1:]}." for rate in currency.rate(now)]
        sys.stdout.write("\n".join(text) + "\n")
    answered_it = found.knee is not None and not (limits.given and found.fewest is None)
    return 0 if answered_it else NothingFitsError.exit_code


def _market(
    experiment: Experiment, competition: Competition, device: Accelerator, said: Network | None, world: World
) -> Market:
    """Where the sizes can be had, with the bills of several nodes."""
    interruptions = world.catalog.interruptions()

    def tariff(provider: str, nodes: int) -> Tariff:
        return tariffs(experiment, interruptions, nodes, world.config)(provider)

    return Market(device, machines_with(competition.candidates, device.key), said, tariff, competition.named)


def _device(text: str | None) -> tuple[Accelerator, int]:
    """The GPU and how many a node has at most. Raises InputError."""
    if text is None:
        raise InputError("say which GPUs, and how many at most: --gpus H100:8 (with --num-nodes for several nodes)")
    try:
        resolution, count = resolve_count(text)
    except UnknownNameError:
        parse_selection(text)  # what reads as nothing at all is said as it is everywhere
        raise InputError(f"scale counts the GPUs of one kind: name it, such as --gpus H100:8, not {text!r}") from None
    per_node = count if count > 1 else DEFAULT_PER_NODE
    if per_node > MOST_PER_NODE:
        raise InputError(f"a node has at most {MOST_PER_NODE} GPUs here, not {per_node}; say --num-nodes for more")
    return resolution.accelerator, per_node


def _network(text: str | None, nodes: int) -> Network | None:
    if text is not None and nodes == 1:
        raise InputError("--network is between nodes: say --num-nodes 2 or more, too")
    return network(text) if text is not None else None


def _network_sentence(between: Network | None, of: str) -> str:
    """What the nodes were taken to be connected by, and why."""
    if between is None or between.bandwidth_bytes_per_s is None:
        slow = load_calibration().collectives["unknown_network_bytes_per_s"]
        return f"No network between such nodes is known: a slow one of {_gbit_s(slow)} is assumed (--network)."
    words = between.name if "Gb/s" in between.name else f"{_gbit_s(between.bandwidth_bytes_per_s)} {between.name}"
    if not of:
        return f"Between nodes it is {words}, as you said."
    return (
        f"Between nodes it is {words} of {of}, the cheapest such node whose network is known; its price is "
        "taken for several nodes (--network)."
    )


def _gbit_s(bytes_per_s: float) -> str:
    return f"{bytes_per_s * 8 / 1e9:,.0f} Gb/s"


def _what_would_fit(experiment: Experiment, machine: Machine) -> list[str]:
    """The levers with which the largest of the sizes would do."""
    flags = fitting_flags(experiment, machine)
    if not flags:
        return []
    nodes = f"{machine.num_nodes} nodes of " if machine.num_nodes > 1 else ""
    return [f"{nodes}{machine.num_gpus} GPUs would do with {' or '.join(flags)}."]


def _lines(
    experiment: Experiment,
    device: Accelerator,
    found: Scan,
    notes: Sequence[str],
    warnings: Sequence[str],
    currency: Currency,
    *,
    as_markdown: bool,
) -> list[str]:
    width, color = (10_000, False) if as_markdown else (terminal_width(), use_color())
    title = f"{describe(experiment)} on {device.name}"
    lead = [f"# {title}"] if as_markdown else [styled(line, "bold", color) for line in wrapped(title, width)]
    text = [*lead, ""]
    for sentence in notes:
        text += wrapped(sentence, width)
    if warnings:
        text += ["", *paragraph("Warning", warnings, width, color, "warn")[:-1]]
    limited = any(row.p_meets is not None for row in found.rows)
    columns = [column for column in _COLUMNS if limited or column.title != _MEETS]
    cells = [_cells(row, currency)[: len(columns)] for row in found.rows]
    text += ["", *(markdown(columns, cells) if as_markdown else render(columns, cells, color=color))]
    for problem in dict.fromkeys(row.problem for row in found.rows if row.problem):
        sizes = [_size(row) for row in found.rows if row.problem == problem]
        which = "all of them" if len(sizes) == len(found.rows) else f"{', '.join(sizes)} GPUs"
        text += wrapped(f"- {which}: {problem}", width, hanging="  ")
    return text


def sentences(found: Scan, batch: str, limits: Limits, currency: Currency) -> list[str]:
    """The fewest that meet the limits, where it stops paying, what was held, and separate experiments instead."""
    how = _kept_words(found) if batch == "kept" else "the global batch grows with the GPUs while it is useful"
    knee = found.knee
    if knee is None:
        return [f"It fits on none of them; {how}."]
    last = found.had[-1]
    figures = f"efficiency {knee.efficiency or 0:.0%}, {format_duration(_seconds(knee))}"
    text = [_limits_sentence(found, limits, currency)] if limits.given else []
    if knee is last:
        text += [f"{_all_words(found, knee)} ({figures}); {how}."]
    else:
        text += [
            f"{_size(knee)} is the knee ({figures}): a further GPU adds less than {WORTH_IT:.0%} of the first; {how}."
        ]
    other = separate(found.rows, knee)
    if other is not None and other.experiments > 1:
        count, done = other.experiments, format_duration(_seconds(knee))
        text.append(
            f"{count} separate experiments, one on each GPU, end after {format_duration(other.at_once_s)}; one after "
            f"another on all {count} they take {format_duration(other.one_by_one_s)}, the first done after {done}."
        )
    if any(row.usd is not None for row in found.rows):
        text.append(
            "Each size is the whole run on the machine with so many of them that gpuplanner estimate would recommend, "
            "at its bill."
        )
    return text + _mark_sentences(found)


def _all_words(found: Scan, knee: Scale) -> str:
    """That the most GPUs are worth it: all that were asked for, or as many as somebody has in one machine."""
    if knee.devices == 1:
        return "One GPU is the most that somebody has"
    if knee is found.rows[-1]:
        return f"All {_size(knee)} GPUs are worth it"
    return f"{_size(knee)} GPUs are the most that somebody has, and worth it"


def _mark_sentences(found: Scan) -> list[str]:
    """What the mark means, where it is shown."""
    text = []
    nobodys = [_is_nobodys(row) for row in found.rows]
    if any(nobodys) and not all(nobodys):
        text.append(
            f"{NOBODYS} before a number: nobody has a machine of that size; it is worked out on the GPUs' share of a "
            "larger one, without a cost and without setting up and copying data, and passed over above."
        )
    if any(row.hypothetical and row.machine is not None for row in found.rows):
        text.append(f"{NOBODYS} before a machine: it must be bought first.")
    return text


def _kept_words(found: Scan) -> str:
    """That the global batch is kept, and where the GPUs do not divide it."""
    sizes = sorted({row.global_batch_size for row in found.rows})
    if len(sizes) == 1:
        return "the global batch is kept"
    return f"the global batch is kept, as near to it as the GPUs divide it ({sizes[0]:,} to {sizes[-1]:,})"


def _limits_sentence(found: Scan, limits: Limits, currency: Currency) -> str:
    """The fewest GPUs that meet the limits, and the cheapest number that does where that is another."""
    asked = f"asked for {limits.confidence:.0%}"
    fewest = found.fewest
    if fewest is None:
        return _nearest_sentence(found, asked)
    text = f"{_meeting(fewest, currency)} is the fewest that meets the limits ({fewest.p_meets:.0%}, {asked})"
    meeting = [row for row in found.rows if (row.p_meets or 0.0) >= limits.confidence and row.usd is not None]
    cheapest = min(meeting, key=lambda row: row.usd or 0.0, default=fewest)
    return f"{text}." if cheapest is fewest else f"{text}; {_meeting(cheapest, currency)} is the cheapest."


def _nearest_sentence(found: Scan, asked: str) -> str:
    """Which of the sizes that somebody has comes nearest to the limits."""
    nearest = max(found.had, key=lambda row: row.p_meets or 0.0)
    if nearest.p_meets is None:
        return "Whether one of them meets the limits is not known: no cost of any is."
    return f"None of them meets the limits: {_size(nearest)} comes nearest ({nearest.p_meets:.1%}, {asked})."


def _credit_sentences(found: Scan, competition: Competition, currency: Currency) -> list[str]:
    """Whose credit the rows with a mark use up."""
    if not any(row.credit_usd for row in found.rows):
        return []
    credits_usd = {
        candidate.provider: candidate.tariff.credit_usd
        for candidate in competition.candidates
        if candidate.tariff.credit_usd
    }
    given = ", ".join(f"{currency.show(usd)} at {provider}" for provider, usd in credits_usd.items())
    return [f"{CREDITED}: what is left to pay after your credit of {given}."]


def _meeting(row: Scale, currency: Currency) -> str:
    cost = "" if row.usd is None else f", {_cost(row, currency)}"
    return f"{_size(row)} ({format_duration(_seconds(row))}{cost})"


def _cost(row: Scale, currency: Currency) -> str:
    return marked(row, row.usd, currency) + (CREDITED if row.credit_usd else "")


def _seconds(row: Scale) -> float | None:
    return row.time_s.p50 if row.time_s is not None else None


def _size(row: Scale) -> str:
    return str(row.devices) if row.num_nodes == 1 else f"{row.num_nodes}×{row.num_gpus}"


def _is_nobodys(row: Scale) -> bool:
    """Whether nobody has a machine of the size."""
    return row.hypothetical and row.machine is None


def _machine_cells(row: Scale) -> list[str]:
    """The machine, marked where it must be bought first, and how it is had."""
    if row.machine is None or row.purchase is None:
        return [UNKNOWN, UNKNOWN]
    name = f"{NOBODYS}{row.machine}" if row.hypothetical else row.machine
    return [name, had_word(row.purchase, hypothetical=row.hypothetical)]


def _cells(row: Scale, currency: Currency) -> list[str]:
    size = f"{NOBODYS}{_size(row)}" if _is_nobodys(row) else _size(row)
    if row.samples_per_s is None:
        return [size, f"{row.batch_size_per_gpu:,}", *[UNKNOWN] * 13]
    efficiency = row.efficiency or 0.0
    return [
        size, f"{row.batch_size_per_gpu:,}", str(row.grad_accum_steps), f"{row.global_batch_size:,}",
        format_rate(row.samples_per_s.p50), format_duration(_seconds(row)), f"{efficiency * row.devices:.2f}",
        f"{efficiency:.0%}", UNKNOWN if row.added is None else f"{row.added:.0%}",
        f"{row.communication_share or 0:.0%}", BINDS_WORDS.get(row.bound_by or "", row.bound_by or UNKNOWN),
        *_machine_cells(row), _cost(row, currency),
        UNKNOWN if row.p_meets is None else f"{row.p_meets:.0%}",
    ]  # fmt: skip


def _record(
    experiment: Experiment, device: Accelerator, found: Scan, batch: str, notes: list[str], network: Network | None
) -> dict[str, Any]:
    other = separate(found.rows, found.knee) if found.knee is not None else None
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment_record(experiment),
        "accelerator": device.key,
        "batch": batch,
        "network": network._asdict() if network is not None else None,
        "sentences": notes,
        "knee": found.knee.devices if found.knee is not None else None,
        "fewest": found.fewest.devices if found.fewest is not None else None,
        "separate": other._asdict() if other is not None else None,
        "rows": [_row_record(row) for row in found.rows],
    }


def _row_record(row: Scale) -> dict[str, Any]:
    return {
        **row._asdict(),
        "samples_per_s": row.samples_per_s._asdict() if row.samples_per_s else None,
        "time_s": row.time_s._asdict() if row.time_s else None,
        "cost_usd": row.cost_usd._asdict() if row.cost_usd else None,
        "usd": row.usd,
        "problem": row.problem or None,
    }


def _write_csv(found: Scan) -> None:
    import csv

    rows = []
    for row in found.rows:
        flat = row._asdict()
        flat["samples_per_s"] = row.samples_per_s.p50 if row.samples_per_s else None
        flat["time_s"] = _seconds(row)
        flat["usd"] = flat["cost_usd"] = row.usd
        rows.append(flat)
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
