"""The experiment: every question the physics and the plan may ask about what is trained, already answered."""

from typing import Literal, NamedTuple

from planner.workloads.datasets import Dataset
from planner.workloads.workload import Workload

Precision = Literal["amp", "bf16", "fp16", "bf16-pure", "fp16-pure", "fp32", "tf32", "fp32-strict", "fp8"]
Offload = Literal["optimizer", "all"]
Optimizer = Literal["sgd", "adam", "adamw", "adamw8bit", "adafactor", "lamb", "rmsprop"]

# DeepSpeed offloads optimizer state from ZeRO stage 1 on and frees gradients from stage 2 on; weights with 3 only.
_STAGE_OF_OFFLOAD: dict[Offload | None, int] = {None: 0, "optimizer": 2, "all": 3}


class Experiment(NamedTuple):
    """What is trained. ``total_samples`` is the work of all rows alike; None in a batch field means "by the rule".

    ``tries`` runs are started and the last one counts; the others are given up after ``pilot_epochs`` (None: at their
    end). ``four_bit_weights`` keeps frozen weights in 4 bits (QLoRA). ``assumptions`` has a sentence for every default
    that was taken rather than given. ``tokens`` or ``steps`` is how much was asked for where it was not epochs.
    ``tensor_parallel`` x ``pipeline_parallel`` GPUs hold one copy of the model and train a micro batch together; the
    batch per GPU is then theirs. ``offload`` keeps optimizer state and master weights, or all weights too, in host RAM.
    """

    workload: Workload
    dataset: Dataset | None
    samples_per_epoch: float
    epochs: float
    total_samples: float
    precision: Precision
    optimizer: Optimizer
    batch_size_per_gpu: int | None = None
    global_batch_size: int | None = None
    grad_accum_steps: int | None = None
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
    assumptions: tuple[str, ...] = ()
    four_bit_weights: bool = False
    tokens: float | None = None
    steps: float | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    offload: Offload | None = None

    @property
    def sharding_stage(self) -> int:
        """The ZeRO stage, or the one that offload works with where that is higher."""
        return max(self.zero_stage, _STAGE_OF_OFFLOAD[self.offload])
