"""``gpuplanner breakeven``: buy this card, that box, or rent, for this experiment."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from planner.cli.amounts import dollars
from planner.cli.money import Currency, currency_of
from planner.cli.opened_world import opened_world
from planner.cli.options import add_plan_arguments, experiment_request, question
from planner.cli.plan_json import SCHEMA_VERSION, experiment_record
from planner.cli.table import Column, markdown, paragraph, render, styled, terminal_width, use_color, wrapped
from planner.errors import InputError, NothingFitsError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import describe, resolve_experiment
from planner.plan.bought import HOURS_OF_A_WEEK, Bought
from planner.plan.breakeven import CHANGES, BreakEven, Sensitivity
from planner.plan.buy_or_rent import (
    DEFAULT_HOURS_PER_WEEK,
    DEFAULT_MONTHS,
    DEFAULT_PURCHASES,
    BuyOrRent,
    Terms,
    buy_or_rent,
)
from planner.plan.buying_words import NEVER, money_plot, months_words, verdict
from planner.plan.rents import Rent
from planner.plan.words import at_most_words
from planner.units import UNKNOWN, format_duration, format_rate
from planner.values import Foreign, amount, positive
from pricing.age import STALE_AFTER_DAYS

OLD, MISSES = "!", "✗"

_EPILOG = """\
examples:
  gpuplanner breakeven -m resnet50 -e 90
  gpuplanner breakeven -m resnet50 -e 90 --buy 'RTX 4090, used RTX 3090, 4x RTX A6000' --hours-per-week 72
  gpuplanner breakeven -m bert-base -d squad -e 2 --buy 'RTX 4090' --card-price 'RTX 4090=1900' --on-demand
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser)
    parser.epilog = _EPILOG
    group = parser.add_argument_group("buying")
    group.add_argument("--buy", metavar="CARDS", help="'RTX 4090, used RTX 3090, 4x RTX A6000' (a few common ones)")
    group.add_argument(
        "--hours-per-week", type=positive, metavar="H",
        help="how long the first of them trains (40)",
    )  # fmt: skip
    group.add_argument("--runs-per-month", type=positive, metavar="N", help="the work, instead of hours of the first")
    group.add_argument("--months", type=positive, default=DEFAULT_MONTHS, metavar="M", help="how far to look (36)")
    group.add_argument(
        "--card-price", action="append", default=[], metavar="CARD=USD", help="your price: 'RTX 4090=1900' (repeatable)"
    )
    group.add_argument("--host-price", type=amount(positive), metavar="USD", help="the machine around the cards")


