"""Parameter counts from the headers of safetensors files; files that lie about their size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError
from planner.workloads.catalog import load_workload
from planner.workloads.safetensors import stored_parameters

CONFIG = Path(__file__).parent / "configs" / "gpt2.json"


def write(path: Path, header: dict[str, Any], *, declared: int | None = None) -> None:
    text = json.dumps(header).encode()
    path.write_bytes((len(text) if declared is None else declared).to_bytes(8, "little") + text)


def tensor(*shape: Any, dtype: str = "BF16") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [0, 0]}


def test_elements_of_all_files_are_added(tmp_path: Path) -> None:
    write(tmp_path / "model-1.safetensors", {"__metadata__": {"format": "pt"}, "a": tensor(3, 4), "b": tensor(5)})
    write(tmp_path / "model-2.safetensors", {"c": tensor(2, 2), "scalar": tensor(), "step": tensor(9, dtype="I64")})
    assert stored_parameters(tmp_path) == 12 + 5 + 4 + 1


def test_no_files_say_nothing(tmp_path: Path) -> None:
    assert stored_parameters(tmp_path) is None


def test_packed_weights_say_nothing(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"layer.weight": tensor(8, 8, dtype="U8")})
    assert stored_parameters(tmp_path) is None


def test_the_weights_count_where_they_differ_from_the_formulas(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(CONFIG.read_text())
    write(tmp_path / "model.safetensors", {"wte": tensor(124_439_808 + 768)})
    workload = load_workload(str(tmp_path))
    assert workload.parameters == 124_440_576
    assert workload.notes == ("the weights beside it have 124,440,576 parameters, the formulas 124,439,808",)
    write(tmp_path / "model.safetensors", {"wte": tensor(124_439_808)})
    assert load_workload(str(tmp_path)).notes == ()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "header of 0 bytes"),
        ((5 << 30).to_bytes(8, "little"), "header of 5,368,709,120 bytes"),
        ((1 << 63).to_bytes(8, "little"), "header of 9,223,372,036,854,775,808 bytes"),
        ((1000).to_bytes(8, "little") + b"{}", "are cut off"),
        ((2).to_bytes(8, "little") + b"{]", "is not JSON"),
        ((2).to_bytes(8, "little") + b"[]", "no JSON object"),
        ((3).to_bytes(8, "little") + b"\xff\xff\xff", "not UTF-8"),
        ((9).to_bytes(8, "little") + b'{"a": 12}', "no usable shape for 'a'"),
    ],
)
def test_a_header_that_lies(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError) as caught:
        stored_parameters(tmp_path)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [-1, 1.5, "3", 1 << 50, None])
def test_an_impossible_size(tmp_path: Path, size: object) -> None:
    write(tmp_path / "model.safetensors", {"a": tensor(size)})
    with pytest.raises(InputError, match="no usable shape"):
        stored_parameters(tmp_path)
