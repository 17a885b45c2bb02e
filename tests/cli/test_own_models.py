"""A model of the user's own on the command line: files in place of names, traces, configurations, numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.workloads.test_own_trace import answer, answering, python_that

TESTS = Path(__file__).parent.parent
TRACES, CONFIGS = TESTS / "workloads" / "user_traces", TESTS / "workloads" / "configs"
TRAINING = TESTS / "experiment" / "configs"
OFFLINE = ("--where", "cloud", "-n", "1", "-o", "json", "--offline")


@pytest.mark.parametrize("model", [TRACES / "plain_cnn.json", CONFIGS / "gpt2.json"])
@pytest.mark.parametrize("command", ["estimate", "explain"])
def test_a_file_stands_wherever_a_name_may(run: Run, command: str, model: Path) -> None:
    rows = ("-n", "1") if command == "estimate" else ()
    result = run(command, "-m", str(model), "--samples", "50k", "-e", "3", *rows, "-o", "json")
    assert result.code == 0
    assert result.record["experiment"]["model"] in ("plain_cnn.py:build_model", "gpt2:124M")


def test_what_was_traced_is_said_with_the_estimate(run: Run) -> None:
    record = run("estimate", "-m", str(TRACES / "plain_cnn.json"), "--samples", "50k", "-e", "3", *OFFLINE).record
    assert "plain_cnn.py:build_model: loss: cross entropy over 10 classes (assumed)" in record["assumptions"]


def test_models_shows_a_file(run: Run) -> None:
    (model,) = run("models", str(TRACES / "vit.json"), "-o", "json").record["models"]
    assert (model["name"], model["parameters"], model["image_size"]) == ("vit.py:ViT", 839_396, 64)


def test_formulas_are_evaluated_at_the_length_asked_for(run: Run) -> None:
    flags = ("-m", str(CONFIGS / "llama-3.2-1b.json"), "--tokens", "1M", *OFFLINE)
    lengths = [
        run("estimate", *flags, "--seq-length", length).record["experiment"]["seq_length"] for length in ("512", "8192")
    ]
    assert lengths == [512, 8192]


def test_a_configuration_fills_in_what_was_not_said(run: Run) -> None:
    record = run("estimate", "--config", str(TRAINING / "timm_args.yaml"), *OFFLINE).record
    experiment = record["experiment"]
    assert (experiment["model"], experiment["epochs"], experiment["optimizer"]) == ("resnet50", 300, "lamb")
    assert record["assumptions"][0].startswith("from timm_args.yaml (timm args.yaml): model resnet50")
    assert record["assumptions"][1] == "not understood in timm_args.yaml and left aside: model_ema, aug_repeats"


def test_a_model_by_three_numbers(run: Run) -> None:
    flags = (
        "--params",
        "1.3B",
        "--flops-per-sample",
        "2.6T",
        "--activation-bytes",
        "400M",
        "--samples",
        "10k",
        "-e",
        "1",
    )
    record = run("estimate", *flags, *OFFLINE).record
    assert record["experiment"]["model"] == "numbers:1.3B"
    assert record["estimates"]


class TestTrace:
    @pytest.fixture
    def model(self, tmp_path: Path) -> str:
        (tmp_path / "net.py").write_text("")
        return f"{tmp_path / 'net.py'}:Net"

    def test_it_writes_a_file_that_estimate_takes(
        self, run: Run, tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = run("trace", model, "--input", "3x32x32", "--python", answering(tmp_path, answer()))
        assert result.code == 0
        assert "this executes its code" in result.err
        assert "Written to Net.json" in result.out
        assert run("estimate", "-m", "Net.json", "--samples", "50k", "-e", "1", *OFFLINE).code == 0

    def test_json(self, run: Run, tmp_path: Path, model: str) -> None:
        out = tmp_path / "out.json"
        result = run("trace", model, "--python", answering(tmp_path, answer()), "-f", str(out), "-o", "json")
        assert result.record["file"] == str(out)
        assert result.record["forward_flops_per_sample"] == 10.0
        assert json.loads(out.read_text())["schema_version"] == 1

    def test_arguments_are_literals_or_text(self, run: Run, tmp_path: Path, model: str) -> None:
        body = "result.write_text(json.dumps({'error': {'stage': 'x', 'message': repr(request['options'])}}))"
        python = python_that(tmp_path, body)
        result = run(
            "trace", model, "--python", python, "--arg", "classes=10", "--arg", "kind=resnet", "--arg", "deep=True"
        )
        assert "{'classes': 10, 'kind': 'resnet', 'deep': True}" in result.err

    def test_it_writes_over_its_own_files_only(self, run: Run, tmp_path: Path, model: str) -> None:
        flags = ("trace", model, "--python", answering(tmp_path, answer()), "-f")
        ours, theirs = tmp_path / "ours.json", tmp_path / "package.json"
        assert run(*flags, str(ours)).code == 0
        assert run(*flags, str(ours)).code == 0
        theirs.write_text('{"name": "something else"}')
        refused = run(*flags, str(theirs))
        assert refused.code == 2
        assert "no workload file: name another one" in refused.err
        assert theirs.read_text() == '{"name": "something else"}'
        assert run(*flags, str(theirs), "--force").code == 0
        assert json.loads(theirs.read_text())["schema_version"] == 1

    def test_a_folder_that_is_not_there(self, run: Run, tmp_path: Path, model: str) -> None:
        out = str(tmp_path / "none" / "out.json")
        result = run("trace", model, "--python", answering(tmp_path, answer()), "-f", out)
        assert result.code == 2
        assert "cannot write" in result.err

    @pytest.mark.parametrize("argument", ["classes", "=3", "1x=3"])
    def test_arguments_are_names_and_values(self, run: Run, model: str, argument: str) -> None:
        result = run("trace", model, "--arg", argument)
        assert result.code == 2
        assert "--arg is NAME=VALUE" in result.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("estimate", "-m", "none.json", "-e", "1"), "cannot read the model file 'none.json'"),
        (("estimate", "-m", "model.py", "-e", "1"), "is code; `gpuplanner trace model.py:build_model`"),
        (("estimate", "-m", str(CONFIGS / "gpt2.json"), "-e", "1"), "no default data set"),
        (
            ("estimate", "-m", str(CONFIGS / "gpt2.json"), "--seq-length", "4096", "--tokens", "1M"),
            "at most 1,024 tokens",
        ),
        (("estimate", "--config", "none.yml"), "cannot read the training configuration 'none.yml'"),
        (("estimate", "--config", str(TRAINING / "lightning.yaml")), "required: -m/--model"),
        (("estimate", "--params", "1B", "-e", "1"), "needs --flops-per-sample and --activation-bytes too"),
        (("estimate", "-m", "resnet50", "--params", "1B"), "contradict each other"),
        (("models", "none.json"), "cannot read the model file"),
        (("trace", "none.py:Net"), "there is no file 'none.py'"),
        (("trace", "net.py"), "net.py:build_model"),
        (("trace", "timm/resnet18", "--input", "3x"), "cannot read the shape"),
        (("trace", "none.json"), "cannot read 'none.json'; write path/to/model.py:build_model"),
        (("trace", "timm/resnet18", "--python", "/no/python"), "there is no program"),
        (("trace", "timm/resnet18", "--timeout", "0"), "greater than 0"),
    ],
)
def test_one_sentence_and_exit_2(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.startswith("gpuplanner: ")
    assert result.err.count("\n") == 1
    assert result.out == ""
