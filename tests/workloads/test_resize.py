"""Models at other image sizes and sequence lengths: recorded ones as recorded, by rule between, refused beyond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.workloads import resize
from planner.workloads.catalog import ModelSummary, load_workload
from planner.workloads.resize import at_image_size, at_seq_length
from planner.workloads.workload import Linear, Memory, Operation, Phase, Workload


def operation(op_class: str, flops: float, moved: float, kernels: float = 1, phase: Phase = "forward") -> Operation:
    return Operation(op_class, phase, 2, 64, 0, 0, Linear(7, flops), Linear(11, moved), kernels)


def workload(name: str, operations: list[Operation], size: int | None = None, length: int | None = None) -> Workload:
    memory = Memory(Linear(100, 50), Linear(60, 40))
    return Workload(
        name=name, task="a task", family="a family", parameters=1000, parameter_tensors=10,
        operations=tuple(operations), memory_amp=memory, memory_fp32=memory,
        default_dataset=None, recipe_batch_size_per_gpu=8, max_global_batch_size=64,
        recipe_source="made up", source="made up", image_size=size, seq_length=length,
    )  # fmt: skip


def shelve(monkeypatch: pytest.MonkeyPatch, *records: Workload) -> None:
    """Let the module see these records as the shipped zoo."""

    def summary(record: Workload) -> ModelSummary:
        return ModelSummary(
            record.name, record.task, record.family, record.parameters, 0, 0, None, 1, 1, "sample",
            record.image_size, record.seq_length, record.source, 0, 0,
        )  # fmt: skip

    by_name = {record.name: record for record in records}
    monkeypatch.setattr(resize, "load_workload", by_name.__getitem__)
    monkeypatch.setattr(
        resize,
        "recorded_variants",
        lambda name: tuple(summary(record) for record in records if record.name.partition("@")[0] == name),
    )


def convnet(name: str, size: int) -> Workload:
    """All work in proportion to the area, with a fixed part."""
    area = size * size
    net = workload(name, [operation("conv", 3.0 * area, 2.0 * area), operation("bn", 0, area, 4)], size=size)
    memory = Memory(Linear(100, 5.0 * area), Linear(60, 4.0 * area))
    return net._replace(memory_amp=memory, memory_fp32=memory)


NETS = (convnet("net", 224), convnet("net@160", 160), convnet("net@320", 320))


def test_the_same_size_is_the_same_workload() -> None:
    assert at_image_size(NETS[0], 224) is NETS[0]


def test_a_recorded_size_is_taken_as_recorded_under_the_base_name(monkeypatch: pytest.MonkeyPatch) -> None:
    shelve(monkeypatch, *NETS)
    assert at_image_size(NETS[0], 160) == NETS[1]._replace(name="net")
    assert at_image_size(at_image_size(NETS[0], 160), 224) == NETS[0]


@given(st.integers(160, 320))
def test_between_recorded_sizes_all_is_linear_in_the_area(size: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        shelve(monkeypatch, *NETS)
        net, truth = at_image_size(NETS[0], size), convnet("net", size)
    assert net.image_size == size
    assert net.name == "net"
    assert net.training_flops_per_sample == pytest.approx(truth.training_flops_per_sample)
    for quantity in ("flops", "bytes"):
        lines = [getattr(op, quantity) for op in net.operations]
        expected = [getattr(op, quantity) for op in truth.operations]
        assert sum(line.fixed for line in lines) == pytest.approx(sum(line.fixed for line in expected))
        assert sum(line.per_sample for line in lines) == pytest.approx(sum(line.per_sample for line in expected))
    assert sum(op.kernels for op in net.operations) == pytest.approx(5)
    for memory, expected_memory in ((net.memory_amp, truth.memory_amp), (net.memory_fp32, truth.memory_fp32)):
        assert tuple(memory.live_bytes) == pytest.approx(tuple(expected_memory.live_bytes))
        assert tuple(memory.saved_bytes) == pytest.approx(tuple(expected_memory.saved_bytes))


def test_what_cannot_be_mixed_is_taken_from_the_nearer_record(monkeypatch: pytest.MonkeyPatch) -> None:
    shelve(monkeypatch, NETS[0], NETS[2]._replace(parameters=1100))
    assert at_image_size(NETS[0], 240).parameters == 1000
    assert at_image_size(NETS[0], 300).parameters == 1100


@pytest.mark.parametrize("size", [64, 159, 321, 4096])
def test_outside_the_recorded_sizes_is_refused_with_the_sizes(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    shelve(monkeypatch, *NETS)
    with pytest.raises(InputError, match=f"known at image sizes 160, 224, 320 and between them, not {size}"):
        at_image_size(NETS[0], size)


def test_one_record_and_none_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shelve(monkeypatch, NETS[0])
    with pytest.raises(InputError, match="net is known at image size 224 only, not 256"):
        at_image_size(NETS[0], 256)
    shelve(monkeypatch)
    with pytest.raises(InputError, match="known at image size 224 only"):
        at_image_size(NETS[0], 256)
    with pytest.raises(InputError, match="--img-size does not apply"):
        at_image_size(workload("talker", [], length=128), 256)


def fused(name: str, length: int) -> Workload:
    """A transformer of width 3 in fused attention: everything with S, its FLOPs with S squared."""
    rows = [
        operation("mm", 10.0 * length, 6.0 * length),
        operation("sdpa", 2.0 * length**2, 4.0 * length),
        operation("sdpa_bw", 5.0 * length**2, 8.0 * length, phase="backward"),
        operation("softmax", 0, 30.0 * length),
    ]
    model = workload(name, rows, length=length)
    memory = Memory(Linear(100, 5.0 * length), Linear(60, 4.0 * length))
    return model._replace(memory_amp=memory, memory_fp32=memory)


@given(st.integers(8, 32768))
def test_fused_attention_by_rule(length: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        shelve(monkeypatch, fused("talker", 512))
        got, truth = at_seq_length(fused("talker", 512), length), fused("talker", length)
    assert (got.name, got.seq_length) == ("talker", length)
    for op, expected in zip(got.operations, truth.operations, strict=True):
        assert tuple(op.flops) == pytest.approx(tuple(expected.flops))
        assert tuple(op.bytes) == pytest.approx(tuple(expected.bytes))
        assert op.kernels == expected.kernels
    assert tuple(got.memory_amp.live_bytes) == pytest.approx(tuple(truth.memory_amp.live_bytes))
    assert tuple(got.memory_fp32.saved_bytes) == pytest.approx(tuple(truth.memory_fp32.saved_bytes))


def test_stored_scores_grow_with_the_square_and_the_loss_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = 12
    rows = [
        operation("bmm", 100, 20, 2 * layers),
        operation("bmm", 200, 40, 4 * layers, phase="backward"),
        operation("softmax", 0, 16, layers),
        operation("softmax", 0, 30, 1),
        operation("mm", 50, 10, 6 * layers),
    ]
    model = workload("talker", rows, length=128)
    shelve(monkeypatch, model)
    got = at_seq_length(model, 256)
    assert [op.flops.per_sample for op in got.operations] == [400, 800, 0, 0, 100]
    assert [op.bytes.per_sample for op in got.operations] == [80, 160, 64, 60, 20]
    assert [op.flops.fixed for op in got.operations] == [7] * 5
    assert got.memory_amp.saved_bytes == Linear(60, (40 - 16) * 2 + 16 * 4)
    assert got.memory_amp.live_bytes == Linear(100, (50 - 16) * 2 + 16 * 4)


def test_a_recorded_length_wins_and_the_nearest_record_is_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = fused("talker", 128), fused("talker@512", 512)._replace(parameters=1234)
    shelve(monkeypatch, short, long)
    assert at_seq_length(short, 128) is short
    assert at_seq_length(short, 512) == long._replace(name="talker")
    assert at_seq_length(short, 400).parameters == 1234
    assert at_seq_length(short, 100).parameters == 1000


def test_a_model_of_ones_own_is_scaled_from_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    shelve(monkeypatch)
    assert at_seq_length(fused("mine", 128), 256).seq_length == 256


@pytest.mark.parametrize("length", [1, 7, 32769, 1 << 20])
def test_too_far_from_the_record_is_refused(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    shelve(monkeypatch, fused("talker", 512))
    with pytest.raises(InputError, match="--seq-length may be 8 to 32,768"):
        at_seq_length(fused("talker", 512), length)


def test_images_have_no_sequence_length() -> None:
    with pytest.raises(InputError, match="--seq-length does not apply"):
        at_seq_length(NETS[0], 128)


def test_shipped_gpt2_at_twice_the_length_matches_the_published_formula() -> None:
    """Training FLOPs a token grow with 12 * layers * width * S (Narayanan et al. 2021), causal scores not halved."""
    gpt2 = load_workload("gpt2")
    longer = at_seq_length(gpt2, 2048)
    added = longer.training_flops_per_sample / 2048 - gpt2.training_flops_per_sample / 1024
    # fused attention recomputes the scores backward: 14 instead of 12 products of layers * width * S
    assert added == pytest.approx(14 * 12 * 768 * 1024, rel=0.01)
