"""Choose one machine of a ranking: by rank, by what it runs on, or the recommended one."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from planner.errors import InputError, NothingFitsError, UnknownNameError, near_misses
from planner.hardware.presets import machine_from_spec
from planner.hardware.selection import Selection, parse_selection, resolve_count
from planner.plan.candidates import Candidate, Tariff
from planner.plan.config import OWN_PLACES, THIS_MACHINE, folded_name
from planner.plan.plan import Estimate
from planner.plan.planning import Answer, numbered
from planner.plan.recommend import why_none
from planner.plan.search import Row
from pricing.offer import Offer

PURCHASES = ("on_demand", "spot", "reserved", "savings_plan", "capacity_block")


class Choice(NamedTuple):
    """A machine chosen, with its ranked row and its rank among all offers; both are None where it has none.

    ``offer`` is how it is paid for: the row's, or the one that was refused.
    """

    candidate: Candidate
    row: Row | None
    rank: int | None = None
    offer: Offer | None = None


class _Instance(NamedTuple):
    """PROVIDER:INSTANCE_TYPE[@REGION][:PURCHASE]; None is any."""

    provider: str
    instance_type: str
    region: str | None
    purchase: str | None

    def matches(self, candidate: Candidate, offer: Offer | None) -> bool:
        return (
            candidate.provider == self.provider
            and (candidate.instance_type or "").casefold() == self.instance_type.casefold()
            and (self.region is None or (offer is not None and self.region in (offer.region, offer.zone)))
            and (self.purchase is None or (offer is not None and offer.purchase == self.purchase))
        )


def pick(
    answer: Answer, providers: tuple[str, ...], on: str | None, rank: int | None, *, by_machine: bool = False
) -> Choice:
    """The machine ``on`` names (the best-ranked of several), the row of ``rank``, or the recommended row.

    ``by_machine``: ranks are those of a table with one row a machine.

    An accelerator that no candidate has is taken as a workstation with it. Raises InputError.
    """
    rows = answer.ranking.rows
    if on is not None and rank is not None:
        raise InputError("--on and --row contradict each other: give one of them")
    if on is not None:
        return _on(answer, providers, on)
    if rank is not None:
        by_rank = {shown: index for index, shown in numbered(rows, answer.best, by_machine=by_machine).items()}
        if rank not in by_rank:
            raise InputError(f"--row must be a row's number from 1 to {len(by_rank):,}, not {rank}")
        return _ranked(answer, by_rank[rank])
    if not rows:
        raise NothingFitsError("nothing fits or is left to rank; gpuplanner estimate says why")
    if answer.best is None:
        why = why_none(rows, answer.competition.limits, answer.competition.named)
        raise NothingFitsError(f"{why} gpuplanner estimate shows the rows: say which one with --on or --row")
    return _ranked(answer, answer.best)


def _ranked(answer: Answer, index: int) -> Choice:
    row = answer.ranking.rows[index]
    return Choice(row.setting.candidate, row, index + 1, row.offer)


def find(answer: Answer, estimate: Estimate) -> Choice | None:
    """The machine that an estimate of this answer was written for; None where the answer has no such row."""
    for index, row in enumerate(answer.ranking.rows):
        if _is_of(estimate, row.setting.candidate, row.offer):
            return _ranked(answer, index)
    for refusal in answer.ranking.refusals:
        if _is_of(estimate, refusal.candidate, refusal.offer):
            return Choice(refusal.candidate, None, offer=refusal.offer)
    return None


def _is_of(estimate: Estimate, candidate: Candidate, offer: Offer | None) -> bool:
    if (estimate.name, estimate.provider, estimate.place) != (candidate.name, candidate.provider, candidate.place):
        return False
    if offer is None:
        return estimate.purchase == candidate.purchase(offer)
    return (estimate.region, estimate.zone, estimate.purchase) == (offer.region, offer.zone, offer.purchase)


def _on(answer: Answer, providers: tuple[str, ...], text: str) -> Choice:
    instance = _instance(text, providers)

    def readings() -> Iterator[_Wanted]:
        return iter([instance]) if instance is not None else _readings(answer, text)

    for to_be_had in (True, False):
        for wanted in readings():
            found = _best(answer, wanted, to_be_had=to_be_had)
            if found is not None:
                return found
    if _place(text) is not None:
        words = repr(text.strip().lower())
        raise InputError(f"{words} is not among what --where and --gpus leave: add its place to --where")
    if instance is not None:
        raise InputError(
            f"no price of {text!r} is known here; gpuplanner estimate --where {instance.provider} lists what is"
        )
    return Choice(_alone(text), None)


class _Wanted(Protocol):
    def matches(self, candidate: Candidate, offer: Offer | None) -> bool: ...


def _best(answer: Answer, wanted: _Wanted, *, to_be_had: bool) -> Choice | None:
    """The best-ranked row that is wanted, else a machine on which it does not fit, rather one that is to be had today;
    unless ``to_be_had``, else one that nobody can have (no longer lent, its price too old)."""
    for index, row in enumerate(answer.ranking.rows):
        if wanted.matches(row.setting.candidate, row.offer):
            return _ranked(answer, index)
    refused = (
        refusal
        for refusal in answer.ranking.refusals
        if (refusal.step is not None or not to_be_had) and wanted.matches(refusal.candidate, refusal.offer)
    )
    found = min(refused, key=lambda refusal: refusal.candidate.hypothetical, default=None)
    return None if found is None else Choice(found.candidate, None, offer=found.offer)


def _readings(answer: Answer, text: str) -> Iterator[_Wanted]:
    """What ``text`` may mean, the likeliest first: a place, a machine's name, accelerators. Raises UnknownNameError."""
    place = _place(text)
    if place is not None:
        yield place
        return
    name = _Name(folded_name(text))
    yield name
    try:
        selection = parse_selection(text)
    except UnknownNameError as error:
        if _best(answer, name, to_be_had=False) is not None:
            return
        near = near_misses(text, _names(answer))
        suggestions = tuple(dict.fromkeys((*near, *error.suggestions)))[:3]
        raise UnknownNameError("accelerator or machine", text, suggestions) from error
    if all(wanted.num_gpus is None for wanted in selection.alternatives):
        # Who names a card and no number means one card, where one can be had.
        yield _Accelerators(Selection(tuple(w._replace(num_gpus=1.0) for w in selection.alternatives), ()))
    if answer.competition.open_nodes:  # eight GPUs are not the sixteen of two such nodes
        yield _Accelerators(selection, one_node=True)
    yield _Accelerators(selection)


