"""The step put together: parts that add up, what binds, and answers that move the right way."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.catalog import accelerator, accelerators
from planner.hardware.machine import Machine
from planner.throughput.adapters import adapted_matrices
from planner.throughput.calibration import load_calibration
from planner.throughput.device import HostSpeed
from planner.throughput.estimate import StepEstimate
from planner.throughput.evidence import Knowledge, shipped_knowledge
from planner.throughput.input_pipeline import decode_rate_per_vcpu, with_decode_rate
from planner.throughput.kernels import Variant, prepare
from planner.throughput.precision import resolve_precision
from planner.throughput.sensitivity import sensitivity
from planner.throughput.spread import edges
from planner.throughput.step import StepModel, share_with_gradients, soft_maximum
from planner.workloads.catalog import load_workload
from planner.workloads.workload import Linear, Operation
from tests.throughput.examples import (
    A100,
    CPU,
    ETHERNET_100,
    GTX1080TI,
    IMAGES,
    NVSWITCH,
    PCIE4,
    RTX3090,
    V100,
    convolutional,
    experiment,
    machine,
)

CALIBRATION = load_calibration()


def estimate_step(question: Experiment, on: Machine, knowledge: Knowledge | None = None) -> StepEstimate:
    return StepModel(question, knowledge).estimate(on)


MACHINES = [
    machine(A100),
    machine(RTX3090),
    machine(V100),
    machine(GTX1080TI),
    machine(CPU, 0),
    machine(A100, 8, link=NVSWITCH),
    machine(RTX3090, 4, link=PCIE4),
    machine(A100, 8, link=NVSWITCH, num_nodes=4, network=ETHERNET_100),
    machine(A100, 0.5),
]


@pytest.mark.parametrize("on", MACHINES, ids=lambda m: f"{m.accelerator.key}x{m.num_gpus}x{m.num_nodes}")
def test_parts_add_up_to_the_p50_and_percentiles_are_ordered(on: object) -> None:
    found = estimate_step(experiment(), on)  # type: ignore[arg-type]
    assert found.fits
    assert found.step_time_s is not None
    assert found.samples_per_s is not None
    assert found.parts is not None
    assert found.parts.total_s == pytest.approx(found.step_time_s.p50)
    assert found.step_time_s.p10 < found.step_time_s.p50 < found.step_time_s.p90
    assert found.samples_per_s.p10 < found.samples_per_s.p50 < found.samples_per_s.p90
    assert found.samples_per_s.p50 == pytest.approx(found.global_batch_size / found.step_time_s.p50)
    assert 0 < (found.mfu or 0) < 1


@given(st.floats(0.2, 5.0), st.floats(0.2, 5.0), st.floats(0.5, 4.0))
def test_a_better_device_is_never_slower(bandwidth: float, rate: float, factor: float) -> None:
    base = RTX3090._replace(
        bandwidth_bytes_per_s=936e9 * bandwidth, fp16_flops_per_s=71e12 * rate, bf16_flops_per_s=71e12 * rate
    )
    fixed = experiment(batch_size_per_gpu=32)
    slow = estimate_step(fixed, machine(base)).step_time_s
    for better in (
        base._replace(bandwidth_bytes_per_s=936e9 * bandwidth * max(factor, 1.0)),
        base._replace(bf16_flops_per_s=71e12 * rate * max(factor, 1.0)),
        base._replace(boost_hz=1.695e9 * max(factor, 1.0)),
    ):
        fast = estimate_step(fixed, machine(better)).step_time_s
        assert fast is not None
        assert slow is not None
        assert fast.p50 <= slow.p50 * (1 + 1e-9)


@given(st.integers(1, 120))
def test_a_bigger_batch_takes_longer_but_less_per_sample(batch: int) -> None:
    small = estimate_step(experiment(batch_size_per_gpu=batch), machine()).step_time_s
    large = estimate_step(experiment(batch_size_per_gpu=2 * batch), machine()).step_time_s
    assert small is not None
    assert large is not None
    assert small.p50 < large.p50 < 2 * small.p50


def test_accumulation_multiplies_the_passes_but_not_the_update() -> None:
    once = estimate_step(experiment(batch_size_per_gpu=64), machine()).parts
    four = estimate_step(experiment(batch_size_per_gpu=64, grad_accum_steps=4), machine()).parts
    assert once is not None
    assert four is not None
    assert four.forward_s == pytest.approx(4 * once.forward_s)
    assert four.optimizer_s == pytest.approx(once.optimizer_s)


def test_checkpointing_runs_the_forward_pass_twice() -> None:
    plain = estimate_step(experiment(batch_size_per_gpu=64), machine()).parts
    recomputed = estimate_step(experiment(batch_size_per_gpu=64, grad_checkpointing=True), machine()).parts
    assert plain is not None
    assert recomputed is not None
    assert recomputed.backward_s == pytest.approx(plain.backward_s + plain.forward_s)


def test_lora_skips_weight_gradients_and_most_of_the_update() -> None:
    full = estimate_step(experiment(batch_size_per_gpu=64), machine()).parts
    adapted = estimate_step(experiment(batch_size_per_gpu=64, lora_rank=8), machine()).parts
    assert full is not None
    assert adapted is not None
    assert adapted.backward_s < full.backward_s
    assert adapted.optimizer_s < full.optimizer_s


def test_products_of_another_time_are_slower_in_fp32_alone() -> None:
    """A network of one product, large enough that arithmetic binds: half the rate takes twice the time."""
    product = Operation("mm", "forward", 2, 0.0, 1, 0, Linear(0.0, 1e12), Linear(0.0, 1e6), 1)
    backward = product._replace(phase="backward", flops=Linear(0.0, 2e12))
    network = convolutional()._replace(operations=(product, backward))

    def forward_s(precision: Any, share: float) -> float:
        asked = experiment(network, precision=precision, batch_size_per_gpu=4)
        parts = StepModel(asked, fp32_product_share=share).estimate(machine()).parts
        assert parts is not None
        return parts.forward_s

    assert forward_s("fp32-strict", 0.5) / forward_s("fp32-strict", 1.0) == pytest.approx(2.0, rel=0.15)
    assert forward_s("amp", 0.5) == forward_s("amp", 1.0)


def test_checkpointing_runs_again_what_has_gradients() -> None:
    """A frozen encoder of as much arithmetic beside the network: half of forward is recomputed."""
    alone = convolutional()
    encoder = tuple(operation for operation in alone.operations if operation.phase == "forward")
    beside = alone._replace(operations=alone.operations + encoder, trainable_parameters=25_000_000)
    assert share_with_gradients(alone) == 1.0
    assert share_with_gradients(beside) == pytest.approx(0.5, rel=0.01)
    plain = estimate_step(experiment(beside, batch_size_per_gpu=64), machine()).parts
    recomputed = estimate_step(experiment(beside, batch_size_per_gpu=64, grad_checkpointing=True), machine()).parts
    assert plain is not None
    assert recomputed is not None
    added = recomputed.backward_s - plain.backward_s
    assert added == pytest.approx(share_with_gradients(beside) * plain.forward_s, rel=0.01)


def test_four_bit_weights_are_unpacked_in_each_pass_and_outputs_cloned() -> None:
    """Reading 0.516 bytes a weight and writing 2, at 0.48 of a copy's rate; a copy of what each product made."""
    language = load_workload("bert-base")
    matrices = adapted_matrices(language)
    adapted = Variant(CALIBRATION.layouts["nchw"], adapter_rank=8)
    precision = resolve_precision("bf16", A100)
    assert precision is not None
    plain = prepare(language, precision, 8, adapted, CALIBRATION)
    unpacked = prepare(language, precision, 8, adapted._replace(four_bit_weights=True), CALIBRATION)
    assert unpacked.forward.kernels == plain.forward.kernels + 2 * matrices.number
    assert unpacked.backward.kernels == plain.backward.kernels + matrices.number
    moved = matrices.weights * 2.516 / 0.48 / adapted.layout.classes["copy"].bandwidth_share(2)
    assert unpacked.backward.memory_bytes - plain.backward.memory_bytes == pytest.approx(moved)


