"""axolotl's YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.experiment.recipes.found import (
    Found,
    Setter,
    as_text,
    data_sets,
    four_bit_without_adapters,
    model_name,
    number,
    optimizer,
    steps,
    switch,
    whole,
)
from planner.experiment.recipes.hf_arguments import precision
from planner.experiment.recipes.sharding import deepspeed, fsdp

MARKS = frozenset({"base_model", "micro_batch_size"})
NAME = "axolotl"


def read(content: Mapping[str, Any], found: Found) -> None:
    """Put what the file says into ``found``."""
    found.read(content, _SETTERS, _WITHOUT_EFFECT)
    precision(found, content)
    if "steps" in found.values:
        found.values.pop("epochs", None)
    if content.get("adapter") in (None, ""):
        found.values.pop("lora_rank", None)
    four_bit_without_adapters(found, "load_in_4bit")


def _passed(found: Found, key: str, value: Any) -> None:
    """Read together with other fields."""


def _adapter(found: Found, key: str, value: Any) -> None:
    """LoRA, and QLoRA: LoRA over weights in 4 bits."""
    name = as_text(found, key, value)
    if name == "qlora":
        found.put("four_bit_weights", True)
    elif name != "lora":
        found.leave(f"{key}: {value}")


def _quantized(found: Found, key: str, value: Any) -> None:
    if value is True:
        found.leave(key)


def _datasets(found: Found, key: str, value: Any) -> None:
    """A list of data sets, each with its path on the hub or the disk."""
    entries = value if isinstance(value, list) else [value]
    data_sets(found, key, [as_text(found, key, one.get("path") if isinstance(one, dict) else one) for one in entries])


def _checkpointing(found: Found, key: str, value: Any) -> None:
    if isinstance(value, str) and value.lower() not in ("true", "false"):  # 'unsloth', 'offload'
        found.leave(f"{key}: {value}")
        value = True
    switch("grad_checkpointing")(found, key, value)


_SETTERS: Mapping[str, Setter] = {
    "base_model": model_name,
    "micro_batch_size": whole("batch_size_per_gpu"),
    "gradient_accumulation_steps": whole("grad_accum_steps"),
    "num_epochs": number("epochs"),
    "max_steps": steps,
    "datasets": _datasets,
    "pretraining_dataset": _datasets,
    "sequence_len": whole("seq_length"),
    "bf16": _passed,
    "fp16": _passed,
    "tf32": _passed,
    "optimizer": optimizer,
    "gradient_checkpointing": _checkpointing,
    "torch_compile": switch("compiled"),
    "adapter": _adapter,
    "lora_r": whole("lora_rank"),
    "load_in_4bit": switch("four_bit_weights"),
    "load_in_8bit": _quantized,
    "fsdp": fsdp,
    "deepspeed": deepspeed,
    "dataloader_num_workers": whole("workers"),
}
_NAMES_WITHOUT_EFFECT = """
    model_type tokenizer_type is_llama_derived_model strict dataset_prepared_path output_dir adapter_model
    lora_alpha lora_dropout lora_target_linear lora_target_modules lora_fan_in_fan_out lora_modules_to_save
    wandb_project wandb_entity wandb_watch wandb_name wandb_run_id wandb_log_model lr_scheduler learning_rate
    train_on_inputs gradient_checkpointing_kwargs early_stopping_patience resume_from_checkpoint local_rank
    logging_steps flash_attention xformers_attention sdp_attention warmup_steps warmup_ratio evals_per_epoch
    eval_table_size eval_max_new_tokens saves_per_epoch save_steps eval_steps debug weight_decay special_tokens
    seed chat_template hub_model_id fsdp_config pad_to_sequence_len sample_packing eval_sample_packing
    trust_remote_code tokens group_by_length max_grad_norm adam_beta1 adam_beta2 adam_epsilon save_total_limit
    save_first_step save_safetensors rope_theta logging
"""
_WITHOUT_EFFECT = frozenset(_NAMES_WITHOUT_EFFECT.split())
