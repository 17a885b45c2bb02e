"""A stored profile, probe by probe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from planner.errors import InputError
from planner.tui.core import LiveCore
from planner.tui.measured import Stored, kind_of, read_stored
from planner.tui.screens.machine import MachineScreen
from planner.tui.theme import DARK
from planner.tui.widgets.measured_text import measured_text
from tests.tui.conftest import Open, settled, shown
from tests.tui.samples import CannedCore


def probe(name: str, op_class: str, phase: str, flops: float, moved: float, ms: float, spread: float) -> dict[str, Any]:
    seconds = ms / 1e3
    return {
        "name": name, "op_class": op_class, "phase": phase, "flops": flops, "bytes": moved, "kernels": 1,
        "seconds": seconds, "low_s": seconds * (1 - spread / 2), "high_s": seconds * (1 + spread / 2),
    }  # fmt: skip


DOCUMENT = {
    "schema_version": 2,
    "made_at": "2026-11-30T22:40:00+01:00",
    "machine": {"cpu": "AMD EPYC", "vcpus": 2, "gpus": []},
    "devices": {
        "cpu": {
            "device": "cpu", "torch": "2.14.1", "threads": 2, "cases": 5,
            "measurements": [
                probe("matmul 512x640x640", "mm", "forward", 4.2e8, 1e6, 2.0, 0.04),
                probe("matmul 512x640x640", "mm", "backward", 8.4e8, 2e6, 4.2, 0.5),
                probe("sgd 1x10485760", "update sgd", "update", 0.0, 4.2e7, 52.0, 0.1),
                probe("100 tiny operations", "launch", "forward", 0.0, 0.0, 0.5, 0.1),
            ],
        }
    },
    "sustained": {
        "windows": [{"at_s": float(at), "flops_per_s": 2e11 - at * 1e9} for at in range(61)],
        "left": 0.73,
    },
    "rates": {"classes": {"mm": [2.1e11, 1.4e10]}, "updates": {}, "launch_s": 5e-6, "held_s_per_byte": None},
    "runs": [
        {
            "model": "resnet18", "device": "cpu", "precision": "fp32", "optimizer": "sgd", "batch_size": 8,
            "step_time_s": 1.2, "low_s": 1.1, "high_s": 1.3, "steps": 15, "measured_at": "2026-11-30T22:50:00+01:00",
        }
    ],
    "host": {"disk_bytes_per_s": 1.7e9, "decode_images_per_s_per_core": 251.7},
    "notes": ["4.5 processes compete for 2 CPUs: what is measured now is what they leave"],
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(DOCUMENT))
    return file


@pytest.mark.parametrize("width", [56, 76, 84, 140])
def test_each_probe_has_its_time_its_rate_and_how_steady_it_was(path: Path, width: int) -> None:
    lines = measured_text(read_stored(path), DARK, width).plain.splitlines()
    assert max(map(cell_len, lines)) <= width
    said = [" ".join(line.split()) for line in lines]
    assert said[0].endswith("73 % is left")
    assert said[1] == "200 GFLOP/s at first, 140 GFLOP/s after 60 s"
    assert "disk reads 1.7 GB/s" in said
    assert "images 252 decoded a second on one core" in said
    assert "trained resnet18 fp32, batch 8" in said[said.index("images 252 decoded a second on one core") + 1]
    at = said.index("✓ linear 210 GFLOP/s, 14 GB/s")
    phases = ("forward ", "backward ") if width > 60 else ("", "")
    assert said[at + 1] == f"matmul 512x640x640 {phases[0]}2 ms 210 GFLOP/s ±2 %"
    assert said[at + 2] == f"matmul 512x640x640 {phases[1]}4.2 ms 200 GFLOP/s ±25 %"
    assert any(line.startswith("sgd 1x10485760") and line.endswith("52 ms 808 MB/s ±5 %") for line in said)
    assert said[-1].endswith("500 µs – ±5 %")
    assert any(line.startswith("cpu 4 of 5 measurements, PyTorch 2.14.1") for line in said)


def test_what_was_not_measured_is_said() -> None:
    lines = measured_text(Stored(None, (), {}, (), ()), DARK, 80).plain.splitlines()
    assert lines[0].split() == ["heat", "what", "it", "takes", "was", "not", "measured"]
    assert "gpuplanner profile --sustained" in lines[1]
    assert len(lines) == 2


def test_kinds_are_in_words() -> None:
    classes = ("conv_wg", "update adamw", "product float16", "host copy", "unheard_of")
    assert [kind_of(one) for one in classes] == [
        "convolution", "optimizer adamw", "matrix products in float16", "copies from the host", "unheard_of",
    ]  # fmt: skip


@pytest.mark.parametrize("damage", [{"devices": {"cpu": {}}}, {"sustained": {"windows": [{}]}}, {"runs": [{"x": 1}]}])
def test_a_damaged_profile_is_one_sentence(path: Path, damage: dict[str, Any]) -> None:
    path.write_text(json.dumps({**DOCUMENT, **damage}))
    with pytest.raises(InputError, match="is damaged"):
        read_stored(path)


class MeasuredCore(CannedCore):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def profile_words(self) -> str:
        return "measured: rates of the CPU, 2026-11-30"

    def stored_profile(self) -> Stored | None:
        return read_stored(self.path)


@pytest.mark.parametrize("size", [(130, 36), (80, 24), (60, 20)])
async def test_the_machine_tab_shows_it(open_app: Open, path: Path, size: tuple[int, int]) -> None:
    async with open_app(MeasuredCore(path), size=size) as (app, pilot):
        await pilot.press("3")
        await settled(app, pilot)
        app.screen.query_one("#profile").focus()
        await settled(app, pilot)
        assert "measured: rates of the CPU, 2026-11-30" in shown(app)
        assert "73 % is left" in shown(app)


async def test_a_profile_that_is_damaged_costs_no_tab(open_app: Open, path: Path) -> None:
    path.write_text("{}")
    async with open_app(MeasuredCore(path)) as (app, pilot):
        await pilot.press("3")
        await settled(app, pilot)
        assert isinstance(app.screen, MachineScreen)
        assert "run gpuplanner profile again" in shown(app)


def test_a_live_core_without_a_profile_has_none() -> None:
    assert LiveCore().stored_profile() is None
