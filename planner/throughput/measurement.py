"""Measured rows as people publish them, read into what the model can answer: spellings, units, software, scope.

A row is a mapping of column to text (docs/json.md, ``backtest``). What cannot be read raises InputError with the
reason, which the backtest lists.
"""

import math
from functools import cache
from typing import NamedTuple, get_args

from planner.errors import InputError, UnknownNameError
from planner.experiment.experiment import Offload, Optimizer, Precision
from planner.hardware.accelerator import Accelerator
from planner.hardware.catalog import resolve
from planner.hardware.interconnect import Network, default_link
from planner.hardware.machine import Machine
from planner.throughput.estimate import Scope
from planner.throughput.row_model import model_meant, tokens_run
from planner.throughput.row_rate import MeasuredRow, rate_of
from planner.throughput.row_software import Software, precision_run, software_run
from planner.workloads.attention import with_stored_scores
from planner.workloads.catalog import zoo_workload
from planner.workloads.resize import at_image_size, at_seq_length
from planner.workloads.workload import Workload

GPUS_PER_NODE = 8
_ADAPTER_METHODS = ("lora", "with adapter")
# NVIDIA's Transformer-XL scripts train with these global batches and split what does not fit into chunks; that measured
# rates scale to 8 GPUs at 0.99 over PCIe shows that gradients cross once in many chunks.
_CHUNKED_GLOBAL_BATCH = {"transformer-xl-base": 256, "transformer-xl-large": 128}
# Nodes of eight modules as they are usually built: DGX-1 with 4 x EDR, Azure ND A100 v4 with 8 x HDR, ND H100 v5 with
# 8 x NDR InfiniBand (planner/data/networks.csv), bytes/s of a node.
_USUAL_NETWORKS = {"Volta": 50e9, "Ampere": 200e9, "Hopper": 400e9, "Blackwell": 400e9}


class Method(NamedTuple):
    """What else a run did that a step takes other time for: fields of an experiment, by their names."""

    lora_rank: int | None = None
    four_bit_weights: bool = False
    grad_checkpointing: bool = False
    zero_stage: int = 0
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    offload: Offload | None = None


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
    method: Method = Method()


def read_measurement(row: MeasuredRow, workload: Workload | None = None) -> Measurement:
    """The measurement a row states, of ``workload`` where the caller knows it better than the row's model name says.

    Raises InputError with the reason when the row cannot be understood.
    """
    accelerator = read_accelerator(row.get("gpu") or "")
    if any(method in (row.get("model") or "").casefold() for method in _ADAPTER_METHODS):
        raise InputError("fine-tuning of adapters: the row does not state their rank")
    software = software_run(row, accelerator)
    tokens_per_sample = None
    if workload is None:
        workload, tokens_per_sample = _workload(row, software, accelerator)
    machine = _machine(row, accelerator)
    batch = _batch(row)
    step_batch = None if batch is None else batch * machine.devices
    return Measurement(
        workload=workload,
        machine=machine,
        precision=precision_run(row, accelerator),
        batch_size_per_gpu=batch,
        samples_per_s=rate_of(row, workload, tokens_per_sample, machine, step_batch),
        scope=_scope(row),
        software=software,
        optimizer=_optimizer(row, workload),
        grad_accum_steps=_accumulation(workload, step_batch),
    )


def _accumulation(workload: Workload, step_batch: int | None) -> int:
    """Micro steps of one optimizer step, where the benchmark's scripts are known to accumulate."""
    recipe = _CHUNKED_GLOBAL_BATCH.get(workload.name.partition("@")[0])
    return 1 if recipe is None or not step_batch else max(recipe // step_batch, 1)


@cache
def read_accelerator(name: str) -> Accelerator:
    """The accelerator a row names. Raises UnknownNameError."""
    if not name.strip(" ?"):
        raise UnknownNameError("accelerator", name)
    return resolve(name).accelerator


def _workload(row: MeasuredRow, software: Software, accelerator: Accelerator) -> tuple[Workload, float | None]:
    """The workload at the row's input size, and the tokens of one sample where the row counts tokens."""
    size, length = read_input(row.get("input") or "")
    length = tokens_run(row, length, software)
    workload = _sized(model_meant(row, accelerator), size, length, software.stored_scores)
    tokens = length or workload.seq_length
    return workload, None if tokens is None else float(tokens)


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


def _usual_network(accelerator: Accelerator) -> Network | None:
    """The network of published runs on several nodes, which rows do not name; None for other than modules."""
    bandwidth = _USUAL_NETWORKS.get(accelerator.architecture)
    if bandwidth is None or accelerator.form_factor not in ("SXM", "superchip"):
        return None
    return Network(f"usual for {accelerator.architecture} nodes", bandwidth, rdma=True)


def _count(row: MeasuredRow, column: str, default: int) -> int:
    number = _number(row, column, default)
    if not number.is_integer():
        raise InputError(f"{column} {row[column]!r} is not a whole number")
    return int(number)


def _number(row: MeasuredRow, column: str, default: int) -> float:
    text = (row.get(column) or "").strip()
    try:
        return float(text or default)
    except ValueError:
        raise InputError(f"{column} {text!r} is not a number") from None


def _batch(row: MeasuredRow) -> int | None:
    text = (row.get("batch_per_gpu") or "").strip()
    if not text:
        return None
    batch = _number(row, "batch_per_gpu", 1)
    if not 1 <= batch < math.inf:
        raise InputError(f"batch_per_gpu must be at least 1, not {text}")
    return int(batch)  # 22.75 is a mean over the GPUs


def _scope(row: MeasuredRow) -> Scope:
    mode = (row.get("mode") or "").strip().casefold()
    if mode.startswith(("infer", "eval", "forward")):
        return "forward"
    if mode and not mode.startswith("train"):
        raise InputError(f"mode {row['mode']!r} is neither train nor infer")
    return "no_update" if (row.get("opt_step") or "").strip().casefold().startswith("no") else "step"


def _optimizer(row: MeasuredRow, workload: Workload) -> Optimizer:
    """The optimizer in 'yes(SGD)', else the workload's usual one."""
    text = (row.get("opt_step") or "").casefold()
    named = next((name for name in get_args(Optimizer) if f"({name}" in text), None)
    return named or workload.optimizer  # type: ignore[return-value]
