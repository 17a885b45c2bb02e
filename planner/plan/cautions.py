"""Warnings about what most often makes a run other than estimated: said of the rows one is likely to take.

Each stands for a kind of public report that a replay gets wrong without it (docs/reports.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planner.experiment.experiment import Experiment
from planner.plan.plan import Estimate
from planner.plan.words import machine_name
from planner.units import format_bytes
from planner.workloads.datasets import TOKEN_STREAM

# Tasks whose validation runs over whole volumes, while training sees patches of them.
_WHOLE_VOLUMES = "volume segmentation"
_OWN_PLACES = ("laptop", "workstation")
_INSTRUCTIONS = "instruction tuning"
_FINE_TUNED = ("question answering", "text classification")
_PADDED_TIMES = 4
"""A sequence of more times the median example's tokens is mostly padding."""

# Keys of Apple's M1 and M2; measured with PyTorch 2.1 and 2.2, and with 2.8, by mlx-benchmark.
_EARLY_APPLE = ("M1-", "M2-")


def cautions(experiment: Experiment, estimates: Iterable[Estimate], recommended: int | None) -> Iterator[str]:
    """Sentences on the recommended row and this machine's."""
    likely = [row for row in estimates if row.is_this_machine or (row.rank is not None and row.rank == recommended)]
    yield from cautions_on(experiment, likely)


def cautions_on(experiment: Experiment, likely: Sequence[Estimate]) -> Iterator[str]:
    """Sentences on these rows, ranked or not."""
    for flag, sentence in (
        ("memory_tight", _tight),
        ("host_bound", _host_bound),
        ("architecture_unmeasured", _architecture_unmeasured),
        ("input_unknown", _input_unknown),
        ("network_unknown", _network_unknown),
        ("host_memory_unknown", _host_memory_unknown),
    ):
        flagged = [row for row in likely if flag in row.flags]
        if flagged:
            yield sentence(flagged)
    yield from _above_useful(experiment, likely)
    waiting = [row for row in likely if row.num_nodes > 1 and row.bound_by == "communication"]
    if waiting:
        yield f"on {_names(waiting)} the network between nodes decides: further nodes may train fewer samples a second"
    apple = [row for row in likely if row.precision == "fp32" and row.accelerator.startswith(_EARLY_APPLE)]
    if apple:
        yield (
            f"on {_names(apple)} PyTorch up to 2.2 multiplied fp32 matrices at a third of today's rate: "
            "transformers take two to three times as long with it"
        )


def _names(rows: Sequence[Estimate]) -> str:
    return " and ".join(dict.fromkeys(machine_name(row) for row in rows))


def _tight(rows: Sequence[Estimate]) -> str:
    """Optimizer state comes with the first update; GeForce drivers on Windows and Apple spill instead of failing."""
    needs = " and ".join(dict.fromkeys(_needs(row) for row in rows))
    text = f"memory is tight on {_names(rows)} ({needs}): watch the second step, when the optimizer's state has come"
    if any(row.place in _OWN_PLACES for row in rows):
        text += "; a desktop takes its share, and on Windows or Apple a spill to host memory is 20 to 160 times slower"
    return text


def _needs(row: Estimate) -> str:
    return f"{format_bytes(row.memory_required_bytes)} of {format_bytes(row.memory_available_bytes)}"


def _host_bound(rows: Sequence[Estimate]) -> str:
    return (
        f"{_names(rows)} waits for its CPU to launch work: a larger batch, --compile or a CPU of higher clock helps, "
        "a faster GPU does not"
    )


def _architecture_unmeasured(rows: Sequence[Estimate]) -> str:
    return (
        f"nothing was measured on the architecture of {_names(rows)}: its time is one of specifications and of other "
        "architectures' constants, and its interval wider for that"
    )


def _input_unknown(rows: Sequence[Estimate]) -> str:
    return f"how fast {_names(rows)} loads and decodes samples is not known: if its GPU idles, the loader sets the pace"


def _network_unknown(rows: Sequence[Estimate]) -> str:
    return f"the network between the nodes of {_names(rows)} is not known: a slow one is assumed"


def _host_memory_unknown(rows: Sequence[Estimate]) -> str:
    return f"how much memory the host of {_names(rows)} has is not known: --offload keeps optimizer state there"


def _above_useful(experiment: Experiment, rows: Iterable[Estimate]) -> Iterator[str]:
    """Steps of more samples than the model's sources train with: one a GPU is the least, on however many GPUs."""
    workload = experiment.workload
    for row in rows:
        if "global_batch_above_useful" in row.flags:
            yield (
                f"a step on {machine_name(row)} has {row.global_batch_size:,} samples, more than the "
                f"{workload.max_global_batch_size:,} that {workload.name} is known to learn from: "
                "it may take more epochs (fewer GPUs, or --tensor-parallel, make it smaller)"
            )


def cautions_of(experiment: Experiment) -> Iterator[str]:
    """Sentences on the experiment itself, wherever it runs."""
    steps = experiment.grad_accum_steps or 1
    if steps > 1:
        yield (
            f"--grad-accum-steps {steps} makes a step {steps} times as long for {steps} times the samples: "
            "a script's default for many GPUs is too much for one"
        )
    yield from _enlarged(experiment)
    yield from _padded(experiment)
    yield from _other_task(experiment)
    if experiment.workload.task == _WHOLE_VOLUMES:
        yield "validation on whole volumes can need more memory than training on patches"


def _padded(experiment: Experiment) -> Iterator[str]:
    """Examples of instructions are counted as whole sequences, and are mostly far shorter."""
    data, length = experiment.dataset, experiment.workload.seq_length
    if data is None or length is None or data.task != _INSTRUCTIONS:
        return
    if data.example_tokens is not None and length <= _PADDED_TIMES * data.example_tokens:
        return
    known = "" if data.example_tokens is None else f" (its median has {data.example_tokens:,})"
    yield (
        f"each example of {data.name} is counted as a sequence of {length:,} tokens{known}: say --seq-length as your "
        "trainer pads them, or --tokens for the sum of all where it packs them"
    )


def _other_task(experiment: Experiment) -> Iterator[str]:
    """A model recorded with the head and the batch of fine-tuning, on data that models are pretrained on."""
    data, workload = experiment.dataset, experiment.workload
    if data is None or data.task != TOKEN_STREAM or workload.task not in _FINE_TUNED:
        return
    from planner.workloads.catalog import model_index

    pretraining = f"{workload.name.partition('@')[0]}-pretraining"
    known = any(model.name == pretraining for model in model_index())
    yield (
        f"{workload.name} is {workload.task}, with its head, its {workload.seq_length or 0:,} tokens and its batch, "
        f"though {data.name} is for pretraining" + (f": -m {pretraining}" if known else "")
    )


def _enlarged(experiment: Experiment) -> Iterator[str]:
    """Small pictures on a model of large ones are work for nothing, unless its size was asked for."""
    workload, data = experiment.workload, experiment.dataset
    if data is None or data.image_size is None or workload.image_size is None:
        return
    if data.image_size >= workload.image_size or not any("(--img-size)" in text for text in experiment.assumptions):
        return
    from planner.workloads.resize import size_nearest

    own, size = f"{data.image_size} x {data.image_size}", f"{workload.image_size} x {workload.image_size}"
    fitting = size_nearest(workload, data.image_size)
    smaller = fitting is not None and fitting < workload.image_size
    advice = (
        f"--img-size {fitting} trains them as they are"
        if fitting == data.image_size
        else f"--img-size {fitting} is nearer"
    )
    yield f"the images of {data.name} are {own}, enlarged to {size} here" + (f": {advice}" if smaller else "")
