"""The batch rule (docs/model.md): batch per GPU, accumulation and global batch of one experiment on one machine."""

from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.throughput.model_parallel import MICRO_STEPS_PER_STAGE


class BatchPlan(NamedTuple):
    """``global_batch_size = batch_size_per_gpu * grad_accum_steps * devices``; ``problem`` is "" when it can be run.

    A device is a copy of the model: one GPU, or those over which it is split, which train a micro batch together.
    """

    batch_size_per_gpu: int
    grad_accum_steps: int
    global_batch_size: int
    flags: tuple[str, ...] = ()
    problem: str = ""


def check_batch_request(experiment: Experiment) -> None:
    """Raise InputError where the request contradicts itself on every machine."""
    batch, accumulation, total = (
        experiment.batch_size_per_gpu,
        experiment.grad_accum_steps,
        experiment.global_batch_size,
    )
    for name, value in (
        ("batch size per GPU", batch),
        ("gradient accumulation", accumulation),
        ("global batch size", total),
    ):
        if value is not None and value < 1:
            raise InputError(f"the {name} must be at least 1, not {value}")
    if total is not None and (batch or 1) * (accumulation or 1) > total:
        parts = [f"batch {batch} per GPU"] if batch else []
        parts += [f"{accumulation} accumulation steps"] if accumulation else []
        asked = " and ".join(parts)
        raise InputError(f"{asked} cannot make a global batch of {total}; raise --global-batch-size or leave it out")


def plan_batch(experiment: Experiment, devices: int, largest_fitting: int) -> BatchPlan:
    """The batch on ``devices`` devices where ``largest_fitting`` samples fit on one (0: none does).

    A plan whose batch per GPU exceeds ``largest_fitting`` is returned with ``problem`` set.
    """
    if experiment.global_batch_size is not None:
        plan = _split_global(experiment, devices, largest_fitting)
    elif experiment.batch_size_per_gpu is not None:
        accumulation = experiment.grad_accum_steps or _least_accumulation(experiment)
        plan = BatchPlan(
            experiment.batch_size_per_gpu, accumulation, experiment.batch_size_per_gpu * accumulation * devices
        )
    else:
        plan = _by_recipe(experiment, devices, largest_fitting)
    if plan.global_batch_size > experiment.workload.max_global_batch_size and experiment.global_batch_size is None:
        plan = plan._replace(flags=(*plan.flags, "global_batch_above_useful"))
    if not plan.problem and plan.batch_size_per_gpu > largest_fitting:
        plan = plan._replace(problem=_does_not_fit(plan.batch_size_per_gpu, largest_fitting))
    return plan


def _does_not_fit(batch: int, largest_fitting: int) -> str:
    if batch == 1:
        return "not even a batch of 1 per GPU fits"
    fitting = f"at most {largest_fitting} fits" if largest_fitting else "not even 1 fits"
    return f"batch {batch} per GPU does not fit; {fitting}"


def _by_recipe(experiment: Experiment, devices: int, largest_fitting: int) -> BatchPlan:
    """The recipe batch, less where the global batch would pass the largest useful one; accumulation keeps it."""
    workload = experiment.workload
    share_of_useful = max(workload.max_global_batch_size // devices, 1)
    gpus = experiment.tensor_parallel * experiment.pipeline_parallel
    per_device = min(workload.recipe_batch_size_per_gpu * gpus, share_of_useful)
    if experiment.grad_accum_steps is not None:
        accumulation = experiment.grad_accum_steps
        batch = max(min(per_device, largest_fitting, max(share_of_useful // accumulation, 1)), 1)
    else:
        batch, accumulation = _accumulated(experiment, per_device, largest_fitting)
    return BatchPlan(batch, accumulation, batch * accumulation * devices)


def _least_accumulation(experiment: Experiment) -> int:
    """Micro steps that keep a pipeline's stages busy (Huang et al., 2019); one where there is no pipeline."""
    return MICRO_STEPS_PER_STAGE * experiment.pipeline_parallel if experiment.pipeline_parallel > 1 else 1


def _accumulated(experiment: Experiment, per_device: int, largest_fitting: int) -> tuple[int, int]:
    """Micro batch and accumulation steps; small enough that a pipeline's stages are busy."""
    return fit_by_accumulation(per_device, min(largest_fitting, max(per_device // _least_accumulation(experiment), 1)))


def _split_global(experiment: Experiment, devices: int, largest_fitting: int) -> BatchPlan:
    """A global batch the user fixed: honoured exactly where it divides, else rounded down and flagged."""
    total = experiment.global_batch_size or 1
    batch, accumulation = experiment.batch_size_per_gpu, experiment.grad_accum_steps
    if total < devices * (batch or 1) * (accumulation or 1):
        each = f" with batch {batch} each" if batch else ""
        problem = f"a global batch of {total} cannot be split over {devices} devices{each}"
        return BatchPlan(batch or 1, accumulation or 1, total, problem=problem)
    per_device = total // devices
    if batch is not None and accumulation is not None and batch * accumulation * devices != total:
        asked = f"batch {batch} x {accumulation} accumulation steps x {devices} devices"
        problem = f"{asked} is not the global batch of {total}"
        return BatchPlan(batch, accumulation, total, problem=problem)
    if batch is not None:
        accumulation = accumulation or max(per_device // batch, 1)
    elif accumulation is not None:
        batch = max(per_device // accumulation, 1)
    else:
        batch, accumulation = _accumulated(experiment, per_device, largest_fitting)
    reached = batch * accumulation * devices
    flags = () if reached == total else ("global_batch_rounded",)
    return BatchPlan(batch, accumulation, reached, flags)


def fit_by_accumulation(per_device: int, largest_fitting: int) -> tuple[int, int]:
    """``per_device`` samples as micro batch x accumulation steps, exactly where a large enough divisor exists.

    The largest divisor that fits is taken unless it wastes more than half of what fits; then the split is even and the
    last few samples are dropped.
    """
    if per_device <= largest_fitting:
        return per_device, 1
    if largest_fitting < 1:
        return 1, per_device
    for accumulation in range(-(-per_device // largest_fitting), 2 * -(-per_device // largest_fitting) + 1):
        if per_device % accumulation == 0:
            return per_device // accumulation, accumulation
    accumulation = -(-per_device // largest_fitting)
    return per_device // accumulation, accumulation
