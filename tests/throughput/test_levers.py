"""Levers: what makes an experiment fit, and what makes it faster."""

from __future__ import annotations

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.presets import machine_from_spec
from planner.throughput.levers import levers
from planner.throughput.step import StepModel
from planner.workloads.catalog import load_workload
from planner.workloads.workload import Workload
from tests.throughput.examples import A100, NVSWITCH, RTX3090, convolutional, experiment, machine
from tests.throughput.test_model_parallel import transformer


def big() -> Workload:
    """Too many parameters for 24 GB with Adam: 1.5 billion."""
    return convolutional(recipe=8, useful=512)._replace(parameters=1_500_000_000, seq_length=1024)


def test_levers_that_make_it_fit_come_first_and_fastest_first() -> None:
    found = levers(experiment(big(), optimizer="adamw"), machine(RTX3090))
    fitting = [lever for lever in found if lever.fits]
    assert fitting
    assert found[: len(fitting)] == fitting
    rates = [lever.estimate.samples_per_s.p50 for lever in fitting if lever.estimate.samples_per_s]
    assert rates == sorted(rates, reverse=True)
    assert {"8-bit optimizer", "LoRA rank 16"} <= {lever.name for lever in found}


def test_zero_needs_several_devices() -> None:
    alone = {lever.name for lever in levers(experiment(big(), optimizer="adamw"), machine(A100))}
    several = {lever.name for lever in levers(experiment(big(), optimizer="adamw"), machine(A100, 8, link=NVSWITCH))}
    assert not any(name.startswith("ZeRO") for name in alone)
    assert {"ZeRO stage 1", "ZeRO stage 2", "ZeRO stage 3"} <= several


def test_checkpointing_trades_time_for_memory() -> None:
    found = {lever.name: lever for lever in levers(experiment(batch_size_per_gpu=64), machine(A100))}
    lever = found["gradient checkpointing"]
    assert (lever.time_factor or 0) > 1 > (lever.memory_factor or 2)


def test_a_fixed_batch_that_does_not_fit_is_halved_with_accumulation() -> None:
    found = levers(experiment(batch_size_per_gpu=500), machine(RTX3090))
    lever = next(lever for lever in found if lever.name == "half the batch")
    assert lever.experiment.batch_size_per_gpu == 250
    assert lever.experiment.grad_accum_steps == 2
    assert lever.fits
    assert lever.time_factor is None


def test_software_levels_are_offered_until_they_are_used() -> None:
    single = {lever.name for lever in levers(experiment(precision="fp32"), machine(A100))}
    assert {"amp", "channels_last", "torch.compile"} <= single
    plain = {lever.name for lever in levers(experiment(), machine(A100))}
    assert {"channels_last", "torch.compile", "tuned"} <= plain
    used = {lever.name for lever in levers(experiment(tuned=True), machine(A100))}
    assert not used & {"channels_last", "torch.compile", "tuned"}
    compiled = {lever.name: lever.experiment for lever in levers(experiment(compiled=True), machine(A100))}
    assert (compiled["tuned"].tuned, compiled["tuned"].compiled) == (True, False)


def test_four_bit_weights_are_a_lever_of_adapters_only() -> None:
    full = {lever.name for lever in levers(experiment(big(), optimizer="adamw"), machine(A100))}
    llama = load_workload("llama-3.2-1b")
    adapted = {lever.name: lever for lever in levers(experiment(llama, lora_rank=8), machine(A100))}
    assert "4-bit weights" not in full
    assert adapted["4-bit weights"].memory_factor is not None
    assert adapted["4-bit weights"].memory_factor < 1.0


def test_what_does_not_fit_may_go_to_the_host() -> None:
    found = {lever.name: lever for lever in levers(experiment(big(), optimizer="adamw"), machine(RTX3090))}
    assert found["offload state"].experiment.offload == "optimizer"
    assert found["offload all"].experiment.offload == "all"
    assert found["offload state"].fits
    enough = {lever.name for lever in levers(experiment(big(), optimizer="adamw", offload="all"), machine(RTX3090))}
    assert "offload all" not in enough


