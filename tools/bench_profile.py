"""How well the profile predicts this machine's training steps: the bars of docs/profile.md, measured.

Every repetition trains each model for a few steps, makes a quick profile, and trains each again; then the same around a
run of resnet18 for the two networks that it should tell about. A machine that others use as well, or whose clock
drifts, then disturbs prediction and truth alike.

usage: python tools/bench_profile.py [--python PATH] [--repetitions 3] [--steps 4]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.profiler.detect import LocalMachine, quick_look
from planner.profiler.profile_file import read_profile
from planner.profiler.session import HOST_S, QUICK_S, Session, Wanted
from planner.throughput.evidence import shipped_knowledge
from planner.throughput.measured import knowledge_with_profile
from planner.throughput.step import StepModel

MODELS = (("resnet18", 8, None), ("mobilenet_v2", 8, None), ("lstm-lm", 20, None), ("bert-base", 4, 128))
FROM_RESNET18 = (("resnet34", 8, None), ("resnet50", 8, None))
LIMIT, LIMIT_FROM_RESNET18 = 0.25, 0.15
TRUTH_S = 60.0

Model = tuple[str, int, int | None]


def predicted_s(local: LocalMachine, path: Path, model: Model, *, runs: bool) -> float:
    """The P50 of the estimate for a step here; without ``runs`` from the micro-benchmarks alone."""
    name, batch, length = model
    request = ExperimentRequest(model=name, steps=1.0, batch_size_per_gpu=batch, seq_length=length)
    experiment = resolve_experiment(request)
    profile = read_profile(path)
    if not runs:
        profile = profile._replace(runs=())
    machine = local.machine()
    knowledge = knowledge_with_profile(shipped_knowledge(), profile, machine, experiment)
    step_time = StepModel(experiment, knowledge).estimate(machine).step_time_s
    assert step_time is not None
    return step_time.p50


def measured_s(session: Session, python: str, model: Model, steps: int) -> float:
    """The median step of a real run."""
    name, batch, length = model
    experiment = resolve_experiment(ExperimentRequest(model=name, seq_length=length))
    wanted = Wanted(
        model=experiment.workload.name,
        batch_size=batch,
        precision="fp32",
        optimizer=experiment.optimizer,
        steps=steps,
        image_size=experiment.workload.image_size,
        seq_length=experiment.workload.seq_length,
    )
    return session.train(wanted, python, TRUTH_S, lambda *_: None).step_time_s


def now() -> datetime:
    return datetime.now(UTC)


def repetition(python: str, steps: int, ratios: dict[str, list[float]]) -> None:
    """Truth, profile, truth: what drifts on the machine meanwhile falls on both sides of the prediction alike."""
    local = quick_look(None, wait_s=None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "profile.json")
        session, truth = Session(local, path, now), Session(local, Path(folder, "truth.json"), now)

        def measured(models: Sequence[Model]) -> list[float]:
            return [measured_s(truth, python, model, steps) for model in models]

        before = measured(MODELS)
        begin = time.monotonic()
        session.measure(python, quick=True, seconds=QUICK_S - HOST_S, progress=lambda *_: None)
        print(f"quick profile: {time.monotonic() - begin:.1f} s")
        predicted = [predicted_s(local, path, model, runs=False) for model in MODELS]
        compare("after --quick", MODELS, predicted, before, measured(MODELS), ratios)

        before = measured(FROM_RESNET18)
        measured_s(session, python, MODELS[0], max(steps, 8))
        predicted = [predicted_s(local, path, model, runs=True) for model in FROM_RESNET18]
        compare("after -m resnet18", FROM_RESNET18, predicted, before, measured(FROM_RESNET18), ratios)


def compare(
    when: str,
    models: Sequence[Model],
    predicted: Sequence[float],
    before: Sequence[float],
    after: Sequence[float],
    ratios: dict[str, list[float]],
) -> None:
    for model, forecast, *truths in zip(models, predicted, before, after, strict=True):
        name = f"{model[0]} {when}"
        ratios.setdefault(name, []).append(forecast / statistics.fmean(truths))
        spread = ", ".join(f"{seconds:.3f}" for seconds in truths)
        print(f"  {name:28} predicted {forecast:6.3f} s, measured {spread} s: {ratios[name][-1] - 1:+.1%}", flush=True)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="predicted and measured training steps on this machine")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch, timm and transformers")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4, help="training steps of each model and repetition")
    arguments = parser.parse_args(argv)
    ratios: dict[str, list[float]] = {}
    for _ in range(arguments.repetitions):
        repetition(arguments.python, arguments.steps, ratios)
    missed = False
    print(f"\n{'':30}median error   lowest  highest  bar")
    for name, values in ratios.items():
        limit = LIMIT_FROM_RESNET18 if name.endswith("-m resnet18") else LIMIT
        middle = statistics.median(values) - 1.0
        missed = missed or abs(middle) > limit
        print(f"{name:30}{middle:>+12.1%} {min(values) - 1:>+8.1%} {max(values) - 1:>+8.1%}  {limit:.0%}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
