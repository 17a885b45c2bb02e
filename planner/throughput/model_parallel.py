"""Tensor and pipeline parallelism by rule: how a model is split over GPUs, what that costs, and when it makes no sense.

Tensor parallelism splits every matrix product over GPUs of one machine and sums activations twice in each direction of
a block (Shoeybi et al., 2019, "Megatron-LM"); with sequence parallelism the rest of a block is split as well, for the
same bytes (Korthikanti et al., 2022). Pipeline parallelism gives each stage a share of the blocks; a step of m micro
steps over p stages takes m + p - 1 of a stage's (Huang et al., 2019, "GPipe"; Narayanan et al., 2021, for one forward
and one backward in turn). Embedding and output layer are taken as spread evenly. Nothing here was fitted.
"""

from typing import NamedTuple

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.hardware.machine import Machine
from planner.throughput.kernels import PhaseWork, StepWork
from planner.workloads.workload import Workload

# GPipe's rule: idle stages are negligible from four micro steps a stage on.
MICRO_STEPS_PER_STAGE = 4
# Sums of activations over the tensor-parallel GPUs of a block: two forward, two backward, two where it is recomputed.
_SUMS, _RECOMPUTED_SUMS = 4, 2


class Blocks(NamedTuple):
    """The transformer blocks of a workload: attention layers, heads of the widest, activations a token."""

    layers: float
    heads: int
    width: float


class Split(NamedTuple):
    """One model over ``tensor`` x ``pipeline`` GPUs, in ``replicas`` data-parallel copies."""

    tensor: int
    pipeline: int
    replicas: int

    @property
    def shards(self) -> int:
        """GPUs of one copy of the model."""
        return self.tensor * self.pipeline


class Group(NamedTuple):
    """GPUs that sum one shard's gradients: ``inside`` a machine, over ``nodes`` whose network ``rings`` of them use."""

    inside: int
    nodes: int
    rings: int = 1


def is_split(experiment: Experiment) -> bool:
    """Whether one copy of the model takes several GPUs."""
    return experiment.tensor_parallel * experiment.pipeline_parallel > 1


def split_of(experiment: Experiment, machine: Machine) -> Split:
    """The experiment's split on a machine for which :func:`split_problem` has nothing to say."""
    tensor, pipeline = experiment.tensor_parallel, experiment.pipeline_parallel
    return Split(tensor, pipeline, max(machine.devices // (tensor * pipeline), 1))


def blocks_of(workload: Workload) -> Blocks | None:
    """Blocks as attention shows them: 4 FLOPs a pair of tokens and width, a fused kernel a layer; None without any."""
    attention = [o for o in workload.operations if o.op_class == "sdpa" and o.phase == "forward" and o.width]
    layers = sum(operation.kernels for operation in attention)
    if workload.seq_length is None or not layers:
        return None
    pairs = float(workload.seq_length) ** 2
    widest = max(attention, key=lambda operation: operation.flops.per_sample / operation.kernels)
    heads = widest.flops.per_sample / widest.kernels / (4.0 * pairs * widest.width)
    width = sum(operation.flops.per_sample for operation in attention) / (4.0 * pairs * layers)
    return Blocks(layers, max(round(heads), 1), width)


def check_split(experiment: Experiment) -> None:
    """Raise InputError where the model cannot be split as asked on any machine."""
    tensor, pipeline, name = experiment.tensor_parallel, experiment.pipeline_parallel, experiment.workload.name
    if not is_split(experiment):
        return
    blocks = blocks_of(experiment.workload)
    if blocks is None:
        raise InputError(f"--tensor-parallel and --pipeline-parallel are for transformers over tokens; {name} is none")
    if blocks.heads % tensor:
        raise InputError(f"--tensor-parallel {tensor} does not divide the {blocks.heads} attention heads of {name}")
    if pipeline > blocks.layers:
        raise InputError(f"--pipeline-parallel {pipeline} is more than the {blocks.layers:g} layers of {name}")
    if pipeline > 1 and experiment.offload is not None:
        raise InputError("--offload takes away gradients that a pipeline keeps between its micro steps: leave one out")
    if pipeline > 1 and experiment.zero_stage > 1:
        raise InputError(
            f"--zero {experiment.zero_stage} shards gradients that a pipeline keeps between its micro steps: "
            "write --zero 1 beside --pipeline-parallel"
        )


def split_problem(experiment: Experiment, machine: Machine) -> str:
    """Why the split makes no sense on ``machine``, as one sentence; "" where it does."""
    if not is_split(experiment):
        return ""
    tensor, pipeline = experiment.tensor_parallel, experiment.pipeline_parallel
    inside, devices, nodes = int(machine.num_gpus), machine.devices, machine.num_nodes
    if inside < 1:
        return "there is no whole GPU to split a model over"
    if tensor > inside or inside % tensor:
        return f"tensor parallel {tensor} does not divide the {inside} GPUs of a machine, whose links it needs"
    if devices % (tensor * pipeline):
        return f"tensor parallel {tensor} x pipeline parallel {pipeline} does not divide {devices} GPUs"
    if nodes % pipeline and pipeline % nodes:
        return f"pipeline parallel {pipeline} over {nodes} machines cuts a stage in two"
    return ""


def gradient_group(split: Split, machine: Machine) -> Group:
    """The data-parallel neighbours of one GPU: next to it are its tensor group, then its copies, then other stages."""
    inside = max(1, int(machine.num_gpus))
    if split.pipeline > machine.num_nodes:
        return Group(split.replicas, 1)
    return Group(inside // split.tensor, machine.num_nodes // split.pipeline, split.tensor)


def split_work(work: StepWork, split: Split) -> StepWork:
    """One GPU's share of a micro step: every operation split by tensor, every stage with its share of the blocks."""
    if split.shards == 1:
        return work
    return StepWork(_share(work.forward, split), _share(work.backward, split))


def _share(phase: PhaseWork, split: Split) -> PhaseWork:
    rows = tuple(
        row._replace(
            flops_over_share=row.flops_over_share / split.shards,
            sm_clocks=row.sm_clocks / split.shards,
            bytes_over_share=row.bytes_over_share / split.shards,
        )
        for row in phase.rows
    )
    return PhaseWork(rows, phase.memory_bytes / split.shards, phase.kernels / split.pipeline)


def activation_bytes(experiment: Experiment, batch_size: int, wire_bytes: float) -> float:
    """What passes from one block to the next for a micro batch: tokens x width, in the arithmetic's type."""
    blocks = blocks_of(experiment.workload)
    if blocks is None:
        return 0.0
    return batch_size * (experiment.workload.seq_length or 1) * blocks.width * wire_bytes


def tensor_sums(experiment: Experiment, split: Split) -> float:
    """Sums of activations that one stage's GPU takes part in during one micro step."""
    blocks = blocks_of(experiment.workload)
    if split.tensor == 1 or blocks is None:
        return 0.0
    each = _SUMS + _RECOMPUTED_SUMS * experiment.grad_checkpointing
    return each * blocks.layers / split.pipeline


def idle_share(split: Split, micro_steps: int) -> float:
    """The part of a step in which a stage waits for others: (p - 1) / (m + p - 1)."""
    return (split.pipeline - 1) / (micro_steps + split.pipeline - 1)
