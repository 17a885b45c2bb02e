"""The form: fields whose texts are seen whole, and what follows another model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.screen import Screen

from planner.tui.settings import Settings
from planner.tui.widgets.completions import own_files
from planner.tui.widgets.field import FieldInput
from planner.tui.widgets.wrapped_input import breaks, place_of
from tests.tui.conftest import Open, settled, shown, to_field
from tests.tui.samples import CannedCore

LEVERS = "nhwc compile ckpt zero3 lora16 4bit accum4"
LONG = {"model": "bert-large", "levers": LEVERS, "deadline": "2026-12-02 18:00"}


def test_lines_break_behind_blanks_where_there_are_any() -> None:
    def lines(text: str, width: int) -> list[str]:
        starts = breaks(text, width)
        return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]

    assert lines(f"{LEVERS} ", 16) == ["nhwc compile ", "ckpt zero3 ", "lora16 4bit ", "accum4 "]
    assert lines("/home/me/models/net.json ", 16) == ["/home/me/models/", "net.json "]
    assert lines("90 ", 16) == ["90 "]
    assert lines("", 16) == [""]
    assert lines("ab 機械学習 ", 6) == ["ab ", "機械学", "習 "]
    assert place_of(len("nhwc compile ck"), LEVERS, breaks(LEVERS, 16)) == (1, 2)


@pytest.mark.parametrize("size", [(130, 36), (80, 24), (120, 36), (200, 60)])
async def test_all_that_was_typed_is_seen(open_app: Open, size: tuple[int, int]) -> None:
    async with open_app(size=size) as (app, pilot):
        await to_field(app, pilot, "deadline")
        await pilot.press(*"tomorrow 09:00")
        await settled(app, pilot)
        form = [line[: app.screen.query_one("#form").region.right] for line in shown(app).splitlines()]
        assert any("deadline  tomorrow 09:00" in line for line in form) or size[0] < 150
        words = " ".join(line[11:].strip(" │╮╯") for line in form)
        assert "tomorrow 09:00" in " ".join(words.split())


async def test_a_long_text_has_several_lines_and_the_labels_move_with_it(open_app: Open) -> None:
    async with open_app(settings=Settings(LONG)) as (app, pilot):
        shown_lines = [line[2:24].rstrip() for line in shown(app).splitlines()]
        lines = shown_lines[shown_lines.index("levers    nhwc") :][:6]
        assert lines[:3] == ["levers    nhwc", "          compile", "          ckpt zero3"]
        assert lines[3:] == ["          lora16 4bit", "          accum4", "measured  nothing"]
        field = app.screen.query_one("#field-levers", FieldInput)
        await pilot.click(field, offset=(1 + 5, 2))  # on the z of zero3
        assert field.cursor_position == LEVERS.index("zero3")
        assert app.cursor_position == (field.content_region.x + 5, field.content_region.y + 2)
        await pilot.press("end", *["backspace"] * 27)
        await settled(app, pilot)
        assert field.value == LEVERS[:-27]
        assert field.region.height == 2
        assert app.values["levers"] == field.value


@pytest.mark.parametrize("size", [(130, 36), (80, 24)])
async def test_a_key_lays_no_screen_out_anew(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    laid_out = []

    def counted(screen: Screen[object], *arguments: object, **named: object) -> None:
        laid_out.append(screen)
        lay_out(screen, *arguments, **named)  # type: ignore[arg-type]

    lay_out = Screen._refresh_layout
    async with open_app(size=size) as (app, pilot):
        await to_field(app, pilot, "epochs")
        await pilot.press("end")
        await settled(app, pilot)
        monkeypatch.setattr(Screen, "_refresh_layout", counted)
        await pilot.press("1")
        await settled(app, pilot)
        assert app.values["epochs"] == "901"
        assert laid_out == []
        await pilot.press(*"0" * 20)  # another line
        await settled(app, pilot)
        assert laid_out != []


async def test_a_model_of_ones_own_lets_go_of_the_data_set_nobody_typed(open_app: Open, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 64}
        )
    )
    core = CannedCore()
    async with open_app(core) as (app, pilot):
        field = app.query_one("#field-model", FieldInput)
        field.value = str(tmp_path / "nothing.json")
        await settled(app, pilot)
        assert app.query_one("#field-dataset", FieldInput).value == "imagenet"
        field.value = str(path)
        await settled(app, pilot)
        assert core.asked[-1][0] == {"model": str(path)}
        assert "has no default data set" in app.problem
        assert "--" not in app.problem
        await to_field(app, pilot, "dataset")
        await pilot.press(*"c4")
        await settled(app, pilot)
        field.value = "bert-large"
        await settled(app, pilot)
        assert app.values["dataset"] == "c4"  # a person wrote it


def test_own_files_go_on_from_what_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nets").mkdir()
    for name in ("net.json", "net.onnx", "notes.txt", "nets/a.json", ".hidden.json"):
        (tmp_path / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert own_files("net") == ["net.json", "net.onnx"]
    assert own_files("./net") == ["./net.json", "./net.onnx", "./nets/"]
    assert own_files(f"{tmp_path}/nets/") == [f"{tmp_path}/nets/a.json"]
    assert own_files("./") == ["./net.json", "./net.onnx", "./nets/"]
    assert own_files("") == own_files("nothing/at/all") == own_files("net.json") == own_files("a\0b/c") == []


async def test_an_own_file_is_completed_folder_by_folder(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "mine.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    async with open_app() as (app, pilot):
        await to_field(app, pilot, "model")
        await pilot.press(*"./ne", "enter", "enter")
        await settled(app, pilot)
        assert app.query_one("#field-model", FieldInput).value == "./nets/mine.json"
