"""``gpuplanner gpus --for MODEL``: which card to buy for it, by what a dollar and a kilowatt-hour train."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import Any

from planner.cli.listing import first, write_records, write_table
from planner.cli.money import Currency, currency_of
from planner.cli.options import said_of_training
from planner.cli.table import Column, paragraph, terminal_width, use_color, wrapped
from planner.errors import InputError, NothingFitsError, UnknownNameError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.catalog import resolve, resolve_each
from planner.plan.bought import Bought
from planner.plan.cards import cards_for, per_dollar
from planner.plan.competition import warnings_of
from planner.plan.hint import MOST_LEVERS, fitting_flags
from planner.plan.purchase import card_price, sold_singly
from planner.plan.question import Question
from planner.plan.search import ORDINARY_STACKS
from planner.plan.sentence import short_name
from planner.plan.world import open_world
from planner.profiler.this_machine import find_this_machine, store_path
from planner.units import GIB, UNKNOWN, format_bytes, format_rate
from pricing.age import STALE_AFTER_DAYS

OLD, PORTED = "!", "†"
_PER_1000_USD = "per $1000"
_COLUMNS = (
    Column("card", width=22, least=14),
    Column("price", "right"),
    Column("is", width=8),
    Column("seen", "right", drop=6),
    Column("used", "right", drop=5),
    Column("GiB", "right"),
    Column("needs", "right", drop=3),
    Column("batch", "right", drop=4),
    Column("samples/s", "right"),
    Column(_PER_1000_USD, "right"),
    Column("samples/kWh", "right", drop=1),
    Column("ev", width=18, least=12, drop=2),
)


def run_cards(arguments: argparse.Namespace) -> int:
    currency = currency_of(arguments.currency, arguments.output)
    experiment = _experiment(arguments)
    question = Question(country=arguments.country, electricity_usd_per_kwh=arguments.electricity_price)
    world, now = open_world(find_this_machine(), store_path()), datetime.now()
    budget_usd, named = arguments.purchase_budget, _named(arguments)
    found = cards_for(experiment, question, world, now.date(), named, budget_usd=budget_usd)
    if not found:
        raise NothingFitsError("no card with a known price costs so little; gpuplanner gpus lists all that are known")
    shown = first(found, arguments.max_rows)
    warnings = warnings_of(experiment, question, world)
    if arguments.output in ("json", "csv"):
        records = [_record(one) for one in shown]
        write_records("cards", records, arguments.output, {"warnings": list(warnings)})
    else:
        sys.stdout.write(f"{experiment.workload.name} · {experiment.precision} · one card\n")
        cells = [_cells(one, currency) for one in shown]
        write_table(_columns(currency), cells, len(found), "cards with a known price", arguments.output)
        warned = paragraph("Warning", warnings, terminal_width(), use_color(), "warn")[:-1]
        notes = [*_what_would_fit(experiment, found), *_offload_note(experiment, found), *_notes(shown, currency, now)]
        sys.stdout.write("\n".join([*warned, *notes]) + "\n")
    return 0 if any(not one.problem for one in found) else NothingFitsError.exit_code


def _experiment(arguments: argparse.Namespace) -> Experiment:
    """One step is enough: rates do not depend on how long it trains. Raises InputError."""
    said = said_of_training(arguments)
    if (said["tensor_parallel"] or 1) * (said["pipeline_parallel"] or 1) > 1:
        raise InputError("gpus --for ranks single cards: --tensor-parallel and --pipeline-parallel need several")
    return resolve_experiment(ExperimentRequest(arguments.model, steps=1.0, **said))


def _named(arguments: argparse.Namespace) -> list[Accelerator]:
    """The cards that are named, one a word group; none is all. Raises InputError."""
    if not arguments.name:
        return []
    try:
        devices = [resolve(" ".join(arguments.name)).accelerator]
    except UnknownNameError:
        devices = resolve_each(arguments.name)
        if not devices:
            raise
    for device in devices:
        if not sold_singly(device) or card_price(device) is None:
            raise InputError(f"no price of a card {device.name} is known")
    return devices


def _columns(currency: Currency) -> list[Column]:
    """The columns, the one by price under the name of its currency."""
    by_price = _PER_1000_USD if currency.code == "USD" else f"per 1000 {currency.code}"
    return [column._replace(title=by_price) if column.title == _PER_1000_USD else column for column in _COLUMNS]


def _cells(one: Bought, currency: Currency) -> tuple[str, ...]:
    device, card = one.purchase.machine.accelerator, one.purchase.card
    used = card_price(device, "used")
    memory = f"{device.memory_bytes / GIB:.0f}" if device.memory_bytes is not None else UNKNOWN
    seen = (card.as_of or UNKNOWN) + (OLD if one.price_is_old else "")
    ported = "" if device.stack in ORDINARY_STACKS else PORTED
    front = (
        ported + short_name(device.name), currency.whole(card.usd), card.condition, seen,
        UNKNOWN if used is None else currency.whole(used.usd), memory,
        format_bytes(one.memory_bytes).removesuffix(" GiB"),
    )  # fmt: skip
    if one.problem or one.samples_per_s is None:
        return (*front, UNKNOWN, "too small", UNKNOWN, UNKNOWN, "")
    return (
        *front,
        f"{one.batch_size_per_gpu:,}",
        format_rate(one.samples_per_s.p50),
        format_rate(per_dollar(one) / currency.per_usd * 1000),
        UNKNOWN if one.power_w is None else f"{_per_kwh(one):,.0f}",
        one.evidence.replace("_", " "),
    )


def _per_kwh(one: Bought) -> float:
    """Samples for each kilowatt-hour at the wall, host included."""
    rate = one.samples_per_s.p50 if one.samples_per_s is not None else 0.0
    return rate * 3.6e6 / (one.power_w or 1.0)


def _notes(shown: list[Bought], currency: Currency, now: datetime) -> list[str]:
    sources = dict.fromkeys(one.purchase.card.source for one in shown)
    text = (
        "by samples/s for a dollar of the card, best first: cards whose price was seen in shops, then those of which "
        "only the price at launch is known, then those for which the code must be ported (†); "
        f"{OLD}: seen more than {STALE_AFTER_DAYS} days ago; samples/kWh: at the wall, host included. "
        f"Prices: {'; '.join((*sources, *currency.rate(now)))}."
    )
    return wrapped(text, terminal_width())


def _what_would_fit(experiment: Experiment, found: list[Bought]) -> list[str]:
    """The flags with which a card would do, where all are too small: of each the cheapest card."""
    if any(not one.problem for one in found):
        return []
    cheapest: dict[str, str] = {}
    for one in sorted(found, key=lambda one: one.purchase.card.usd):
        if one.purchase.machine.accelerator.stack in ORDINARY_STACKS:
            for flags in fitting_flags(experiment, one.purchase.machine):
                cheapest.setdefault(flags, short_name(one.purchase.machine.accelerator.name))
    ways = " or ".join(f"{flags} ({name})" for flags, name in list(cheapest.items())[:MOST_LEVERS])
    text = f"It would do with {ways}: in brackets the cheapest card for which that is enough."
    return wrapped(text, terminal_width()) if ways else []


def _offload_note(experiment: Experiment, found: list[Bought]) -> list[str]:
    """How much memory the host must have, where that is more than the one assumed has."""
    if experiment.offload is None:
        return []
    fitting = [one for one in found if not one.problem] or found
    most = max(one.purchase.machine.ram_bytes or 0.0 for one in fitting)
    text = (
        f"With --offload {experiment.offload} a host of {format_bytes(most)} is needed; its price is in none of this."
    )
    return wrapped(text, terminal_width())


def _record(one: Bought) -> dict[str, Any]:
    device, card = one.purchase.machine.accelerator, one.purchase.card
    used = card_price(device, "used")
    fits = not one.problem and one.samples_per_s is not None
    return {
        "key": device.key,
        "name": device.name,
        "fits": fits,
        "memory_bytes": device.memory_bytes,
        "memory_required_bytes": one.memory_bytes,
        "batch_size_per_gpu": one.batch_size_per_gpu,
        "samples_per_s_p10": one.samples_per_s.p10 if one.samples_per_s else None,
        "samples_per_s_p50": one.samples_per_s.p50 if one.samples_per_s else None,
        "samples_per_s_p90": one.samples_per_s.p90 if one.samples_per_s else None,
        "samples_per_s_per_usd": per_dollar(one) if fits else None,
        "samples_per_kwh": _per_kwh(one) if fits and one.power_w else None,
        "price_usd": card.usd,
        "price_condition": card.condition,
        "price_as_of": card.as_of,
        "price_age_days": one.price_age_days,
        "stack": device.stack,
        "price_source": card.source,
        "used_price_usd": used.usd if used else None,
        "used_price_as_of": used.as_of if used else None,
        "power_w": one.power_w,
        "evidence": one.evidence or None,
    }
