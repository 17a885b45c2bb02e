"""A Hugging Face ``config.json`` as a workload, by closed formulas; nothing is downloaded and no code is run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.errors import InputError
from planner.units import format_count
from planner.workloads.compaction import compacted
from planner.workloads.config_fields import Fields
from planner.workloads.formulas.tape import Tape
from planner.workloads.hf_families import READERS, Described
from planner.workloads.own_recipe import assumed_recipe
from planner.workloads.safetensors import stored_parameters
from planner.workloads.workload import Workload

_MAX_TOKENS = 1 << 22
_MAX_PARAMETERS = 1e14
_MAX_LAYERS = 10_000
WAYS_ON = "`gpuplanner trace` runs the model itself, --params and --flops-per-sample describe it by numbers"


def workload_of_config(content: Mapping[str, Any], path: Path, seq_length: int | None = None) -> Workload:
    """The workload that a configuration describes, on sequences of ``seq_length`` tokens. Raises InputError.

    Weights beside it (``*.safetensors``) are asked for the number of parameters: only their headers are read.
    """
    subject = f"the model file {str(path)!r}"
    fields = Fields(content, subject)
    described = _described(fields, seq_length)
    mixed, single = _walked(described, amp=True), _walked(described, amp=False)
    if not 0 < mixed.parameters <= _MAX_PARAMETERS:
        raise InputError(
            f"{subject} describes {mixed.parameters:,} parameters; at most {_MAX_PARAMETERS:,.0f} are planned"
        )
    parameters, notes = _parameters(mixed.parameters, path)
    trainable = parameters - mixed.parameters + mixed.trained_parameters
    recipe = assumed_recipe(described.image_size, described.seq_length)
    kind = fields.text("model_type", default="")
    return Workload(
        name=f"{kind}:{format_count(parameters)}",
        task=described.task,
        family=described.family,
        parameters=parameters,
        parameter_tensors=mixed.parameter_tensors,
        operations=tuple(compacted(mixed.operations)),
        memory_amp=mixed.memory(),
        memory_fp32=single.memory(),
        default_dataset=None,
        recipe_batch_size_per_gpu=recipe.batch_size_per_gpu,
        max_global_batch_size=recipe.max_global_batch_size,
        recipe_source=recipe.source,
        source=f"{path.name} of a {kind}, by formula",
        optimizer=recipe.optimizer,
        sample_unit=recipe.sample_unit,
        image_size=described.image_size,
        seq_length=described.seq_length,
        trainable_parameters=trainable if trainable != parameters else None,
        embedding_parameters=mixed.embedding_parameters,
        notes=(*described.notes, *notes),
    )


def _described(fields: Fields, seq_length: int | None) -> Described:
    kind = fields.text("model_type", default="")
    if not kind:
        raise InputError(f"{fields.subject} is neither a workload file nor a Hugging Face configuration ('model_type')")
    if kind not in READERS:
        known = ", ".join(READERS)
        raise InputError(f"{fields.subject}: there are no formulas for model_type {kind!r} (for {known}); {WAYS_ON}")
    layers = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")
    for name in layers:
        if fields.whole(name, default=1, least=0) > _MAX_LAYERS:
            raise InputError(f"{fields.subject}: {name!r} is above {_MAX_LAYERS:,}")
    described = READERS[kind](fields, seq_length)
    tokens, longest = described.seq_length, described.longest
    if tokens is not None and not 1 <= tokens <= min(longest or _MAX_TOKENS, _MAX_TOKENS):
        raise InputError(f"{fields.subject}: it takes at most {longest or _MAX_TOKENS:,} tokens, not {tokens:,}")
    return described


def _walked(described: Described, *, amp: bool) -> Tape:
    tape = Tape(amp=amp)
    tape.finish(described.step(tape))
    return tape


def _parameters(by_formula: int, path: Path) -> tuple[int, tuple[str, ...]]:
    """The number of parameters, and a remark where the weights beside the configuration say another."""
    stored = stored_parameters(path.parent)
    if stored is None or stored == by_formula:
        return by_formula, ()
    return stored, (f"the weights beside it have {stored:,} parameters, the formulas {by_formula:,}",)
