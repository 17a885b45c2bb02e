"""What every launch file says of a chosen row: the machines, how long they may run, and the command that trains."""

import math
import shlex
from datetime import datetime
from typing import NamedTuple

from planner import __version__
from planner.errors import InputError, NothingFitsError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import describe
from planner.plan.candidates import Candidate
from planner.plan.cost import CREDITS
from planner.plan.extras import disk_gb
from planner.plan.interrupted import with_checkpoints
from planner.plan.pick import Choice
from planner.plan.plan import Estimate
from planner.plan.rows import ranked_estimate
from planner.plan.sentence import credit_words, machine_words
from planner.plan.words import bound_mark, place_of_offer, purchase_words
from planner.units import MoneyFormat, format_duration, format_money, format_span

EDIT = "# EDIT"
"""Marks the end of every line that the user must fill in."""

LIMIT_STEP_S = 600.0
"""The time limit of a start is its P90 rounded up to whole ten minutes: a run that hangs must not be paid for."""

IDLE_MINUTES = 10
"""An idle machine is given back after that long."""

MEMORY_MARGIN = 0.9
"""Catalogues count a machine's memory in GB or GiB: what is asked for leaves room for both."""

RENDEZVOUS_PORT = 29500
"""PyTorch's default master port."""

WRITTEN_BY = "Written by gpuplanner"
"""In the heading of every launch file: by these words it is known for one of ours."""

_PLACEHOLDER_SCRIPT = "train.py"


class Launch(NamedTuple):
    """A row about to be launched. ``limit_s`` is seconds, ``disk_gb`` what a node's disk must hold.

    ``money`` writes its cost, ``said`` is what else its heading has to say of that.
    """

    experiment: Experiment
    candidate: Candidate
    estimate: Estimate
    written_at: datetime
    limit_s: int
    disk_gb: int
    money: MoneyFormat = format_money
    said: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The job's name as every launcher takes it: lower case, digits and hyphens, at most 40 characters."""
        folded = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.experiment.workload.name.lower())
        words = "-".join(word for word in folded.split("-") if word)
        return (words if words[:1].isalpha() else f"run-{words}")[:40].rstrip("-")

    @property
    def is_spot(self) -> bool:
        return self.estimate.purchase == "spot"

    @property
    def has_several_hosts(self) -> bool:
        """Whether it is a slice of TPUs over several hosts: the largest host counts 8 in its name, chips or cores.

        cloud.google.com/tpu/docs: v2 to v5p count cores, four chips of two a host; v5e and v6e count chips.
        """
        name = self.estimate.instance_type or ""
        size = name.rpartition("-")[2]
        return name.startswith("tpu-") and size.isdecimal() and int(size) > 8

    @property
    def region(self) -> str | None:
        """The region to ask a cloud for; None where the price holds anywhere."""
        return None if self.estimate.region in (None, "all", "any") else self.estimate.region

    @property
    def processes_per_node(self) -> int:
        """One a GPU; a share of a GPU, a CPU or a TPU host runs one."""
        if self.estimate.stack in ("cpu", "xla"):
            return 1
        return max(1, int(self.estimate.num_gpus))

    @property
    def limit_minutes(self) -> int:
        return self.limit_s // 60


def launch(experiment: Experiment, choice: Choice, now: datetime) -> Launch:
    """The chosen row as something to launch. Raises NothingFitsError or InputError where it cannot run."""
    if choice.candidate.free_tier is not None:
        raise InputError(f"{choice.candidate.name} is a notebook that is opened by hand: choose another row")
    if choice.row is None or choice.rank is None:
        raise NothingFitsError(f"{choice.candidate.name} has no rank in this plan; gpuplanner estimate says why")
    estimate = ranked_estimate(choice.row, choice.rank, on_front=False, now=now)
    if estimate.time_s is None:
        raise NothingFitsError(f"{choice.candidate.name} has no time in this plan")
    # A spot run that was interrupted is started again, and the limit counts from there: one start has no interruption.
    slow_s = estimate.time_s.p90
    if estimate.spot is not None:
        slow_s = with_checkpoints(choice.row.setting.timeline, estimate.spot.per_hour).total.p90
    limit_s = int(math.ceil(slow_s / LIMIT_STEP_S) * LIMIT_STEP_S)
    return Launch(experiment, choice.candidate, estimate, now, limit_s, math.ceil(disk_gb(experiment)))


def heading(row: Launch) -> list[str]:
    """The comment lines at the top of every file: what this is, what was expected, and what is left to do."""
    estimate = row.estimate
    where = row.candidate.name if estimate.provider is None else f"{estimate.provider} {estimate.instance_type}"
    place = place_of_offer(estimate.region, estimate.zone)
    words = [f"{where} ({machine_words(row.candidate)})", *([place] if place else [])]
    words.append(purchase_words(estimate.purchase, hypothetical=estimate.hypothetical))
    lines = [describe(row.experiment), ", ".join(words), _expected(row), *_beside(row.experiment)]
    lines += [f"{text[0].upper()}{text[1:]}." for text in row.said]
    if estimate.stack not in ("cuda", "rocm", "mps", "cpu"):
        lines.append(f"The training code must be ported to {estimate.stack} first.")
    lines.append(f"{WRITTEN_BY} {__version__} on {row.written_at:%Y-%m-%d}. Lines marked EDIT are yours to fill in.")
    return [f"# {line}" for line in lines]


