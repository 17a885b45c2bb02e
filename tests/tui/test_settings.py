"""What the app remembers, and that nothing it finds can stop it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.tui.settings import Settings, load_settings, save_settings


def test_settings_come_back(tmp_path: Path) -> None:
    values = {"model": "vit_base_patch16_224", "budget": "60"}
    settings = Settings(values, "planner-light", "cost", "gpu", (values, {"model": "vgg16"}))
    save_settings(settings, tmp_path / "new")
    assert load_settings(tmp_path / "new") == settings


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"theme": "neon", "sort": 3, "values": [], "recent": 3}', '{"recent": [1, {}]}']
)
def test_a_damaged_file_is_a_first_visit(tmp_path: Path, text: str) -> None:
    (tmp_path / "app.json").write_text(text)
    assert load_settings(tmp_path) == Settings()


def test_what_is_no_text_of_a_field_is_let_go_of(tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text('{"values": {"model": "vgg16", "budget": 60, "epochs": "3", "fine": "tuning"}}')
    assert load_settings(tmp_path).values == {"model": "vgg16", "epochs": "3"}
    (tmp_path / "app.json").write_text('{"values": {"model": ["x"], "epochs": "3"}}')
    assert load_settings(tmp_path) == Settings()


def test_a_place_that_cannot_be_written_costs_the_memory_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    save_settings(Settings(), tmp_path / "file")
    assert load_settings(tmp_path / "file") == Settings()
