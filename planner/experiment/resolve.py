"""From what the user said to a complete experiment: every default taken becomes an assumption line."""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple, TypeVar, get_args

from planner.errors import InputError, UnknownNameError, near_misses
from planner.experiment.experiment import Experiment, Offload, Optimizer, Precision
from planner.units import format_count
from planner.workloads.catalog import load_workload, model_index
from planner.workloads.datasets import Dataset, dataset, datasets, family_epochs
from planner.workloads.resize import at_image_size, at_seq_length
from planner.workloads.workload import Workload

PRECISIONS: tuple[Precision, ...] = get_args(Precision)
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)
OFFLOADS: tuple[Offload, ...] = get_args(Offload)

Name = TypeVar("Name", bound=str)

_MAX_BATCH = 1 << 24
_MAX_EPOCHS = 1e6
_MAX_TRIES = 10_000
_MAX_AMOUNT = 1e18
_PICTURES = ("jpeg", "volume")
"""How data sets of pictures are read."""
_MOST_NAMED = 3


class ExperimentRequest(NamedTuple):
    """What the user said, flag by flag; None is "not said". Counts are already numbers, names still text.

    ``parameters``, ``flops_per_sample`` and ``activation_bytes`` describe a model without a name; ``said`` is what a
    training configuration contributed.
    """

    model: str
    dataset: str | None = None
    epochs: float | None = None
    samples: float | None = None
    tokens: float | None = None
    steps: float | None = None
    batch_size_per_gpu: int | None = None
    global_batch_size: int | None = None
    grad_accum_steps: int | None = None
    image_size: int | None = None
    seq_length: int | None = None
    precision: str | None = None
    optimizer: str | None = None
    grad_checkpointing: bool = False
    zero_stage: int = 0
    lora_rank: int | None = None
    channels_last: bool = False
    compiled: bool = False
    tuned: bool = False
    workers: int | None = None
    resume_epoch: float = 0.0
    tries: int = 1
    pilot_epochs: float | None = None
    parameters: float | None = None
    flops_per_sample: float | None = None
    activation_bytes: float | None = None
    said: tuple[str, ...] = ()
    four_bit_weights: bool = False
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    offload: str | None = None


class _Work(NamedTuple):
    """How much is to be trained, and how that was found out."""

    dataset: Dataset | None
    samples_per_epoch: float
    epochs: float
    total_samples: float


def resolve_experiment(request: ExperimentRequest) -> Experiment:
    """The experiment the request describes. Raises InputError on unknown names, bad numbers and contradictions."""
    _check_numbers(request)
    _check_contradictions(request)
    workload = _workload(request)
    assumptions = [*request.said, *_record_assumptions(workload)]
    _check_kind(request, workload)
    work = _work(request, workload, assumptions)
    left = work.epochs - request.resume_epoch
    if request.pilot_epochs is not None and request.pilot_epochs > left:
        raise InputError(f"--pilot-epochs {request.pilot_epochs:g} is longer than the run, which is {left:.3g} epochs")
    precision = _choice("precision", request.precision, PRECISIONS)
    if precision is None:
        precision = "amp"
        assumptions.append("precision amp, autocast with fp32 master weights (--precision)")
    optimizer = _choice("optimizer", request.optimizer, OPTIMIZERS)
    if optimizer is None:
        optimizer = _choice("optimizer", workload.optimizer, OPTIMIZERS) or "sgd"
        assumptions.append(f"optimizer {optimizer} (--optimizer)")
    assumptions += _batch_assumptions(request, workload)
    assumptions += _size_assumptions(request, workload)
    assumptions += _software_assumptions(request)
    assumptions += _adapter_assumptions(request)
    assumptions += _try_assumptions(request)
    return Experiment(
        workload=workload,
        dataset=work.dataset,
        samples_per_epoch=work.samples_per_epoch,
        epochs=work.epochs,
        total_samples=work.total_samples,
        precision=precision,
        optimizer=optimizer,
        batch_size_per_gpu=request.batch_size_per_gpu,
        global_batch_size=request.global_batch_size,
        grad_accum_steps=request.grad_accum_steps,
        grad_checkpointing=request.grad_checkpointing,
        zero_stage=request.zero_stage,
        lora_rank=request.lora_rank,
        channels_last=request.channels_last,
        compiled=request.compiled,
        tuned=request.tuned,
        workers=request.workers,
        resume_epoch=request.resume_epoch,
        tries=request.tries,
        pilot_epochs=request.pilot_epochs,
        assumptions=tuple(assumptions),
        four_bit_weights=request.four_bit_weights,
        tokens=request.tokens,
        steps=request.steps,
        tensor_parallel=request.tensor_parallel,
        pipeline_parallel=request.pipeline_parallel,
        offload=_choice("offload", request.offload, OFFLOADS),
    )


