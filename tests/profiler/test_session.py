"""A session of measuring: everything measured is kept at once, whatever ends it."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError, PlannerError
from planner.profiler.detect import LocalMachine
from planner.profiler.local_facts import HostFacts
from planner.profiler.profile_file import read_profile
from planner.profiler.session import Session, Wanted, share_left
from tests.profiler.interpreters import DEVICE, LAUNCH, MODEL, RATES, interpreter, rate

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in interpreter is a script")

LOCAL = LocalMachine(HostFacts("AMD EPYC", 2, 1, 2.0e10))
WANTED = Wanted("resnet18", 8, "fp32", "sgd", 5, 224)


def silent(name: str, done: int, total: int | None) -> None: ...


def session(path: Path, local: LocalMachine = LOCAL) -> Session:
    return Session(local, path, lambda: datetime(2026, 11, 30, 22, tzinfo=UTC))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "profile.json"


def test_measurements_become_rates(tmp_path: Path, path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    python = interpreter(tmp_path, torch=[DEVICE, *RATES, LAUNCH])
    session(path).measure(python, quick=True, seconds=20, progress=lambda *step: seen.append(step))
    rates = read_profile(path).rates
    assert rates is not None
    assert rates.classes["ew"].bytes_per_s == pytest.approx(1e10)
    assert rates.launch_s == pytest.approx(1e-5)
    assert seen[-1] == ("cpu: a launch", 4, 4)


@pytest.mark.parametrize(("every_s", "expected"), [(0.0, [1, 2, 3, 4]), (1e3, [1, 1, 1, 1])])
def test_the_file_is_whole_at_every_moment(
    every_s: float, expected: list[int], tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the first measurement at once, all in the end, and what a kill would lose is a few seconds'."""
    monkeypatch.setattr("planner.profiler.session._CONCLUDE_EVERY_S", every_s)
    python = interpreter(tmp_path, torch=[DEVICE, *RATES, LAUNCH])
    counts = []

    def read(name: str, done: int, total: int | None) -> None:
        counts.append(len(json.loads(path.read_text())["devices"]["cpu"]["measurements"]))
        assert read_profile(path).rates is not None

    session(path).measure(python, quick=True, seconds=20, progress=read)
    assert counts == expected
    assert len(json.loads(path.read_text())["devices"]["cpu"]["measurements"]) == 4


def test_an_interruption_keeps_what_was_measured(tmp_path: Path, path: Path) -> None:
    def interrupt(name: str, done: int, total: int | None) -> None:
        if done == 2:
            raise KeyboardInterrupt

    python = interpreter(tmp_path, torch=[DEVICE, *RATES], then="time.sleep(60)")
    with pytest.raises(KeyboardInterrupt):
        session(path).measure(python, quick=True, seconds=30, progress=interrupt)
    rates = read_profile(path).rates
    assert rates is not None
    assert set(rates.classes) == {"mm", "conv"}


def test_time_that_is_up_ends_it(tmp_path: Path, path: Path) -> None:
    python = interpreter(tmp_path, torch=[DEVICE, *RATES], then="time.sleep(60)")
    begin = time.monotonic()
    session(path).measure(python, quick=True, seconds=1.5, progress=silent)
    assert time.monotonic() - begin < 10
    assert len(json.loads(path.read_text())["devices"]["cpu"]["measurements"]) == 3


def test_what_is_not_measured_again_stands(tmp_path: Path, path: Path) -> None:
    session(path).measure(interpreter(tmp_path, torch=[DEVICE, *RATES]), quick=True, seconds=20, progress=silent)
    faster = interpreter(tmp_path, torch=[DEVICE, rate("ew", 0.0, 1e9, 0.05)])
    session(path).measure(faster, quick=True, seconds=20, progress=silent)
    rates = read_profile(path).rates
    assert rates is not None
    assert set(rates.classes) == {"mm", "conv", "ew"}
    assert rates.classes["ew"].bytes_per_s == pytest.approx(2e10)


def test_another_torch_starts_anew(tmp_path: Path, path: Path) -> None:
    session(path).measure(interpreter(tmp_path, torch=[DEVICE, *RATES]), quick=True, seconds=20, progress=silent)
    other = interpreter(tmp_path, torch=[{**DEVICE, "torch": "10"}, RATES[0]])
    session(path).measure(other, quick=True, seconds=20, progress=silent)
    rates = read_profile(path).rates
    assert rates is not None
    assert set(rates.classes) == {"mm"}


def test_another_machine_starts_anew(tmp_path: Path, path: Path) -> None:
    session(path).measure(interpreter(tmp_path, torch=[DEVICE, *RATES]), quick=True, seconds=20, progress=silent)
    assert session(path, LocalMachine(HostFacts("another CPU", 2, 1, 2.0e10))).document["devices"] == {}


