"""The planner as a library: what the command line answers, as objects. ``docs/library.md`` shows it at work.

    from planner import estimate
    plan = estimate("resnet50", epochs=90, where="cloud", deadline="12h")
    print(plan.recommendation.sentence)

Every function raises ``planner.errors.PlannerError`` (``InputError`` for wrong input) with one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from os import PathLike, fspath
from typing import Literal, TypedDict, Unpack

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.plan.deadline import parse_deadline
from planner.plan.plan import Plan
from planner.plan.planning import make_plan
from planner.plan.question import Question
from planner.plan.search import Limits, Sort
from planner.plan.world import open_world
from planner.profiler.this_machine import find_this_machine, store_path

Words = str | Sequence[str]


class Said(TypedDict, total=False):
    """What may be said of an experiment; what is left out is assumed and listed in ``Experiment.assumptions``.

    The names and meanings are those of the command line's flags; counts are numbers, bytes are bytes.
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
    parameters: float
    flops_per_sample: float
    activation_bytes: float


def make_experiment(
    model: str | PathLike[str] = "", *, config: str | PathLike[str] | None = None, **said: Unpack[Said]
) -> Experiment:
    """An experiment by a model's name or file, a training configuration, or three numbers. Raises InputError.

    ``config`` is a training configuration of another tool; what is ``said`` counts before it.
    """
    try:
        request = ExperimentRequest(model=fspath(model), **said)
    except TypeError as error:
        raise InputError(f"an experiment has no {str(error).rpartition('argument ')[2]}") from error
    if config is not None:
        from planner.experiment.recipes.read import completed, read_training_config

        request = completed(request, read_training_config(fspath(config)))
    return resolve_experiment(request)


def estimate(
    trained: Experiment | str | PathLike[str],
    *,
    where: Words = (),
    gpus: str | None = None,
    num_nodes: int | None = None,
    region: Words = (),
    purchase: Literal["spot", "on_demand"] | None = None,
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
    ``now`` is the moment to plan from.
    """
    if not isinstance(trained, Experiment):
        trained = make_experiment(trained, **said)
    elif said:
        raise InputError(f"the experiment is complete; {', '.join(said)} cannot be said beside it")
    moment = now or datetime.now().astimezone()
    limits = Limits(
        deadline=parse_deadline(deadline, moment) if isinstance(deadline, str) else deadline,
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
    return make_plan(trained, question, open_world(find_this_machine(), store_path()), moment, max_rows=max_rows)


def _words(words: Words) -> tuple[str, ...]:
    given = words.split(",") if isinstance(words, str) else words
    return tuple(word.strip() for word in given if word.strip())
