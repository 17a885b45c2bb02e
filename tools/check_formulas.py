"""Compare the closed formulas with traces of transformers' own models, for every configuration the tests have.

    PYTHON tools/check_formulas.py [--only TEXT]

PYTHON has torch and transformers; nothing is downloaded. Parameters must be exact and FLOPs within 1 % (exit 1
otherwise); bytes moved, kernels and what is kept for backward are shown. Mixtures of experts route by data, which the
meta device has not: the tests compare them with the zoo's records.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402, N812

from planner.workloads.compaction import StepPair, memory_of, operations_of  # noqa: E402
from planner.workloads.hf_config import workload_of_config  # noqa: E402
from planner.workloads.hf_families import T5_TARGET_SHARE  # noqa: E402
from planner.workloads.torch_trace import Inputs, ModelTrace, trace_model  # noqa: E402
from tools.zoo.language import make_pretrained_class  # noqa: E402

CONFIGS = ROOT / "tests" / "workloads" / "configs"
TOLERANCE = 0.01
BATCHES = (16, 32)
EXPERTS = ("mixtral", "qwen3_moe")
STORED_SCORES = ("mpt", "gemma2")
_HEADS = {
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForImageClassification": "AutoModelForImageClassification",
    "ForConditionalGeneration": "AutoModelForSeq2SeqLM",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only the configurations whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(1)
    paths = [path for path in sorted(CONFIGS.glob("*.json")) if options.only in path.stem]
    contents = {path: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    compared = [path for path, content in contents.items() if content["model_type"] not in EXPERTS]
    wrong = [path.stem for path in compared if not _agrees(path, contents[path])]
    print(f"{len(compared) - len(wrong)} of {len(compared)} agree" + (f"; not: {', '.join(wrong)}" if wrong else ""))
    return 1 if wrong else 0


def _agrees(path: Path, content: dict[str, Any]) -> bool:
    formula = workload_of_config(content, path)
    trace = _trace(content, formula.seq_length)
    pair = StepPair(BATCHES, *trace.amp)
    operations, memory = operations_of(pair), memory_of(pair)
    batch = BATCHES[0]
    flops = sum(op.flops.at(batch) for op in formula.operations) / sum(op.flops.at(batch) for op in operations) - 1
    moved = sum(op.bytes.at(batch) for op in formula.operations) / sum(op.bytes.at(batch) for op in operations) - 1
    kernels = sum(op.kernels for op in formula.operations) / sum(op.kernels for op in operations) - 1
    saved = formula.memory_amp.saved_bytes.at(batch) / memory.saved_bytes.at(batch) - 1
    live = formula.memory_amp.live_bytes.at(batch) / memory.live_bytes.at(batch) - 1
    print(
        f"{path.stem:22} parameters {formula.parameters - trace.parameters:+d}  FLOPs {flops:+.4%}  bytes {moved:+.2%}"
        f"  kernels {kernels:+.1%}  kept {saved:+.2%}  peak {live:+.2%}",
        flush=True,
    )
    return formula.parameters == trace.parameters and abs(flops) <= TOLERANCE


def _trace(content: dict[str, Any], tokens: int | None) -> ModelTrace:
    """Trace the model that transformers makes of the configuration, with the inputs and the loss of its head."""
    import transformers

    content = {name: value for name, value in content.items() if name != "torch_dtype"}  # weights are fp32 masters
    config = transformers.AutoConfig.for_model(**content)
    kind = content["model_type"]
    ending = next((ending for ending in _HEADS if content["architectures"][0].endswith(ending)), None)
    attention = "eager" if kind in STORED_SCORES else "sdpa"
    auto = "AutoModelForSpeechSeq2Seq" if kind == "whisper" else _HEADS.get(ending or "", "AutoModelForCausalLM")
    model = make_pretrained_class(auto, config, attention)
    inputs = _inputs(content, kind, tokens)

    def loss(model: Any, given: Inputs) -> torch.Tensor:
        with torch.device("meta"):
            output = model(**given[0])
        if output.loss is not None:
            return output.loss
        return F.cross_entropy(output.logits, torch.empty(output.logits.shape[0], dtype=torch.long, device="meta"))

    return trace_model(model, inputs, loss, BATCHES)


def _inputs(content: dict[str, Any], kind: str, tokens: int | None) -> Callable[[int], Inputs]:
    def words(batch: int, length: int) -> torch.Tensor:
        return torch.empty(batch, length, dtype=torch.long, device="meta")

    def make(batch: int) -> Inputs:
        if kind == "vit":
            return (
                {"pixel_values": torch.empty(batch, 3, content["image_size"], content["image_size"], device="meta")},
            )
        assert tokens is not None
        if kind == "whisper":
            frames = 2 * content["max_source_positions"]
            spectra = torch.empty(batch, content["num_mel_bins"], frames, device="meta")
            labels = words(batch, tokens)
            return ({"input_features": spectra, "decoder_input_ids": labels, "labels": labels, "use_cache": False},)
        ids = words(batch, tokens)
        if kind == "t5":
            labels = words(batch, round(tokens * T5_TARGET_SHARE))
            return ({"input_ids": ids, "decoder_input_ids": labels, "labels": labels, "use_cache": False},)
        if content["architectures"][0].endswith("ForSequenceClassification"):
            return ({"input_ids": ids, "labels": ids[:, 0]},)
        caching = {} if kind in ("bert", "roberta") else {"use_cache": False}
        return ({"input_ids": ids, "labels": ids, **caching},)

    return make


if __name__ == "__main__":
    sys.exit(main())
