"""``backtest``: measured rows in, errors out; what cannot be predicted is counted with its reason."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

HEADER = (
    "source,model,gpu,n_gpus,n_nodes,precision,batch_per_gpu,input,variant,metric_median,metric_unit,samples_per_s\n"
)
ROWS = (
    "a,resnet-50,RTX 3090,1,1,amp-fp16,256,224x224,,826,images/s,\n"
    "a,resnet50,A100 40GB SXM4,1,1,amp-fp16,256,224x224,,1450,images/s,\n"
    "b,resnet50,Tesla V100-SXM2-16GB,1,1,amp,192,,,833,images/s,\n"
    "b,no-such-net,RTX 3090,1,1,fp32,32,,,100,images/s,\n"
    "b,resnet50,Abacus 3000,1,1,fp32,32,,,100,images/s,\n"
)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    path = tmp_path / "measured.csv"
    path.write_text(HEADER + ROWS, encoding="utf-8")
    return path


def test_json_has_totals_groups_and_the_rows_as_they_came(run: Run, measured: Path) -> None:
    record = run("backtest", str(measured), "-o", "json").record
    assert record["total"]["n"] == 5
    assert record["total"]["n_predicted"] == 3
    assert set(record["total"]) == {"n", "n_predicted", "median_ape", "mean_ape", "p90_ape", "bias", "coverage"}
    assert {"gpu", "family", "precision", "source", "evidence"} <= set(record["groups"])
    first = record["rows"][0]
    assert first["gpu"] == "RTX 3090"
    assert first["metric_median"] == "826"
    assert first["p10"] < first["predicted_samples_per_s"] < first["p90"]
    assert first["ape"] == pytest.approx(abs(first["predicted_samples_per_s"] / 826 - 1))
    reasons = [row["reason"] for row in record["rows"] if row["reason"]]
    assert any("no-such-net" in reason for reason in reasons)
    assert any("Abacus 3000" in reason for reason in reasons)


@pytest.mark.parametrize("written", [str.upper, lambda header: header.replace(",", " , "), str.title])
def test_headers_as_people_write_them(run: Run, written: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "measured.csv"
    path.write_text(written(HEADER) + ROWS, encoding="utf-8")
    assert run("backtest", str(path), "-o", "json").record["total"]["n_predicted"] == 3


def test_tabs_part_columns_too_and_semicolons_do_not(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "measured.tsv"
    path.write_text((HEADER + ROWS).replace(",", "\t").replace("826", "1,826"), encoding="utf-8")
    record = run("backtest", str(path), "-o", "json").record
    assert record["total"]["n_predicted"] == 3
    assert record["rows"][0]["metric_median"] == "1,826"
    path.write_text((HEADER + ROWS).replace(",", ";").replace("826", "1,826"), encoding="utf-8")
    refused = run("backtest", str(path))
    assert (refused.code, refused.out) == (2, "")
    assert "semicolons part its columns" in refused.err


def test_gzip_and_csv(run: Run, measured: Path, tmp_path: Path) -> None:
    packed = tmp_path / "measured.csv.gz"
    packed.write_bytes(gzip.compress(measured.read_bytes()))
    rows = list(csv.DictReader(io.StringIO(run("backtest", str(packed), "-o", "csv").out)))
    assert [row["model"] for row in rows] == ["resnet-50", "resnet50", "resnet50", "no-such-net", "resnet50"]
    assert float(rows[0]["predicted_samples_per_s"]) > 0
    assert rows[3]["reason"]


def test_the_table_names_groups_and_reasons(run: Run, measured: Path) -> None:
    for output in ("table", "markdown"):
        out = run("backtest", str(measured), "-o", output).out
        for word in ("all rows", "gpu ", "not predicted: 2 rows", "Abacus 3000"):
            assert word in out
        table = out.partition("not predicted")[0]
        for unpredicted in ("Abacus", "no-such-net", "evidence none"):
            assert unpredicted not in table


def test_an_anchor_is_used_and_not_predicted(run: Run, measured: Path) -> None:
    record = run("backtest", str(measured), "--anchor", "RTX 3090", "-o", "json").record
    assert "anchor" in record["rows"][0]["reason"]
    assert record["rows"][1]["evidence"] in ("measured_other_gpu", "same_architecture", "measured_same_gpu")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot read"),
        (b"\xff\xfe\x00\x01", "no readable CSV"),
        (b"\x1f\x8b\x08broken", "cannot read"),
        (b"gpu,batch\nT4,1\n", "no column model"),
        (b"model,gpu,samples_per_s\n", "has a header and no rows"),
        (b"", "no column model and no column gpu"),
    ],
)
def test_bad_files(run: Run, tmp_path: Path, content: bytes | None, sentence: str) -> None:
    path = tmp_path / "bad.csv"
    if content is not None:
        path.write_bytes(content)
    result = run("backtest", str(path))
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1


def test_an_anchor_nobody_measured(run: Run, measured: Path) -> None:
    result = run("backtest", str(measured), "--anchor", "K80")
    assert result.code == 2
    assert "anchor" in result.err
