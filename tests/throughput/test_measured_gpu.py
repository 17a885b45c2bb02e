"""What a profile of this machine's GPU moves: by the amount that is worked by hand, and nothing else.

No GPU was at hand: every profile here is made up, with values of which is known what should come of them.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.cpus import cpu
from planner.hardware.interconnect import Link
from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec
from planner.hardware.profile import GpuRates, Kernel, Measured, Profile, TrainingRun
from planner.throughput.calibration import load_calibration
from planner.throughput.collectives import link_bandwidth
from planner.throughput.device import device_rates
from planner.throughput.estimate import StepEstimate
from planner.throughput.evidence import Knowledge, Subject, shipped_knowledge, subject_of
from planner.throughput.kernels import GEMM, Variant, operation_s
from planner.throughput.measured import knowledge_with_profile
from planner.throughput.measured_gpu import class_factors, deviations_of, expected_product, rates_alone
from planner.throughput.own_measurements import knowledge_with
from planner.throughput.precision import resolve_precision
from planner.throughput.step import StepModel
from planner.workloads.workload import Linear, Operation

CALIBRATION = load_calibration()
HERE = machine_from_spec("this machine", "RTX3090", 1)._replace(cpu=cpu("Zen3-Milan"), vcpus=16.0, ram_bytes=64e9)
TWIN = machine_from_spec("the same card elsewhere", "RTX3090", 1)
SISTER = machine_from_spec("of the same architecture", "RTX3080", 1)
STRANGER = machine_from_spec("of another one", "RTX4090", 1)
ENGINES = ("half", "tf32", "fp32")


def experiment(model: str = "resnet50", batch: int = 64, **more: Any) -> Experiment:
    return resolve_experiment(ExperimentRequest(model=model, steps=1.0, batch_size_per_gpu=batch, **more))


def offset(width: str) -> float:
    return shipped_knowledge().correction(subject_of("", "pytorch", width, HERE.accelerator)).log_offset


def as_expected(engines: float = 1.0, memory: float = 1.0) -> GpuRates:
    """The rates the model expects of this machine's GPU, its engines and its memory so many times as fast."""
    device = HERE.accelerator
    products = {}
    for engine in ENGINES:
        expected = expected_product(engine, device, CALIBRATION.device)
        assert expected is not None
        products[engine] = Measured(engines * expected, 0.0)
    assert device.bandwidth_bytes_per_s is not None
    return GpuRates(products, Measured(memory * 0.8 * device.bandwidth_bytes_per_s, 0.0))


def known(rates: GpuRates | None, asked: Experiment, *runs: TrainingRun, **host: float) -> Knowledge:
    profile = Profile("profile.json", "2026-11-30", None, runs, gpu=rates, **host)
    return knowledge_with_profile(shipped_knowledge(), profile, HERE, asked)


def estimate(rates: GpuRates | None, asked: Experiment, machine: Machine = HERE, **host: float) -> StepEstimate:
    return StepModel(asked, known(rates, asked, **host)).estimate(machine)


def step_s(rates: GpuRates | None, asked: Experiment, machine: Machine = HERE) -> float:
    found = estimate(rates, asked, machine).step_time_s
    assert found is not None
    return found.p50


def test_the_rule_of_the_best_product_by_hand() -> None:
    """An RTX 3090's fp32: 35.58 TFLOP/s, fed at 3,323 FLOP a clock by 82 SMs of 1.695 GHz, 0.94 of what is left."""
    device = HERE.accelerator._replace(power_w=None)
    assert device.fp32_flops_per_s is not None
    assert device.sm_clock_hz is not None
    fed = device.fp32_flops_per_s / (device.sm_clock_hz * CALIBRATION.device.kappa_flop_per_clock_sm["matmul4"])
    by_hand = device.fp32_flops_per_s / (1 / 0.94 + fed)
    assert expected_product("fp32", device, CALIBRATION.device) == pytest.approx(by_hand)


@pytest.mark.parametrize("precision", ["amp", "fp32"])
@pytest.mark.parametrize("machine", [HERE, TWIN, SISTER, STRANGER])
def test_a_profile_of_what_is_expected_changes_nothing(precision: Any, machine: Machine) -> None:
    asked = experiment(precision=precision)
    assert step_s(as_expected(), asked, machine) == pytest.approx(step_s(None, asked, machine), rel=1e-9)


