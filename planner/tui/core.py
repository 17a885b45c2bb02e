"""What the app asks of the planner. All of it may take long: it runs in a worker thread, never in the interface."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from planner.errors import DataError, NothingFitsError
from planner.experiment.resolve import resolve_experiment
from planner.plan.alternative import alternative
from planner.plan.candidates import Candidate
from planner.plan.explain import Explanation, explain
from planner.plan.lever_runs import LeverRun, runs_of
from planner.plan.pick import find
from planner.plan.plan import Estimate, Plan
from planner.plan.planning import Answer, answer, written
from planner.plan.question import Question
from planner.plan.rows import ranked_estimate
from planner.plan.search import Sort
from planner.plan.world import World, open_world
from planner.profiler.detect import LocalMachine, quick_look
from planner.profiler.this_machine import cache_directory, find_this_machine, ledger_path, store_path
from planner.throughput.levers import Lever, levers
from planner.throughput.memory import available_bytes
from planner.throughput.model_parallel import split_of
from planner.throughput.precision import resolve_precision
from planner.throughput.step import StepModel
from planner.tui.asked import Values, question, request, with_changes
from planner.tui.garbage import uncollected
from planner.tui.refreshing import LiveRefreshing, Refreshing
from pricing.catalog import HOURLY, Catalog, PriceSource
from pricing.errors import PricingError
from pricing.interruption import Interruptions
from pricing.offer import InstanceType, Offer, Quarantined

if TYPE_CHECKING:
    from planner.plan.buy_or_rent import BuyOrRent, Terms
    from planner.plan.relax import Relaxation
    from planner.plan.swept import Swept
    from planner.tui.measured import Stored
    from planner.tui.profiling import Profiling
    from planner.tui.sweep_form import SweepForm
    from pricing.store import Change, Reading

FIRST_ROWS = 60
"""Rows written out before the first look at an answer: more than a screen holds."""


class Alternative(NamedTuple):
    """The one other row worth knowing, written out; see :mod:`planner.plan.alternative`."""

    estimate: Estimate
    hour_value_usd: float
    sooner: bool


class WayToFit(NamedTuple):
    """A change of the form with which an experiment that is too large fits, and the row that is then recommended.

    ``note`` says what is not the same afterwards ('' nothing).
    """

    values: Values
    estimate: Estimate
    note: str


class Ranked(NamedTuple):
    """An answered question: ``number`` counts the questions asked.

    ``plan`` has the first rows only until it is ``complete``. ``answer`` is what the plan was written from (None in
    samples that show a plan only). ``relaxations`` are there where limits leave nothing to recommend, ``ways_to_fit``
    where most machines are too small for the experiment, the cheapest first.
    """

    number: int
    values: Values
    question: Question
    plan: Plan
    alternative: Alternative | None
    answer: Answer | None
    complete: bool = True
    relaxations: Sequence[Relaxation] = ()
    ways_to_fit: Sequence[WayToFit] = ()

    @property
    def recommended(self) -> Estimate | None:
        chosen = self.plan.recommendation
        if chosen is None:
            return None
        return next((row for row in self.plan.estimates if row.rank == chosen.rank), None)

    @property
    def machines(self) -> str:
        """How many machines are ranked: '…' while only the first of them are written out."""
        return f"{len(self.plan.estimates):,}" if self.complete else "…"

    @property
    def this_machine(self) -> Estimate | None:
        return next((row for row in (*self.plan.estimates, *self.plan.unranked) if row.is_this_machine), None)


class Prices(NamedTuple):
    """All that is known of prices; ``today`` is the day from which ages count.

    ``readings`` are the last tries to read each feed, ``changes`` what refreshes saw change, the newest first.
    """

    today: date
    offers: Sequence[Offer]
    kinds: dict[tuple[str, str], InstanceType]
    quarantined: Sequence[Quarantined]
    sources: Sequence[PriceSource]
    readings: Sequence[Reading] = ()
    changes: Sequence[Change] = ()


class Core(Protocol):
    """The planner as the app sees it; each call raises PlannerError with one sentence."""

    def ask(self, values: Values, sort: Sort) -> Ranked: ...

    def complete(self, ranked: Ranked) -> Ranked: ...

    def levers(self, ranked: Ranked, estimate: Estimate) -> Sequence[Lever]: ...

    def largest_batch(self, ranked: Ranked, estimate: Estimate) -> int | None: ...

    def explain(self, ranked: Ranked, estimate: Estimate) -> Explanation | None: ...

    def lever_runs(self, ranked: Ranked, estimate: Estimate, explanation: Explanation) -> Sequence[LeverRun]: ...

    def sweep(self, values: Values, form: SweepForm) -> Swept: ...

    def buy_or_rent(self, values: Values, terms: Terms) -> BuyOrRent: ...

    def export(self, ranked: Ranked, estimate: Estimate, launcher: str) -> str: ...

    def prices(self) -> Prices: ...

    def refreshing(self, providers: Sequence[str]) -> Refreshing: ...

    def prices_changed(self) -> None: ...

    def machine(self) -> LocalMachine: ...

    def profile_words(self) -> str: ...

    def stored_profile(self) -> Stored | None: ...

    def profiling(self) -> Profiling: ...


def local_now() -> datetime:
    return datetime.now().astimezone()


class LiveCore:
    """The planner itself, over one world that is opened at the first question."""

    def __init__(self, clock: Callable[[], datetime] = local_now) -> None:
        self._clock = clock
        self._world: World | None = None
        self._asked = 0

    def ask(self, values: Values, sort: Sort) -> Ranked:
        """The first rows: writing out all of them takes as long again, and can wait."""
        with uncollected():
            return self._ask(values, sort)

    def _ask(self, values: Values, sort: Sort) -> Ranked:
        self._asked += 1
        now = self._clock()
        asked = question(values, now, sort)
        experiment = resolve_experiment(request(values))
        answered = answer(experiment, asked, self._opened(), now)
        other = alternative(answered)
        shown = None
        if other is not None:
            rank = answered.ranking.rows.index(other.row) + 1
            shown = Alternative(
                ranked_estimate(other.row, rank, on_front=False, now=now), other.hour_value_usd, other.sooner
            )
        plan = written(experiment, answered, now, by_machine=True, max_rows=FIRST_ROWS)
        ranked = Ranked(self._asked, values, asked, plan, shown, answered, complete=False)
        return _with_ways_out(ranked, answered, now)

    def complete(self, ranked: Ranked) -> Ranked:
        if ranked.answer is None or ranked.complete:
            return ranked
        plan = ranked.plan
        with uncollected():
            rows = written(plan.experiment, ranked.answer, plan.generated_at, by_machine=True, found=plan.refits)
        return ranked._replace(plan=rows, complete=True)

    def levers(self, ranked: Ranked, estimate: Estimate) -> Sequence[Lever]:
        candidate = _candidate(ranked, estimate)
        if candidate is None or ranked.answer is None:
            return ()
        return levers(ranked.plan.experiment, candidate.machine, ranked.answer.competition.knowledge)

    def largest_batch(self, ranked: Ranked, estimate: Estimate) -> int | None:
        """The largest batch per GPU that fits the row's machine; None where that is not known, 0 where none fits."""
        candidate = _candidate(ranked, estimate)
        if candidate is None or ranked.answer is None:
            return None
        machine, knowledge = candidate.machine, ranked.answer.competition.knowledge
        precision = resolve_precision(ranked.plan.experiment.precision, machine.accelerator)
        room = available_bytes(machine, knowledge.calibration)
        if precision is None or room is None:
            return None
        experiment = ranked.plan.experiment
        copies = split_of(experiment, machine).replicas
        return StepModel(experiment, knowledge).memory(precision, copies).largest_batch(room)

    def explain(self, ranked: Ranked, estimate: Estimate) -> Explanation | None:
        candidate = _candidate(ranked, estimate)
        if candidate is None or ranked.answer is None:
            return None
        knowledge = ranked.answer.competition.knowledge
        return explain(ranked.plan.experiment, candidate.machine, self._opened().local.machine, knowledge)

    def lever_runs(self, ranked: Ranked, estimate: Estimate, explanation: Explanation) -> Sequence[LeverRun]:
        """What each of the explanation's levers makes of the row's whole run, the soonest done first."""
        choice = find(ranked.answer, estimate) if ranked.answer is not None else None
        if choice is None or ranked.answer is None:
            return ()
        plan = ranked.plan
        return runs_of(plan.experiment, choice, explanation, ranked.answer.competition, plan.generated_at).levers

    def sweep(self, values: Values, form: SweepForm) -> Swept:
        """The form's experiment over the sweep's grid and pool."""
        from planner.plan.swept import sweep

        now = self._clock()
        return sweep(form.question(request(values)), question(values, now, "value"), self._opened(), now)

    def buy_or_rent(self, values: Values, terms: Terms) -> BuyOrRent:
        """The form's experiment on machines one might buy, against renting."""
        from planner.plan.buy_or_rent import buy_or_rent

        now = self._clock()
        return buy_or_rent(
            resolve_experiment(request(values)), question(values, now, "value"), terms, self._opened(), now
        )

    def export(self, ranked: Ranked, estimate: Estimate, launcher: str) -> str:
        """The file that launches the row. Raises PlannerError where the launcher cannot."""
        from planner.handoff.formats import FORMATS
        from planner.handoff.launch import launch

        choice = find(ranked.answer, estimate) if ranked.answer is not None else None
        if choice is None:
            raise NothingFitsError("this row is in no answer any more; ask again")
        return FORMATS[launcher](launch(ranked.plan.experiment, choice, ranked.plan.generated_at))

    def prices(self) -> Prices:
        catalog = self._opened().catalog
        try:
            return Prices(
                self._clock().date(),
                catalog.offers(),
                catalog.instance_types(),
                catalog.quarantined(),
                catalog.sources(),
                *seen_by_refreshes(store_path()),
            )
        except PricingError as error:
            raise DataError(str(error)) from error

    def refreshing(self, providers: Sequence[str]) -> Refreshing:
        """A refresh of the user's store by these providers, without any by those that need no set-up."""
        from pricing.live import LiveRefresh
        from pricing.sources import DEFAULT_AWS_REGIONS, Asked

        store = store_path()
        if store is None:
            raise DataError("there is no cache directory to keep refreshed prices in (set XDG_CACHE_HOME)")
        own = (self._opened().config.aws_regions or "").replace(",", " ").split()
        asked = Asked(tuple(providers), aws_regions=tuple(own) or DEFAULT_AWS_REGIONS)
        try:
            return LiveRefreshing(LiveRefresh(store, asked, os.environ, Path.home(), self._clock().astimezone(UTC)))
        except PricingError as error:
            raise DataError(str(error)) from error

    def prices_changed(self) -> None:
        """Read the prices anew at the next question."""
        self._world = None

    def profile_words(self) -> str:
        """What is known of this machine by measurement; '' where nothing is."""
        profile = self._opened().local.profile
        return f"measured: {profile.words}" if profile is not None and profile.words else ""

    def stored_profile(self) -> Stored | None:
        """The profile as it is stored; None where nothing was measured. Raises InputError where it cannot be read."""
        from planner.tui.measured import read_stored

        profile = self._opened().local.profile
        return None if profile is None else read_stored(Path(profile.path))

    def profiling(self) -> Profiling:
        from planner.tui.profiling import LiveProfiling

        return LiveProfiling(self.machine, self._clock)

    def machine(self) -> LocalMachine:
        """The full look, which waits for the driver as long as it takes."""
        return quick_look(cache_directory(), wait_s=None)

    def _opened(self) -> World:
        if self._world is None:
            world = open_world(find_this_machine(), store_path(), ledger_path())
            self._world = world._replace(catalog=_Remembered(world.catalog))
        return self._world


