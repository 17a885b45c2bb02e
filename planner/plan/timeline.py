"""From step to finish: the parts of a run's time on one machine, before interruptions."""

import math
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.plan.plan import TimePart
from planner.throughput.estimate import StepEstimate
from planner.throughput.optimizer import UPDATE_RULES, trainable_parameters
from planner.units import Interval

PROVISIONING_S = 180.0
"""From asking for a cloud machine to being logged in (assumption: three minutes)."""

ENVIRONMENT_BYTES = 8e9
"""A container or Python environment with PyTorch and its CUDA libraries (assumption)."""

ENVIRONMENT_START_S = 60.0
"""Unpacking it and starting the script (assumption)."""

DOWNLOAD_BYTES_PER_S = 200e6
"""Copying from object storage or a registry, where the network allows it (assumption)."""

CHECKPOINT_BYTES_PER_S = 125e6
"""Writing a checkpoint, on each node: the baseline rate of the commonest cloud disk (AWS gp3, 125 MiB/s)."""

LONGEST_RUN_S = 100 * 365.25 * 86400
"""Nobody plans for longer than a hundred years: what takes longer has no end in sight."""

_MASTER_WEIGHT_BYTES = 4.0


NO_TIME = Interval(0.0, 0.0, 0.0)


class Timeline(NamedTuple):
    """A run's parts at P50, and the interval of the whole. Seconds.

    ``earlier`` is the tries that are given up before this run.
    """

    provisioning_s: float
    environment_s: float
    download_s: float
    training: Interval
    evaluation: Interval
    checkpoint_s: float
    checkpoints_s: float
    restore_s: float = 0.0
    earlier: Interval = NO_TIME

    @property
    def setup_s(self) -> float:
        return self.provisioning_s + self.environment_s

    @property
    def restart_s(self) -> float:
        """From losing the machine to working on where the last checkpoint stands."""
        return self.setup_s + self.download_s + self.restore_s

    @property
    def work(self) -> Interval:
        """Training and evaluation, earlier tries included: what an interruption can undo."""
        training, evaluation, earlier = self.training, self.evaluation, self.earlier
        return Interval(
            training.p10 + evaluation.p10 + earlier.p10,
            training.p50 + evaluation.p50 + earlier.p50,
            training.p90 + evaluation.p90 + earlier.p90,
        )

    @property
    def checkpoints(self) -> int:
        """How many are written without interruptions: the run's end is one, so there is one at least."""
        return max(1, round(self.checkpoints_s / self.checkpoint_s)) if self.checkpoint_s > 0 else 1

    @property
    def fixed_s(self) -> float:
        return self.setup_s + self.download_s + self.checkpoints_s

    @property
    def total(self) -> Interval:
        return self.work.shifted(self.fixed_s)

    def parts(self) -> tuple[TimePart, ...]:
        """The parts that take time; they add up to ``total.p50``."""
        named = (
            ("provisioning", self.provisioning_s),
            ("environment", self.environment_s),
            ("data download", self.download_s),
            ("earlier tries", self.earlier.p50),
            ("training", self.training.p50),
            ("evaluation", self.evaluation.p50),
            ("checkpoints", self.checkpoints_s),
        )
        return tuple(TimePart(name, seconds) for name, seconds in named if seconds > 0)


class Demand(NamedTuple):
    """What a run asks of any machine: samples, validation a training sample, bytes, and shares of the run given up."""

    experiment: Experiment
    samples: float
    validation_share: float
    state_bytes: float
    dataset_bytes: float
    checkpoints: int
    given_up: float

    def on(self, machine: Machine, step: StepEstimate, *, rented: bool) -> Timeline:
        """The run at the pace of ``step``; only a rented machine has to be had, set up and filled with data."""
        if step.samples_per_s is None or step.parts is None:
            raise ValueError("a machine on which the experiment does not fit has no timeline")
        training = step.samples_per_s.inverse(self.samples)
        evaluation = training.scaled(self.validation_share * step.parts.forward_s / step.parts.total_s)
        of_a_node_bytes = self.state_bytes / _nodes_sharing_state(self.experiment, machine)
        checkpoint_s = of_a_node_bytes / CHECKPOINT_BYTES_PER_S
        arriving = download_bytes_per_s(machine) if rented else math.inf
        return Timeline(
            PROVISIONING_S if rented else 0.0,
            ENVIRONMENT_START_S + ENVIRONMENT_BYTES / arriving if rented else 0.0,
            self.dataset_bytes / arriving,
            training,
            evaluation,
            checkpoint_s,
            checkpoint_s * self.checkpoints,
            of_a_node_bytes / arriving,
            NO_TIME if self.given_up == 0 else _earlier(training, evaluation, self.given_up),
        )


def demand_of(experiment: Experiment) -> Demand:
    """What the experiment's run asks of any machine."""
    return Demand(
        experiment=experiment,
        samples=experiment.total_samples,
        validation_share=_validation_share(experiment),
        state_bytes=checkpoint_bytes(experiment),
        dataset_bytes=_dataset_bytes(experiment),
        checkpoints=max(1, math.ceil(experiment.epochs - experiment.resume_epoch)),
        given_up=(experiment.tries - 1) * given_up_share(experiment),
    )


def timeline(experiment: Experiment, machine: Machine, step: StepEstimate, *, rented: bool) -> Timeline:
    """The experiment's run on one machine, at the pace of ``step``."""
    return demand_of(experiment).on(machine, step, rented=rented)


def _earlier(training: Interval, evaluation: Interval, given_up: float) -> Interval:
    return Interval(*((t + e) * given_up for t, e in zip(training, evaluation, strict=True)))


def given_up_share(experiment: Experiment) -> float:
    """How much of a run a try takes that is given up: its pilot epochs, or all of it."""
    if experiment.pilot_epochs is None:
        return 1.0
    return min(1.0, experiment.pilot_epochs / (experiment.epochs - experiment.resume_epoch))


def download_bytes_per_s(machine: Machine) -> float:
    """What arrives at a rented machine, as far as its network allows."""
    rate = DOWNLOAD_BYTES_PER_S
    if machine.network is not None and machine.network.bandwidth_bytes_per_s is not None:
        rate = min(rate, machine.network.bandwidth_bytes_per_s)
    return rate


def checkpoint_bytes(experiment: Experiment) -> float:
    """Master weights and optimizer state, as ``torch.save`` writes them; of LoRA the adapters', which are trained."""
    trained = trainable_parameters(experiment)
    kept = trained if experiment.lora_rank is not None else float(experiment.workload.parameters)
    return kept * _MASTER_WEIGHT_BYTES + trained * UPDATE_RULES[experiment.optimizer].state_bytes


def _nodes_sharing_state(experiment: Experiment, machine: Machine) -> int:
    """Over how many nodes a checkpoint is shared out, each writing and reading its part beside the others.

    ZeRO's shards lie on all nodes, a split model on those that hold one copy of it; otherwise one node writes it all.
    """
    if machine.num_nodes == 1 or experiment.sharding_stage >= 1:
        return machine.num_nodes
    of_a_copy = experiment.tensor_parallel * experiment.pipeline_parallel
    return max(1, min(machine.num_nodes, int(of_a_copy // max(machine.num_gpus, 1.0))))


def _validation_share(experiment: Experiment) -> float:
    """Validation samples for each training sample, when the data set is validated once an epoch."""
    data = experiment.dataset
    if data is None or data.validation_samples is None:
        return 0.0
    return data.validation_samples / data.samples


def _dataset_bytes(experiment: Experiment) -> float:
    data = experiment.dataset
    return 0.0 if data is None or data.bytes is None else data.bytes
