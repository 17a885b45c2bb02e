"""What a plan assumes of the places that compete, in sentences: how rented machines are had, paid for, written off."""

from collections.abc import Iterable, Iterator

from planner.plan.candidates import Candidate
from planner.plan.config import Config, OwnershipTerms
from planner.plan.question import Question, Where
from planner.plan.sentence import COMMITMENTS, HOURS_PER_YEAR
from planner.plan.timeline import DOWNLOAD_BYTES_PER_S, ENVIRONMENT_BYTES, PROVISIONING_S
from planner.plan.world import World
from planner.units import counted

_COMMITMENT_FEEDS = {"reserved": "AWS's and Azure's", "savings_plan": "Azure's, and those of AWS with credentials"}
"""Whose prices of a commitment a refresh reads (docs/prices.md)."""


def cloud_assumptions(where: Where, question: Question, idle_minutes: float) -> Iterator[str]:
    """How soon a rented machine works, for how long it is paid, and how a commitment and spot are counted."""
    if "cloud" not in where.places:
        return
    yield (
        f"a cloud machine is had after {PROVISIONING_S / 60:g} minutes, copies its environment of "
        f"{ENVIRONMENT_BYTES / 1e9:g} GB and its data at up to {DOWNLOAD_BYTES_PER_S / 1e6:g} MB/s, and is given back "
        f"{idle_minutes:g} minutes after the run (idle_minutes in the configuration)"
    )
    if any(purchase in COMMITMENTS for purchase in question.purchases):
        yield f"an hour costs this for who has committed to all {HOURS_PER_YEAR:,.0f} hours of a year, used or not"
    if not question.purchases or "spot" in question.purchases:
        yield "spot machines are taken as often as AWS's advisor says, elsewhere as measured on public traces"


def own_terms(candidates: Iterable[Candidate], config: Config, *, credit: str) -> Iterator[str]:
    """The user's discounts and credits at providers that compete; ``credit`` says how a credit is spent."""
    competing = {candidate.provider for candidate in candidates}
    for provider, share in config.discounts.items():
        if provider in competing and share:
            yield f"{provider} sells to you {share:.0%} below its list ([discounts] in the configuration)"
    for provider, usd in config.credits_usd.items():
        if provider in competing and usd:
            yield f"your {usd:,.2f} USD of credit at {provider} are spent {credit} ([credits] in the configuration)"


def free_assumptions(candidates: list[Candidate]) -> Iterator[str]:
    """That a free notebook is there when it is asked for."""
    if any(row.free_tier is not None and not row.blocked for row in candidates):
        yield "a free notebook is had when it is asked for, with all hours of its week left"


def ownership_assumptions(candidates: list[Candidate], terms: OwnershipTerms) -> Iterator[str]:
    """How a purchase is written off, where one competes."""
    if any(charge.name == "amortisation" for row in candidates for charge in row.tariff.charges):
        yield (
            f"a purchase is written off over {terms.lifetime_years:g} years at {terms.use_share:.0%} use and "
            f"{terms.resale_share:.0%} resale ([ownership] in the configuration)"
        )


def price_assumptions(dearest_usd: float | None, dearer: int) -> Iterator[str]:
    """How many offers --max-price leaves out."""
    if dearest_usd is not None:
        yield f"{counted(dearer, 'offer')} above {dearest_usd:g} USD an hour left out (--max-price; this machine stays)"


def unpriced(question: Question, world: World) -> Iterator[str]:
    """A year's commitment that is asked for and of which no price is known, and where one is to be had."""
    for purchase in question.purchases:
        if purchase in COMMITMENTS and not world.catalog.offers((purchase,)):
            yield (
                f"no {purchase.replace('_', '-')} price is known, and none ships: gpuplanner prices refresh reads "
                f"{_COMMITMENT_FEEDS[purchase]}"
            )
