"""Measured rows as people publish them, read into what the model can answer: spellings, units, software, scope.

A row is a mapping of column to text (DESIGN section 7, ``backtest``). What cannot be read raises InputError with the
reason, which the backtest lists.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, get_args

from planner.errors import InputError, UnknownNameError
from planner.experiment.experiment import Optimizer, Precision
from planner.hardware.accelerator import Accelerator
from planner.hardware.catalog import resolve
from planner.hardware.interconnect import Network, default_link
from planner.hardware.machine import Machine
from planner.throughput.estimate import Scope
from planner.workloads.attention import with_stored_scores
from planner.workloads.catalog import zoo_workload
from planner.workloads.resize import at_image_size, at_seq_length
from planner.workloads.workload import Workload

MeasuredRow = Mapping[str, str]

GPUS_PER_NODE = 8
RATE_COLUMNS = ("samples_per_s", "step_time_ms", "metric_median")


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


class Measurement(NamedTuple):
    """One measured rate of a whole job. ``batch_size_per_gpu`` is None where the row does not state it."""

    workload: Workload
    machine: Machine
    precision: Precision
    batch_size_per_gpu: int | None
    samples_per_s: float
    scope: Scope
    software: Software
    optimizer: Optimizer
    grad_accum_steps: int = 1


def read_measurement(row: MeasuredRow, workload: Workload | None = None) -> Measurement:
    """The measurement a row states, of ``workload`` where the caller knows it better than the row's model name says.

    Raises InputError with the reason when the row cannot be understood.
    """
    accelerator = read_accelerator(row.get("gpu") or "")
    if any(method in (row.get("model") or "").casefold() for method in _ADAPTER_METHODS):
        raise InputError("fine-tuning of adapters: the row does not state their rank")
    software = read_software(row.get("framework_version") or "", row.get("variant") or "")
    tokens_per_sample = None
    if workload is None:
        workload, tokens_per_sample = _workload(row, software)
    machine = _machine(row, accelerator)
    batch = _batch(row)
    step_batch = None if batch is None else batch * machine.devices
    return Measurement(
        workload=workload,
        machine=machine,
        precision=_precision_run(row, accelerator),
        batch_size_per_gpu=batch,
        samples_per_s=_rate(row, workload, tokens_per_sample, machine, step_batch),
        scope=_scope(row),
        software=software,
        optimizer=_optimizer(row, workload),
        grad_accum_steps=_accumulation(workload, step_batch),
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


# NVIDIA's Transformer-XL scripts train with these global batches and split what does not fit into chunks; that measured
# rates scale to 8 GPUs at 0.99 over PCIe shows that gradients cross once in many chunks.
_CHUNKED_GLOBAL_BATCH = {"transformer-xl-base": 256, "transformer-xl-large": 128}


def _accumulation(workload: Workload, step_batch: int | None) -> int:
    """Micro steps of one optimizer step, where the benchmark's scripts are known to accumulate."""
    recipe = _CHUNKED_GLOBAL_BATCH.get(workload.name.partition("@")[0])
    return 1 if recipe is None or not step_batch else max(recipe // step_batch, 1)


_ADAPTER_METHODS = ("lora", "with adapter")


@cache
def read_accelerator(name: str) -> Accelerator:
    """The accelerator a row names. Raises UnknownNameError."""
    if not name.strip(" ?"):
        raise UnknownNameError("accelerator", name)
    return resolve(name).accelerator


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


def _precision_run(row: MeasuredRow, accelerator: Accelerator) -> Precision:
    """The row's precision; stock TensorFlow knows TF32 from release 2.4 on: before, fp32 was fp32 in every operation.

    Releases 1.15 on GPUs with TF32 are NVIDIA's own builds, which use it.
    """
    precision = read_precision(row.get("precision", ""))
    without_tf32 = (row.get("framework_version") or "").casefold().startswith(_TENSORFLOW_WITHOUT_TF32)
    strict = precision == "fp32" and without_tf32 and accelerator.tf32_flops_per_s is not None
    return "fp32-strict" if strict else precision


_TENSORFLOW_WITHOUT_TF32 = ("tensorflow 2.0", "tensorflow 2.1", "tensorflow 2.2", "tensorflow 2.3")


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
        tuned=" ngc " in f" {words} " or "nemo container" in words or "tuned" in changes,
        update_loop=before_2,
        sharded=any(mark in f"{words} {changes}" for mark in _SHARDED),
        stored_scores=before_2 or "ngc" in words or framework in ("tensorflow", "mxnet"),
    )


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


