"""The software and arithmetic of a measured row, from a version, a variant and a precision in people's spellings."""

from typing import NamedTuple, get_args

from planner.errors import InputError
from planner.experiment.experiment import Precision
from planner.hardware.accelerator import Accelerator
from planner.throughput.row_rate import MeasuredRow

# What tables call NVIDIA's containers, beside the framework's name.
_CONTAINER = " ngc "

# Software that spreads weights over GPUs; tensor and pipeline parallel frameworks are taken as sharded too.
_SHARDED = ("fsdp", "zero3", "zero-3", "nemo", "maxtext")

# Before CUDA 11, cuBLAS used tensor cores only where all sizes of a product are multiples of 8: a network whose are not
# (Transformer-XL) runs at half its later speed.
_CUDA_10_PYTORCH = tuple(f"pytorch {version}." for version in ("0", "1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"))
# On an A100 the same script runs a tenth to a fifth faster under 1.10 and later.
_OLD_PYTORCH = ("pytorch 1.7.", "pytorch 1.8.", "pytorch 1.9.")

# Versions under which public benchmarks waited for the device after every step, on hosts of 2018 to 2020.
_SYNCHRONOUS_LOOPS = ("pytorch ~1.x", "pytorch (nvcr 20.10)")

# Longer names first: the first one found in the version string decides.
_FRAMEWORKS = {
    "dglpytorch": "dgl",
    "paddlepaddle": "paddle",
    "tensorflow": "tensorflow",
    "mxnet": "mxnet",
    "composer": "llm-foundry",
    "nemo": "nemo",
    "maxtext": "jax",
    "jax": "jax",
    "torch7": "torch7",
    "mlx": "mlx",
}
_TENSORFLOW_WITHOUT_NHWC = ("tensorflow 1.", "tensorflow 2.0", "tensorflow 2.1")
_TENSOR_CORES, _TURING, _AMPERE = (7, 0), (7, 5), (8, 0)
_TENSORFLOW_WITHOUT_TF32 = ("tensorflow 2.0", "tensorflow 2.1", "tensorflow 2.2", "tensorflow 2.3")

_PRECISIONS: dict[str, Precision] = {
    "": "amp",
    "mixed": "amp",
    "mp": "amp",
    "tf32?": "tf32",
    "fp16?": "fp16",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "fp16(masterfp32)": "fp16",
    "fp16(pure)": "fp16-pure",
    "bf16-true": "bf16-pure",
    "fp16-true": "fp16-pure",
    "mxfp8": "fp8",
    "fp8-cs": "fp8",
    "fp8-mx": "fp8",
    "fp8-cs(fp8-mx)": "fp8",
    "fp8+bf16": "fp8",
}


class Software(NamedTuple):
    """What ran the model: ``framework`` is its lineage ('pytorch', 'tensorflow' ...), then its software level.

    ``update_loop`` is an optimizer that loops over tensors, ``stored_scores`` attention without a fused kernel: both as
    PyTorch did them before 2.0. ``sharded`` is FSDP or ZeRO stage 3.
    """

    framework: str = "pytorch"
    channels_last: bool = False
    compiled: bool = False
    tuned: bool = False
    update_loop: bool = False
    stored_scores: bool = False
    sharded: bool = False


def read_software(version: str, variant: str) -> Software:
    """Framework lineage and software level from a version and a variant such as 'nhwc' or 'XLAsynthetic'."""
    words, changes = version.casefold(), variant.casefold()
    before_2 = words.startswith(("pytorch 0.", "pytorch 1.", *_SYNCHRONOUS_LOOPS))
    framework = next((name for name in _FRAMEWORKS if name in words), "pytorch")
    if framework == "pytorch" and words.startswith(_SYNCHRONOUS_LOOPS):
        framework = "pytorch-sync"
    elif words.startswith(_CUDA_10_PYTORCH):
        framework = "pytorch-cuda10"
    elif words.startswith(_OLD_PYTORCH):
        framework = "pytorch-old"
    return Software(
        framework=_FRAMEWORKS.get(framework, framework),
        channels_last="nhwc" in changes or "channels_last" in changes or "channels-last" in changes,
        compiled=any(mark in changes or mark in words for mark in ("xla", "dynamo", "compile", "inductor")),
        tuned=_CONTAINER in f" {words} " or "nemo container" in words or "tuned" in changes,
        update_loop=before_2,
        sharded=any(mark in f"{words} {changes}" for mark in _SHARDED),
        stored_scores=before_2 or "ngc" in words or framework in ("tensorflow", "mxnet"),
    )


def states_one_gpu(row: MeasuredRow) -> bool:
    """Whether a row of several GPUs has the rate of one: NVIDIA's SSD script printed that until its releases of 2022.

    On 2 to 16 GPUs such rows grow by nothing, later ones by the number of GPUs.
    """
    version = (row.get("framework_version") or "").casefold()
    return (
        row.get("source") == "lambdal/deeplearning-benchmark"
        and row.get("model") == "SSD"
        and version.startswith((*_CUDA_10_PYTORCH, *_OLD_PYTORCH, "pytorch 1.10."))
    )


def read_precision(text: str) -> Precision:
    """A precision in any usual spelling: 'amp-fp16', 'amp_bf16', 'tf32?', 'fp16(master fp32)', 'Mixed (AMP/FP16)'."""
    compact = text.casefold().replace(" ", "").replace("_", "-")
    found = _PRECISIONS.get(compact)
    if found is not None:
        return found
    if compact in get_args(Precision):
        return compact  # type: ignore[return-value]
    bare = compact.removeprefix("amp-").removeprefix("mixed-")
    if bare in ("fp16", "bf16", "fp8"):
        return bare  # type: ignore[return-value]
    if compact.startswith(("mixed", "amp")):
        return "amp"
    raise InputError(f"precision {text!r} is not modelled")


def precision_run(row: MeasuredRow, accelerator: Accelerator) -> Precision:
    """The row's precision; stock TensorFlow knows TF32 from release 2.4 on: before, fp32 was fp32 in every operation.

    Releases 1.15 on GPUs with TF32 are NVIDIA's own builds, which use it; in its containers fp32 is TF32 throughout.
    """
    precision = read_precision(row.get("precision", ""))
    if precision != "fp32" or accelerator.tf32_flops_per_s is None:
        return precision
    version = (row.get("framework_version") or "").casefold()
    if _CONTAINER in f" {version} ":
        return "tf32"
    return "fp32-strict" if version.startswith(_TENSORFLOW_WITHOUT_TF32) else precision


def software_run(row: MeasuredRow, accelerator: Accelerator) -> Software:
    """The row's software, with the layout that TensorFlow gives 2-byte convolutions by itself.

    On tensor cores XLA computes them channels last (``gpu_layout_assignment.cc``), and so does the graph's own layout
    optimizer (``generic_layout_optimizer.cc``) from release 2.2 on and in NVIDIA's builds of 1.15, which are all that
    runs on Ampere. Rows of 2.2 on Turing run as fast as those of 1.15: there it is not worth anything.
    """
    version = row.get("framework_version") or ""
    software = read_software(version, row.get("variant") or "")
    capability = accelerator.compute_capability or (0, 0)
    two_bytes = not read_precision(row.get("precision", "")).startswith(("fp32", "tf32"))
    if software.framework != "tensorflow" or not two_bytes or capability < _TENSOR_CORES:
        return software
    optimized = capability != _TURING and not version.casefold().startswith(_TENSORFLOW_WITHOUT_NHWC)
    channels_last = software.compiled or capability >= _AMPERE or optimized
    return software._replace(channels_last=software.channels_last or channels_last)
