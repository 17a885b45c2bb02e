"""Trace the model files of tests/workloads/user_models as their owners would, and store what comes out for the tests.

    python tools/trace_user_models.py --python PYTHON [--check]

PYTHON has torch. A file a case goes to tests/workloads/user_traces: a workload, or the sentence said instead of one.
``--check`` compares instead of writing (exit 1 on a difference; another torch may count differently).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from planner.errors import InputError  # noqa: E402
from planner.workloads.own_trace import TraceRequest, parse_inputs, trace  # noqa: E402
from planner.workloads.workload_file import workload_text  # noqa: E402

MODELS = ROOT / "tests" / "workloads" / "user_models"
TRACES = ROOT / "tests" / "workloads" / "user_traces"


class Case(NamedTuple):
    """A stored trace's name, and what its owner types."""

    name: str
    target: str
    inputs: str
    options: tuple[tuple[str, object], ...] = ()
    loss: str | None = None


CASES = (
    Case("plain_cnn", "plain_cnn.py:build_model", "3x32x32"),
    Case("unet", "unet.py:UNet", "x:float32:3x64x64,y:float32:1x64x64", loss="dice_bce"),
    Case("gan", "gan.py:GAN", "1x28x28"),
    Case("vit", "vit.py:ViT", "3x64x64"),
    Case("lstm", "lstm.py:Classifier", "text:int64:200", (("vocab_size", 20000),)),
    Case("gpt", "gpt.py:GPT", "idx:int64:256,targets:int64:256"),
    Case("gpt_deep", "gpt.py:build_deep", "idx:int64:256,targets:int64:256"),
    Case("branching", "branching.py:EarlyExit", "32"),
    Case("script", "script.py:model", "1x28x28"),
    Case("needs_arguments", "needs_arguments.py:model", "4"),
    Case("lightning_like", "lightning_like.py:LitClassifier", "3x32x32"),
    Case("mobile", "mobile.py:Mobile", "3x16x16"),
    Case("missing_import", "missing_import.py:model", "2"),
    Case("lstm_without_arguments", "lstm.py:Classifier", "text:int64:200"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="an interpreter with torch")
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    options = parser.parse_args()
    os.chdir(MODELS)  # as their owners: targets are relative, and no path of this machine is stored
    different = 0
    for case in CASES:
        text = _outcome(case, options.python)
        path = TRACES / f"{case.name}.json"
        if options.check:
            different += path.read_text(encoding="utf-8") != text
            print(f"{case.name:24} {'same' if path.read_text(encoding='utf-8') == text else 'DIFFERENT'}")
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if different else 0


def _outcome(case: Case, python: str) -> str:
    """The workload file's text, or the sentence as JSON."""
    request = TraceRequest(case.target, parse_inputs(case.inputs), dict(case.options), case.loss, python)
    try:
        return workload_text(trace(request))
    except InputError as error:
        return json.dumps({"refused": str(error)}, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
