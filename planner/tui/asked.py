"""The form as values: what it asks of the planner, and the command line that asks the same."""

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple, TypeVar

from planner.errors import InputError, UnknownNameError
from planner.experiment.experiment import Experiment, Offload
from planner.experiment.resolve import ExperimentRequest
from planner.plan.deadline import parse_deadline
from planner.plan.question import Question
from planner.plan.search import Limits, Sort
from planner.values import count, not_negative, number, positive, usd, whole
from planner.workloads.catalog import find_model

Values = Mapping[str, str]
"""The texts of the form by field key; an empty text is "not said"."""

FIRST_VALUES: Values = {"model": "resnet50", "dataset": "imagenet", "epochs": "90"}

Value = TypeVar("Value")

_BUY = {
    "spot": "spot",
    "o-d": "on_demand",
    "on-demand": "on_demand",
    "on_demand": "on_demand",
    "on demand": "on_demand",
}
_FIELD_OF_KIND = {
    "model": "model",
    "data set": "dataset",
    "precision": "precision",
    "optimizer": "optimizer",
    "place or provider": "where",
    "region": "region",
    "accelerator": "gpus",
    "country": "country",
}
_FIELD_OF_FLAG = {
    "--img-size": "size",
    "--seq-length": "size",
    "--global-batch-size": "global",
    "--batch-size": "batch",
    "--grad-accum-steps": "levers",
    "--lora-rank": "levers",
    "--load-in-4bit": "levers",
    "--zero": "levers",
    "--tensor-parallel": "levers",
    "--pipeline-parallel": "levers",
    "--offload": "levers",
    "--tokens": "epochs",
    "--steps": "epochs",
    "--epochs": "epochs",
    "--gpus": "gpus",
    "measurement": "measured",
    "the rate in": "measured",
    "cannot read the GPUs": "gpus",
    "number of GPUs in": "gpus",
    "model file": "model",
    "no file or folder": "model",
    "known at image sizes": "size",
    "memory range": "gpus",
    "the data set": "dataset",
}
"""What a sentence of the planner speaks of, and the field it is written in."""
_DEFAULT_CONFIDENCE = "90"


class FieldError(InputError):
    """A text of the form that cannot be used; ``key`` is the field's."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        super().__init__(message)


class Levers(NamedTuple):
    """What the levers field's words switch on: 'nhwc compile ckpt zero2 lora16 4bit accum4 tp8 pp2 offload'."""

    channels_last: bool = False
    compiled: bool = False
    tuned: bool = False
    grad_checkpointing: bool = False
    zero_stage: int = 0
    lora_rank: int | None = None
    four_bit_weights: bool = False
    grad_accum_steps: int | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    offload: Offload | None = None

    def words(self) -> str:
        named = [
            ("nhwc", self.channels_last),
            ("compile", self.compiled),
            ("tuned", self.tuned),
            ("ckpt", self.grad_checkpointing),
            (f"zero{self.zero_stage}", self.zero_stage > 0),
            (f"lora{self.lora_rank}", self.lora_rank is not None),
            ("4bit", self.four_bit_weights),
            (f"accum{self.grad_accum_steps}", self.grad_accum_steps is not None),
            (f"tp{self.tensor_parallel}", self.tensor_parallel > 1),
            (f"pp{self.pipeline_parallel}", self.pipeline_parallel > 1),
            ("offload", self.offload == "optimizer"),
            ("offload-all", self.offload == "all"),
        ]
        return " ".join(word for word, on in named if on)


def field_of(error: InputError, values: Values) -> str | None:
    """The key of the field at fault among those of a form with these values, where it is known."""
    if isinstance(error, FieldError):
        return error.key
    if isinstance(error, UnknownNameError):
        key = _FIELD_OF_KIND.get(error.kind)
        return "measured" if key == "gpus" and error.name not in values.get("gpus", "") else key
    return next((field for words, field in _FIELD_OF_FLAG.items() if words in str(error)), None)


def faults(error: InputError, values: Values, now: datetime) -> dict[str | None, str]:
    """Every sentence against the form by the field it speaks of (None: of no one field).

    They are that of ``error``, which stopped the question, and those of further fields whose texts cannot be read.
    """
    found = {field_of(error, values): str(error)}
    for key, text in values.items():
        alone = {"model": values.get("model", ""), key: text}
        try:
            request(alone), question(alone, now)
        except FieldError as other:
            found.setdefault(other.key, str(other))
        except InputError:
            continue  # what the planner refuses comes with its own question
    return found


