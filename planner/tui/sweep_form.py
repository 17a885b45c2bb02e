"""What the Sweep tab asks: a grid, a pool and an order, as two lines of text that people type."""

from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest
from planner.plan.sweep import Order
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

    def with_machine(self, what: str) -> "SweepForm":
        """One more of this machine in the pool."""
        entries = [parse_entry(text) for text in self._entries()]
        counts = {entry.what: entry.copies for entry in entries}
        counts[what] = counts.get(what, 0) + 1
        return self._replace(pool=_written(counts))

    def without_last(self) -> "SweepForm":
        """One less of the pool's last entry."""
        counts = {entry.what: entry.copies for entry in (parse_entry(text) for text in self._entries())}
        if counts:
            last = list(counts)[-1]
            counts[last] -= 1
        return self._replace(pool=_written(counts))

    def flags(self) -> list[str]:
        """The same as the command line's words."""
        words = [word for axis in self.grid.split() for word in ("--grid", axis)]
        words += [word for entry in self._entries() for word in ("--pool", entry)]
        return words if self.order == "shortest" else [*words, "--order", self.order]

    def _entries(self) -> list[str]:
        return [text.strip() for text in self.pool.split(",") if text.strip()]


def _written(counts: dict[str, int]) -> str:
    return ", ".join(f"{what}={count}" if count > 1 else what for what, count in counts.items() if count > 0)
