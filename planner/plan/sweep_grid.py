"""The experiments of a sweep: every combination of the values given for each setting.

A setting is one of the experiment's own ('epochs', 'batch_size', 'model' ...), which changes time and memory, or a
hyperparameter of the user's ('lr', 'seed'), which only tells runs apart.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from planner.errors import InputError, near_misses
from planner.experiment.resolve import ExperimentRequest
from planner.values import count, number, whole

MOST_EXPERIMENTS = 2000
MOST_OF_A_RANGE = 1000


class Axis(NamedTuple):
    """A setting and the values it takes."""

    name: str
    values: tuple[str, ...]


class Variant(NamedTuple):
    """One experiment of a sweep: what tells it from the others, and the whole request."""

    label: str
    request: ExperimentRequest


def _truth(text: str) -> bool:
    folded = text.strip().lower()
    if folded not in ("true", "false", "yes", "no", "1", "0"):
        raise InputError(f"expected yes or no, not {text!r}")
    return folded in ("true", "yes", "1")


_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "model": ("model", str),
    "dataset": ("dataset", str),
    "epochs": ("epochs", number),
    "samples": ("samples", count),
    "tokens": ("tokens", count),
    "steps": ("steps", count),
    "batch_size": ("batch_size_per_gpu", whole),
    "global_batch_size": ("global_batch_size", whole),
    "grad_accum_steps": ("grad_accum_steps", whole),
    "img_size": ("image_size", whole),
    "seq_length": ("seq_length", whole),
    "precision": ("precision", str),
    "optimizer": ("optimizer", str),
    "grad_ckpt": ("grad_checkpointing", _truth),
    "zero": ("zero_stage", whole),
    "lora_rank": ("lora_rank", whole),
    "load_in_4bit": ("four_bit_weights", _truth),
    "tensor_parallel": ("tensor_parallel", whole),
    "pipeline_parallel": ("pipeline_parallel", whole),
    "offload": ("offload", str),
    "compile": ("compiled", _truth),
    "channels_last": ("channels_last", _truth),
    "tuned": ("tuned", _truth),
    "workers": ("workers", whole),
}


_OTHER_NAMES = {
    "seq_len": "seq_length",
    "per_device_train_batch_size": "batch_size",
    "gradient_accumulation_steps": "grad_accum_steps",
    "opt": "optimizer",
    "tensor_model_parallel_size": "tensor_parallel",
    "pipeline_model_parallel_size": "pipeline_parallel",
}
"""Names that estimate's flags have, too."""

HELD_FOR_ALL = frozenset((
    "hub", "config", "params", "flops_per_sample", "activation_bytes", "resume_epoch", "tries", "pilot_epochs",
    "gpus", "num_nodes", "where", "region", "spot", "on_demand", "reserved", "savings_plan", "max_price",
    "max_price_age", "measured", "profile", "country", "electricity_price", "deadline", "budget", "confidence",
    "hour_value", "sort", "group", "max_rows", "output", "currency", "offline", "refresh", "file", "grid", "repeat",
    "pool", "max_rentals", "order", "help",
))  # fmt: skip
"""Flags of ``gpuplanner sweep`` that are the same for all experiments, and so no hyperparameter of anybody's."""

_ALIKE = 0.8
"""How much a name looks like a setting's that is taken for a slip (difflib's ratio, underscores left out): 'num_epochs'
and 'seq_lens' do, 'warmup_epochs', 'step_size' and 'lora_alpha' do not."""

_LEAST_PREFIX = 4


def setting_name(name: str) -> str:
    """How a setting, or a hyperparameter of the user's, is called here: 'batch-size' is 'batch_size'.

    Raises InputError for what is nearly a setting's name, which would otherwise change nothing, and for another flag's.
    """
    folded = name.strip().lower().replace("-", "_")
    folded = _OTHER_NAMES.get(folded, folded)
    if folded in _SETTINGS:
        return folded
    other = "give a hyperparameter of yours another name"
    if folded in HELD_FOR_ALL:
        raise InputError(f"{folded} is the same for the whole sweep (--{folded.replace('_', '-')}); {other}")
    meant = _meant(folded.replace("_", ""))
    if meant:
        raise InputError(f"{folded} is not a setting; did you mean {meant}? If not, {other}")
    return folded