def test_zero_shares_the_update() -> None:
    eight = machine(A100, 8, link=NVSWITCH)
    whole = estimate_step(experiment(), eight).parts
    shared = estimate_step(experiment(zero_stage=1), eight).parts
    assert whole is not None
    assert shared is not None
    assert shared.optimizer_s == pytest.approx(whole.optimizer_s / 8)


def test_scopes_leave_parts_out() -> None:
    on = machine(A100, 2, link=NVSWITCH)
    whole, no_update, forward = (
        StepModel(experiment(batch_size_per_gpu=64), scope=scope).estimate(on).parts
        for scope in ("step", "no_update", "forward")
    )
    assert whole is not None
    assert no_update is not None
    assert forward is not None
    assert whole.optimizer_s > 0
    assert no_update.optimizer_s == 0
    assert (forward.backward_s, forward.communication_s) == (0, 0)
    assert forward.forward_s == pytest.approx(whole.forward_s)


def test_what_does_not_fit_says_so_and_has_no_times() -> None:
    found = estimate_step(experiment(batch_size_per_gpu=4096), machine(RTX3090))
    assert not found.fits
    assert found.step_time_s is None
    assert "does not fit" in found.reason
    assert (found.memory_required_bytes or 0) > (found.memory_available_bytes or 0)


