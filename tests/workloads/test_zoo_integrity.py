"""Every shipped record parses, agrees with its index row, and is physically possible."""

from __future__ import annotations

import json
from functools import cache

import pytest

from planner.workloads.catalog import (
    DATA,
    ModelSummary,
    aliases,
    find_model,
    load_workload,
    model_index,
    recorded_variants,
)
from planner.workloads.datasets import dataset
from planner.workloads.record import parse_record, to_record
from planner.workloads.workload import Workload

CLASSES = {
    *("conv", "conv_dg", "conv_wg", "conv1", "conv1_dg", "conv1_wg", "gconv", "gconv_dg", "gconv_wg"),
    *("dw", "dw_dg", "dw_wg", "mm", "bmm", "sdpa", "sdpa_bw", "rnn"),
    *("bn", "ln", "gn", "ew", "copy", "cast", "pool", "gather", "red", "softmax"),
}


@cache
def every_workload() -> tuple[Workload, ...]:
    lines = (DATA / "zoo.jsonl").read_bytes().splitlines()
    return tuple(parse_record(json.loads(line)) for line in lines)


@cache
def every_summary() -> tuple[ModelSummary, ...]:
    return tuple(variant for model in model_index() for variant in recorded_variants(model.name))


def test_names_are_sorted_and_unique() -> None:
    names = [workload.name for workload in every_workload()]
    assert names == sorted(set(names))


def test_the_index_finds_every_record() -> None:
    assert {summary.name for summary in every_summary()} == {workload.name for workload in every_workload()}
    zoo = (DATA / "zoo.jsonl").read_bytes()
    for summary in every_summary():
        assert json.loads(zoo[summary.offset : summary.offset + summary.length])["name"] == summary.name


def test_the_index_repeats_the_records() -> None:
    by_name = {workload.name: workload for workload in every_workload()}
    for summary in every_summary():
        workload = by_name[summary.name]
        assert summary.parameters == workload.parameters
        assert summary.task == workload.task
        assert summary.forward_flops_per_sample == pytest.approx(workload.forward_flops_per_sample, rel=1e-3)
        assert summary.activation_bytes_per_sample == workload.memory_amp.saved_bytes.per_sample
        assert summary.source == workload.source


def test_records_survive_a_round_trip() -> None:
    for workload in every_workload():
        assert parse_record(json.loads(json.dumps(to_record(workload)))) == workload


def test_the_window_of_every_ordinary_convolution_is_known() -> None:
    for workload in every_workload():
        for op in workload.operations:
            if op.op_class.partition("_")[0] in ("conv", "dw"):
                assert op.kernel_size >= 1, (workload.name, op)
            else:
                assert op.stride == 1, (workload.name, op)


def test_the_tables_stay_small() -> None:
    assert (DATA / "zoo.jsonl").stat().st_size + (DATA / "zoo_index.csv").stat().st_size < 4_000_000


def test_every_row_is_physically_possible() -> None:
    for workload in every_workload():
        for op in workload.operations:
            assert op.op_class in CLASSES, workload.name
            assert op.phase in ("forward", "backward")
            assert op.element_bytes in (2, 4)
            assert op.kernels > 0
            for batch in (4, 64):
                # a contrastive loss compares the batch with itself: quadratic, and too small to matter
                assert op.flops.at(batch) >= -1e-5 * workload.training_flops_per_sample, (workload.name, op)
                assert op.bytes.at(batch) > -1e-3 * abs(op.bytes.fixed) - 1e4, (workload.name, op)


def test_every_workload_trains_and_fits_somewhere() -> None:
    for workload in every_workload():
        assert workload.parameters > 0
        assert workload.parameter_tensors > 0
        assert workload.forward_flops_per_sample > 0
        assert workload.training_flops_per_sample > 1.5 * workload.forward_flops_per_sample, workload.name
        assert workload.recipe_batch_size_per_gpu <= workload.max_global_batch_size
        for memory in (workload.memory_amp, workload.memory_fp32):
            assert memory.live_bytes.at(64) >= memory.saved_bytes.at(64) * 0.99 > 0, workload.name


def test_mixed_precision_keeps_about_half_and_never_much_more_than_fp32() -> None:
    """More than fp32 only where autocast keeps both precisions of a tensor (group norm, stored attention scores)."""
    for workload in every_workload():
        amp, fp32 = workload.memory_amp.saved_bytes, workload.memory_fp32.saved_bytes
        assert 0.45 * fp32.per_sample < amp.per_sample < 1.3 * fp32.per_sample, workload.name


def test_every_number_has_a_source_and_every_default_dataset_exists() -> None:
    for workload in every_workload():
        assert workload.source
        assert workload.recipe_source
        if workload.default_dataset is not None:
            assert dataset(workload.default_dataset).samples > 0


def test_aliases_lead_to_names_and_hide_none() -> None:
    names = {summary.name for summary in every_summary()}
    for alias, name in aliases().items():
        assert name in names
        assert alias not in names
        assert find_model(alias).name == name


def test_derived_fp32_bytes_are_what_a_trace_in_fp32_moves() -> None:
    """Traced on the meta device with torch 2.14: bytes of all rows at batch 64 in fp32."""
    for name, traced in {
        "resnet50": 5.2849e10,
        "vit_base_patch16_224": 5.9775e10,
        "efficientnet_b0": 3.8074e10,
    }.items():
        derived = sum(op.bytes.at(64) for op in load_workload(name).as_fp32().operations)
        assert derived == pytest.approx(traced, rel=0.02)