def _workload(request: ExperimentRequest) -> Workload:
    if _by_numbers(request):
        from planner.workloads.raw import raw_numbers, workload_of_numbers

        numbers = raw_numbers(request.parameters, request.flops_per_sample, request.activation_bytes)
        return workload_of_numbers(numbers, request.image_size, request.seq_length)
    workload = load_workload(request.model, request.seq_length)
    if request.image_size is not None and request.image_size != workload.image_size:
        workload = at_image_size(workload, request.image_size)
    if request.seq_length is not None and request.seq_length != workload.seq_length:
        workload = at_seq_length(workload, request.seq_length)
    return workload


def _by_numbers(request: ExperimentRequest) -> bool:
    """Whether the model is described by numbers; a name beside them contradicts."""
    if request.parameters is None and request.flops_per_sample is None and request.activation_bytes is None:
        return False
    if request.model:
        raise InputError(f"--model {request.model} and a model by numbers (--params ...) contradict each other")
    return True


def _check_kind(request: ExperimentRequest, workload: Workload) -> None:
    """Refuse what the model has no use for: pictures for a language model, adapters for a convolutional network."""
    if request.lora_rank is not None and not _attends(workload):
        raise InputError(f"--lora-rank is for transformers; {workload.name} is none")
    if request.four_bit_weights and request.lora_rank is None:
        raise InputError("--load-in-4bit is for frozen weights: it needs --lora-rank")
    if request.compiled and request.tuned:
        raise InputError("--tuned is what vendors' scripts reach, which compile nothing: give it or --compile")
    if request.dataset is None:
        return
    data = dataset(request.dataset)
    if workload.image_size is not None and workload.seq_length is None and data.decode == "text":
        takes = f"{workload.name} takes {workload.sample_unit}s"
        raise InputError(f"the data set {data.name} is text; {takes}, such as {_usual_datasets(_PICTURES)}")
    if workload.seq_length is not None and workload.image_size is None and data.decode in _PICTURES:
        takes = f"{workload.name} takes sequences of tokens"
        raise InputError(f"the data set {data.name} is images; {takes}, such as {_usual_datasets(('text',))}")


def _usual_datasets(decodes: Collection[str]) -> str:
    """'imagenet, coco or voc': of the data sets read that way, those that most models of the zoo are trained on."""
    uses = Counter(model.default_dataset for model in model_index() if model.default_dataset)
    fitting = [data.name for data in datasets() if data.decode in decodes and uses[data.name]]
    *first, last = sorted(fitting, key=lambda name: -uses[name])[:_MOST_NAMED]
    return f"{', '.join(first)} or {last}"


def _attends(workload: Workload) -> bool:
    """Whether there is attention, for whose projections adapters are: language, diffusion and vision transformers."""
    return workload.seq_length is not None or any(o.op_class in ("sdpa", "bmm") for o in workload.operations)


def _work(request: ExperimentRequest, workload: Workload, assumptions: list[str]) -> _Work:
    data, per_epoch = _samples(request, workload, assumptions)
    if request.tokens is not None:
        total = request.tokens / _tokens_per_sample(workload)
        return _Work(data, per_epoch or total, total / (per_epoch or total), total)
    if request.steps is not None:
        total = request.steps * _batch_of_a_step(request, workload, assumptions)
        return _Work(data, per_epoch or total, total / (per_epoch or total), total)
    if per_epoch is None:
        raise InputError(
            f"{workload.name} has no default data set; say how much to train with -d, --samples, --tokens or --steps"
        )
    epochs = _epochs(request, data, workload.family, assumptions)
    if request.resume_epoch >= epochs:
        raise InputError(f"--resume-epoch {request.resume_epoch:g} leaves nothing to train of {epochs:g} epochs")
    _check_a_sample_is_seen(per_epoch, epochs)
    return _Work(data, per_epoch, epochs, per_epoch * (epochs - request.resume_epoch))