def test_a_measured_batch_that_does_not_fit_is_accumulated_and_flagged() -> None:
    found = StepModel(experiment(batch_size_per_gpu=4096), enforce_memory=False).estimate(machine(RTX3090))
    assert found.fits
    assert "memory_exceeded" in found.flags
    assert found.grad_accum_steps > 1


def test_unknown_specifications_are_a_reason_not_a_crash() -> None:
    assert "bandwidth" in estimate_step(experiment(), machine(A100._replace(bandwidth_bytes_per_s=None))).reason
    rateless = A100._replace(fp32_flops_per_s=None, tf32_flops_per_s=None, fp16_flops_per_s=None, bf16_flops_per_s=None)
    assert "arithmetic rate" in estimate_step(experiment(), machine(rateless)).reason


def test_contradictions_are_refused_at_once() -> None:
    with pytest.raises(InputError):
        StepModel(experiment(batch_size_per_gpu=64, global_batch_size=32))


def test_few_vcpus_bind_the_input_and_unknown_ones_are_flagged() -> None:
    starved = estimate_step(experiment(dataset=IMAGES), machine(A100, vcpus=2.0))
    assert starved.bound_by == "input"
    assert "input_bound" in starved.flags
    unknown = estimate_step(experiment(dataset=IMAGES), machine(A100, vcpus=None))
    assert "input_unknown" in unknown.flags
    assert unknown.parts is not None
    assert unknown.parts.input_s == 0


@given(st.floats(1.0, 64.0))
def test_the_wait_for_input_is_what_loading_takes_beyond_all_else(vcpus: float) -> None:
    """The loader works beside the devices: the longer of both is the step, and more of the longer one shortens it."""
    asked = experiment(dataset=IMAGES, batch_size_per_gpu=64)
    found = estimate_step(asked, machine(A100, vcpus=vcpus))
    alone = estimate_step(asked._replace(dataset=None), machine(A100, vcpus=vcpus))
    per_vcpu = decode_rate_per_vcpu(asked, CALIBRATION)
    assert found.parts is not None
    assert alone.parts is not None
    assert per_vcpu is not None
    computing_s, loading_s = alone.parts.total_s, 64 / (per_vcpu * vcpus)
    assert found.parts.total_s == pytest.approx(max(computing_s, loading_s), rel=1e-9)
    assert found.parts.input_s == pytest.approx(max(loading_s - computing_s, 0.0), rel=1e-9, abs=1e-12)
    assert found.parts._replace(input_s=0.0) == alone.parts
    assert (found.bound_by == "input") == (found.parts.input_s > 0.0) == ("input_bound" in found.flags)
    faster = {row.spec for row in sensitivity(asked, machine(A100, vcpus=vcpus)) if row.time_change < -1e-9}
    assert ("vcpus" in faster) == (found.bound_by == "input") != ("bandwidth" in faster)