def request(values: Values) -> ExperimentRequest:
    """What is to be trained. Raises FieldError."""
    levers = parse_levers(values.get("levers", ""))
    length, unit = _length(values.get("epochs", ""))
    size = _parsed(values, "size", whole)
    in_tokens = _takes_tokens(values)
    return ExperimentRequest(
        model=_text(values, "model") or "",
        dataset=_text(values, "dataset"),
        epochs=length if unit == "epochs" else None,
        tokens=length if unit == "tokens" else None,
        steps=length if unit == "steps" else None,
        batch_size_per_gpu=_parsed(values, "batch", whole),
        global_batch_size=_parsed(values, "global", whole),
        image_size=None if in_tokens else size,
        seq_length=size if in_tokens else None,
        precision=_text(values, "precision"),
        optimizer=_text(values, "optimizer"),
        grad_accum_steps=levers.grad_accum_steps,
        grad_checkpointing=levers.grad_checkpointing,
        zero_stage=levers.zero_stage,
        lora_rank=levers.lora_rank,
        four_bit_weights=levers.four_bit_weights,
        channels_last=levers.channels_last,
        compiled=levers.compiled,
        tuned=levers.tuned,
        tensor_parallel=levers.tensor_parallel,
        pipeline_parallel=levers.pipeline_parallel,
        offload=levers.offload,
    )


def question(values: Values, now: datetime, sort: Sort = "value") -> Question:
    """Where to look and what the answer must meet. Raises FieldError."""
    nodes = _parsed(values, "nodes", whole)
    if nodes is not None and not 1 <= nodes <= 10_000:
        raise FieldError("nodes", f"expected 1 to 10,000 machines, not {nodes}")
    return Question(
        where=_words(values, "where"),
        gpus=_text(values, "gpus"),
        num_nodes=nodes,
        regions=_words(values, "region"),
        purchases=_purchases(values),
        max_price_usd_per_hour=_parsed(values, "max_price", usd(positive)),
        country=_text(values, "country"),
        measured=_words(values, "measured", ";"),
        hour_value_usd=_parsed(values, "hour_value", usd(not_negative)),
        limits=Limits(
            deadline=_parsed(values, "deadline", lambda text: parse_deadline(text, now)),
            budget_usd=_parsed(values, "budget", usd(positive)),
            confidence=_confidence(values),
            sort=sort,
        ),
    )


def command_line(values: Values, sort: Sort = "value") -> str:
    """The command that asks the same question. Raises FieldError."""
    levers = parse_levers(values.get("levers", ""))
    words = ["gpuplanner", "estimate"]
    for flag, value in _flags(values, levers, sort):
        words += [flag] if value is None else [flag, value]
    return shlex.join(words)


def _flags(values: Values, levers: Levers, sort: Sort) -> list[tuple[str, str | None]]:
    length, unit = _length(values.get("epochs", ""))
    purchases = _purchases(values)
    given = [
        ("--model", _text(values, "model")),
        ("--dataset", _text(values, "dataset")),
        (f"--{unit}", None if length is None else f"{length:.15g}"),
        ("--seq-length" if _takes_tokens(values) else "--img-size", _text(values, "size")),
        ("--batch-size", _text(values, "batch")),
        ("--global-batch-size", _text(values, "global")),
        ("--precision", _text(values, "precision")),
        ("--optimizer", _text(values, "optimizer")),
        ("--grad-accum-steps", None if levers.grad_accum_steps is None else str(levers.grad_accum_steps)),
        ("--zero", str(levers.zero_stage) if levers.zero_stage else None),
        ("--tensor-parallel", str(levers.tensor_parallel) if levers.tensor_parallel > 1 else None),
        ("--pipeline-parallel", str(levers.pipeline_parallel) if levers.pipeline_parallel > 1 else None),
        ("--offload", levers.offload),
        ("--lora-rank", None if levers.lora_rank is None else str(levers.lora_rank)),
        ("--where", ",".join(_words(values, "where")) or None),
        ("--gpus", _text(values, "gpus")),
        ("--num-nodes", _text(values, "nodes")),
        ("--region", ",".join(_words(values, "region")) or None),
        ("--max-price", _text(values, "max_price")),
        *(("--measured", text) for text in _words(values, "measured", ";")),
        ("--country", _text(values, "country")),
        ("--deadline", _text(values, "deadline")),
        ("--budget", _text(values, "budget")),
        ("--confidence", f"{_confidence(values):g}" if _text(values, "sure") else None),
        ("--hour-value", _text(values, "hour_value")),
        ("--sort", sort if sort != "value" else None),
    ]
    switches = [
        ("--grad-ckpt", levers.grad_checkpointing),
        ("--compile", levers.compiled),
        ("--channels-last", levers.channels_last),
        ("--tuned", levers.tuned),
        ("--load-in-4bit", levers.four_bit_weights),
        ("--spot", purchases == ("spot",)),
        ("--on-demand", purchases == ("on_demand",)),
    ]
    flags: list[tuple[str, str | None]] = [(flag, value) for flag, value in given if value is not None]
    return flags + [(flag, None) for flag, on in switches if on]


