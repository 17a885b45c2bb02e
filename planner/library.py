"""The planner as a library: what the command line answers, as objects. ``docs/library.md`` shows it at work.

    from planner import estimate
    plan = estimate("resnet50", epochs=90, where="cloud", deadline="12h")
    print(plan.recommendation.sentence)

Every function raises ``planner.errors.PlannerError`` (``InputError`` for wrong input) with one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache, wraps
from inspect import Parameter, signature
from os import PathLike, fspath
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar, Unpack, get_type_hints

from planner.errors import InputError, near_misses
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.kinds import in_words, is_a, plain
from planner.plan.deadline import as_moment, parse_deadline
from planner.plan.plan import Plan
from planner.plan.planning import make_plan
from planner.plan.question import Question, checked
from planner.plan.search import Limits, Sort
from planner.plan.world import open_world
from planner.profiler.this_machine import find_this_machine, store_path
from planner.workloads import catalog
from planner.workloads.workload import Workload

Words = str | Sequence[str]
Purchase = Literal["spot", "on_demand", "reserved", "savings_plan"]
Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")

NAMES_OF_FLAGS = {
    "batch_size": "batch_size_per_gpu",
    "img_size": "image_size",
    "grad_ckpt": "grad_checkpointing",
    "zero": "zero_stage",
    "load_in_4bit": "four_bit_weights",
    "compile": "compiled",
    "params": "parameters",
    "budget": "budget_usd",
    "max_price": "max_price_usd_per_hour",
    "hour_value": "hour_value_usd",
    "spot": 'purchase="spot"',
    "on_demand": 'purchase="on_demand"',
    "reserved": 'purchase="reserved"',
    "savings_plan": 'purchase="savings_plan"',
}
"""The library's names for flags that are called otherwise: units and kinds stand in a name, as in the JSON."""


class Said(TypedDict, total=False):
    """What may be said of an experiment; what is left out is assumed and listed in ``Experiment.assumptions``.

    The meanings are those of the command line's flags (``NAMES_OF_FLAGS``); counts are numbers, bytes are bytes.
    """

    dataset: str
    epochs: float
    samples: float
    tokens: float
    steps: float
    batch_size_per_gpu: int
    global_batch_size: int
    grad_accum_steps: int
    image_size: int
    seq_length: int
    precision: str
    optimizer: str
    grad_checkpointing: bool
    zero_stage: int
    lora_rank: int
    four_bit_weights: bool
    tensor_parallel: int
    pipeline_parallel: int
    offload: Literal["optimizer", "all"]
    channels_last: bool
    compiled: bool
    tuned: bool
    workers: int
    resume_epoch: float
    tries: int
    pilot_epochs: float
    parameters: float
    flops_per_sample: float
    activation_bytes: float


def _arguments_checked(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Raise InputError for an argument that is of another kind than annotated, or that is no argument."""

    @wraps(function)
    def called(*args: Arguments.args, **named: Arguments.kwargs) -> Answer:
        kinds = _kinds(function)
        positional = list(signature(function).parameters)[: len(args)]
        for name, value in (*zip(positional, args, strict=False), *named.items()):
            _check(name, value, kinds)
        return function(*args, **{name: plain(value) for name, value in named.items()})

    return called


@cache
def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """What each argument must be, those of ``**said`` among them."""
    parameters, hints = signature(function).parameters.values(), get_type_hints(function)
    kinds = {one.name: hints[one.name] for one in parameters if one.kind is not Parameter.VAR_KEYWORD}
    takes_said = len(kinds) < len(parameters)
    return kinds | (get_type_hints(Said) if takes_said else {})


def _check(name: str, value: object, kinds: dict[str, Any]) -> None:
    if name not in kinds:
        near = [NAMES_OF_FLAGS[name]] if name in NAMES_OF_FLAGS else near_misses(name, kinds)[:1]
        hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(kinds))}"
        raise InputError(f"there is no {name!r}{hint}")
    optional = name in get_type_hints(Said) and value is None  # "not said", as if left out
    if not optional and not is_a(value, kinds[name]):
        raise InputError(f"{name} must be {in_words(kinds[name])}, not {value!r}")


@_arguments_checked
def load_workload(model: str | PathLike[str], seq_length: int | None = None) -> Workload:
    """A model's operation record, by its name or file, at ``seq_length`` tokens. Raises InputError."""
    return catalog.load_workload(fspath(model), seq_length)


@_arguments_checked
def make_experiment(
    model: str | PathLike[str] = "", *, config: str | PathLike[str] | None = None, **said: Unpack[Said]
) -> Experiment:
    """An experiment by a model's name or file, a training configuration, or three numbers. Raises InputError.

    ``config`` is a training configuration of another tool; what is ``said`` counts before it.
    """
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    request = ExperimentRequest(model=fspath(model), **given)
    if config is not None:
        from planner.experiment.recipes.read import completed, read_training_config

        request = completed(request, read_training_config(fspath(config)))
    return resolve_experiment(request)


@_arguments_checked
def estimate(
    trained: Experiment | str | PathLike[str],
    *,
    where: Words = (),
    gpus: str | None = None,
    num_nodes: int | None = None,
    region: Words = (),
    purchase: Purchase | None = None,
    max_price_usd_per_hour: float | None = None,
    country: str | None = None,
    hour_value_usd: float | None = None,
    measured: Words = (),
    deadline: str | datetime | None = None,
    budget_usd: float | None = None,
    confidence: float = 0.9,
    sort: Sort = "value",
    max_rows: int = 20,
    now: datetime | None = None,
    **said: Unpack[Said],
) -> Plan:
    """The ranked plan for an experiment, as ``gpuplanner estimate -o json`` has it. Raises InputError.

    A model's name or file may stand for the experiment; then ``said`` tells the rest. ``max_rows=0`` keeps every offer,
    ``now`` is the moment to plan from. A ``deadline`` is a text as the command line takes it, or a moment; one
    without a zone is by this system's clock.
    """
    if not isinstance(trained, Experiment):
        trained = make_experiment(trained, **said)
    elif said:
        raise InputError(f"the experiment is complete; {', '.join(said)} cannot be said beside it")
    if max_rows < 0:
        raise InputError(f"max_rows must be 0 (all) or more, not {max_rows}")
    moment = now.astimezone() if now is not None and now.tzinfo is None else now or datetime.now().astimezone()
    limits = Limits(
        deadline=parse_deadline(deadline, moment) if isinstance(deadline, str) else as_moment(deadline, moment),
        budget_usd=budget_usd,
        confidence=confidence,
        sort=sort,
    )
    question = Question(
        where=_words(where),
        gpus=gpus,
        num_nodes=num_nodes,
        regions=_words(region),
        purchases=(purchase,) if purchase else (),
        max_price_usd_per_hour=max_price_usd_per_hour,
        country=country,
        hour_value_usd=hour_value_usd,
        measured=(measured,) if isinstance(measured, str) else tuple(measured),
        limits=limits,
    )
    world = open_world(find_this_machine(), store_path())
    return make_plan(trained, checked(question), world, moment, max_rows=max_rows)


def _words(words: Words) -> tuple[str, ...]:
    given = words.split(",") if isinstance(words, str) else words
    return tuple(word.strip() for word in given if word.strip())
