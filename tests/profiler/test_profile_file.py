"""The profile on disk: replaced whole, read back as written, refused in one sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.hardware.profile import ClassRate, MeasuredRates, TrainingRun
from planner.profiler.profile_file import clear_profile, rates_document, read_profile, write_document

RATES = MeasuredRates(
    {"mm": ClassRate(1e11, 1e10), "conv": ClassRate(1e11, 1e10), "ew": ClassRate(None, 2e10)},
    {"sgd": 1e-9},
    6e-6,
    2e-10,
)
RUN = TrainingRun("resnet18", "cpu", "fp32", "sgd", 8, 0.9, 0.88, 0.95, 12, "2026-11-30T22:00:00+00:00")


def document(**parts: object) -> dict[str, object]:
    return {"schema_version": 2, "made_at": "2026-11-30T22:00:00+00:00", "rates": rates_document(RATES), **parts}


def test_it_reads_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "profile.json"
    write_document(document(runs=[RUN._asdict()], host={"launch_s": 4e-6, "decode_images_per_s_per_core": 210.0}), path)
    profile = read_profile(path)
    assert profile.rates == RATES
    assert profile.runs == (RUN,)
    assert profile.host_launch_s == 4e-6
    assert profile.decode_images_per_s_per_core == 210.0
    assert profile.words == "rates of the CPU, 1 training run, decoding of images, 2026-11-30"
    assert os.listdir(path.parent) == ["profile.json"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not a profile: it is not JSON"),
        ("[]", "is not a profile of version 2"),
        ('{"schema_version": 1}', "is not a profile of version 2"),
        ('{"schema_version": 2}', "is damaged"),
        ('{"schema_version": 2, "made_at": "x", "rates": {"classes": 3}}', "is damaged"),
        ('{"schema_version": 2, "made_at": "x", "runs": [{"model": "a"}]}', "is damaged"),
    ],
)
def test_what_is_no_profile_is_refused_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_profile(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_profile(tmp_path / "profile.json")


def test_a_place_that_cannot_be_written_is_said_and_left_clean(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_document(document(), tmp_path / "file" / "profile.json")
    (tmp_path / "taken" / "profile.json").mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be written"):
        write_document(document(), tmp_path / "taken" / "profile.json")
    assert os.listdir(tmp_path / "taken") == ["profile.json"]


def test_a_failed_write_leaves_the_old_profile(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    write_document(document(), path)
    with pytest.raises(TypeError):
        write_document(document(runs={1, 2}), path)
    assert json.loads(path.read_text())["schema_version"] == 2
    assert read_profile(path).rates == RATES


def test_clearing(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    write_document(document(), path)
    assert clear_profile(path) is True
    assert clear_profile(path) is False