def test_how_long_loading_takes_is_said_where_it_is_waited_for() -> None:
    asked = experiment(dataset=IMAGES, batch_size_per_gpu=64)
    found = estimate_step(asked, machine(A100, vcpus=2.0))
    assert found.parts is not None
    total_ms, wait_ms = found.parts.total_s * 1000, found.parts.input_s * 1000
    expected = f"loading sets the pace, {total_ms:,.1f} ms a step: computing hides all but {wait_ms:,.1f} ms of it"
    assert found.notes == (expected,)
    assert estimate_step(asked, machine(A100, vcpus=512.0)).notes == ()


def test_loading_that_is_not_hidden_binds_where_it_is_the_largest_part() -> None:
    """One process loads 64 images a step, then computes on them: 6.4 s at 10 a second, 0.64 ms at 100,000."""
    asked = experiment(dataset=IMAGES, workers=0, batch_size_per_gpu=64)

    def bound(images_per_s: float) -> StepEstimate:
        table = with_decode_rate(CALIBRATION.input, images_per_s)
        return estimate_step(asked, machine(A100), Knowledge(CALIBRATION._replace(input=table)))

    slow, quick = bound(10.0), bound(1e5)
    assert slow.parts is not None
    assert quick.parts is not None
    assert slow.parts.input_s == pytest.approx(6.4)
    assert quick.parts.input_s == pytest.approx(64e-5)
    assert slow.bound_by == "input" != quick.bound_by
    assert "input_bound" not in quick.flags


def test_loading_in_the_training_process_is_never_hidden() -> None:
    on = machine(A100, vcpus=64.0)
    alone = estimate_step(experiment(dataset=IMAGES, workers=0, batch_size_per_gpu=32), on).parts
    helped = estimate_step(experiment(dataset=IMAGES, workers=32, batch_size_per_gpu=32), on).parts
    assert alone is not None
    assert helped is not None
    assert alone.input_s > helped.input_s == 0


def test_a_slow_host_binds_a_tiny_batch() -> None:
    slow_host = shipped_knowledge()._replace(host=HostSpeed(launch_s=200e-6))
    found = estimate_step(experiment(batch_size_per_gpu=1), machine(), slow_host)
    assert found.bound_by == "host"
    assert "host_bound" in found.flags


def test_slow_links_bind_communication() -> None:
    heavy = convolutional(recipe=1)._replace(parameters=1_000_000_000)
    found = estimate_step(experiment(heavy, batch_size_per_gpu=1), machine(A100, 8, link=PCIE4))
    assert found.bound_by == "communication"


def test_software_levels_are_faster_than_eager() -> None:
    eager, compiled = (
        estimate_step(experiment(batch_size_per_gpu=64, compiled=on), machine()).step_time_s for on in (False, True)
    )
    assert eager is not None
    assert compiled is not None
    assert compiled.p50 < eager.p50


def test_other_vendors_and_cpus_are_flagged_and_wide() -> None:
    amd = A100._replace(vendor="AMD", architecture="CDNA 3", stack="rocm")
    measured, unmeasured = (estimate_step(experiment(), machine(device)) for device in (A100, amd))
    assert "vendor_unmeasured" in unmeasured.flags
    assert measured.step_time_s is not None
    assert unmeasured.step_time_s is not None
    width = [found.p90 / found.p10 for found in (measured.step_time_s, unmeasured.step_time_s)]
    assert width[1] > 1.5 * width[0]


