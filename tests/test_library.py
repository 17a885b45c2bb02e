"""The library: light to import, the same answers as the command line, and its documentation runs."""

from __future__ import annotations

import doctest
import json
import math
import re
import subprocess
import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.cli.options import add_plan_arguments
from planner.cli.plan_json import plan_record
from planner.errors import InputError
from planner.library import NAMES_OF_FLAGS, Said, estimate, load_workload, make_experiment
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
    with pytest.raises(InputError, match="there is no 'colour'"):
        make_experiment("resnet50", colour="red")  # type: ignore[call-arg]
    experiment = make_experiment("resnet50")
    with pytest.raises(InputError, match="epochs cannot be said beside it"):
        estimate(experiment, epochs=3)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"epochs": "3"}, "epochs must be a number, not '3'"),
        ({"tensor_parallel": "2"}, "tensor_parallel must be a whole number, not '2'"),
        ({"batch_size_per_gpu": True}, "batch_size_per_gpu must be a whole number, not True"),
        ({"compiled": "no"}, "compiled must be True or False, not 'no'"),
        ({"max_rows": "2"}, "max_rows must be a whole number, not '2'"),
        ({"max_rows": -1}, "max_rows must be 0"),
        ({"deadline": 172800}, "deadline must be a text or a datetime, not 172800"),
        ({"deadline": datetime(2020, 1, 1, tzinfo=UTC)}, "is in the past"),
        ({"gpus": 5}, "gpus must be a text, not 5"),
        ({"where": ["cloud", 5]}, "where must be a text or a list of texts"),
        ({"sort": "speed"}, "sort must be value or cost or time"),
        ({"num_nodes": 0}, "--num-nodes must be between 1 and 10,000"),
        ({"confidence": 90}, "--confidence must be between 0 and 1"),
        ({"budget_usd": math.nan}, "--budget must be an amount above 0"),
        ({"hour_value_usd": -1}, "--hour-value must be 0 to"),
        ({"batch_size": 8}, "did you mean batch_size_per_gpu"),
        ({"spot": True}, 'did you mean purchase="spot"'),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        estimate("resnet50", now=NOW, **said)


def test_what_is_no_model_is_refused() -> None:
    for function in (estimate, make_experiment, load_workload):
        with pytest.raises(InputError, match=r"must be an? .*not 5"):
            function(5)  # type: ignore[arg-type]


def test_numbers_of_numpy_and_none_are_taken() -> None:
    numpy = pytest.importorskip("numpy")
    made = make_experiment("resnet50", epochs=numpy.float32(2), batch_size_per_gpu=numpy.int64(32), zero_stage=None)  # type: ignore[arg-type]
    assert (made.epochs, made.batch_size_per_gpu, made.zero_stage) == (2, 32, 0)
    assert type(made.batch_size_per_gpu) is int


def test_a_deadline_without_a_zone_is_by_this_systems_clock() -> None:
    moment = datetime(2026, 12, 5)
    naive, aware = (
        estimate("resnet50", epochs=1, deadline=deadline, now=NOW.astimezone(), max_rows=1).estimates
        for deadline in (moment, moment.astimezone())
    )
    assert naive == aware


def _library_names() -> set[str]:
    parameters = signature(estimate).parameters
    return {name for name in parameters if name != "said"} | set(Said.__annotations__)


def test_every_flag_of_the_experiment_and_the_question_has_its_name() -> None:
    """By its own name, or by another that a mistake is told; what shows or keeps an answer is the command line's."""
    parser = ArgumentParser()
    add_plan_arguments(parser)
    groups = {group.title: {action.dest for action in group._group_actions} for group in parser._action_groups}
    flags = set().union(*(names for title, names in groups.items() if title not in ("output", "options", "positional")))
    of_files = {"model", "hub", "config", "profile", "no_profile", "max_price_age", "electricity_price"}
    assert flags - of_files - {"help"} <= _library_names() | set(NAMES_OF_FLAGS)
    assert {name.partition("=")[0] for name in NAMES_OF_FLAGS.values()} <= _library_names()


def test_the_page_lists_every_name() -> None:
    tables = (DOCS / "library.md").read_text(encoding="utf-8").partition("## Names")[2]
    rows = [line.split("|")[1] for line in tables.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", "".join(rows))) == _library_names()
