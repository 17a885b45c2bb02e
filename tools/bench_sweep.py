"""CPU time of planning a sweep: 200 experiments over 12 machines, with the pools compared. The bar: 2 seconds.

Usage: python tools/bench_sweep.py
"""

from __future__ import annotations

import sys
import time
from datetime import datetime

from planner.experiment.resolve import ExperimentRequest
from planner.plan.question import Question
from planner.plan.sweep_grid import parse_axis, variants
from planner.plan.sweep_pool import parse_entry
from planner.plan.swept import SweepQuestion, sweep
from planner.plan.world import open_world
from planner.profiler.this_machine import find_this_machine

BAR_S = 2.0
POOL = ("workstation", "RTX 4090=2", "aws:g6e.xlarge=4", "gcp:a2-highgpu-1g:spot=5")
GRIDS = {
    "differing in length only": ("epochs=10..29", "lr=0.1,0.03,0.01,0.003,0.001", "seed=1,2"),
    "differing in pace, too": ("batch_size=32..71", "precision=amp,fp32", "seed=1..2", "optimizer=sgd"),
    "of five networks": ("model=resnet18,resnet50,resnet101,vit_base_patch16_224,convnext_tiny", "epochs=1..40"),
}


def main() -> int:
    start = time.process_time()
    world = open_world(find_this_machine())
    world.catalog.offers()
    print(f"opening the world: {time.process_time() - start:.2f} s of CPU")
    missed = False
    for name, grid in GRIDS.items():
        start = time.process_time()
        found = variants(ExperimentRequest("resnet50", epochs=30), [parse_axis(text) for text in grid])
        several = (found * 2)[:200]
        asked = SweepQuestion(tuple(several), tuple(parse_entry(text) for text in POOL))
        swept = sweep(asked, Question(), world, datetime.now().astimezone())
        spent = time.process_time() - start
        missed |= spent > BAR_S
        over = swept.plan.makespan_s.p50 / swept.plan.bound_s
        machines = len(swept.plan.tracks)
        print(
            f"{len(several)} experiments {name} over {machines} machines: {spent:.2f} s of CPU, {over:.3f} x the bound"
        )
    print(f"bar {BAR_S:g} s " + ("MISSED" if missed else "met"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