def run(arguments: argparse.Namespace) -> int:
    now = datetime.now().astimezone()
    currency = currency_of(arguments.currency, arguments.output)
    experiment = resolve_experiment(experiment_request(arguments))
    found = buy_or_rent(experiment, question(arguments, now), terms_of(arguments), opened_world(arguments), now)
    found = found._replace(assumptions=(*found.assumptions, *currency.rate(now)))
    if arguments.output == "json":
        json.dump(record(experiment, found), sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    elif arguments.output == "csv":
        _write_csv(found)
    else:
        as_markdown = arguments.output == "markdown"
        sys.stdout.write("\n".join(lines(experiment, found, currency, as_markdown=as_markdown)) + "\n")
    return 0 if any(one.owning is not None for one in found.bought) else NothingFitsError.exit_code


def terms_of(arguments: argparse.Namespace) -> Terms:
    """Raises InputError."""
    hours = DEFAULT_HOURS_PER_WEEK if arguments.hours_per_week is None else arguments.hours_per_week
    if hours > HOURS_OF_A_WEEK:
        raise InputError(f"--hours-per-week must be at most {HOURS_OF_A_WEEK:g}, not {hours:g}")
    if arguments.hours_per_week is not None and arguments.runs_per_month is not None:
        raise InputError("--hours-per-week and --runs-per-month both say how much work there is: give one of them")
    names = DEFAULT_PURCHASES
    if arguments.buy is not None:
        names = tuple(name.strip() for name in arguments.buy.split(",") if name.strip())
        if not names:
            raise InputError("--buy wants one or more cards separated by commas, such as 'RTX 4090, used RTX 3090'")
    return Terms(
        purchases=names,
        hours_per_week=hours,
        runs_per_month=arguments.runs_per_month,
        months=arguments.months,
        card_prices=tuple(_in_dollars(text, arguments) for text in arguments.card_price),
        host_usd=arguments.host_price,
    )


def _in_dollars(text: str, arguments: argparse.Namespace) -> str:
    """'RTX 4090=1750 EUR' with its price in dollars; what cannot be read is left for who asks for it."""
    card, equals, price = text.rpartition("=")
    try:
        value = amount(positive)(price) if equals else 0.0
    except InputError:
        return text
    if not isinstance(value, Foreign):
        return text
    return f"{card}{equals}{dollars('--card-price', value, arguments):.15g}"


def lines(experiment: Experiment, found: BuyOrRent, currency: Currency, *, as_markdown: bool) -> list[str]:
    width, color = (10_000, False) if as_markdown else (terminal_width(), use_color())
    title = describe(experiment)
    text = [f"# {title}"] if as_markdown else [styled(line, "bold", color) for line in wrapped(title, width)]
    text += ["", *(styled(line, "bold", color) for line in wrapped(verdict(found, currency.show), width)), ""]
    text += _shown(*_purchases(found, currency), as_markdown, color)
    rents = [line for rent in _rents(found, currency) for line in wrapped(rent, width, hanging="  ")]
    text += ["", *(f"- {line}" if as_markdown else line for line in rents), ""]
    text += [*_sources(found, width), ""]
    if found.bought[0].owning is not None:
        drawn = money_plot(found, currency.show, width=max(40, min(96, terminal_width() - 16)))
        text += [f"Money spent, {found.bought[0].purchase.name}:"]
        text += ["", "```text", *drawn, "```", ""] if as_markdown else [*drawn, ""]
        question = f"Months until {found.bought[0].purchase.name} pays against {found.rents[0].words}:"
        text += wrapped(question, width)
        text += [*([""] if as_markdown else []), *_shown(*_sensitivity(found), as_markdown, color), ""]
    text += paragraph("Warning", found.warnings, width, color, "warn")
    return text + wrapped(f"Assumed: {'; '.join((*experiment.assumptions, *found.assumptions))}.", width)


def _shown(columns: Sequence[Column], cells: Sequence[Sequence[str]], as_markdown: bool, color: bool) -> list[str]:
    return markdown(columns, cells) if as_markdown else render(columns, cells, color=color)


def _purchases(found: BuyOrRent, currency: Currency) -> tuple[list[Column], list[list[str]]]:
    columns = [
        Column("buy", width=18, least=14), Column("price", "right"), Column("seen", "right", drop=4),
        Column("samples/s", "right", least=16), Column("a run", "right"), Column("kWh", "right", drop=3),
        Column("electr.", "right", drop=2), Column("h/week", "right", drop=1), Column("pays from", "right"),
        Column("resold", "right"), Column(f"{found.terms.months:g} mo", "right"),
    ]  # fmt: skip
    return columns, [_purchase_cells(one, currency) for one in found.bought]


def _purchase_cells(one: Bought, currency: Currency) -> list[str]:
    purchase = one.purchase
    seen = (purchase.card.as_of or purchase.card.condition) + (OLD if one.price_is_old else "")
    front = [purchase.name, currency.show(purchase.usd), seen]
    if one.owning is None or one.time_s is None:
        return [*front, one.problem, *[UNKNOWN] * 7]
    even = one.against[0][1]
    takes = format_duration(one.time_s.p50) + (MISSES if one.misses_limits else "")
    busy = one.hours_per_week or 0.0
    return [
        *front, format_rate(one.samples_per_s.p50 if one.samples_per_s else None), takes,
        UNKNOWN if one.energy_kwh is None else f"{one.energy_kwh:.1f}", currency.show(one.owning.run_usd),
        f"{busy:.0f}" + (OLD if one.is_too_slow else ""), months_words(even.months),
        months_words(even.months_after_resale), currency.show(one.spent_usd),
    ]  # fmt: skip


def _rents(found: BuyOrRent, currency: Currency) -> Iterator[str]:
    """What renting costs, and from when on the first purchase pays against each."""
    for rent, even in found.bought[0].against or [(rent, None) for rent in found.rents]:
        pays = "" if even is None else f"; {found.bought[0].purchase.name} {_pays(even)}"
        credit = f", less {currency.show(rent.credit_usd)} of credit once" if rent.credit_usd else ""
        yield (
            f"Rent, {rent.label}: {rent.words}: {at_most_words(rent)}{currency.show(rent.usd)} and "
            f"{format_duration(rent.time_s)} a run{credit}{pays}."
        )


def _pays(even: BreakEven) -> str:
    """'pays from 6.9 mo (32 runs)', 'pays at once', 'never pays'."""
    when = months_words(even.months)
    if when == NEVER:
        return "never pays"
    return f"pays {when}" if even.months <= 0 else f"pays from {when} ({even.runs:,.0f} runs)"


def _sources(found: BuyOrRent, width: int) -> Iterator[str]:
    text = "; ".join(f"{one.purchase.name}: {one.purchase.source}" for one in found.bought)
    notes = "pays from: months until less was spent than on the cheapest rent; resold: less what it would sell for"
    old = f"{OLD}: busier than a week is long, or a price seen more than {STALE_AFTER_DAYS} days ago"
    if any(one.misses_limits for one in found.bought):
        old += f"; {MISSES}: misses your limits"
    yield from wrapped(f"{notes}; {old}. Prices: {text}.", width)


def _sensitivity(found: BuyOrRent) -> tuple[list[Column], list[list[str]]]:
    columns = [Column("h/week", "right")]
    columns += [Column(change.words, "right", drop=place) for place, change in enumerate(CHANGES)]
    own = round(found.bought[0].hours_per_week or 0.0, 1)
    return columns, [
        [f"{'▸ ' if row.hours_per_week == own else ''}{row.hours_per_week:g}", *map(months_words, row.months)]
        for row in found.sensitivity
    ]


def record(experiment: Experiment, found: BuyOrRent) -> dict[str, Any]:
    """JSON: months and runs that are never reached are null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment_record(experiment),
        "assumptions": [*experiment.assumptions, *found.assumptions],
        "warnings": list(found.warnings),
        "verdict": verdict(found, Currency().show),
        "runs_per_month": found.runs_per_month,
        "months": found.terms.months,
        "rents": [_rent_record(rent) for rent in found.rents],
        "purchases": [_bought_record(one, found) for one in found.bought],
        "sensitivity": [{"hours_per_week": row.hours_per_week, **_months_by_change(row)} for row in found.sensitivity],
    }


def _months_by_change(row: Sensitivity) -> dict[str, float | None]:
    return {change.key: _finite(months) for change, months in zip(CHANGES, row.months, strict=True)}


def _rent_record(rent: Rent) -> dict[str, Any]:
    record = rent._asdict()
    usd, seconds = record.pop("usd"), record.pop("time_s")
    return {**record, "run_usd": usd, "run_s": seconds}


def _bought_record(one: Bought, found: BuyOrRent) -> dict[str, Any]:
    purchase, owning = one.purchase, one.owning
    return {
        "name": purchase.name,
        "problem": one.problem or None,
        "accelerator": purchase.machine.accelerator.key,
        "num_gpus": purchase.machine.num_gpus,
        "purchase_usd": purchase.usd,
        "host_usd": purchase.host_usd,
        "condition": purchase.card.condition,
        "price_as_of": purchase.card.as_of,
        "price_age_days": one.price_age_days,
        "price_source": purchase.source,
        "samples_per_s": one.samples_per_s._asdict() if one.samples_per_s else None,
        "time_s": one.time_s._asdict() if one.time_s else None,
        "energy_kwh": one.energy_kwh,
        "run_usd": owning.run_usd if owning else None,
        "hours_per_week": one.hours_per_week,
        "p_meets": one.p_meets,
        "misses_limits": one.misses_limits,
        "spent_usd": one.spent_usd,
        "value_usd": owning.value_usd(found.terms.months) if owning else None,
        "against": [{**_rent_record(rent), **_even_record(even)} for rent, even in one.against],
    }


def _even_record(even: BreakEven) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in even._asdict().items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _write_csv(found: BuyOrRent) -> None:
    """A line a purchase, with its break-even against the cheapest rent, whose columns begin with rent."""
    import csv

    rows = []
    for one in found.bought:
        flat = _bought_record(one, found)
        del flat["against"]
        for name in ("samples_per_s", "time_s"):
            value = flat.pop(name)
            flat[f"{name}_p50"] = value["p50"] if value else None
        if one.against:
            rent, even = one.against[0]
            flat |= {f"rent_{name}": value for name, value in _rent_record(rent).items()} | _even_record(even)
        rows.append(flat)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
