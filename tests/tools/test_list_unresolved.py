"""The page of names that nothing resolves: shares by rows, reasons, the check."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tools import list_unresolved
from tools.list_unresolved import NO_GPU_REASON, NO_MODEL_REASON, gpu_reason, main, model_reason

ROWS = {
    "throughput.csv.gz": "model,gpu\nresnet50,V100\nresnet50,V100\nMiniGo (RL) [minigo],V100\nnobody knows,??\n",
    "scaling.csv.gz": "model,accelerator\nPyTorch/Forecasting/TFT,A100\n",
    "time_to_train.csv.gz": "workload,accelerator\nresnet50 + ImageNet,TPU\n",
}


@pytest.fixture
def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    for name, text in ROWS.items():
        (tmp_path / "data" / name).write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(list_unresolved, "PAGE", tmp_path / "unresolved.md")
    return tmp_path


def test_shares_are_of_rows(collected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--shared", str(collected)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "throughput.csv.gz: 50.0% of the rows resolve in model, 75.0% in GPU"
    assert lines[1] == "scaling.csv.gz: 0.0% of the rows resolve in model, 100.0% in GPU"
    page = (collected / "unresolved.md").read_text(encoding="utf-8")
    assert "| throughput.csv.gz | 4 | 75.0% | 50.0% |" in page
    assert f"- **{NO_MODEL_REASON}** (1 rows): `nobody knows` 1" in page
    assert "`resnet50`" not in page


WELL_KNOWN = {
    "throughput.csv.gz": "model,gpu\n" + 9 * "resnet50,V100\n" + "MiniGo (RL) [minigo],V100\n",
    "scaling.csv.gz": "model,accelerator\nresnet50,A100\n",
    "time_to_train.csv.gz": "workload,accelerator\nresnet50 + ImageNet,TPU\n",
}


def test_the_check_compares(collected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in WELL_KNOWN.items():
        (collected / "data" / name).write_bytes(gzip.compress(text.encode()))
    assert main(["--shared", str(collected), "--check"]) == 1, "there is no page yet"
    main(["--shared", str(collected)])
    assert main(["--shared", str(collected), "--check"]) == 0
    (collected / "unresolved.md").write_text("old", encoding="utf-8")
    capsys.readouterr()
    assert main(["--shared", str(collected), "--check"]) == 1
    assert capsys.readouterr().err == "unresolved.md is not what would be written\n"
    assert (collected / "unresolved.md").read_text(encoding="utf-8") == "old"


def test_the_check_wants_reasons_and_most_rows(collected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--shared", str(collected)])
    assert main(["--shared", str(collected), "--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "unresolved.md lists names without a reason",
        "throughput.csv.gz: only 50.0% of the rows name a known model, not 90%",
        "scaling.csv.gz: only 0.0% of the rows name a known model, not 75%",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MiniGo (RL) [minigo]", "self-play"),
        ("PyTorch/Forecasting/TFT", "forecasting"),
        ("TensorFlow/LanguageModeling/BERT", "base or large"),
        ("PaddlePaddle/bert [batch size=32 & without xla]", "base or large"),
        ("256^2 [Default configuration]", "by its resolution alone"),
        ("some new network", NO_MODEL_REASON),
    ],
)
def test_the_first_pattern_gives_the_reason(name: str, words: str) -> None:
    assert words in model_reason(name)


def test_a_gpu_has_the_reason_of_its_table() -> None:
    assert gpu_reason("TPU") == "the generation of the TPU is not said"
    assert gpu_reason("") == "no name is given"
    assert gpu_reason("a card of next year") == NO_GPU_REASON
