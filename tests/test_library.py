"""The library: light to import, the same answers as the command line, and its documentation runs."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import planner
from planner.cli.plan_json import plan_record
from planner.errors import InputError
from planner.library import estimate, make_experiment
from tests.cli.conftest import Run, run  # noqa: F401  (a fixture)

DOCS = Path(__file__).parent.parent / "docs"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_the_import_is_light() -> None:
    code = "import sys, planner; print([name for name in sys.modules if name.startswith(('planner.', 'pricing'))])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[]"


def test_every_name_is_there_and_no_other() -> None:
    for name in vars(planner)["__all__"]:
        assert getattr(planner, name) is not None
    assert set(vars(planner)["__all__"]) <= set(dir(planner))
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        planner.colour  # type: ignore[attr-defined]  # noqa: B018


def test_the_documentation_runs() -> None:
    failed, attempted = doctest.testfile(
        str(DOCS / "library.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert attempted > 10
    assert failed == 0


def test_the_answer_is_the_command_lines(run: Run) -> None:  # noqa: F811
    shown = run(
        "estimate", "-m", "bert-base", "-d", "squad", "-e", "2", "--where", "cloud,workstation", "--region", "us-*",
        "--spot", "--sort", "cost", "-n", "5", "-o", "json",
    ).record  # fmt: skip
    now = datetime.fromisoformat(shown["generated_at"])
    plan = estimate(
        "bert-base", dataset="squad", epochs=2, where="cloud,workstation", region=["us-*"], purchase="spot",
        sort="cost", max_rows=5, now=now,
    )  # fmt: skip
    rows = json.loads(json.dumps(plan_record(plan)))["estimates"]
    for row in (*rows, *shown["estimates"]):
        del row["finish_at"]  # the moment of the command line is known to the second only
    assert rows == shown["estimates"]


def test_a_deadline_may_be_a_moment() -> None:
    deadline = datetime(2026, 12, 5, tzinfo=UTC)
    plan = estimate("resnet50", epochs=1, deadline=deadline, now=NOW, max_rows=1)
    assert plan.estimates[0].p_meets is not None


def test_an_experiment_from_a_configuration_and_from_numbers() -> None:
    config = Path(__file__).parent / "experiment" / "configs" / "training_arguments.json"
    assert make_experiment(config=config, samples=1000).batch_size_per_gpu == 4
    numbers = make_experiment(parameters=1e9, flops_per_sample=1e12, activation_bytes=1e8, samples=100, epochs=1)
    assert numbers.workload.parameters == 1_000_000_000


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(InputError, match="has no 'colour'"):
        make_experiment("resnet50", colour="red")  # type: ignore[call-arg]
    experiment = make_experiment("resnet50")
    with pytest.raises(InputError, match="epochs cannot be said beside it"):
        estimate(experiment, epochs=3)
