"""The recommendation in one sentence: what to do, how long, until when, for how much, and how sure."""

from __future__ import annotations

from datetime import datetime

from planner.plan.candidates import Candidate
from planner.plan.cost import price_age
from planner.plan.deadline import later
from planner.plan.search import Limits, Row
from planner.plan.words import PURCHASE_WORDS, at_most_words, place_of_offer
from planner.units import MoneyFormat, format_duration, format_money, format_span
from pricing.age import age_days
from pricing.offer import Offer

COMMITMENTS = ("reserved", "savings_plan")
"""Purchase options whose hourly price is for who pays for a year: ranked only where they are asked for."""

HOURS_PER_YEAR = 8760.0

_ANY_REGION = ("all", "any")
"""What stands for a region where a price holds anywhere, or its place is not said."""


def recommendation_sentence(row: Row, limits: Limits, now: datetime, money: MoneyFormat = format_money) -> str:
    """The answer: where, how long, until when, for how much, and what makes it the best."""
    offer = row.offer
    time_s = row.setting.time_s(offer)
    cost = row.setting.cost_usd(offer, now.date())
    finish = later(now, time_s.p50)
    text = (
        f"Run it on {where_to_run(row)}: {format_duration(time_s.p50)} "
        f"({format_span(time_s, format_duration)}), done {moment_words(finish, now)}, "
        f"for {at_most_words(row)}{money(cost.p50)} ({format_span(cost, money)})"
        f"{credit_words(row.credit_usd, row.setting.candidate, money)}"
        f"{to_buy_words(row, money)}"
    )
    return f"{text}; {_why(row, limits, money)}.{_commitment_note(row, money)}{_price_note(offer, now)}"


def moment_words(finish: datetime, now: datetime) -> str:
    """'Tue 01 Dec 11:14 UTC', with the year where it is another than ``now``'s."""
    year = "" if finish.year == now.year else f" {finish.year}"
    return f"{finish:%a %d %b}{year} {finish:%H:%M %Z}"


def to_buy_words(row: Row, money: MoneyFormat) -> str:
    """That the machine is not there yet: the cost is what a run uses up of its price, and its electricity."""
    price = row.setting.candidate.to_buy_usd
    return "" if price is None else f", once it is bought for {money(price)}"


def credit_words(used_usd: float, candidate: Candidate, money: MoneyFormat) -> str:
    """How much of the user's credit at the provider a run uses up; "" where there is none."""
    return f" and {money(used_usd)} of your {money(candidate.tariff.credit_usd)} of credit" if used_usd else ""


def _commitment_note(row: Row, money: MoneyFormat) -> str:
    """What a year's commitment comes to, of which the run is a part."""
    hourly = row.setting.candidate.usd_per_hour(row.offer)
    if row.offer is None or row.offer.purchase not in COMMITMENTS or hourly is None:
        return ""
    return f" Its price is for who commits to a year, used or not: {money(hourly * HOURS_PER_YEAR)}."


def _price_note(offer: Offer | None, now: datetime) -> str:
    """How old the price is, where it is too old to trust as it stands."""
    if offer is None or not price_age(offer, now.date()).stale:
        return ""
    days = age_days(offer.price_as_of, now.date())
    return f" The price was seen {days} days ago (gpuplanner prices refresh)."


def machine_words(candidate: Candidate) -> str:
    """'8× A100 40 GB SXM', with the nodes in front when there are several; a CPU is just its name."""
    machine = candidate.machine
    if machine.num_gpus == 0:
        words = machine.accelerator.name
    else:
        words = f"{machine.num_gpus:g}× {short_name(machine.accelerator.name)}"
    return f"{machine.num_nodes} nodes of {words}" if machine.num_nodes > 1 else words


def short_name(name: str) -> str:
    """An accelerator's name without the vendor's words."""
    for prefix in (
        "NVIDIA GeForce ",
        "NVIDIA Tesla ",
        "NVIDIA ",
        "AMD Instinct ",
        "AMD Radeon ",
        "AMD ",
        "Intel ",
        "Google ",
        "AWS ",
        "Apple ",
    ):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def where_to_run(row: Row) -> str:
    """The machine, its GPUs, its place and how it is bought: 'aws p5.48xlarge (8x H100 ...) in us-east-2, spot'."""
    candidate = row.setting.candidate
    if candidate.is_this_machine:
        return f"this machine ({machine_words(candidate)})"
    if row.offer is None:
        return f"{candidate.name} ({machine_words(candidate)})"
    anywhere = row.offer.region in _ANY_REGION
    place = "" if anywhere else f" in {place_of_offer(row.offer.region, row.offer.zone)}"
    bought = PURCHASE_WORDS[row.offer.purchase]
    return f"{candidate.provider} {candidate.instance_type} ({machine_words(candidate)}){place}, {bought}"


def _why(row: Row, limits: Limits, money: MoneyFormat) -> str:
    if limits.given:
        return (
            f"the cheapest that meets your limits with at least {limits.confidence:.0%} probability ({row.p_meets:.0%})"
        )
    return f"the least of cost plus {money(limits.hour_value_usd)} for each hour of waiting"
