"""Workload files: what is written is read again, and nothing else is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InputError
from planner.workloads.catalog import load_workload, names_a_file
from planner.workloads.record import to_record
from planner.workloads.workload_file import SCHEMA_VERSION, workload_text

RESNET = load_workload("resnet50")


def stored(path: Path, workload_record: Any, version: object = SCHEMA_VERSION) -> str:
    path.write_text(json.dumps({"schema_version": version, "workload": workload_record}), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["resnet50", "llama-3-8b", "bert-large-pretraining@512", "nnunet-3d"])
def test_every_kind_of_record_comes_back(tmp_path: Path, name: str) -> None:
    workload = load_workload(name)
    path = tmp_path / "model.json"
    path.write_text(workload_text(workload), encoding="utf-8")
    assert load_workload(str(path)) == workload
    assert json.loads(path.read_text())["schema_version"] == 1


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "model.JSON"
    path.write_text("\ufeff" + workload_text(RESNET), encoding="utf-8")
    assert load_workload(str(path)) == RESNET


def changed(**fields: Any) -> dict[str, Any]:
    return {**to_record(RESNET), **fields}


def without(field: str) -> dict[str, Any]:
    record = to_record(RESNET)
    del record[field]
    return record


ROW = to_record(RESNET)["operations"][0]
WRONG: list[tuple[Any, str]] = [
    (None, "no object"),
    ([1, 2], "no object"),
    (without("parameters"), "'parameters' is missing"),
    (without("memory"), "'memory' is missing"),
    (changed(name=5), "'name' is no line of text"),
    (changed(name="two\nlines"), "'name' is no line of text"),
    (changed(name="x" * 5000), "'name' is no line of text"),
    (changed(parameters=-1), "'parameters' is no whole number"),
    (changed(parameters=1.5), "'parameters' is no whole number"),
    (changed(parameters=True), "'parameters' is no whole number"),
    (changed(parameters=10**40), "'parameters' is no whole number"),
    (changed(recipe_batch_size_per_gpu=0), "'recipe_batch_size_per_gpu' is no whole number from 1"),
    (changed(notes="one"), "'notes' is no list"),
    (changed(notes=[1]), "'notes' is no line of text"),
    (changed(memory=[]), "'memory' is no object"),
    (changed(memory={"amp": [1, 2, 3, 4]}), "'fp32' is missing"),
    (changed(memory={"amp": [1, 2, 3], "fp32": [1, 2, 3, 4]}), "'memory.amp' is no list of 4 numbers"),
    (changed(memory={"amp": [1, 2, 3, "4"], "fp32": [1, 2, 3, 4]}), "'memory.amp' has a value"),
    (changed(operations=[]), "'operations' is no list of operations"),
    (changed(operations={}), "'operations' is no list of operations"),
    (changed(operations=[ROW[:10]]), "'operations[0]' is no list of 11 or 12 values"),
    (changed(operations=[[*ROW[:11], -2]]), "'operations[0]' has a value that is no number in range: -2"),
    (changed(operations=[[7, *ROW[1:]]]), "'operations[0]' is no line of text"),
    (changed(operations=[[ROW[0], 2, *ROW[2:]]]), "'operations[0]' is no whole number from 0 to 1"),
    (changed(operations=[[*ROW[:10], -1]]), "'operations[0]' has a value that is no number in range"),
    (changed(operations=[[*ROW[:10], 1e300]]), "'operations[0]' has a value that is no number in range"),
    (changed(default_dataset=3), "'default_dataset' is no line of text"),
]


@pytest.mark.parametrize(("record", "sentence"), WRONG, ids=[row[1] + str(place) for place, row in enumerate(WRONG)])
def test_what_is_wrong_is_named_in_one_sentence(tmp_path: Path, record: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load_workload(stored(tmp_path / "model.json", record))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("version", [2, "1", None, 1.5])
def test_another_version_is_refused(tmp_path: Path, version: object) -> None:
    with pytest.raises(InputError, match="schema version"):
        load_workload(stored(tmp_path / "model.json", to_record(RESNET), version))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(workload_text(RESNET).replace(json.dumps(ROW), json.dumps(ROW[:10])[:-1] + f", {value}]", 1))
    with pytest.raises(InputError, match="no number in range"):
        load_workload(str(path))


TEXTS = [
    ("", "is not JSON"),
    ("{", "is not JSON"),
    (workload_text(RESNET)[:-40], "is not JSON"),
    ("[1, 2]", "no JSON object but a list"),
    ("[" * 100_000, "cannot be read as JSON"),
    ('{"a": ' + "9" * 10_000 + "}", "cannot be read as JSON"),
]


@pytest.mark.parametrize(("text", "sentence"), TEXTS, ids=[sentence + str(n) for n, (_, sentence) in enumerate(TEXTS)])
def test_text_that_is_no_json_object(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        load_workload(str(path))


class TestPaths:
    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="No such file"):
            load_workload(str(tmp_path / "none.json"))

    def test_a_folder_named_like_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "model.json").mkdir()
        with pytest.raises(InputError, match=r"not a plain file|Permission denied"):
            load_workload(str(tmp_path / "model.json"))

    def test_a_character_no_path_may_have(self) -> None:
        with pytest.raises(InputError, match="null"):
            load_workload("a\0b.json")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in the file system are Unix's")
    def test_a_pipe_that_nobody_writes_to(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.json")
        with pytest.raises(InputError, match="not a plain file"):
            load_workload(str(tmp_path / "pipe.json"))

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "model.json").write_bytes(b"\xff\xfe{\0}\0")
        with pytest.raises(InputError, match="not UTF-8"):
            load_workload(str(tmp_path / "model.json"))

    def test_a_file_of_five_gigabytes_is_not_read(self, tmp_path: Path) -> None:
        path = tmp_path / "model.json"
        with path.open("wb") as file:
            file.truncate(5 << 30)
        with pytest.raises(InputError, match=r"5,368,709,120 bytes; more than 16,777,216 are not read"):
            load_workload(str(path))

    @pytest.mark.parametrize(
        ("text", "words"), [("3", "a number"), ("[]", "a list"), ('"x"', "a text"), ("true", "a truth value")]
    )
    def test_what_is_no_object_is_called_what_it_is(self, tmp_path: Path, text: str, words: str) -> None:
        path = tmp_path / "model.json"
        path.write_text(text)
        with pytest.raises(InputError, match=f"holds no JSON object but {words}$"):
            load_workload(str(path))

    def test_code_is_not_run(self, tmp_path: Path) -> None:
        path = tmp_path / "model.py"
        path.write_text("raise SystemExit('it ran')")
        with pytest.raises(InputError, match="gpuplanner trace"):
            load_workload(str(path))

    def test_which_names_are_files(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{}")
        assert names_a_file(str(tmp_path))
        assert names_a_file("model.json")
        assert names_a_file("MODEL.ONNX")
        assert not names_a_file("resnet50")
        assert not names_a_file("meta-llama/Llama-3.1-8B")
        assert not names_a_file("timm/vit_base_patch16_224.augreg_in21k")
        assert not names_a_file("./\0")

    def test_a_bare_name_is_the_zoos_before_it_is_a_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for folder in ("hfok", "resnet50"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "config.json").write_text("{}")
        assert names_a_file("hfok")
        assert not names_a_file("resnet50")
        assert names_a_file("./resnet50")

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("./nothere", "there is no file or folder 'nothere'"),
            ("./emptydir", "'emptydir' is a folder without a config.json, and no model of that name is known"),
            ("emptydir", "'emptydir' is a folder without a config.json, and no model of that name is known"),
            ("./weights.pt", "'weights.pt' is not a model file"),
            ("weights.pt", "'weights.pt' is not a model file"),
        ],
    )
    def test_a_path_that_holds_no_model_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "emptydir").mkdir()
        (tmp_path / "weights.pt").write_bytes(b"PK")
        with pytest.raises(InputError, match=words):
            load_workload(name)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=200) | st.binary(max_size=200))
def test_any_content_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str | bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "model.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError) as caught:
        load_workload(str(path))
    assert "\n" not in str(caught.value)