def test_seven_tenths_of_the_bandwidth_by_hand() -> None:
    """A byte takes 1 / 0.7 W, and what an SM can move a clock; arithmetic takes what it took."""
    device, constants = HERE.accelerator, CALIBRATION.device
    precision = resolve_precision("fp32", device)
    assert precision is not None
    assert device.bandwidth_bytes_per_s is not None
    knowledge = known(as_expected(memory=0.7), experiment()).of_here
    plain = device_rates(device, precision, CALIBRATION)
    slow = device_rates(device, precision, knowledge.calibration, factors=knowledge.factors(device))
    assert plain is not None
    assert slow is not None
    moving = 1 / (0.7 * device.bandwidth_bytes_per_s) + plain.seconds_per_sm_clock / constants.beta_bytes_per_clock_sm
    assert slow.seconds_per_byte == pytest.approx(moving)
    assert slow.optimizer_seconds_per_byte == pytest.approx(plain.optimizer_seconds_per_byte / 0.7)
    assert slow.seconds_per_flop == pytest.approx(plain.seconds_per_flop)


def test_slow_memory_slows_what_moves_bytes_and_no_more() -> None:
    """At least what has no arithmetic takes 1 / 0.7 - 1 of its bytes over W longer; at most everything does."""
    moving, computing = experiment("mobilenetv2_100", 128), experiment("vit_huge_patch14_224", 16, precision="fp32")
    slow, bandwidth = as_expected(memory=0.7), HERE.accelerator.bandwidth_bytes_per_s
    assert bandwidth is not None
    shares = CALIBRATION.layouts["nchw"].classes
    longer = sum(
        operation.bytes.at(128) / shares[operation.op_class].bandwidth_share(operation.element_bytes)
        for operation in moving.workload.operations
        if operation.op_class not in GEMM
    ) * ((1 / 0.7 - 1) / bandwidth)
    before, after = estimate(None, moving), estimate(slow, moving)
    assert before.parts is not None
    assert after.parts is not None
    factor = math.exp(-shipped_knowledge().correction(subject(moving)).log_offset)
    extra = (after.parts.total_s - before.parts.total_s) / factor
    assert longer < extra < (1 / 0.7 - 1) * before.parts.total_s / factor
    assert step_s(slow, computing) < 1.06 * step_s(None, computing)


def subject(asked: Experiment) -> Subject:
    return subject_of(asked.workload.name, "pytorch", "half", HERE.accelerator)


def test_slow_engines_slow_a_network_bound_by_arithmetic_and_the_other_less() -> None:
    """A card on half of its clock: of fp32 products 0.10, 0.09 and 0.08 of true spread against 0.13 of doubt in the
    rule leave 0.59 of ln 2. A tenth of the large network's step is memory."""
    moving, computing = experiment("mobilenetv2_100", 128), experiment("vit_huge_patch14_224", 16, precision="fp32")
    slow = as_expected(engines=0.5)
    bound = [step_s(slow, asked) / step_s(None, asked) for asked in (moving, computing)]
    assert 1 + 0.75 * (2**0.592 - 1) < bound[1] < 2**0.592
    assert bound[0] < bound[1]


def test_a_rate_that_was_measured_unsteadily_counts_less() -> None:
    """0.08 each of accelerators and of cards, against 0.113 of noise: half of ln 0.7."""
    unsteady = as_expected(memory=0.7)
    assert unsteady.moved is not None
    noisy = unsteady._replace(moved=unsteady.moved._replace(log_sd=math.hypot(0.08, 0.08)))
    found = deviations_of(noisy, HERE.accelerator, CALIBRATION.device).rates["bandwidth"]
    assert sum(found) == pytest.approx(0.5 * math.log(0.7))


def test_the_clock_is_what_every_engine_deviates_by() -> None:
    """With all engines alike the best known says it; where one is less slow, that one; where they disagree, nothing."""
    half = deviations_of(as_expected(engines=0.5), HERE.accelerator, CALIBRATION.device).rates
    assert half["sm_clock"] == half["half"]
    rates = as_expected(engines=0.5)
    for factor, clock in ((1.5, "fp32"), (2.2, None)):
        fp32 = rates.products["fp32"]._replace(rate=factor * rates.products["fp32"].rate)
        changed = rates._replace(products={**rates.products, "fp32": fp32})
        found = deviations_of(changed, HERE.accelerator, CALIBRATION.device).rates
        assert found.get("sm_clock") == (None if clock is None else found[clock])


