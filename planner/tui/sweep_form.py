"""What the Sweep tab asks: a grid, a pool and an order, as two lines of text that people type."""

from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest
from planner.plan.config import THIS_MACHINE
from planner.plan.plan import Estimate
from planner.plan.sweep import Order, SweepPlan
from planner.plan.sweep_grid import free_names, parse_axis, variants
from planner.plan.sweep_pool import parse_entry
from planner.plan.swept import SweepQuestion

FIRST_GRID = "seed=1..8"


class SweepForm(NamedTuple):
    """``grid``: 'epochs=30,90 seed=1..4'; ``pool``: 'RTX 4090=2, aws:g6e.xlarge', empty for the default one."""

    grid: str = FIRST_GRID
    pool: str = ""
    order: Order = "shortest"

    def question(self, request: ExperimentRequest) -> SweepQuestion:
        """The sweep of the form's experiment. Raises InputError."""
        axes = [parse_axis(word) for word in self.grid.split()]
        if not axes:
            raise InputError("write a grid such as seed=1..8 or epochs=30,90 lr=0.1,0.01")
        return SweepQuestion(
            variants=tuple(variants(request, axes)),
            entries=tuple(parse_entry(text) for text in self._entries()),
            order=self.order,
            free_names=free_names(axes),
        )

    def spelt_out(self, plan: SweepPlan | None) -> "SweepForm":
        """With the pool's machines written out; of an empty pool they are those of ``plan``, which was made for it."""
        if self._entries() or plan is None:
            return self
        counts: dict[str, int] = {}
        for track in plan.tracks:
            candidate, offer = track.machine.candidate, track.machine.offer
            if candidate.is_this_machine or offer is None:
                what = THIS_MACHINE if candidate.is_this_machine else candidate.name
            else:
                what = _rented_words(offer.provider, offer.instance_type, offer.region, offer.purchase)
            counts[what] = counts.get(what, 0) + 1
        return self._replace(pool=_written(counts))

    def with_machine(self, what: str) -> "SweepForm":
        """One more of this machine in the pool. Raises InputError for a pool that cannot be read."""
        counts = self._counts()
        counts[what] = counts.get(what, 0) + 1
        return self._replace(pool=_written(counts))

    def without_last(self) -> "SweepForm":
        """One less of the pool's last entry; the last machine stays. Raises InputError as ``with_machine`` does."""
        counts = self._counts()
        if sum(counts.values()) > 1:
            counts[list(counts)[-1]] -= 1
        return self._replace(pool=_written(counts))

    def has(self, what: str) -> bool:
        """Whether the pool names this machine. Raises InputError as ``with_machine`` does."""
        return what in self._counts()

    def flags(self) -> list[str]:
        """The same as the command line's words."""
        words = [word for axis in self.grid.split() for word in ("--grid", axis)]
        words += [word for entry in self._entries() for word in ("--pool", entry)]
        return words if self.order == "shortest" else [*words, "--order", self.order]

    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for entry in map(parse_entry, self._entries()):
            counts[entry.what] = counts.get(entry.what, 0) + entry.copies
        return counts

    def _entries(self) -> list[str]:
        return [text.strip() for text in self.pool.split(",") if text.strip()]


def pool_words(row: Estimate) -> str:
    """A row's machine as a pool names it: 'this machine', 'desk', 'aws:g6e.xlarge@us-east-2:spot'."""
    if row.provider is None or row.instance_type is None:
        return THIS_MACHINE if row.is_this_machine else row.name
    return _rented_words(row.provider, row.instance_type, row.region or "", row.purchase)


def _rented_words(provider: str, instance_type: str, region: str, purchase: str) -> str:
    return f"{provider}:{instance_type}{f'@{region}' if region else ''}:{purchase}"


def _written(counts: dict[str, int]) -> str:
    return ", ".join(f"{what}={count}" if count > 1 else what for what, count in counts.items() if count > 0)
