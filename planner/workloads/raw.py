"""A workload from three numbers: parameters, forward FLOPs and bytes kept for backward a sample."""

from typing import NamedTuple

from planner.errors import InputError
from planner.units import format_count
from planner.workloads.own_recipe import assumed_recipe
from planner.workloads.workload import Linear, Memory, Operation, Phase, Workload

BACKWARD_FLOPS = 2.0  # of forward's: a gradient for the data and one for the weights
HALF_BYTES = 2.0
# Activations are read and written more than once: by what makes them, what uses them, and both gradients.
_PASSES = (3.0, 5.0)


class RawNumbers(NamedTuple):
    """``flops_per_sample`` is one forward pass; ``activation_bytes`` is what a sample keeps for backward under amp."""

    parameters: float
    flops_per_sample: float
    activation_bytes: float


def raw_numbers(parameters: float | None, flops_per_sample: float | None, activation_bytes: float | None) -> RawNumbers:
    """The three numbers together. Raises InputError where one is missing."""
    given = {"--params": parameters, "--flops-per-sample": flops_per_sample, "--activation-bytes": activation_bytes}
    missing = [flag for flag, value in given.items() if value is None]
    if parameters is None or flops_per_sample is None or activation_bytes is None:
        raise InputError(
            f"a model by numbers needs {' and '.join(missing)} too: --params, --flops-per-sample (one forward pass) "
            "and --activation-bytes (kept for backward) describe it together"
        )
    return RawNumbers(parameters, flops_per_sample, activation_bytes)


def workload_of_numbers(numbers: RawNumbers, image_size: int | None, seq_length: int | None) -> Workload:
    """A workload of one matrix product and one pass over the activations, each way.

    What no number tells is left out and said: launches of small operations, and the type of the layers.
    """
    parameters = int(numbers.parameters)
    recipe = assumed_recipe(image_size, seq_length)
    weights = Linear(HALF_BYTES * parameters, 0.0)
    flops, activations = numbers.flops_per_sample, numbers.activation_bytes
    operations = (
        _product("forward", flops, weights),
        _passes("forward", activations * _PASSES[0]),
        _product("backward", BACKWARD_FLOPS * flops, weights.scaled(2.0)),
        _passes("backward", activations * _PASSES[1]),
    )
    copies = Linear(HALF_BYTES * parameters, numbers.activation_bytes)
    single = Linear(0.0, 2.0 * numbers.activation_bytes)
    return Workload(
        name=f"numbers:{format_count(numbers.parameters)}",
        task="own model",
        family="own",
        parameters=parameters,
        parameter_tensors=1,
        operations=operations,
        memory_amp=Memory(copies, copies),
        memory_fp32=Memory(single, single),
        default_dataset=None,
        recipe_batch_size_per_gpu=recipe.batch_size_per_gpu,
        max_global_batch_size=recipe.max_global_batch_size,
        recipe_source=recipe.source,
        source="--params, --flops-per-sample and --activation-bytes",
        optimizer=recipe.optimizer,
        sample_unit=recipe.sample_unit,
        image_size=image_size,
        seq_length=seq_length,
        notes=(
            "a model by numbers: backward twice the forward FLOPs, all of them matrix products; activations read and "
            "written 8 times; launches of small operations are not counted",
        ),
    )


def _product(phase: Phase, flops: float, moved: Linear) -> Operation:
    return Operation("mm", phase, 2, 0.0, 0, 0, Linear(0.0, flops), moved, 1)


def _passes(phase: Phase, moved: float) -> Operation:
    return Operation("ew", phase, 2, 0.0, 0, 0, Linear(0.0, 0.0), Linear(0.0, moved), 1)