def with_changes(values: Values, before: Experiment, after: Experiment) -> Values:
    """The form after a lever: the fields in which two experiments differ, written as a person would."""
    changed = dict(values)
    if after.precision != before.precision:
        changed["precision"] = after.precision
    if after.optimizer != before.optimizer:
        changed["optimizer"] = after.optimizer
    if after.batch_size_per_gpu != before.batch_size_per_gpu:
        changed["batch"] = "" if after.batch_size_per_gpu is None else str(after.batch_size_per_gpu)
    changed["levers"] = Levers(
        after.channels_last,
        after.compiled,
        after.tuned,
        after.grad_checkpointing,
        after.zero_stage,
        after.lora_rank,
        after.four_bit_weights,
        after.grad_accum_steps,
        after.tensor_parallel,
        after.pipeline_parallel,
        after.offload,
    ).words()
    return changed


def changed_words(before: Values, after: Values) -> str:
    """What a person would change in the form to get from one to the other: 'lora16 4bit', 'optimizer adamw8bit'."""
    had = before.get("levers", "").split()
    words = [word for word in after.get("levers", "").split() if word not in had]
    others = (key for key in ("nodes", "batch", "precision", "optimizer") if after.get(key, "") != before.get(key, ""))
    return " ".join([*words, *(f"{key} {after.get(key) or 'empty'}" for key in others)])


def parse_levers(text: str) -> Levers:
    """The words of the levers field. Raises FieldError."""
    found: dict[str, bool | int | str] = {}
    switches = {"nhwc": "channels_last", "compile": "compiled", "tuned": "tuned", "ckpt": "grad_checkpointing"}
    switches |= {"4bit": "four_bit_weights"}
    amounts = {"zero": "zero_stage", "lora": "lora_rank", "accum": "grad_accum_steps"}
    amounts |= {"tp": "tensor_parallel", "pp": "pipeline_parallel"}
    offloads = {"offload": "optimizer", "offload-all": "all"}
    for word in text.replace(",", " ").lower().split():
        name = word.rstrip("0123456789")
        digits = word[len(name) :]
        if word in switches:
            found[switches[word]] = True
        elif name in amounts and digits:
            found[amounts[name]] = int(digits[:9])
        elif word in offloads:
            found["offload"] = offloads[word]
        else:
            known = "nhwc, compile, tuned, ckpt, zero2, lora16, 4bit, accum4, tp8, pp2, offload, offload-all"
            raise FieldError("levers", f"unknown lever {word!r}; write {known}")
    return Levers(**found)  # type: ignore[arg-type]


def _length(text: str) -> tuple[float | None, str]:
    """How long to train, and in what: '90', '300B tokens', '5000 steps'."""
    amount, _, unit = text.strip().partition(" ")
    unit = unit.strip().lower() or "epochs"
    if not amount:
        return None, "epochs"
    for known in ("epochs", "tokens", "steps"):
        if known.rstrip("s") == unit.rstrip("s"):
            return _checked("epochs", amount, number if known == "epochs" else count), known
    raise FieldError("epochs", f"cannot read {text!r}; write 90, 300B tokens or 5000 steps")


def _purchases(values: Values) -> tuple[str, ...]:
    text = _text(values, "buy")
    if text is None:
        return ()
    if text.lower() not in _BUY:
        raise FieldError("buy", f"unknown way to buy {text!r}; write spot or on-demand")
    return (_BUY[text.lower()],)


def _confidence(values: Values) -> float:
    text = _text(values, "sure") or _DEFAULT_CONFIDENCE
    percent = _checked("sure", text.removesuffix("%").strip(), number)
    if not 0 < percent < 100:
        raise FieldError("sure", f"expected a percentage between 0 and 100 such as 90, not {text!r}")
    return float(f"{percent / 100:g}")  # as the command line writes it


def _takes_tokens(values: Values) -> bool:
    """Whether the model's size is a sequence's length; that of an unknown one, which is refused anyway, is not."""
    try:
        model = find_model(values.get("model", "").strip())
    except UnknownNameError:
        return False
    return model.seq_length is not None and model.image_size is None


def _words(values: Values, key: str, between: str = ",") -> tuple[str, ...]:
    return tuple(word.strip() for word in (_text(values, key) or "").split(between) if word.strip())


def _text(values: Values, key: str) -> str | None:
    """What was said; the words that empty fields show say nothing."""
    text = values.get(key, "").strip()
    return None if text.lower() in ("", "any", "none") else text


def _parsed(values: Values, key: str, parse: Callable[[str], Value]) -> Value | None:
    text = _text(values, key)
    return None if text is None else _checked(key, text, parse)


def _checked(key: str, text: str, parse: Callable[[str], Value]) -> Value:
    try:
        return parse(text)
    except InputError as error:
        raise FieldError(key, str(error)) from error
