"""``gpuplanner models``: the zoo, searched and shown."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from planner.cli.listing import add_listing_arguments, containing, first, write_records, write_table
from planner.cli.table import Column
from planner.errors import UnknownNameError
from planner.units import UNKNOWN, format_bytes, format_count
from planner.workloads.catalog import (
    ModelSummary,
    find_model,
    load_workload,
    model_index,
    names_a_file,
    not_a_network,
    summary_of,
)

_COLUMNS = (
    Column("model", width=34, least=20),
    Column("task", width=22, least=10),
    Column("params", "right"),
    Column("fwd FLOPs", "right"),
    Column("act./sample", "right", drop=2),
    Column("input", "right", drop=1),
    Column("batch", "right", drop=3),
    Column("data set", width=20, least=10, drop=4),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_listing_arguments(parser, "model")


def run(arguments: argparse.Namespace) -> int:
    sentence = not_a_network(" ".join(arguments.name)) if arguments.name else None
    if sentence is not None:
        if arguments.output in ("json", "csv"):
            write_records("models", [], arguments.output)
            sys.stderr.write(f"gpuplanner: {sentence}\n")
        else:
            sys.stdout.write(sentence + "\n")
        return 0
    found = _found(arguments.name)
    shown = first(found, arguments.max_rows)
    if arguments.output in ("json", "csv"):
        write_records("models", [_record(model) for model in shown], arguments.output)
    else:
        write_table(_COLUMNS, [_cells(model) for model in shown], len(found), "models", arguments.output)
    return 0


def _found(words: list[str]) -> list[ModelSummary]:
    """The model of exactly this name; else what an alias means, and all whose name, task or family has the words."""
    if len(words) == 1 and names_a_file(words[0]):
        return [summary_of(load_workload(words[0]))]
    models = list(model_index())
    matching = containing(words, models, [f"{model.name} {model.task} {model.family}" for model in models])
    if len(words) != 1:
        if not matching:
            raise UnknownNameError("model", " ".join(words))
        return matching
    try:
        meant = find_model(words[0])
    except UnknownNameError:
        if not matching:
            raise
        return matching
    if meant.name == words[0]:
        return [meant]
    return [meant, *(model for model in matching if model != meant)]


def _cells(model: ModelSummary) -> tuple[str, ...]:
    size = f"{model.image_size} px" if model.image_size else f"{model.seq_length} tok" if model.seq_length else UNKNOWN
    return (
        model.name,
        model.task,
        format_count(model.parameters),
        format_count(model.forward_flops_per_sample),
        format_bytes(model.activation_bytes_per_sample),
        size,
        str(model.recipe_batch_size_per_gpu),
        model.default_dataset or UNKNOWN,
    )


def _record(model: ModelSummary) -> dict[str, Any]:
    return {
        "name": model.name,
        "task": model.task,
        "family": model.family,
        "parameters": model.parameters,
        "forward_flops_per_sample": model.forward_flops_per_sample,
        "activation_bytes_per_sample": model.activation_bytes_per_sample,
        "default_dataset": model.default_dataset,
        "recipe_batch_size_per_gpu": model.recipe_batch_size_per_gpu,
        "max_global_batch_size": model.max_global_batch_size,
        "sample_unit": model.sample_unit,
        "image_size": model.image_size,
        "seq_length": model.seq_length,
        "source": model.source,
    }