def test_a_pipeline_leaves_levers_that_go_with_it() -> None:
    asked = experiment(transformer(), optimizer="adamw", batch_size_per_gpu=1, pipeline_parallel=2)
    found = {lever.name for lever in levers(asked, machine(A100, 8, link=NVSWITCH))}
    assert "ZeRO stage 1" in found
    assert not found & {"ZeRO stage 2", "ZeRO stage 3", "offload state", "offload all"}


def test_a_large_transformer_may_be_split_over_the_fewest_gpus_that_hold_it() -> None:
    """18 bytes a parameter of 6 billion are 108 GB: too much for one or two A100 of 40 GB, not for four."""
    asked = experiment(transformer(), optimizer="adamw", batch_size_per_gpu=1)
    found = {lever.name: lever for lever in levers(asked, machine(A100, 8, link=NVSWITCH))}
    split = [name for name, lever in found.items() if name.startswith(("tensor", "pipeline")) and lever.fits]
    assert sorted(split) == ["pipeline 8", "tensor 4"]
    sharded = {lever.name for lever in levers(asked._replace(zero_stage=2), machine(A100, 8, link=NVSWITCH))}
    assert not any(name.startswith("pipeline") for name in sharded)


def test_no_lever_takes_a_library_that_the_machine_cannot_run() -> None:
    """bitsandbytes has no backend for Apple's GPUs: neither its optimizers nor its 4-bit weights."""
    apple = A100._replace(key="M3-Max-40c", stack="mps")
    llama = load_workload("llama-3.2-1b")
    for asked in (experiment(big(), optimizer="adamw"), experiment(llama, lora_rank=8)):
        on_cuda, on_mps = ({lever.name for lever in levers(asked, machine(device))} for device in (A100, apple))
        assert on_cuda & {"8-bit optimizer", "4-bit weights"}
        assert not on_mps & {"8-bit optimizer", "4-bit weights"}


def test_a_larger_batch_is_a_lever_where_it_trains_more_samples_a_second() -> None:
    """Of GPT-2 on eight H100 with --compile it saves more than any lever that leaves the weights alone."""
    asked = resolve_experiment(ExperimentRequest("gpt2", tokens=1e10, precision="bf16", compiled=True))
    eight = machine_from_spec("eight", "H100-SXM", 8)
    first = next(lever for lever in levers(asked, eight) if lever.experiment.precision == "bf16")
    base = StepModel(asked).estimate(eight)
    assert first.name == "batch 48"
    assert (base.batch_size_per_gpu, first.experiment.batch_size_per_gpu) == (12, 48)
    assert first.time_factor is not None
    assert first.time_factor < 0.85
    assert "384 samples a step instead of 96" in first.note
    fixed = levers(asked._replace(global_batch_size=384), eight)
    assert not any(lever.name.startswith("batch") for lever in fixed), "a step's samples were asked for"


def test_no_batch_is_larger_than_the_model_is_known_to_learn_from() -> None:
    asked = resolve_experiment(ExperimentRequest("resnet50", epochs=90))
    for count in (1, 8):
        for lever in levers(asked, machine_from_spec("some", "H100-SXM", count)):
            assert lever.estimate.global_batch_size <= asked.workload.max_global_batch_size


def test_what_saves_neither_time_nor_memory_is_no_lever() -> None:
    """With --compile on an H100 'tuned' was listed at 1.89 times the time."""
    asked = resolve_experiment(ExperimentRequest("gpt2", tokens=1e10, precision="bf16", compiled=True))
    found = levers(asked, machine_from_spec("one", "H100-SXM", 1))
    assert "tuned" not in {lever.name for lever in found}
    for lever in found:
        assert min(lever.time_factor or 2, lever.memory_factor or 2) < 1