def test_without_torch_numpy_or_python_measures(tmp_path: Path, path: Path) -> None:
    plain = [{"kind": "device", "device": "cpu", "name": "cpu", "measured_with": "numpy 9", "cases": 1}, RATES[0]]
    session(path).measure(interpreter(tmp_path, torch=None, plain=plain), quick=True, seconds=20, progress=silent)
    rates = read_profile(path).rates
    assert rates is not None
    assert set(rates.classes) == {"mm"}


def test_what_torch_measured_outlives_an_interpreter_without_it(tmp_path: Path, path: Path) -> None:
    python = interpreter(tmp_path, torch=[DEVICE, *RATES])
    assert session(path).measure(python, quick=True, seconds=20, progress=silent) is None
    before = read_profile(path).rates
    plain = [{"kind": "device", "device": "cpu", "name": "cpu", "measured_with": "numpy 9", "cases": 1}, RATES[0]]
    bare = interpreter(tmp_path, torch=None, plain=plain)
    said = session(path).measure(bare, quick=True, seconds=20, progress=silent)
    assert said == f"{bare} has no torch: what torch 9.9 measured here is kept (gpuplanner profile clear)"
    assert read_profile(path).rates == before


def test_the_plain_script_itself_measures_within_ten_seconds(path: Path) -> None:
    begin = time.monotonic()
    session(path).measure(sys.executable, quick=True, seconds=9, progress=silent)
    assert time.monotonic() - begin < 10
    rates = read_profile(path).rates
    assert rates is not None
    assert rates.classes["copy"].bytes_per_s is not None


def test_a_failing_script_says_its_last_words(tmp_path: Path, path: Path) -> None:
    python = interpreter(tmp_path, torch=[DEVICE], then="sys.exit('no more memory')")
    with pytest.raises(PlannerError, match="measuring failed: no more memory"):
        session(path).measure(python, quick=True, seconds=20, progress=silent)


def test_no_such_interpreter(path: Path) -> None:
    with pytest.raises(InputError, match="there is no interpreter"):
        session(path).measure("/no/such/python", quick=True, seconds=5, progress=silent)


STEPS: list[dict[str, Any]] = [{"kind": "step", "seconds": seconds} for seconds in (0.9, 1.0, 1.1, 1.0)]


def test_a_training_run_is_remembered_in_place_of_an_earlier_one(tmp_path: Path, path: Path) -> None:
    python = interpreter(tmp_path, train=[MODEL, *STEPS])
    for _ in range(2):
        run = session(path).train(WANTED, python, 30, silent)
    assert (run.step_time_s, run.steps, run.batch_size) == (1.0, 4, 8)
    assert read_profile(path).runs == (run,)


def test_a_model_that_takes_no_step_in_time(tmp_path: Path, path: Path) -> None:
    python = interpreter(tmp_path, train=[MODEL], then="time.sleep(60)")
    with pytest.raises(PlannerError, match="no step of resnet18 ended within 1 s"):
        session(path).train(WANTED, python, 1, silent)


def test_training_needs_torch(tmp_path: Path, path: Path) -> None:
    with pytest.raises(InputError, match="has no torch to train resnet18 with"):
        session(path).train(WANTED, interpreter(tmp_path, torch=None), 30, silent)


def test_decoding_and_the_disk(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    measuring = session(path)
    python = interpreter(tmp_path, decode=[{"kind": "decode", "images_per_s_per_core": 123.0}])
    measuring.measure_host(python, 0.1, silent)
    assert measuring.document["host"] == {}  # no time left
    measuring.measure_host(python, 20, silent)
    assert read_profile(path).decode_images_per_s_per_core == 123.0
    assert [entry.name for entry in tmp_path.iterdir() if "disk" in entry.name] == []


def test_a_warm_machine_lowers_the_rates(tmp_path: Path, path: Path) -> None:
    measuring = session(path)
    measuring.measure(interpreter(tmp_path, torch=[DEVICE, *RATES]), quick=True, seconds=20, progress=silent)
    before = read_profile(path).rates
    windows = [{"kind": "window", "at_s": float(i), "flops_per_s": 1e11 if i < 4 else 8e10} for i in range(12)]
    measuring.sustain(interpreter(tmp_path, torch=windows), 12, silent)
    after = read_profile(path).rates
    assert before is not None
    assert after is not None
    assert after.classes["conv"].flops_per_s == pytest.approx(0.8 * (before.classes["conv"].flops_per_s or 0))


def test_a_limit_ends_the_sustained_minute(tmp_path: Path, path: Path) -> None:
    windows = [{"kind": "window", "at_s": float(i), "flops_per_s": 1e11} for i in range(3)]
    measuring = session(path)
    begin = time.monotonic()
    measuring.sustain(interpreter(tmp_path, torch=windows, then="time.sleep(60)"), 60, silent, limit_s=1.5)
    assert time.monotonic() - begin < 8
    assert len(measuring.document["sustained"]["windows"]) == 3


def test_the_share_left_needs_a_while_and_is_at_most_all() -> None:
    assert share_left([{"flops_per_s": 1.0}] * 7) is None
    assert share_left([{"flops_per_s": 1.0}] * 4 + [{"flops_per_s": 2.0}] * 4) == 1.0
