"""LightningCLI's YAML: trainer, model and data, each with its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.experiment.recipes.found import Found, Setter, as_text, number, optimizer, steps, switch, whole

MARKS = frozenset({"trainer", "model"})
NAME = "LightningCLI"

_PRECISIONS = {
    "32": "fp32", "32-true": "fp32", "16-mixed": "fp16", "16": "fp16", "bf16-mixed": "bf16", "bf16": "bf16",
    "bf16-true": "bf16-pure", "16-true": "fp16-pure", "transformer-engine": "fp8",
}  # fmt: skip


def read(content: Mapping[str, Any], found: Found) -> None:
    """Put what the file says into ``found``."""
    for name, value in content.items():
        section = value if isinstance(value, dict) else {}
        arguments = section.get("init_args", section)
        if name == "trainer":
            found.read(arguments, _TRAINER, _WITHOUT_EFFECT)
        elif name in ("data", "data_module"):
            found.read(arguments if isinstance(arguments, dict) else {}, _DATA, frozenset())
        elif name == "model":
            _model(found, value)
        elif name == "optimizer":
            optimizer(found, "optimizer", str(section.get("class_path", value)))
        elif name not in ("seed_everything", "lr_scheduler", "ckpt_path"):
            found.leave(str(name))
    if "steps" in found.values:
        found.values.pop("epochs", None)


def _model(found: Found, value: Any) -> None:
    """Code, which only a trace can read."""
    named = value.get("class_path") if isinstance(value, dict) else value
    module, _, kind = str(named).rpartition(".")
    found.leave(f"model: {named} (gpuplanner trace {module}:{kind})" if module else f"model: {named}")


def _precision(found: Found, key: str, value: Any) -> None:
    known = _PRECISIONS.get(str(value))
    if known is None:
        found.leave(f"{key}: {value}")
    else:
        found.put("precision", known)


def _strategy(found: Found, key: str, value: Any) -> None:
    name = value.get("class_path", "") if isinstance(value, dict) else as_text(found, key, value)
    folded = str(name).rpartition(".")[2].lower()
    if folded.startswith("deepspeed_stage_") and folded[16:17].isdigit():
        found.put("zero_stage", int(folded[16]))
        if "offload" in folded:
            found.put("offload", "all" if folded[16] == "3" else "optimizer")
    elif folded in ("fsdp", "fsdpstrategy"):
        found.put("zero_stage", 3)
    elif not folded.startswith(("auto", "ddp", "single")):
        found.leave(f"{key}: {name}")


_TRAINER: Mapping[str, Setter] = {
    "max_epochs": number("epochs"),
    "max_steps": steps,
    "accumulate_grad_batches": whole("grad_accum_steps"),
    "precision": _precision,
    "strategy": _strategy,
    "devices": lambda found, key, value: found.remarks.append(f"it trains on devices {value} (--gpus)"),
    "num_nodes": lambda found, key, value: found.remarks.append(f"it trains on {value} nodes (--num-nodes)"),
}
_DATA: Mapping[str, Setter] = {
    "batch_size": whole("batch_size_per_gpu"),
    "num_workers": whole("workers"),
    "compile": switch("compiled"),
}
_NAMES_WITHOUT_EFFECT = """
    accelerator logger callbacks log_every_n_steps enable_checkpointing enable_progress_bar enable_model_summary
    default_root_dir gradient_clip_val gradient_clip_algorithm check_val_every_n_epoch val_check_interval
    num_sanity_val_steps deterministic benchmark inference_mode profiler detect_anomaly use_distributed_sampler
"""
_WITHOUT_EFFECT = frozenset(_NAMES_WITHOUT_EFFECT.split())