def _workload(row: MeasuredRow, software: Software) -> tuple[Workload, float | None]:
    """The workload at the row's input size, and the tokens of one sample where the row counts tokens."""
    size, length = read_input(row.get("input") or "")
    workload = _sized(_model_meant(row), size, length, software.stored_scores)
    tokens = length or workload.seq_length
    return workload, None if tokens is None else float(tokens)


def _model_meant(row: MeasuredRow) -> str:
    """The row's model, where a benchmark gives two networks one name.

    nnU-Net runs volumes in batches of a few, slices in batches of dozens; NVIDIA's BERT tables state the length where
    they pre-train, and fine-tune BERT-large on SQuAD where they do not.
    """
    name = row.get("model") or ""
    if name == "BERT" and not (row.get("input") or "").strip():
        return "bert-large-squad"
    if name.casefold().replace("-", "").replace("_", "") == "nnunet":
        batch = (row.get("batch_per_gpu") or "").strip()
        return "nnunet-3d" if batch.isdecimal() and int(batch) <= _LARGEST_BATCH_OF_VOLUMES else "nnunet-2d"
    return name


_LARGEST_BATCH_OF_VOLUMES = 8


@cache
def _sized(name: str, image_size: int | None, seq_length: int | None, stored_scores: bool) -> Workload:
    """The named workload at the row's input size, where it takes one, with attention as the software computes it."""
    workload = find_workload(name)
    if seq_length is not None and workload.seq_length is not None:
        workload = at_seq_length(workload, seq_length)
    elif image_size is not None and workload.image_size is not None:
        workload = at_image_size(workload, image_size)
    return with_stored_scores(workload) if stored_scores else workload


def find_workload(name: str) -> Workload:
    """The zoo's record for a benchmark's name: as written, without its folder, without remarks in brackets.

    Raises UnknownNameError.
    """
    found = _find_workload(name)
    if isinstance(found, UnknownNameError):
        raise found
    return found


@cache
def _find_workload(name: str) -> Workload | UnknownNameError:
    """As :func:`find_workload`, but a failure is a value: a file may name an unknown model thousands of times."""
    bare = name.split("[")[0].split("(")[0].strip()
    problem = UnknownNameError("model", name)
    for candidate in dict.fromkeys((name, bare, bare.rsplit("/", 1)[-1])):
        try:
            return zoo_workload(candidate)
        except UnknownNameError as error:
            problem = error
    return problem


def read_input(text: str) -> tuple[int | None, int | None]:
    """(image size, sequence length) in '224x224', '300x300 COCO', 'seq 384', 'tgt_len 192'; None where not stated."""
    words = text.casefold().split()
    if len(words) >= 2 and words[0] in ("seq", "tgt_len", "seq_len", "len") and words[1].isdecimal():
        return None, int(words[1])
    first = words[0] if words else ""
    height, _, width = first.partition("x")
    return (int(height), None) if height.isdecimal() and (not width or width.isdecimal()) else (None, None)


