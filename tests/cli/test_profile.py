"""gpuplanner profile: measure, show, forget; and estimates that use what was measured."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.profiler.interpreters import DEVICE, LAUNCH, MODEL, RATES, interpreter

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in interpreter is a script")

ASK = ("estimate", "-m", "resnet18", "--steps", "1000", "-b", "8", "--where", "workstation,laptop", "-o", "json")


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    steps = [{"kind": "step", "seconds": 0.5}] * 4
    return interpreter(tmp_path, torch=[DEVICE, *RATES, LAUNCH], train=[MODEL, *steps])


def here(record: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in record["estimates"] if row["is_this_machine"])
    return row


def test_a_quick_profile_moves_the_estimate_and_can_be_forgotten(run: Run, python: str) -> None:
    plain = here(run(*ASK).record)
    shown = run("profile", "--quick", "--python", python)
    assert shown.code == 0
    assert "cpu: torch 9.9, 2 threads, 4 measurements" in shown.out
    assert "matrix products" in shown.out
    answer = run(*ASK).record
    measured = here(answer)
    assert measured["evidence"] == "measured_here"
    assert measured["step_time_s"]["p50"] != plain["step_time_s"]["p50"]
    assert any(line.startswith("this machine as it was measured: rates of the CPU") for line in answer["assumptions"])
    assert here(run(*ASK, "--no-profile").record)["step_time_s"] == plain["step_time_s"]
    assert run("profile", "clear").out.startswith("forgot ")
    assert here(run(*ASK).record)["step_time_s"] == plain["step_time_s"]
    assert run("profile", "clear").out.startswith("there was no profile")


def test_a_profile_in_a_file(run: Run, python: str, tmp_path: Path) -> None:
    run("profile", "--quick", "--python", python)
    document = run("profile", "show", "-o", "json").record
    assert document["schema_version"] == 2
    elsewhere = tmp_path / "mine.json"
    elsewhere.write_text(json.dumps(document))
    run("profile", "clear")
    assert here(run(*ASK, "--profile", str(elsewhere)).record)["evidence"] == "measured_here"
    elsewhere.write_text("{}")
    refused = run(*ASK, "--profile", str(elsewhere))
    assert refused.code == 2
    assert "is not a profile of version 2" in refused.err


def test_a_model_is_trained_and_remembered(run: Run, python: str) -> None:
    run("profile", "--quick", "--python", python)
    shown = run("profile", "-m", "resnet18", "-b", "8")  # with the interpreter of the last time
    assert shown.code == 0
    assert "resnet18" in shown.out
    assert "500 ms" in shown.out
    assert here(run(*ASK).record)["step_time_s"]["p50"] == pytest.approx(0.5, rel=0.25)


def test_counted_energy_is_shown_for_an_epoch(run: Run, python: str) -> None:
    run("profile", "-m", "resnet18", "-b", "8", "--python", python)
    path = Path(run("profile", "show", "-o", "json").record["path"])
    document = json.loads(path.read_text())
    for runs, shown in ((document["runs"], "57.7"), ([{**document["runs"][0], "model": "net.py:make"}], "–")):
        counted = [{**entry, "energy_j_per_step": 1296.0} for entry in runs]
        path.write_text(json.dumps({**document, "runs": counted}))
        line = run("profile", "show").out.splitlines()[-1].split()
        assert line[-2:] == ["1296", shown]  # 162 J a sample x 1,281,167 samples


def test_a_model_of_ones_own_is_trained(run: Run, python: str) -> None:
    assert run("profile", "-m", "net.py:make", "--input", "3x32x32", "-b", "8", "--python", python).code == 0
    (stored,) = run("profile", "show", "-o", "json").record["runs"]
    assert stored["model"] == "net.py:make"
    assert run(*ASK).code == 0


def test_a_damaged_profile_is_a_warning_not_an_error(run: Run, python: str) -> None:
    run("profile", "--quick", "--python", python)
    path = Path(run("profile", "show", "-o", "json").record["path"])
    path.write_text("{")
    answer = run(*ASK)
    assert answer.code == 0
    assert any("is not a profile: it is not JSON" in line for line in answer.record["warnings"])


@pytest.mark.parametrize(
    "command",
    [
        ("estimate",), ("scale", "--gpus", "A100:1"), ("breakeven", "--buy", "RTX 4090"), ("explain",),
        ("sweep", "--repeat", "2"), ("gpus", "--for"),
    ],
)  # fmt: skip
def test_every_command_that_plans_tells_of_a_damaged_profile(run: Run, python: str, command: tuple[str, ...]) -> None:
    run("profile", "--quick", "--python", python)
    path = Path(run("profile", "show", "-o", "json").record["path"])
    path.write_text("{")
    asked = (*command, *(("resnet50",) if command[0] == "gpus" else ("-m", "resnet50", "-e", "1")))
    warning = run(*asked, "-o", "json").record["warnings"][0]
    assert "is not a profile: it is not JSON" in warning
    assert warning.endswith("it is left out (gpuplanner profile)")
    assert "Warning: " in run(*asked).out


@pytest.mark.parametrize("command", ["estimate", "breakeven", "explain", "sweep"])
def test_every_command_that_plans_tells_of_measurements_above_the_peak(run: Run, command: str) -> None:
    asked = (command, "-m", "resnet18", "-d", "cifar10", "-e", "1", "--measured", "RTX 3090=5000000")
    peak, images = run(*asked, "-o", "json").record["warnings"][:2]
    assert "of what the arithmetic of its 1 GPU allows" in peak
    assert images.startswith("the images of cifar10 are 32 x 32, enlarged to 224 x 224 here")


def test_a_profile_of_another_machine_is_not_used(run: Run, python: str) -> None:
    run("profile", "--quick", "--python", python)
    path = Path(run("profile", "show", "-o", "json").record["path"])
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "machine": {**document["machine"], "cpu": "another"}}))
    answer = run(*ASK).record
    assert here(answer)["evidence"] != "measured_here"
    assert any("made on another machine" in line for line in answer["warnings"])


def test_a_profile_that_was_stopped_before_anything_was_measured_is_called_empty(run: Run, python: str) -> None:
    run("profile", "--quick", "--python", python)
    path = Path(run("profile", "show", "-o", "json").record["path"])
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "rates": None, "runs": [], "host": {}}))
    answer = run(*ASK).record
    assert any(
        line.endswith("is empty: its specifications are used (gpuplanner profile)") for line in answer["assumptions"]
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--max-seconds", "5", "--"), "no command follows --: gpuplanner profile -- python train.py"),
        (("show", "extra"), "profile show takes nothing more, not 'extra'"),
        (("show",), "nothing was measured on this machine yet: gpuplanner profile --quick"),
        (("--quick", "--sustained"), "--quick and --sustained contradict each other"),
        (("--python", "/no/such/python"), "there is no interpreter '/no/such/python' (--python)"),
        (("-m", "resnet81"), "resnet81"),
        (("-m", "resnet18", "-b", "0"), "--batch-size must be between 1 and 65,536, not 0"),
        (("-m", "model.py:make"), "say what the model takes, without the batch: --input 3x224x224"),
        (("-m", "resnet18", "--input", "3x224x224"), "--input is for a model of your own"),
        (("-m", "resnet18", "--max-steps", "0"), "--max-steps must be 1 or more, not 0"),
        (("--max-steps", "0", "--", "true"), "--max-steps must be 1 or more, not 0"),
        (("-m", "resnet18", "--", "true"), "say with -b how many samples"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, arguments: tuple[str, ...], words: str) -> None:
    result = run("profile", *arguments)
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_an_interruption_leaves_a_usable_profile_and_no_process(tmp_path: Path, run: Run) -> None:
    marker = f"lingering-{tmp_path.name}"
    python = interpreter(tmp_path, torch=[DEVICE, *RATES], then=f"{marker!r}; time.sleep(60)")
    command = [
        sys.executable,
        "-c",
        "from planner.cli.main import run; run()",
        "profile",
        "--quick",
        "--python",
        python,
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path)
    for _ in range(300):
        if "3 measurements" in run("profile", "show").out:
            break
        time.sleep(0.05)
    process.terminate()
    assert process.stderr is not None
    assert b"what was measured is kept" in process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=20) == 130
    assert here(run(*ASK).record)["evidence"] == "measured_here"
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert python not in listing


def test_a_watched_command_that_is_known_becomes_a_training_run(tmp_path: Path, run: Run) -> None:
    code = "import time\nfor i in range(1, 13): time.sleep(.02); print(f'gpuplanner: step={i} samples=8', flush=True)"
    command = [sys.executable, "-c", "from planner.cli.main import run; run()", "profile", "-m", "resnet18", "-b", "8"]
    watched = subprocess.run(
        [*command, "--precision", "fp32", "--", sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "a step took" in watched.stderr
    (stored,) = run("profile", "show", "-o", "json").record["runs"]
    assert stored["model"] == "resnet18"
    assert 0.015 < stored["step_time_s"] < 0.2


def test_the_report_of_a_watched_command(run: Run) -> None:
    code = "import time\nfor i in range(1, 13): time.sleep(.01); print(f'gpuplanner: step={i} samples=8', flush=True)"
    watched = run("profile", "--", sys.executable, "-c", code)
    assert watched.code == 0
    assert "a step took" in watched.err
    assert "samples/s" in watched.err
    bounded = run("profile", "-o", "json", "--max-steps", "3", "--", sys.executable, "-c", code)
    assert bounded.code == 0
    assert json.loads(bounded.err)["stopped"] == "steps"
    assert run("profile", "--", sys.executable, "-c", "raise SystemExit(4)").code == 4


def test_steps_that_cannot_be_told_are_no_training_run(run: Run) -> None:
    result = run("profile", "-m", "resnet18", "-b", "8", "--", sys.executable, "-c", "pass")
    assert result.code == 2
    assert "the steps of the command could not be told" in result.err
