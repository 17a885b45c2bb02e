"""Trace networks of the zoo again as a user would, with ``gpuplanner trace``, and compare them with the zoo's records.

    python tools/check_user_traces.py --python PYTHON [--only TEXT]

PYTHON has torch, timm, torchvision and transformers. Parameters must be exact, FLOPs of forward and of the whole step
within 0.5 % (exit 1 otherwise); CPU seconds of the child, torch's import included, are shown.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from planner.errors import PlannerError  # noqa: E402
from planner.workloads.catalog import load_workload  # noqa: E402
from planner.workloads.own_trace import TraceRequest, parse_inputs, trace  # noqa: E402

TOLERANCE = 0.005
HUB_MODELS = ROOT / "tools" / "user_path" / "hub_models.py"
IMAGE_MODELS = (
    "resnet50", "resnet18", "resnext50_32x4d", "densenet121", "efficientnet_b0", "mobilenetv3_large_100",
    "regnety_032", "convnext_tiny", "vit_base_patch16_224", "deit_small_patch16_224", "swin_tiny_patch4_window7_224",
    "mixer_b16_224", "vgg16",
)  # fmt: skip


class Case(NamedTuple):
    """A record of the zoo, and what a user would type for the same network."""

    zoo: str
    target: str
    inputs: str | None = None


CASES = (
    *(Case(name, f"timm/{name}") for name in IMAGE_MODELS),
    Case("mobilenet_v2", "torchvision/mobilenet_v2"),
    Case("gpt2", f"{HUB_MODELS}:gpt2", "input_ids:int64:1024"),
    Case("llama-3.2-1b", f"{HUB_MODELS}:llama_3_2_1b", "input_ids:int64:2048"),
    Case("qwen2.5-0.5b", f"{HUB_MODELS}:qwen2_5_0_5b", "input_ids:int64:4096"),
    Case("opt-125m", f"{HUB_MODELS}:opt_125m", "input_ids:int64:2048"),
    Case("pythia-160m", f"{HUB_MODELS}:pythia_160m", "input_ids:int64:2048"),
    Case("roberta-base", f"{HUB_MODELS}:roberta_base", "input_ids:int64:128"),
    Case("distilbert-base", f"{HUB_MODELS}:distilbert_base", "input_ids:int64:128"),
    Case(
        "t5-small", f"{HUB_MODELS}:t5_small", "input_ids:int64:512,decoder_input_ids:int64:114,labels:int64:114"
    ),
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="an interpreter with torch, timm and transformers")
    parser.add_argument("--only", default="", help="only the models whose name contains this")
    options = parser.parse_args()
    cases = [case for case in CASES if options.only in case.zoo]
    wrong = [case.zoo for case in cases if not _agrees(case, options.python)]
    print(f"{len(cases) - len(wrong)} of {len(cases)} agree" + (f"; not: {', '.join(wrong)}" if wrong else ""))
    return 1 if wrong else 0


def _agrees(case: Case, python: str) -> bool:
    before = os.times()
    try:
        traced = trace(TraceRequest(case.target, parse_inputs(case.inputs) if case.inputs else (), python=python))
    except PlannerError as error:
        print(f"{case.zoo:30} {error}")
        return False
    after = os.times()
    known = load_workload(case.zoo)
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    forward = traced.forward_flops_per_sample / known.forward_flops_per_sample - 1
    step = traced.training_flops_per_sample / known.training_flops_per_sample - 1
    saved = traced.memory_amp.saved_bytes.per_sample / known.memory_amp.saved_bytes.per_sample - 1
    print(
        f"{case.zoo:30} parameters {traced.parameters - known.parameters:+d}  forward {forward:+.3%}  step {step:+.3%}"
        f"  saved {saved:+.2%}  CPU {seconds:.1f} s"
    )
    return traced.parameters == known.parameters and max(abs(forward), abs(step)) <= TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
