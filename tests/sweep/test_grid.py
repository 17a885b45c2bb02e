"""Grids and sweep files: what is read, and what is refused in one sentence."""

from __future__ import annotations

import argparse
import re
from datetime import datetime
from pathlib import Path

import pytest

from planner.cli.sweep import add_arguments
from planner.cli.sweep_file import read_sweep
from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest
from planner.plan.gantt import axis_line, short_name
from planner.plan.sweep_grid import HELD_FOR_ALL, Axis, free_names, is_setting, parse_axis, setting_name, variants
from planner.plan.sweep_pool import PoolEntry, parse_entry

BASE = ExperimentRequest("resnet50")


def test_values_and_ranges_are_combined_the_first_axis_slowest() -> None:
    found = variants(BASE, [parse_axis("epochs=30,90"), parse_axis("seed=1..2")])
    assert [one.label for one in found] == [
        "epochs=30 seed=1", "epochs=30 seed=2", "epochs=90 seed=1", "epochs=90 seed=2",
    ]  # fmt: skip
    assert [one.request.epochs for one in found] == [30, 30, 90, 90]


def test_flags_with_hyphens_and_truths_are_settings() -> None:
    (one,) = variants(BASE, [parse_axis("batch-size=64"), parse_axis("compile=yes"), parse_axis("zero=2")])
    assert (one.request.batch_size_per_gpu, one.request.compiled, one.request.zero_stage) == (64, True, 2)


def test_a_hyperparameter_changes_nothing_but_the_name() -> None:
    axes = [parse_axis("lr=0.1,0.01"), parse_axis("epochs=3")]
    found = variants(BASE, axes)
    assert len({one.request for one in found}) == 1
    assert free_names(axes) == ("lr",)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("epoch", "epochs"), ("num_epochs", "epochs"), ("batchsize", "batch_size"), ("batch", "batch_size"),
        ("image_size", "img_size"), ("optimiser", "optimizer"), ("data", "dataset"), ("budgets", "budget"),
    ],
)  # fmt: skip
def test_a_slip_of_a_setting_is_refused(name: str, setting: str) -> None:
    with pytest.raises(InputError, match=f"{name} is not a setting; did you mean {setting}"):
        parse_axis(f"{name}=1,2")


@pytest.mark.parametrize(
    "name",
    [
        "lr", "seed", "momentum", "weight_decay", "dropout", "warmup_steps", "warmup_epochs", "step_size",
        "lora_alpha", "beta1", "eps", "wd", "patience",
    ],
)  # fmt: skip
def test_usual_hyperparameters_are_the_users_own(name: str) -> None:
    assert free_names([parse_axis(f"{name}=1,2")]) == (name,)


def test_flags_are_settings_or_the_same_for_the_whole_sweep() -> None:
    """Every flag of the command line is either; a grid over one of the latter would plan something else."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = [text for action in parser._actions for text in action.option_strings if text.startswith("--")]
    assert "--epochs" in options
    for option in options:
        name = option.removeprefix("--").removeprefix("no-").replace("-", "_")
        if name not in HELD_FOR_ALL:
            assert is_setting(setting_name(name)), option
    for name in ("deadline", "budget", "max-price"):
        with pytest.raises(InputError, match=f"is the same for the whole sweep .--{name}."):
            parse_axis(f"{name}=1,2")


def test_a_setting_twice_in_the_grid_is_refused() -> None:
    with pytest.raises(InputError, match="batch_size is in the grid 2 times"):
        variants(BASE, [parse_axis("batch-size=1,2"), parse_axis("batch_size=3")])


def test_an_axis_of_the_command_line_stands_for_the_files(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text("[grid]\nlr = [1, 2]\nseed = [7]\n", encoding="utf-8")
    found = read_sweep(str(path)).variants(BASE, (parse_axis("lr=3,4"),), 1)
    assert [one.label for one in found] == ["lr=3", "lr=4"]


@pytest.mark.parametrize("hours", [0.5, 3, 7, 13, 25, 40, 80, 200, 900])
@pytest.mark.parametrize("width", [16, 40, 47, 55, 90])
def test_the_clock_times_over_the_bars_do_not_touch(hours: float, width: int) -> None:
    line = axis_line(hours * 3600, width, datetime(2026, 12, 1, 4, 12))
    label = r"(?:[A-Z][a-z]{2} \d\d:\d\d|\d\d [A-Z][a-z]{2})"
    assert re.fullmatch(rf"{label}(?: +{label})*", line)


@pytest.mark.parametrize("days", [200, 900, 5_000, 200_000, 5_000_000])
@pytest.mark.parametrize("width", [16, 40, 96])
def test_the_axis_of_years_keeps_its_labels_apart_and_says_the_year(days: int, width: int) -> None:
    line = axis_line(days * 86400.0, width, datetime(2026, 12, 1, 4, 12))
    assert len(line) <= width
    labels = line.split("  ")
    assert all(len(label.split()) == 2 for label in labels if label.strip())
    assert line.startswith("Dec 2026" if days * 11 / width > 30 else "01 Dec")


def test_repeats_are_numbered() -> None:
    assert [one.label for one in variants(BASE, [], 3)] == ["resnet50 #1", "resnet50 #2", "resnet50 #3"]


@pytest.mark.parametrize("text", ["lr", "=1", "lr=", "seed=5..1", "seed=1..99999"])
def test_what_is_no_axis_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_axis(text)


def test_a_bad_value_names_its_setting() -> None:
    with pytest.raises(InputError, match="epochs: expected a number"):
        variants(BASE, [parse_axis("epochs=many")])
    with pytest.raises(InputError, match="compile: expected yes or no"):
        variants(BASE, [parse_axis("compile=maybe")])


def test_a_sweep_has_a_limit() -> None:
    with pytest.raises(InputError, match="1 to 2,000 experiments"):
        variants(BASE, [parse_axis("a=1..100"), parse_axis("b=1..100")])


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("RTX 4090", PoolEntry("RTX 4090", 1)),
        ("aws:g6e.xlarge:spot=4", PoolEntry("aws:g6e.xlarge:spot", 4)),
        ("this machine", PoolEntry("this machine", 1)),
    ],
)
def test_pool_entries(text: str, entry: PoolEntry) -> None:
    assert parse_entry(text) == entry


@pytest.mark.parametrize("text", ["x=0", "x=many", "=2", "x=1000"])
def test_bad_pool_entries_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_entry(text)


TOML = """\
model = "resnet18"
epochs = 10
pool = ["this machine", "aws:g6e.xlarge=2"]
max_rentals = 1

