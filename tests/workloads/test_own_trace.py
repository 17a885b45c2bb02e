"""The planner's side of a trace: what it asks, what it makes of the answer, and what it says when there is none.

The user's interpreter is played by scripts, so that no torch is needed.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError, PlannerError
from planner.workloads.own_trace import (
    TracedInput,
    TraceRequest,
    checked_target,
    interpreter,
    name_of,
    parse_inputs,
    trace,
)

# class, phase, element bytes, width, groups, kernel size, FLOPs, bytes, kernels
FIRST = [["mm", "forward", 2, 0.0, 0, 0, 320.0, 50.0, 1], ["mm", "backward", 2, 0.0, 0, 0, 640.0, 70.0, 2]]
SECOND = [["mm", "forward", 2, 0.0, 0, 0, 640.0, 90.0, 1], ["mm", "backward", 2, 0.0, 0, 0, 1280.0, 110.0, 2]]


def answer(**changes: Any) -> dict[str, Any]:
    steps = [
        {"rows": FIRST, "peak_live_bytes": 1000, "saved_bytes": 500},
        {"rows": SECOND, "peak_live_bytes": 1800, "saved_bytes": 900},
    ]
    return {
        "torch": "2.9.0", "inputs": [[None, "float32", [3, 32, 32]]], "batches": [32, 64], "parameters": 10,
        "trainable_parameters": 10, "embedding_parameters": 0, "parameter_tensors": 2, "amp": steps, "fp32": steps,
        "notes": ["loss: the model's own loss"], **changes,
    }  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "net.py"
    path.write_text("raise SystemExit('nobody but the user runs this')")
    return f"{path}:Net"


def python_that(folder: Path, body: str) -> str:
    """A program that plays the user's Python: ``body`` sees its request and the path of its answer."""
    script = folder / "python"
    script.write_text(
        f"#!{sys.executable}\nimport json, os, pathlib, sys, time\n"
        "request, result = json.load(open(sys.argv[2])), pathlib.Path(sys.argv[3])\n" + body + "\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def answering(folder: Path, result: dict[str, Any]) -> str:
    return python_that(folder, f"result.write_text(json.dumps(json.loads({json.dumps(result)!r})))")


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is played by a Unix script")


def test_the_rows_become_lines_in_the_batch(tmp_path: Path, model: str) -> None:
    workload = trace(TraceRequest(model, parse_inputs("3x32x32"), python=answering(tmp_path, answer())))
    assert workload.name == "net.py:Net"
    assert workload.forward_flops_per_sample == 10.0  # (640 - 320) / 32
    assert workload.training_flops_per_sample == 30.0
    assert workload.memory_amp.live_bytes == (200.0, 25.0)  # through (32, 1000) and (64, 1800)
    assert (workload.image_size, workload.seq_length, workload.sample_unit) == (32, None, "image")
    assert workload.notes == ("input float32 3x32x32", "loss: the model's own loss")
    assert workload.trainable_parameters is None


def test_tokens_make_a_sequence_model_and_frozen_weights_are_known(tmp_path: Path, model: str) -> None:
    result = answer(inputs=[["ids", "int64", [128]]], trainable_parameters=4)
    workload = trace(TraceRequest(model, python=answering(tmp_path, result)))
    assert (workload.seq_length, workload.image_size, workload.trainable_parameters) == (128, None, 4)
    assert workload.notes[0] == "input ids int64 128"


def test_what_the_child_is_asked(tmp_path: Path, model: str) -> None:
    python = python_that(
        tmp_path, "result.write_text(json.dumps({'error': {'stage': 'x', 'message': json.dumps(request)}}))"
    )
    asked = TraceRequest(model, parse_inputs("ids:int64:8"), {"width": 3}, "loss_fn", python)
    with pytest.raises(InputError) as caught:
        trace(asked)
    seen = json.loads(str(caught.value).partition(": ")[2])
    assert seen == {"target": model, "inputs": [["ids", "int64", [8]]], "options": {"width": 3}, "loss": "loss_fn"}


def test_the_child_sees_no_gpu(tmp_path: Path, model: str) -> None:
    body = (
        "result.write_text(json.dumps({'error': {'stage': 'x', 'message': repr(os.environ['CUDA_VISIBLE_DEVICES'])}}))"
    )
    with pytest.raises(InputError, match="''"):
        trace(TraceRequest(model, python=python_that(tmp_path, body)))


def test_a_step_that_cannot_be_traced_comes_with_a_way_on(tmp_path: Path, model: str) -> None:
    refused = {"error": {"stage": "step", "message": "its work depends on the values of its tensors"}}
    with pytest.raises(InputError, match=r"depends on the values.*--params"):
        trace(TraceRequest(model, python=answering(tmp_path, refused)))
    refused["error"]["stage"] = "import"
    with pytest.raises(InputError) as caught:
        trace(TraceRequest(model, python=answering(tmp_path, refused)))
    assert "--params" not in str(caught.value)


def test_a_graph_that_changes_with_the_batch_is_named(tmp_path: Path, model: str) -> None:
    steps = answer()["amp"]
    steps[1] = {**steps[1], "rows": SECOND[:1]}
    with pytest.raises(InputError, match="2 operations at batch 32 and 1 at 64"):
        trace(TraceRequest(model, python=answering(tmp_path, answer(amp=steps))))


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        ("sys.exit(\"ModuleNotFoundError: No module named 'torch'\")", InputError, "has no torch"),
        ("print('Killed'); sys.exit(9)", PlannerError, "without a result: Killed"),
        ("sys.exit(1)", PlannerError, "it said nothing"),
        ("time.sleep(30)", PlannerError, "longer than 0.5 s"),
        ("result.write_text('{')", InputError, "is not JSON"),
        ("result.write_text('{}')", PlannerError, "result cannot be used"),
    ],
)
def test_an_interpreter_that_gives_no_answer(
    tmp_path: Path, model: str, body: str, kind: type[PlannerError], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        trace(TraceRequest(model, python=python_that(tmp_path, body), timeout_s=0.5 if "sleep" in body else 60))


class TestInputs:
    def test_images_tokens_and_scalars(self) -> None:
        assert parse_inputs("3x224x224") == (TracedInput(None, "float32", (3, 224, 224)),)
        assert parse_inputs("int64:128") == (TracedInput(None, "int64", (128,)),)
        assert parse_inputs("ids:int64:128, label:int64") == (
            TracedInput("ids", "int64", (128,)),
            TracedInput("label", "int64", ()),
        )

    @pytest.mark.parametrize(
        "text",
        ["", "3x", "x", "0x3", "-1", "3*224", "ids:int65:128", "1d:int64:3", "a:int64:3:4", "3x9999999999", "a:int64:x",
         "99999x99999x99999", "a:int64:3,a:int64:3", "３x2"],
    )  # fmt: skip
    def test_what_is_no_shape(self, text: str) -> None:
        with pytest.raises(InputError):
            parse_inputs(text)


class TestTargets:
    def test_what_may_be_named(self, model: str) -> None:
        assert checked_target(model) == model
        assert checked_target("package.module:Net.small") == "package.module:Net.small"
        assert checked_target("timm/resnet18") == "timm/resnet18"
        assert checked_target("torchvision/resnet18") == "torchvision/resnet18"
        assert checked_target("resnet18") == "timm/resnet18"

    @pytest.mark.parametrize(
        ("target", "sentence"),
        [
            ("nowhere.py:Net", "no file 'nowhere.py'"),
            ("model.py", "model.py:build_model"),
            ("a/b", "path/to/model.py"),
            ("", "path/to/model.py"),
            (":Net", "path/to/model.py"),
            ("module:1x", "path/to/model.py"),
            ("../module:Net", "neither a .py file nor a module"),
            ("a\0.py:Net", "no file|cannot"),
        ],
    )
    def test_what_may_not(self, target: str, sentence: str) -> None:
        with pytest.raises(InputError, match=sentence):
            checked_target(target)

    def test_names_are_told_apart_from_the_zoo(self) -> None:
        assert name_of("some/where/net.py:resnet50") == "net.py:resnet50"
        assert name_of("v@2/net@2.py:Net") == "net-2.py:Net"
        assert name_of("timm/resnet18") == "own:timm/resnet18"


class TestInterpreter:
    def test_a_program_that_is_not_there(self) -> None:
        with pytest.raises(InputError, match="no program '/no/such/python'"):
            interpreter("/no/such/python")

    def test_without_one_a_python_is_found(self) -> None:
        assert Path(interpreter(None)).exists()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("bin.json", "cannot read 'bin.json'"),
        ("bin.json:x", "'bin.json' is neither a .py file nor a module's name"),
        ("emptydir:x", "the folder 'emptydir' has no .py file, so no 'x'"),
    ],
)
def test_what_is_no_code_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin.json").write_text("{}")
    (tmp_path / "emptydir").mkdir()
    with pytest.raises(InputError, match=words):
        checked_target(target)