def test_others_move_by_what_they_share() -> None:
    """Of slow memory a twin shares the accelerator's half; of slow fp32 products a sister the architecture's part."""
    memory = known(as_expected(memory=0.7), experiment())
    assert memory.factors(TWIN.accelerator)["bandwidth"] == pytest.approx(0.7**0.5)
    assert memory.factors(SISTER.accelerator)["bandwidth"] == pytest.approx(1.0)
    assert memory.of_here.factors(HERE.accelerator)["bandwidth"] == pytest.approx(0.7)
    total = 0.10**2 + 0.09**2 + 0.08**2 + 0.13**2
    engines = known(as_expected(engines=0.7), experiment())
    assert engines.factors(SISTER.accelerator)["fp32"] == pytest.approx(0.7 ** (0.10**2 / total))
    assert engines.factors(TWIN.accelerator)["fp32"] == pytest.approx(0.7 ** ((0.10**2 + 0.09**2) / total))
    assert engines.factors(STRANGER.accelerator) == {}


def test_the_best_product_of_a_model_that_others_measured_says_nothing_of_its_like() -> None:
    """What this card does less than the published product of its model is this card's."""
    assert HERE.accelerator.measured_bf16_flops_per_s is not None
    knowledge = known(as_expected(engines=0.7), experiment())
    assert knowledge.factors(TWIN.accelerator)["half"] == pytest.approx(1.0)
    assert knowledge.of_here.factors(HERE.accelerator)["half"] == pytest.approx(0.7)


def kernels(slower: float, seconds_scale: float = 1.0, flops: float = 4e11, moved: float = 1e8) -> list[Kernel]:
    """Two 3x3 convolutions, all three phases, as the model expects them on this machine and so much ``slower``."""
    precision = resolve_precision("fp32", HERE.accelerator)
    assert precision is not None
    rates = device_rates(HERE.accelerator, precision, CALIBRATION)
    assert rates is not None
    found = []
    for shape, times in (("a", slower), ("b", slower * seconds_scale)):
        for op_class, phase in (("conv", "forward"), ("conv_dg", "backward"), ("conv_wg", "backward")):
            operation = Operation(op_class, phase, 4, 0.0, 1, 3, Linear(flops, 0), Linear(moved, 0), 1)  # type: ignore[arg-type]
            expected = operation_s(operation, precision, 1, Variant(CALIBRATION.layouts["nchw"]), CALIBRATION, rates)
            seconds = times * expected * math.exp(-offset(precision.width))
            found.append(Kernel(shape, op_class, phase, 4, flops, moved, 1, seconds, 0.0, 1, 3))
    return found


def test_a_class_that_does_worse_than_its_engine_moves_a_little_and_alone() -> None:
    """Thrice as slow, with 0.12 of true spread against 0.3 of doubt: 3 to the power of 0.138."""
    factors = class_factors(kernels(3.0), HERE.accelerator, shipped_knowledge(), 1.0)
    assert factors == {("conv", 4): pytest.approx(3 ** -(0.12**2 / (0.12**2 + 0.3**2)))}
    asked, without = experiment("resnet50", precision="fp32"), experiment("bert-base", 8, precision="fp32")
    rates = as_expected()._replace(kernels=tuple(kernels(3.0)))
    assert step_s(None, asked) * 1.01 < step_s(rates, asked) < step_s(None, asked) * 1.17
    assert step_s(rates, without) == pytest.approx(step_s(None, without))
    assert step_s(rates, asked, TWIN) == pytest.approx(step_s(None, asked, TWIN))


def test_shapes_that_disagree_say_less_of_their_class() -> None:
    steady, spread = (
        class_factors(kernels(3.0, scale), HERE.accelerator, shipped_knowledge(), 1.0)["conv", 4]
        for scale in (1.0, 3.0)
    )
    assert math.log(spread) / math.log(3**1.5) > math.log(steady) / math.log(3.0)


def test_what_is_mostly_a_launch_says_nothing_of_its_class() -> None:
    assert class_factors(kernels(3.0, flops=1e8, moved=1e5), HERE.accelerator, shipped_knowledge(), 1.0) == {}


def test_an_estimate_from_measured_rates_says_so_on_this_machine_alone_and_claims_no_more() -> None:
    asked = experiment()
    measured, plain = estimate(as_expected(), asked), estimate(None, asked)
    assert (measured.evidence, plain.evidence) == ("measured_here", "measured_same_gpu")
    assert measured.step_time_s == pytest.approx(plain.step_time_s)
    assert estimate(as_expected(), asked, TWIN).evidence == "measured_same_gpu"