def _expected(row: Launch) -> str:
    estimate = row.estimate
    time_s, cost = estimate.time_s, estimate.cost_usd
    text = "Expected:"
    if time_s is not None:
        text += f" {format_duration(time_s.p50)} (P10-P90 {format_span(time_s, format_duration)}),"
    if cost is not None:
        text += f" {bound_mark(estimate)}{row.money(cost.p50)} ({format_span(cost, row.money)})"
        text += credit_words(_credit_usd(estimate), row.candidate, row.money)
    if "cost_incomplete" in estimate.flags:
        text += " and what nobody knows the price of"
    return text + (f"; price seen {estimate.price_as_of}" if estimate.price_as_of else "")


def _credit_usd(estimate: Estimate) -> float:
    """How much of the user's credit the likely run uses up."""
    return -sum(part.usd or 0.0 for part in estimate.cost_parts if part.name == CREDITS)


def script_arguments(row: Launch) -> str:
    """The experiment as arguments of a training script, as gpuplanner spells them: all that the plan rests on."""
    experiment, estimate = row.experiment, row.estimate
    workload = experiment.workload
    words = ["--model", workload.name, *_amount(experiment)]
    for flag, value in (
        ("--batch-size", estimate.batch_size_per_gpu),
        ("--global-batch-size", experiment.global_batch_size),
        ("--grad-accum-steps", estimate.grad_accum_steps),
        ("--precision", estimate.precision),
        ("--optimizer", experiment.optimizer),
        ("--img-size", workload.image_size),
        ("--seq-length", workload.seq_length),
        ("--zero", experiment.zero_stage or None),
        ("--tensor-parallel", experiment.tensor_parallel if experiment.tensor_parallel > 1 else None),
        ("--pipeline-parallel", experiment.pipeline_parallel if experiment.pipeline_parallel > 1 else None),
        ("--offload", experiment.offload),
        ("--lora-rank", experiment.lora_rank),
        ("--workers", experiment.workers),
    ):
        if value is not None:
            words += [flag, str(value)]
    for flag, is_set in (
        ("--load-in-4bit", experiment.four_bit_weights),
        ("--grad-ckpt", experiment.grad_checkpointing),
        ("--compile", experiment.compiled),
        ("--channels-last", experiment.channels_last),
    ):
        if is_set:
            words.append(flag)
    return shlex.join(words)


def _amount(experiment: Experiment) -> list[str]:
    """How much is trained, in the unit it was asked in, on which data where they are not the model's usual ones."""
    if experiment.tokens is not None:
        words = ["--tokens", _whole(experiment.tokens)]
    elif experiment.steps is not None:
        words = ["--steps", _whole(experiment.steps)]
    else:
        words = ["--epochs", _whole(experiment.epochs)]
        if experiment.dataset is None:
            words += ["--samples", _whole(experiment.samples_per_epoch)]
    if experiment.resume_epoch:
        words += ["--resume-epoch", _whole(experiment.resume_epoch)]
    if experiment.dataset is not None and experiment.dataset.name != experiment.workload.default_dataset:
        words += ["--dataset", experiment.dataset.name]
    return words


def _whole(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _beside(experiment: Experiment) -> list[str]:
    """What the figures rest on that no argument of a script says."""
    lines = []
    if experiment.tuned:
        lines.append("Expected of a vendor's tuned training script (--tuned).")
    if experiment.tries > 1:
        pilot = f" --pilot-epochs {experiment.pilot_epochs:g}" if experiment.pilot_epochs is not None else ""
        lines.append(f"Expected of {experiment.tries} tries, of which this is one (--tries {experiment.tries}{pilot}).")
    return lines


def script_name() -> str:
    return _PLACEHOLDER_SCRIPT


def torchrun(row: Launch, nodes: str, rank: str | None, master: str) -> str:
    """The command that starts a node's processes and is stopped at the time limit.

    ``nodes``, ``rank`` and ``master`` are the launcher's own variables; without ``rank`` the nodes meet by rendezvous.
    On a TPU the script itself starts a process a chip (torch_xla.launch), on every host of the slice.
    """
    if row.estimate.stack == "xla":
        return f'timeout --signal=TERM {row.limit_minutes}m env PJRT_DEVICE=TPU python3 "$TRAIN_SCRIPT" $TRAIN_ARGS'
    per_node = row.processes_per_node
    if row.estimate.num_nodes == 1:
        how = f"--standalone --nproc-per-node {per_node}"
    elif rank is None:
        how = (
            f"--nnodes {nodes} --nproc-per-node {per_node} --rdzv-backend c10d "
            f'--rdzv-id {row.name} --rdzv-endpoint "{master}:{RENDEZVOUS_PORT}"'
        )
    else:
        how = (
            f"--nnodes {nodes} --node-rank {rank} --nproc-per-node {per_node} "
            f'--master-addr "{master}" --master-port {RENDEZVOUS_PORT}'
        )
    return f'timeout --signal=TERM {row.limit_minutes}m torchrun {how} "$TRAIN_SCRIPT" $TRAIN_ARGS'
