"""How the step answers to each specification of its machine: the same step with one of them 10 % higher."""

from collections.abc import Callable
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.machine import Machine
from planner.throughput.estimate import StepEstimate
from planner.throughput.evidence import Knowledge
from planner.throughput.step import StepModel

RAISED_BY = 0.1


class Sensitivity(NamedTuple):
    """How the step time answers to one specification raised by 10 %; ``time_change`` -0.06 is 6 % faster."""

    spec: str
    change: float
    time_change: float


def sensitivity(experiment: Experiment, machine: Machine, knowledge: Knowledge | None = None) -> list[Sensitivity]:
    """Step time against +10 % of bandwidth, FLOP/s, SM x clock, link, vCPUs; empty where nothing can be estimated."""
    model = StepModel(experiment, knowledge)
    answered = model.estimate(machine)
    if answered.step_time_s is None:
        return []
    p50 = answered.step_time_s.p50
    fixed_batch = _with_batch_of(answered, model, machine)
    answers = []
    for spec, faster in SPECIFICATIONS.items():
        changed = fixed_batch.estimate(faster(machine, 1.0 + RAISED_BY)).step_time_s
        if changed is not None:
            answers.append(Sensitivity(spec, RAISED_BY, changed.p50 / p50 - 1.0))
    return answers


def _with_batch_of(answered: StepEstimate, model: StepModel, machine: Machine) -> StepModel:
    """The same question with the batch it was answered with, so that only the specification changes.

    What was measured of ``machine`` counts as shares of its specifications, which the changed one reaches as well.
    """
    fixed = model.experiment._replace(
        batch_size_per_gpu=answered.batch_size_per_gpu,
        grad_accum_steps=answered.grad_accum_steps,
        global_batch_size=None,
    )
    return StepModel(fixed, model.knowledge).on(machine)


def _faster_bandwidth(machine: Machine, factor: float) -> Machine:
    return _with_accelerator(
        machine, lambda a: a._replace(bandwidth_bytes_per_s=_times(a.bandwidth_bytes_per_s, factor))
    )


def _faster_arithmetic(machine: Machine, factor: float) -> Machine:
    def raised(a: Accelerator) -> Accelerator:
        return a._replace(
            fp32_flops_per_s=_times(a.fp32_flops_per_s, factor),
            tf32_flops_per_s=_times(a.tf32_flops_per_s, factor),
            fp16_flops_per_s=_times(a.fp16_flops_per_s, factor),
            bf16_flops_per_s=_times(a.bf16_flops_per_s, factor),
            fp8_flops_per_s=_times(a.fp8_flops_per_s, factor),
            measured_bf16_flops_per_s=_times(a.measured_bf16_flops_per_s, factor),
        )

    return _with_accelerator(machine, raised)


def _faster_clock(machine: Machine, factor: float) -> Machine:
    def raised(a: Accelerator) -> Accelerator:  # a product measured at the old clock would have been faster as well
        measured = _times(a.measured_bf16_flops_per_s, factor)
        return a._replace(boost_hz=_times(a.boost_hz, factor), measured_bf16_flops_per_s=measured)

    return _with_accelerator(machine, raised)


def _faster_link(machine: Machine, factor: float) -> Machine:
    link, network = machine.link, machine.network
    if link is not None:
        link = link._replace(bandwidth_bytes_per_s=_times(link.bandwidth_bytes_per_s, factor))
    if network is not None:
        network = network._replace(bandwidth_bytes_per_s=_times(network.bandwidth_bytes_per_s, factor))
    return machine._replace(link=link, network=network)


def _more_vcpus(machine: Machine, factor: float) -> Machine:
    return machine._replace(vcpus=_times(machine.vcpus, factor))


SPECIFICATIONS: dict[str, Callable[[Machine, float], Machine]] = {
    "bandwidth": _faster_bandwidth,
    "flops": _faster_arithmetic,
    "sm_clock": _faster_clock,
    "link": _faster_link,
    "vcpus": _more_vcpus,
}


def _with_accelerator(machine: Machine, change: Callable[[Accelerator], Accelerator]) -> Machine:
    return machine._replace(accelerator=change(machine.accelerator))


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
