"""CPU time of ranking: the whole snapshot, and synthetic offers up to 100,000, which must grow linearly.

Usage: python tools/bench_ranking.py

The bar: all snapshot rows within 100 ms of CPU beyond start-up (loading the offers, physics and ordering included).
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from datetime import datetime

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.plan.planning import make_plan
from planner.plan.question import Question
from planner.plan.world import World, open_world
from planner.profiler.this_machine import find_this_machine
from pricing.catalog import Catalog
from pricing.offer import Offer


class Multiplied:
    """The catalogue with every offer repeated in made-up regions."""

    def __init__(self, catalog: Catalog, total: int) -> None:
        self._catalog = catalog
        offers = catalog.offers()
        copies = -(-total // len(offers))
        self._offers = [offer._replace(region=f"{offer.region}-{n}") for offer in offers for n in range(copies)][:total]

    def offers(self) -> list[Offer]:
        return self._offers

    def __getattr__(self, name: str) -> object:
        return getattr(self._catalog, name)


def cpu_ms(action: Callable[[], object], repeats: int = 7) -> float:
    """Median milliseconds of CPU."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000


def main() -> int:
    gc.disable()  # as the command line does
    world = open_world(find_this_machine())
    now = datetime.now().astimezone()
    experiment = resolve_experiment(ExperimentRequest("resnet50", epochs=90))

    def plan(asked: World) -> Callable[[], object]:
        return lambda: make_plan(experiment, Question(), asked, now, max_rows=20, by_machine=True)

    plan(world)()
    print(f"snapshot, {len(world.catalog.offers()):,} offers: {cpu_ms(plan(world)):.0f} ms of CPU")
    for total in (10_000, 30_000, 100_000):
        multiplied = World(Multiplied(world.catalog, total), world.local, world.config)  # type: ignore[arg-type]
        spent = cpu_ms(plan(multiplied), repeats=3)
        print(f"{total:>7,} synthetic offers: {spent:.0f} ms of CPU, {spent / total * 1000:.1f} us an offer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