def seen_by_refreshes(store: Path | None) -> tuple[Sequence[Reading], Sequence[Change]]:
    """What the user's store knows of readings and changes; nothing where nothing was ever refreshed."""
    from pricing.store import open_store

    if store is None or not store.is_file():
        return (), ()
    with open_store(store) as opened:
        return opened.readings(), opened.history()


class _Remembered(Catalog):
    """A catalogue that reads its tables once: the app asks the same again with every key."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog.path, catalog.notices, catalog.changing)
        self._offers = cache(catalog.offers)
        self._types = cache(catalog.instance_types)
        self._interruptions = cache(catalog.interruptions)
        self._providers = cache(catalog.providers)

    def offers(self, purchases: Sequence[str] = HOURLY) -> list[Offer]:
        return self._offers(tuple(purchases))

    def instance_types(self) -> dict[tuple[str, str], InstanceType]:
        return self._types()

    def interruptions(self) -> Interruptions:
        return self._interruptions()

    def providers(self) -> list[str]:
        return self._providers()


def _with_ways_out(ranked: Ranked, answered: Answer, now: datetime) -> Ranked:
    """The answer with what its limits, or the experiment, would have to be."""
    if ranked.question.limits.given and not ranked.plan.recommendation:
        from planner.plan.relax import relaxations

        found = relaxations(answered, now)
        if found:
            return ranked._replace(relaxations=found)
    return ranked._replace(ways_to_fit=_ways_to_fit(ranked))


def _ways_to_fit(ranked: Ranked) -> tuple[WayToFit, ...]:
    plan, found = ranked.plan, []
    for way in plan.refits:
        values = dict(with_changes(ranked.values, plan.experiment, way.experiment))
        if way.num_nodes is not None:
            values["nodes"] = str(way.num_nodes)
        row = ranked_estimate(way.row, 1, on_front=False, now=plan.generated_at)
        found.append(WayToFit(values, row, way.note))
    return tuple(found)


def _candidate(ranked: Ranked, estimate: Estimate) -> Candidate | None:
    choice = find(ranked.answer, estimate) if ranked.answer is not None else None
    return choice.candidate if choice is not None else None