def _samples(
    request: ExperimentRequest, workload: Workload, assumptions: list[str]
) -> tuple[Dataset | None, float | None]:
    """The data set and its samples per epoch, in units of the workload's sample."""
    if request.samples is not None:
        return None, request.samples
    name = request.dataset
    if name is None:
        name = workload.default_dataset
        if name is None:
            return None, None
        assumptions.append(f"data set {name} (-d, --samples)")
    data = dataset(name)
    return data, data.samples_for(workload.seq_length)


def _tokens_per_sample(workload: Workload) -> int:
    if workload.seq_length is None:
        raise InputError(
            f"--tokens is for models of token sequences; {workload.name} takes {workload.sample_unit}s: "
            "say -e or --samples"
        )
    return workload.seq_length


def _batch_of_a_step(request: ExperimentRequest, workload: Workload, assumptions: list[str]) -> int:
    if request.global_batch_size is not None:
        return request.global_batch_size
    batch = (request.batch_size_per_gpu or workload.recipe_batch_size_per_gpu) * (request.grad_accum_steps or 1)
    assumptions.append(f"a step of --steps is {batch:,} samples, one GPU's batch (fix it with --global-batch-size)")
    return batch


def _check_a_sample_is_seen(per_epoch: float, epochs: float) -> None:
    """Raise InputError for a run of less than one sample: epochs count passes over the whole data set."""
    if per_epoch * epochs < 1:
        raise InputError(
            f"--epochs {epochs:g} of {per_epoch:,.15g} samples is less than one sample: "
            "1 is all of them once; --steps counts optimizer steps"
        )


def _epochs(request: ExperimentRequest, data: Dataset | None, family: str, assumptions: list[str]) -> float:
    """As said, as models of the family usually train on the data set, or as that one's recipe does."""
    if request.epochs is not None:
        return request.epochs
    of_family = None if data is None else family_epochs(family, data)
    if data is not None and of_family is not None:
        assumptions.append(f"{of_family:g} epochs, the usual recipe of {family} on {data.name} (-e)")
        return of_family
    if data is None or data.usual_epochs is None:
        raise InputError("say how long to train: -e EPOCHS, --tokens or --steps")
    assumptions.append(f"{data.usual_epochs:g} epochs, the usual recipe on {data.name}, whatever the model (-e)")
    return data.usual_epochs


def _batch_assumptions(request: ExperimentRequest, workload: Workload) -> list[str]:
    if request.batch_size_per_gpu is not None or request.global_batch_size is not None:
        return []
    return [
        f"batch {workload.recipe_batch_size_per_gpu:,} per GPU or what fits below it, "
        f"at most {workload.max_global_batch_size:,} in all: {workload.recipe_source} (-b, --global-batch-size)"
    ]


def _size_assumptions(request: ExperimentRequest, workload: Workload) -> list[str]:
    if workload.image_size is not None and request.image_size is None:
        return [f"images of {workload.image_size} x {workload.image_size} pixels (--img-size)"]
    if workload.seq_length is not None and request.seq_length is None:
        return [f"sequences of {workload.seq_length:,} tokens (--seq-length)"]
    return []


def _record_assumptions(workload: Workload) -> list[str]:
    """What there is to say of a model's record: what a sample is, what was traced, what is not in it."""
    return [f"{workload.name}: {note}" for note in workload.notes]


def _software_assumptions(request: ExperimentRequest) -> list[str]:
    if request.channels_last or request.compiled or request.tuned:
        return []
    return ["ordinary eager PyTorch, NCHW, not compiled (--channels-last, --compile, --tuned)"]


def _adapter_assumptions(request: ExperimentRequest) -> list[str]:
    if request.lora_rank is None:
        return []
    if _by_numbers(request):
        return ["a model by numbers tells no widths: what its adapters compute, move and keep is not counted"]
    return ["an adapter beside every matrix product but the output layer's, without dropout, as peft's all-linear"]


def _try_assumptions(request: ExperimentRequest) -> list[str]:
    if request.tries == 1:
        return []
    when = "at their end" if request.pilot_epochs is None else f"after {request.pilot_epochs:g} epochs"
    return [f"{request.tries} tries, of which the last is kept and the others are given up {when} (--pilot-epochs)"]