def test_a_profile_that_was_interrupted_early_claims_nothing() -> None:
    few = as_expected()._replace(moved=None)
    assert estimate(few, experiment()).evidence == "measured_same_gpu"


def test_what_rates_explain_of_a_run_is_not_learnt_twice() -> None:
    """A card on 0.7 of everything whose run took what these rates say: the run teaches nothing more."""
    asked, slow = experiment(), as_expected(engines=0.7, memory=0.7)
    alone = step_s(slow, asked)
    run = TrainingRun("resnet50", "cuda", "amp", "sgd", 64, alone, alone, alone, 9, "")
    taught = StepModel(asked, known(slow, asked, run))
    for machine in (HERE, TWIN, SISTER):
        found = taught.estimate(machine).step_time_s
        assert found is not None
        assert found.p50 == pytest.approx(step_s(slow, asked, machine), rel=1e-6)
    settled = taught.estimate(HERE).step_time_s
    assert settled is not None
    assert settled.p90 / settled.p50 == pytest.approx(math.exp(0.05), rel=0.02)


def test_what_rates_explain_of_the_users_own_measurements_is_not_learnt_twice() -> None:
    """Said or recorded of a card on 0.7 of everything, by what such a card is expected to reach."""
    asked, slow = experiment(), as_expected(engines=0.7, memory=0.7)
    expected = rates_alone(Profile("profile.json", "2026-11-30", gpu=slow), HERE)
    rate = 64 / step_s(slow, asked, TWIN)
    said = knowledge_with([f"RTX 3090={rate},b64"], asked, expected)
    assert said.references[0].log_residual == pytest.approx(0.0, abs=1e-9)
    assert knowledge_with([f"RTX 3090={rate},b64"], asked).references[0].log_residual < -0.05


def test_a_slow_host_is_this_machines_alone() -> None:
    asked = experiment("resnet50", 1)

    def host_s(machine: Machine) -> float:
        parts = estimate(None, asked, machine, host_launch_s=50e-6).parts
        assert parts is not None
        return parts.host_s

    assert host_s(HERE) > 5 * host_s(TWIN)


def test_a_measured_sum_is_the_links_bandwidth() -> None:
    """8 GB/s over two cards; four go by the exponent of their kind of link."""
    link = Link("pcie4", "PCIe 4.0 x16", 31.5e9, peer_access=False, measured_bytes_per_s=8e9, num_measured=2)
    constants = CALIBRATION.collectives
    exponent = constants["links"]["pcie4_no_peer"]["exponent"]
    assert link_bandwidth(link, 2, constants) == pytest.approx(8e9)
    assert link_bandwidth(link, 4, constants) == pytest.approx(8e9 * 2**exponent)


def test_images_arrive_no_faster_than_they_are_sent() -> None:
    """Through a riser of 0.5 GB/s: 602,112 bytes an image, 64 of them in 77 ms."""
    asked = resolve_experiment(ExperimentRequest(model="resnet18", epochs=1.0, batch_size_per_gpu=64))
    riser = as_expected()._replace(from_host_bytes_per_s=0.5e9)
    found = estimate(riser, asked, decode_images_per_s_per_core=1e5).step_time_s
    assert found is not None
    assert found.p50 == pytest.approx(64 * 12 * 224**2 / 0.5e9, rel=1e-6)


def test_a_slow_disk_holds_up_what_memory_does_not_hold() -> None:
    asked = resolve_experiment(ExperimentRequest(model="resnet18", epochs=1.0, batch_size_per_gpu=64))
    assert asked.dataset is not None
    assert asked.dataset.bytes is not None
    host = {"disk_bytes_per_s": 20e6, "decode_images_per_s_per_core": 1e5}
    small = estimate(as_expected(), asked, HERE, **host).step_time_s
    assert small is not None
    assert small.p50 == pytest.approx(64 * asked.dataset.bytes / asked.dataset.samples / 20e6, rel=1e-6)
    roomy = HERE._replace(ram_bytes=4 * asked.dataset.bytes)
    in_memory = estimate(as_expected(), asked, roomy, **host).step_time_s
    assert in_memory is not None
    assert in_memory.p50 < 0.2 * small.p50
