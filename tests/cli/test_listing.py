"""gpus, models, datasets, doctor, help, version and completion."""

from __future__ import annotations

import pytest

from planner.profiler.this_machine import store_path
from tests.cli.conftest import Run


def test_gpus_lists_searches_and_shows(run: Run) -> None:
    assert len(run("gpus", "-n", "0", "-o", "json").record["gpus"]) >= 60
    shown = run("gpus", "RTX", "3090").out
    assert "RTX3090" in shown
    record = run("gpus", "RTX3090", "-o", "json").record["gpus"][0]
    assert record["key"] == "RTX3090"
    assert record["bandwidth_bytes_per_s"] == pytest.approx(936.2e9, rel=0.01)
    assert "volta" in run("gpus", "volta").out.lower()


def test_models_lists_searches_and_shows(run: Run) -> None:
    models = run("models", "-n", "0", "-o", "json").record["models"]
    assert len(models) >= 60
    resnet = run("models", "resnet50", "-o", "json").record["models"][0]
    assert resnet["parameters"] == 25_557_032
    assert resnet["forward_flops_per_sample"] == pytest.approx(8.18e9, rel=0.02)
    assert resnet["recipe_batch_size_per_gpu"] == 256
    assert resnet["max_global_batch_size"] == 8192
    assert "vgg16" in run("models", "vgg").out
    assert run("models", "-o", "csv").out.splitlines()[0].startswith("name,task")


def test_what_is_no_network_needs_no_gpu(run: Run) -> None:
    result = run("models", "xgboost")
    assert result.code == 0
    assert "no GPU" in result.out


def test_datasets_lists_searches_and_shows(run: Run) -> None:
    imagenet = run("datasets", "ImageNet-1k", "-o", "json").record["datasets"][0]
    assert imagenet["samples"] == 1_281_167
    assert "squad" in run("datasets", "question").out or "squad" in run("datasets", "squad").out
    assert "| data set |" in run("datasets", "-o", "markdown").out


def test_doctor_says_what_is_there(run: Run) -> None:
    result = run("doctor")
    assert result.code == 0
    for word in ("gpuplanner", "this machine", "config", "prices", "tables", "accelerators"):
        assert word in result.out


def test_several_accelerators_are_looked_up_one_by_one(run: Run) -> None:
    keys = [row["key"] for row in run("gpus", "RTX 4090", "H100", "-o", "json").record["gpus"]]
    assert keys == ["RTX4090", "H100-SXM"]
    assert run("gpus", "RTX", "4090", "-o", "json").record["gpus"][0]["key"] == "RTX4090"
    cards = run("gpus", "RTX 4090", "RTX 3090", "--for", "resnet50", "-o", "json").record["cards"]
    assert {row["key"] for row in cards} == {"RTX4090", "RTX3090"}
    unknown = run("gpus", "RTX 4090", "H999")
    assert (unknown.code, "unknown accelerator 'H999'" in unknown.err) == (2, True)


def test_doctor_marks_the_sources_whose_prices_are_old(run: Run) -> None:
    findings = run("doctor", "-o", "json").record["findings"]
    (lambda_labs,) = (row for row in findings if "Lambda price list" in row["text"])  # last seen in May 2026
    assert lambda_labs["status"] == "old"
    assert run("doctor").code == 0, "old prices are prices"


def test_doctor_tells_of_damaged_prices(run: Run) -> None:
    store = store_path()
    assert store is not None
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_bytes(b"SQLite format 3\0" + b"damage" * 1000)
    result = run("doctor", "-o", "json")
    found = result.record
    assert (result.code, found["healthy"]) == (1, False)
    assert any(row["status"] == "FAIL" and "prices.sqlite" in row["text"] for row in found["findings"])
    assert not store.exists(), "it was set aside"


def test_doctor_says_what_is_wrong(run: Run, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPLANNER_CONFIG", str(tmp_path))
    result = run("doctor")
    assert result.code == 1
    assert "FAIL" in result.out


def test_help_has_examples(run: Run) -> None:
    top = run("--help")
    assert top.code == 0
    for word in ("estimate", "gpus", "models", "datasets", "doctor", "examples:"):
        assert word in top.out
    assert run().out == top.out
    for command in ("estimate", "gpus", "models", "datasets", "doctor"):
        assert run(command, "--help").code == 0
    assert "examples:" in run("estimate", "--help").out


def test_version(run: Run) -> None:
    from planner import __version__

    assert run("--version").out == f"gpuplanner {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_the_commands_and_flags(run: Run, shell: str) -> None:
    out = run("--print-completion", shell).out
    assert "estimate" in out
    assert "batch-size" in out
