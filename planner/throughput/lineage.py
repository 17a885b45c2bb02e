"""The software that runs an experiment: its lineage, whose offsets apply, and what it makes of the operations."""

from collections.abc import Mapping

from planner.experiment.experiment import Experiment
from planner.throughput.calibration import Calibration
from planner.throughput.kernels import CONVOLUTIONS, Variant

# Lineages that split models, not only batches, over GPUs; and those whose loops feed all GPUs from one process.
MODEL_PARALLEL = ("nemo", "jax")
ONE_PROCESS = ("pytorch-sync",)


def software_level(experiment: Experiment) -> str:
    """'eager', 'compiled' or 'tuned': the row of the calibration's levels that the experiment asks for."""
    if experiment.tuned:
        return "tuned"
    return "compiled" if experiment.compiled else "eager"


def lineage_of(experiment: Experiment, framework: str = "pytorch") -> str:
    """The software lineage whose offsets apply: the framework and, where it is not plain, its level."""
    level = software_level(experiment)
    return framework if level == "eager" else f"{framework}-{level}"


def level_constants(experiment: Experiment, calibration: Calibration, framework: str) -> Mapping[str, float]:
    """The calibration's constants of the software level: TensorFlow's compiler (XLA) fuses less than PyTorch's does."""
    level = software_level(experiment)
    return calibration.levels["xla" if level == "compiled" and framework == "tensorflow" else level]


def variant_of(experiment: Experiment, calibration: Calibration, framework: str = "pytorch") -> Variant:
    """Layout constants, fusion and frozen weights of the experiment. Layout matters to convolutions only.

    Vendors' scripts run channels last in 2-byte arithmetic only (memory_format in the configs.yml of NVIDIA's
    DeepLearningExamples).
    """
    convolutional = any(operation.op_class in CONVOLUTIONS for operation in experiment.workload.operations)
    tuned_layout = experiment.tuned and experiment.precision not in ("fp32", "tf32", "fp32-strict")
    channels_last = convolutional and (experiment.channels_last or tuned_layout)
    return Variant(
        layout=calibration.layouts["nhwc" if channels_last else "nchw"],
        fused_bytes_factor=level_constants(experiment, calibration, framework)["fused_bytes_factor"],
        adapter_rank=experiment.lora_rank,
        four_bit_weights=experiment.four_bit_weights,
    )