def _meant(compact: str) -> str:
    """The setting that a name, without underscores, is a slip of or the beginning of; "" for none."""
    known = {setting.replace("_", ""): setting for setting in (*_SETTINGS, "deadline", "budget")}
    begun = [setting for setting in known if setting.startswith(compact)] if len(compact) >= _LEAST_PREFIX else []
    found = begun or near_misses(compact, known, 1, _ALIKE)
    return known[found[0]] if found else ""


def parse_axis(text: str) -> Axis:
    """'lr=0.1,0.01' or 'seed=1..5'. Raises InputError."""
    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"cannot read {text!r}; write NAME=VALUE,VALUE or NAME=1..5, such as lr=0.1,0.01 or seed=1..5")
    return axis(name, values.split(","))


def axis(name: str, values: Iterable[str]) -> Axis:
    """A setting with its values, ranges written out. Raises InputError where there are none, or for a bad name."""
    folded = setting_name(name)
    written = [value for text in values for value in _range(text.strip()) if value]
    if not written:
        raise InputError(f"{name.strip()} has no values")
    return Axis(folded, tuple(dict.fromkeys(written)))


def _range(text: str) -> list[str]:
    """'1..3' is 1, 2, 3; anything else is itself."""
    first, dots, last = text.partition("..")
    if not dots or not (first.lstrip("-").isdecimal() and last.lstrip("-").isdecimal()):
        return [text]
    low, high = int(first), int(last)
    if not low <= high < low + MOST_OF_A_RANGE:
        raise InputError(f"the range {text} must go up, by at most {MOST_OF_A_RANGE} values")
    return [str(value) for value in range(low, high + 1)]


def with_settings(request: ExperimentRequest, settings: Mapping[str, str]) -> ExperimentRequest:
    """The request with the experiment's own settings among ``settings``; other names change nothing in it."""
    known = {}
    for name, text in settings.items():
        if name in _SETTINGS:
            field, read = _SETTINGS[name]
            try:
                known[field] = read(text)
            except InputError as error:
                raise InputError(f"{name}: {error}") from error
    return request._replace(**known)


def variants(request: ExperimentRequest, axes: Sequence[Axis], repeat: int = 1) -> list[Variant]:
    """Every combination, the first axis slowest; ``repeat`` of each. Raises InputError for too many, or one twice."""
    for name, times in Counter(one.name for one in axes).items():
        if times > 1:
            raise InputError(f"{name} is in the grid {times} times: give all its values at once, such as {name}=1,2,3")
    total = repeat
    for one in axes:
        total *= len(one.values)
    if not 0 < total <= MOST_EXPERIMENTS:
        raise InputError(f"a sweep has 1 to {MOST_EXPERIMENTS:,} experiments, not {total:,}")
    found = []
    for values in product(*(one.values for one in axes)):
        settings = {one.name: value for one, value in zip(axes, values, strict=True)}
        changed = with_settings(request, settings)
        varied = [f"{one.name}={settings[one.name]}" for one in axes if len(one.values) > 1]
        label = " ".join(varied) or request.model
        found += [Variant(f"{label} #{copy}" if repeat > 1 else label, changed) for copy in range(1, repeat + 1)]
    return found


def free_names(axes: Iterable[Axis]) -> tuple[str, ...]:
    """The settings that are the user's own and change no time."""
    return tuple(one.name for one in axes if one.name not in _SETTINGS)


def is_setting(name: str) -> bool:
    """Whether the name is one of the experiment's own settings."""
    return name in _SETTINGS