def test_an_architecture_that_nobody_measured_is_flagged_and_doubted() -> None:
    """As an independent doubt: the squares of both add up."""
    kepler = V100._replace(key="K80", architecture="Kepler", compute_capability=(3, 7), fp16_flops_per_s=None)
    found = estimate_step(experiment(precision="fp32"), machine(kepler))
    known = edges(CALIBRATION.intervals, found.evidence, "pytorch")
    doubt = CALIBRATION.intervals["doubts"]["architecture_unmeasured"][1]
    assert "architecture_unmeasured" in found.flags
    assert "architecture_unmeasured" not in estimate_step(experiment(), machine(V100)).flags
    assert found.step_time_s is not None
    assert math.log(found.step_time_s.p90 / found.step_time_s.p50) == pytest.approx(math.hypot(known[1], doubt))


def test_soft_maximum_is_at_least_both() -> None:
    assert soft_maximum(3.0, 1.0, 6) == pytest.approx(3.0, rel=1e-3)
    assert soft_maximum(1.0, 1.0, 6) == pytest.approx(2 ** (1 / 6))


def test_hundreds_of_machines_take_milliseconds() -> None:
    model = StepModel(experiment())
    on = [machine(A100, 8, link=NVSWITCH, num_nodes=1 + i % 8, network=ETHERNET_100) for i in range(400)]
    model.estimate(on[0])
    started = time.process_time()
    for one in on:
        model.estimate(one)
    assert (time.process_time() - started) / len(on) < 1e-3


def test_software_that_splits_models_loses_a_stated_share_and_no_ring() -> None:
    eight = machine(A100, 8, link=PCIE4)
    split = StepModel(experiment(), framework="nemo").estimate(eight).parts
    alone = StepModel(experiment(), framework="nemo").estimate(machine(A100)).parts
    assert split is not None
    assert alone is not None
    share = CALIBRATION.collectives["model_parallel_share"]
    assert split.communication_s == pytest.approx(share * (split.forward_s + split.backward_s))
    assert alone.communication_s == 0.0


def test_one_model_estimates_devices_with_and_without_tf32_each_by_its_own_units() -> None:
    """What is prepared for one device is not taken for another whose convolutions run on other units."""
    asked = experiment(convolutional(), precision="fp32", batch_size_per_gpu=32)
    together, mixed = StepModel(asked), [machine(V100), machine(A100)]
    for first, second in (mixed, mixed[::-1]):
        together.estimate(first)
        expected = StepModel(asked).estimate(second).step_time_s
        assert together.estimate(second).step_time_s == expected


@pytest.mark.parametrize("compiled", [False, True])
def test_no_interval_holds_what_no_device_can_do(compiled: bool) -> None:
    """No step is below its arithmetic at the device's peak, but where convolutions multiply less than is counted."""
    model = StepModel(resolve_experiment(ExperimentRequest("resnet50", epochs=1, compiled=compiled)))
    above = []
    for key in accelerators():
        found, precision = model.estimate(machine(accelerator(key))), resolve_precision("amp", accelerator(key))
        if found.samples_per_s is None or found.mfu is None or precision is None:
            continue
        if not precision.winograd:
            quickest = found.mfu * found.samples_per_s.p90 / found.samples_per_s.p50
            above += [(key, quickest)] if quickest > 1.0 + 1e-9 else []
    assert above == []


def test_frozen_weights_are_no_arithmetic() -> None:
    """LoRA computes no weight gradients: of a product's three parts two remain, and utilisation counts those."""
    full = StepModel(resolve_experiment(ExperimentRequest("gpt2", tokens=1e9))).estimate(machine(A100))
    adapted = StepModel(resolve_experiment(ExperimentRequest("gpt2", tokens=1e9, lora_rank=8))).estimate(machine(A100))
    assert full.mfu is not None
    assert adapted.mfu is not None
    assert full.samples_per_s is not None
    assert adapted.samples_per_s is not None
    share = adapted.mfu / adapted.samples_per_s.p50 / (full.mfu / full.samples_per_s.p50)
    assert 0.65 < share < 0.75