[grid]
lr = [0.1, 0.01]
seed = "1..2"

[[experiment]]
name = "long"
epochs = 50
repeat = 2
"""
YAML = """\
model: resnet18
epochs: 10
pool: [this machine, "aws:g6e.xlarge=2"]
max_rentals: 1
grid:
  lr: [0.1, 0.01]
  seed: 1..2
experiment:
  - {name: long, epochs: 50, repeat: 2}
"""


@pytest.mark.parametrize(("name", "text"), [("sweep.toml", TOML), ("sweep.yaml", YAML)])
def test_a_file_says_the_same_in_toml_and_yaml(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    file = read_sweep(str(path))
    assert file.axes == (Axis("lr", ("0.1", "0.01")), Axis("seed", ("1", "2")))
    assert file.pool == ("this machine", "aws:g6e.xlarge=2")
    assert file.max_rentals == 1
    found = file.variants(BASE, (), 1)
    assert [one.label for one in found][-2:] == ["long #1", "long #2"]
    assert found[-1].request.epochs == 50
    assert len(found) == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model = ", "not valid TOML"),
        ("modle = 'x'", "modle is not a setting"),
        ("gird = 1", "did you mean grid"),
        ("epoch = 1", "did you mean epochs"),
        ("lr = 1", "hyperparameters go under"),
        ("[[experiment]]\nepoch = 300", "epoch is not a setting; did you mean epochs"),
        ("[[experiment]]\ndeadline = '1h'", "the same for the whole sweep"),
        ("grid = 3", "grid must be a table"),
        ("experiment = 3", "written as"),
        ("epochs = [1, 2]", "under"),
        ("max_rentals = 'x'", "whole number"),
        ("[[experiment]]\nrepeat = 0", "repeat of experiment 1"),
        ("[grid]\nlr = []", "lr has no values"),
        ("[grid.lr]\nx = 1", "a value or a list"),
    ],
)
def test_a_bad_file_is_one_sentence_with_its_name(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words) as caught:
        read_sweep(str(path))
    assert "sweep.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "width", "short"),
    [("desk", 6, "desk"), ("g6e.xlarge #12", 12, "g6e.xla… #12"), ("workstation", 6, "works…")],
)
def test_a_long_name_keeps_the_number_of_its_copy(name: str, width: int, short: str) -> None:
    assert short_name(name, width) == short
    assert len(short) <= width


def test_unreadable_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_sweep(str(tmp_path / "none.toml"))
    for name, text in (("a.yaml", "x: [1"), ("b.yaml", "- 1")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=name):
            read_sweep(str(tmp_path / name))


def test_aliases_to_aliases_are_counted_and_never_unfolded(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match="unfolds to more than 100,000 values"):
        read_sweep(str(path))