def _choice(what: str, text: str | None, known: tuple[Name, ...]) -> Name | None:
    if text is None:
        return None
    folded = text.strip().lower().replace("_", "-")
    for name in known:
        if name == folded:
            return name
    raise UnknownNameError(what, text, near_misses(text, known), f"known are {', '.join(known)}")


def _check_numbers(request: ExperimentRequest) -> None:
    _between("--epochs", request.epochs, 0, _MAX_EPOCHS, exclusive=True)
    _between("--samples", request.samples, 0, _MAX_AMOUNT, exclusive=True)
    _between("--tokens", request.tokens, 0, _MAX_AMOUNT, exclusive=True)
    _between("--steps", request.steps, 0, _MAX_AMOUNT, exclusive=True)
    _between("--batch-size", request.batch_size_per_gpu, 1, _MAX_BATCH)
    _between("--global-batch-size", request.global_batch_size, 1, _MAX_BATCH)
    _between("--grad-accum-steps", request.grad_accum_steps, 1, 1 << 16)
    _between("--img-size", request.image_size, 8, 8192)
    _between("--seq-length", request.seq_length, 1, 1 << 22)
    _between("--lora-rank", request.lora_rank, 1, 65536)
    _between("--zero", request.zero_stage, 0, 3)
    _between("--tensor-parallel", request.tensor_parallel, 1, 1 << 10)
    _between("--pipeline-parallel", request.pipeline_parallel, 1, 1 << 12)
    _between("--workers", request.workers, 0, 4096)
    _between("--resume-epoch", request.resume_epoch, 0, _MAX_EPOCHS)
    _between("--tries", request.tries, 1, _MAX_TRIES)
    _between("--pilot-epochs", request.pilot_epochs, 0, _MAX_EPOCHS, exclusive=True)


def _between(flag: str, value: float | None, low: float, high: float, *, exclusive: bool = False) -> None:
    """Raise InputError unless value lies in the range; NaN lies in none."""
    if value is None or (low < value <= high) or (value == low and not exclusive):
        return
    bound = f"greater than {low:g}" if exclusive else f"at least {low:g}"
    raise InputError(f"{flag} must be {bound} and at most {high:,.0f}, not {value:g}")


def _check_contradictions(request: ExperimentRequest) -> None:
    amounts = [
        flag
        for flag, value in (("--epochs", request.epochs), ("--tokens", request.tokens), ("--steps", request.steps))
        if value
    ]
    if len(amounts) > 1:
        raise InputError(f"{' and '.join(amounts)} contradict each other: say how long to train once")
    if request.dataset is not None and request.samples is not None:
        raise InputError("--dataset and --samples contradict each other: give one of them")
    if request.pilot_epochs is not None and request.tries == 1:
        raise InputError("--pilot-epochs says when a try is given up: say --tries 2 or more, too")
    if request.resume_epoch and request.epochs is None:
        raise InputError("--resume-epoch needs --epochs, the epoch at which training ends")
    batch, accum, total = request.batch_size_per_gpu, request.grad_accum_steps or 1, request.global_batch_size
    if batch and total and total % (batch * accum):
        raise InputError(
            f"--global-batch-size {total} is not a multiple of --batch-size {batch}"
            + (f" x --grad-accum-steps {accum}" if accum > 1 else "")
        )


def describe(experiment: Experiment) -> str:
    """One line: 'resnet50 · imagenet · 90 epochs · amp'."""
    parts = [experiment.workload.name]
    if experiment.dataset is not None:
        parts.append(experiment.dataset.name)
    else:
        parts.append(f"{format_count(experiment.samples_per_epoch)} samples")
    parts.append(_how_long(experiment))
    parts.append(experiment.precision)
    return " · ".join(parts)


def _how_long(experiment: Experiment) -> str:
    """Epochs where their number is plain, else all that is seen: '90 epochs', '1B tokens'."""
    epochs, length = experiment.epochs, experiment.workload.seq_length
    if epochs == 1:
        return "1 epoch"
    if epochs == round(epochs, 2):
        return f"{epochs:g} epochs"
    if length is not None:
        return f"{format_count(experiment.total_samples * length)} tokens"
    return f"{format_count(experiment.total_samples)} samples seen"
