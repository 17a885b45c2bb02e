"""From step to finish: the parts of a run's time on one machine, before interruptions."""

import math
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.plan.plan import TimePart
from planner.throughput.estimate import StepEstimate
from planner.units import Interval

CLOUD_SETUP_S = 300.0
"""Starting a cloud machine and its environment (assumption: five minutes)."""

DOWNLOAD_BYTES_PER_S = 200e6
"""Copying a data set from object storage, where the network allows it (assumption)."""

CHECKPOINT_BYTES_PER_S = 125e6
"""Writing a checkpoint: the baseline rate of the commonest cloud disk (AWS gp3, 125 MiB/s)."""

_STATE_BYTES_PER_PARAMETER = {"sgd": 8, "adafactor": 5, "adamw8bit": 6}
_ADAM_STATE_BYTES_PER_PARAMETER = 12


class Timeline(NamedTuple):
    """A run's parts at P50, and the interval of the whole. Seconds."""

    setup_s: float
    download_s: float
    training: Interval
    evaluation: Interval
    checkpoint_s: float
    checkpoints_s: float

    @property
    def work(self) -> Interval:
        """Training and evaluation: what an interruption can undo."""
        training, evaluation = self.training, self.evaluation
        return Interval(training.p10 + evaluation.p10, training.p50 + evaluation.p50, training.p90 + evaluation.p90)

    @property
    def fixed_s(self) -> float:
        return self.setup_s + self.download_s + self.checkpoints_s

    @property
    def total(self) -> Interval:
        return self.work.shifted(self.fixed_s)

    def parts(self) -> tuple[TimePart, ...]:
        """The parts that take time; they add up to ``total.p50``."""
        named = (
            ("setup", self.setup_s),
            ("data download", self.download_s),
            ("training", self.training.p50),
            ("evaluation", self.evaluation.p50),
            ("checkpoints", self.checkpoints_s),
        )
        return tuple(TimePart(name, seconds) for name, seconds in named if seconds > 0)


def timeline(experiment: Experiment, machine: Machine, step: StepEstimate, *, rented: bool) -> Timeline:
    """The run at the pace of ``step``; only a rented machine has to be set up and filled with data."""
    if step.samples_per_s is None or step.parts is None:
        raise ValueError("a machine on which the experiment does not fit has no timeline")
    training = step.samples_per_s.inverse(experiment.total_samples)
    forward_share = step.parts.forward_s / step.parts.total_s
    checkpoint_s = checkpoint_bytes(experiment) / CHECKPOINT_BYTES_PER_S
    return Timeline(
        setup_s=CLOUD_SETUP_S if rented else 0.0,
        download_s=_download_s(experiment, machine) if rented else 0.0,
        training=training,
        evaluation=training.scaled(_validation_share(experiment) * forward_share),
        checkpoint_s=checkpoint_s,
        checkpoints_s=checkpoint_s * max(1, math.ceil(experiment.epochs - experiment.resume_epoch)),
    )


def checkpoint_bytes(experiment: Experiment) -> float:
    """Master weights and optimizer state, as ``torch.save`` writes them."""
    per_parameter = _STATE_BYTES_PER_PARAMETER.get(experiment.optimizer, _ADAM_STATE_BYTES_PER_PARAMETER)
    return float(experiment.workload.parameters * per_parameter)


def _validation_share(experiment: Experiment) -> float:
    """Validation samples for each training sample, when the data set is validated once an epoch."""
    data = experiment.dataset
    if data is None or data.validation_samples is None:
        return 0.0
    return data.validation_samples / data.samples


def _download_s(experiment: Experiment, machine: Machine) -> float:
    data = experiment.dataset
    if data is None or data.bytes is None:
        return 0.0
    rate = DOWNLOAD_BYTES_PER_S
    if machine.network is not None and machine.network.bandwidth_bytes_per_s is not None:
        rate = min(rate, machine.network.bandwidth_bytes_per_s)
    return data.bytes / rate