def _machine(row: MeasuredRow, accelerator: Accelerator) -> Machine:
    total = _count(row, "n_gpus", 1)
    if total < 0:
        raise InputError(f"n_gpus must not be negative, not {total}")
    if accelerator.kind == "cpu" or total == 0:
        return Machine(accelerator.name, accelerator, 0)
    nodes = _count(row, "n_nodes", max(1, -(-total // GPUS_PER_NODE)))
    if nodes < 1 or total % nodes:
        raise InputError(f"{total} GPUs cannot stand in {nodes} equal nodes")
    bridge = "nvlink" in row.get("variant", "").casefold() and accelerator.nvlink_bytes_per_s is not None
    per_node = total // nodes
    link = default_link(accelerator, per_node, bridge=bridge and accelerator.form_factor not in ("SXM", "superchip"))
    network = _usual_network(accelerator) if nodes > 1 else None
    return Machine(accelerator.name, accelerator, per_node, nodes, link=link, network=network)


# Nodes of eight modules as they are usually built: DGX-1 with 4 x EDR, Azure ND A100 v4 with 8 x HDR, ND H100 v5 with
# 8 x NDR InfiniBand (planner/data/networks.csv), bytes/s of a node.
_USUAL_NETWORKS = {"Volta": 50e9, "Ampere": 200e9, "Hopper": 400e9, "Blackwell": 400e9}


def _usual_network(accelerator: Accelerator) -> Network | None:
    """The network of published runs on several nodes, which rows do not name; None for other than modules."""
    bandwidth = _USUAL_NETWORKS.get(accelerator.architecture)
    if bandwidth is None or accelerator.form_factor not in ("SXM", "superchip"):
        return None
    return Network(f"usual for {accelerator.architecture} nodes", bandwidth, rdma=True)


def _count(row: MeasuredRow, column: str, default: int) -> int:
    text = (row.get(column) or "").strip()
    if not text:
        return default
    try:
        return int(float(text))
    except ValueError:
        raise InputError(f"{column} {text!r} is not a number") from None


def _batch(row: MeasuredRow) -> int | None:
    text = (row.get("batch_per_gpu") or "").strip()
    if not text:
        return None
    batch = _count(row, "batch_per_gpu", 1)
    if batch < 1:
        raise InputError(f"batch_per_gpu must be at least 1, not {text}")
    return batch


def _rate(
    row: MeasuredRow, workload: Workload, tokens_per_sample: float | None, machine: Machine, step_batch: int | None
) -> float:
    """Samples/s of the whole job from whichever of the three columns the row has."""
    stated = _number(row, "samples_per_s")
    if (row.get("metric_unit") or "").strip().endswith("?"):
        raise InputError(f"what {row['metric_unit']!r} counts is not known")
    if stated is not None:
        return stated
    milliseconds = _number(row, "step_time_ms")
    if milliseconds is not None and step_batch is not None:
        return step_batch / milliseconds * 1e3
    value, unit = _number(row, "metric_median"), (row.get("metric_unit") or "").strip().casefold()
    if value is None or not unit:
        raise InputError("the row states no rate: samples_per_s, step_time_ms or metric_median with metric_unit")
    if unit.endswith(("/gpu", "/chip")):
        unit, value = unit.rsplit("/", 1)[0], value * machine.devices
    if unit in _SECONDS_PER_STEP_UNIT:
        if step_batch is None:
            raise InputError(f"{unit} without a batch size")
        return step_batch / (value * _SECONDS_PER_STEP_UNIT[unit])
    rate = value * _samples_per_unit(unit, workload, tokens_per_sample)
    if unit in _TOKEN_UNITS and step_batch is not None and step_batch / rate > _LONGEST_MICRO_STEP_S:
        raise InputError(f"{value:g} {unit} would make one step take {step_batch / rate:.0f} s: another unit is meant")
    return rate


_SAMPLES_PER_UNIT = {
    "images/s": 1.0,
    "img/s": 1.0,
    "sequences/s": 1.0,
    "seq/s": 1.0,
    "samples/s": 1.0,
    "items/s": 1.0,
    "molecules/s": 1.0,
    "molecules/ms": 1e3,
}
_SECONDS_PER_STEP_UNIT = {
    "ms/iter": 1e-3,
    "ms/step": 1e-3,
    "ms": 1e-3,
    "s/iter": 1.0,
    "s/step": 1.0,
    "time 1k iterations (min)": 0.06,
}
# Token rates are also published in thousands and in sequences: a step of a minute gives that away.
_LONGEST_MICRO_STEP_S = 60.0
_TOKEN_UNITS = ("tokens/s", "tok/s", "tokens/s(src+tgt)", "tokens/s (src+tgt)")


def _samples_per_unit(unit: str, workload: Workload, tokens_per_sample: float | None) -> float:
    """Factor from the row's unit to samples/s. Raises InputError for units the model cannot be compared with."""
    if unit in _SAMPLES_PER_UNIT:
        return _SAMPLES_PER_UNIT[unit]
    if unit in _TOKEN_UNITS:
        if tokens_per_sample is None:
            raise InputError(f"tokens/s without a sequence length, and {workload.name} has none either")
        return 1.0 / tokens_per_sample
    if unit == "model tflop/s":
        return 1e12 / workload.training_flops_per_sample
    raise InputError(f"the unit {unit!r} is not one of samples, tokens or time per step")


def _number(row: MeasuredRow, column: str) -> float | None:
    text = (row.get(column) or "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{column} {text!r} is not a number") from None
    if not 0.0 < value < 1e15:
        raise InputError(f"{column} must be greater than 0, not {text}")
    return value


def _scope(row: MeasuredRow) -> Scope:
    if (row.get("mode") or "").strip().casefold().startswith(("infer", "eval", "forward")):
        return "forward"
    return "no_update" if (row.get("opt_step") or "").strip().casefold() == "no" else "step"


def _optimizer(row: MeasuredRow, workload: Workload) -> Optimizer:
    """The optimizer in 'yes(SGD)', else the workload's usual one."""
    text = (row.get("opt_step") or "").casefold()
    named = next((name for name in get_args(Optimizer) if f"({name}" in text), None)
    return named or workload.optimizer  # type: ignore[return-value]