def _names(answer: Answer) -> set[str]:
    """The names under which the machines of the answer are shown."""
    candidates = [row.setting.candidate for row in answer.ranking.rows]
    candidates += [refusal.candidate for refusal in answer.ranking.refusals]
    return {candidate.instance_type or candidate.name for candidate in candidates}


class _Name(NamedTuple):
    """A machine by its own name, as the table prints it."""

    folded: str

    def matches(self, candidate: Candidate, offer: Offer | None) -> bool:
        return any(folded_name(name) == self.folded for name in (candidate.name, candidate.instance_type) if name)


class _Place(NamedTuple):
    """'this machine', or the best machine of a place that is not rented."""

    words: str

    def matches(self, candidate: Candidate, offer: Offer | None) -> bool:
        if self.words == THIS_MACHINE:
            return candidate.is_this_machine
        return candidate.place == self.words


def _place(text: str) -> _Place | None:
    words = text.strip().lower()
    return _Place(words) if words in (THIS_MACHINE, *OWN_PLACES) else None


class _Accelerators(NamedTuple):
    selection: Selection
    one_node: bool = False

    def matches(self, candidate: Candidate, offer: Offer | None) -> bool:
        machine = candidate.machine
        return self.selection.matches(machine) and not (self.one_node and machine.num_nodes > 1)


def _instance(text: str, providers: tuple[str, ...]) -> _Instance | None:
    """``text`` as a provider's machine; None where it does not begin with a provider's name."""
    provider, colon, rest = text.partition(":")
    if not colon or provider.strip().lower() not in providers:
        return None
    name, _, purchase = rest.partition(":")
    name, _, region = name.partition("@")
    folded = purchase.strip().lower().replace("-", "_")
    if folded and folded not in PURCHASES:
        raise InputError(f"unknown purchase option {purchase!r} in --on {text!r}; known are {', '.join(PURCHASES)}")
    return _Instance(provider.strip().lower(), name.strip(), region.strip() or None, folded or None)


def _alone(text: str) -> Candidate:
    """A workstation with the accelerators of ``text``, which nobody prices here."""
    resolution, count = resolve_count(text)
    name = f"{count}x {resolution.accelerator.name}" if count > 1 else resolution.accelerator.name
    machine = machine_from_spec(name, resolution.accelerator.key, count)
    return Candidate(name, "workstation", machine, Tariff(()), (None,), hypothetical=True)
