"""LoRA by rule: what adapters do beside frozen weights, and what frozen weights no longer do."""

from __future__ import annotations

import pytest

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.throughput.adapters import (
    adapted_matrices,
    adapter_operations,
    adapter_parameters,
    adapter_tensors,
    four_bit_weights,
    frozen,
    unpacked_bytes,
    with_low_rank,
)
from planner.throughput.calibration import load_calibration
from planner.throughput.kernels import Variant, training_flops
from planner.throughput.memory import memory_model
from planner.throughput.optimizer import update_work
from planner.throughput.precision import resolve_precision
from planner.workloads.catalog import load_workload
from planner.workloads.raw import RawNumbers, workload_of_numbers
from planner.workloads.workload import Linear, Memory, Operation, Workload
from tests.throughput.examples import A100, convolutional

# 50 tokens of 30 features, through one product to 20 features; half of the numbers below are 2 bytes each.
TOKENS, INTO, OUT = 50, 30, 20
_PRODUCT = Operation(
    "mm", "forward", 2, 0.0, 0, 0,
    Linear(0.0, 2.0 * TOKENS * INTO * OUT), Linear(2.0 * INTO * OUT, 2.0 * TOKENS * (INTO + OUT)), 1,
)  # fmt: skip
_BACKWARD = _PRODUCT._replace(
    phase="backward", flops=_PRODUCT.flops.scaled(2), bytes=_PRODUCT.bytes.scaled(2), kernels=2
)


def network(*more: Operation) -> Workload:
    """One product and ``more``."""
    return convolutional()._replace(operations=(_PRODUCT, _BACKWARD, *more), seq_length=TOKENS)


def made(rank: int = 4, *, mixed: bool = False, four_bit: bool = False) -> dict[tuple[str, str], Operation]:
    """Class and phase -> what the adapter of that product does."""
    operations = adapter_operations(network(), rank, element_bytes=2, mixed=mixed, four_bit=four_bit)
    return {(operation.op_class, operation.phase): operation for operation in operations}


def test_an_adapter_is_read_off_its_product() -> None:
    matrices = adapted_matrices(network())
    assert matrices == pytest.approx((TOKENS * (INTO + OUT), TOKENS, INTO + OUT, 1, INTO * OUT))
    assert adapter_parameters(network(), 4) == pytest.approx(4 * (INTO + OUT))
    assert adapter_tensors(network()) == 2


@pytest.mark.parametrize(
    ("model", "rank", "parameters"),
    [
        # peft's print_trainable_parameters, target_modules="all-linear"
        ("llama-2-7b", 8, 19_988_480),
        ("llama-2-13b", 8, 31_293_440),
        ("gpt2", 8, 1_179_648),
    ],
)
def test_parameters_are_those_that_peft_counts(model: str, rank: int, parameters: int) -> None:
    """Of 13 billion weights too, whose output layer shares its row with other products."""
    assert adapter_parameters(load_workload(model), rank) == pytest.approx(parameters, rel=0.002)


def test_products_of_an_adapter() -> None:
    """x A is 2 N d r FLOPs, (x A) B 2 N r e; backward each of them twice."""
    rank, rows = 4, made(4)
    flops = 2.0 * TOKENS * rank * (INTO + OUT)
    moved = 2.0 * TOKENS * (INTO + rank + rank + OUT)
    weights = 2.0 * rank * (INTO + OUT)
    assert rows["mm", "forward"].flops.per_sample == pytest.approx(flops)
    assert rows["mm", "forward"].bytes == pytest.approx((weights, moved))
    assert rows["mm", "backward"].flops.per_sample == pytest.approx(2 * flops)
    assert rows["mm", "backward"].bytes == pytest.approx((2 * weights, 2 * moved))
    assert (rows["mm", "forward"].kernels, rows["mm", "backward"].kernels) == (2, 4)


def test_whole_activations_pass_through_memory_beside_a_product() -> None:
    """Scaled and added: five passes over an output; scaled, and added to the input's gradient: five of their mean."""
    rows = made()
    for phase in ("forward", "backward"):
        assert rows["ew", phase].bytes.per_sample == pytest.approx(5 * 2 * TOKENS * (INTO + OUT) / 2)
        assert rows["ew", phase].kernels == 2


def test_autocast_casts_an_adapters_weights_and_its_input() -> None:
    assert ("cast", "forward") not in made()
    cast = made(4, mixed=True)["cast", "forward"]
    assert cast.bytes == pytest.approx((6 * 4 * (INTO + OUT), 6 * TOKENS * (INTO + OUT) / 2))
    assert cast.kernels == 3


def test_frozen_products_have_half_a_backward_pass() -> None:
    without = {(o.op_class, o.phase): o for o in frozen(network()).operations}
    assert without["mm", "forward"] == _PRODUCT
    assert without["mm", "backward"].flops == _PRODUCT.flops
    assert without["mm", "backward"].kernels == 1


def test_frozen_weights_are_not_cast_and_their_gradients_not_summed() -> None:
    cast = Operation("cast", "forward", 2, 0.0, 0, 0, Linear(0, 0), Linear(6.0 * INTO * OUT, 300.0), 5)
    bias = Operation("red", "backward", 2, 0.0, 0, 0, Linear(0, 0), Linear(2.0 * OUT, 2.0 * OUT * TOKENS), 1)
    loss = Operation("red", "backward", 4, 0.0, 0, 0, Linear(0, 0), Linear(0.0, 777.0), 1)
    table = Operation("gather", "backward", 4, 0.0, 0, 0, Linear(0, 0), Linear(4.0 * 1000, 40.0), 1)
    kept = {(o.op_class, o.element_bytes): o for o in frozen(network(cast, bias, loss, table)).operations}
    assert kept["cast", 2].bytes == Linear(0.0, 300.0)
    assert kept["cast", 2].kernels == 4
    assert kept["red", 2].bytes.per_sample == 0
    assert kept["red", 4] == loss
    assert kept["gather", 4].bytes == Linear(0.0, 40.0)


def test_what_a_norm_scaled_is_not_kept_where_its_scale_is_frozen() -> None:
    """Its gradient, a sum over rows in fp32, is where the record has it; sums over samples (positions) are none."""
    width = 30
    scale = Operation("red", "backward", 4, 0.0, 0, 0, Linear(0, 0), Linear(4.0 * width, 4.0 * width * TOKENS), 1)
    position = scale._replace(bytes=Linear(4.0 * width * TOKENS, 4.0 * width * TOKENS))
    full = network()
    assert frozen(full).memory_amp == full.memory_amp
    assert frozen(network(position)).memory_amp == full.memory_amp
    less = full.memory_amp.saved_bytes.per_sample - frozen(network(scale)).memory_amp.saved_bytes.per_sample
    assert less == pytest.approx(4 * width * TOKENS)


def test_inputs_of_frozen_convolutions_are_not_kept() -> None:
    """Of what a convolution reads and writes of a sample, half is its input."""
    full = convolutional()
    convolved = sum(
        o.bytes.per_sample for o in full.operations if o.op_class in ("conv", "conv1") and o.phase == "forward"
    )
    less = full.memory_amp.saved_bytes.per_sample - frozen(full).memory_amp.saved_bytes.per_sample
    assert less == pytest.approx(convolved / 2)


def test_backward_keeps_what_is_between_an_adapters_products() -> None:
    memory = Memory(Linear(0.0, 1000.0), Linear(0.0, 900.0))
    kept = with_low_rank(memory, network(), 4, 2)
    assert kept == Memory(Linear(0.0, 1000.0 + 2 * 4 * TOKENS), Linear(0.0, 900.0 + 2 * 4 * TOKENS))


def test_a_step_of_adapters_is_forward_half_backward_and_six_flops_a_parameter_and_token() -> None:
    gpt2 = load_workload("gpt2")
    adapted = training_flops(gpt2, Variant(load_calibration().layouts["nchw"], adapter_rank=8))
    attention = sum(o.flops.per_sample for o in gpt2.operations if o.op_class == "sdpa_bw")
    backward = gpt2.training_flops_per_sample - gpt2.forward_flops_per_sample
    frozen_flops = gpt2.forward_flops_per_sample + (backward - attention) / 2 + attention
    assert adapted - frozen_flops == pytest.approx(6 * 1_179_648 * 1024, rel=0.01)


def test_the_update_is_of_the_adapters() -> None:
    asked = resolve_experiment(ExperimentRequest("gpt2", steps=1, lora_rank=8, optimizer="adamw"))
    precision = resolve_precision("amp", A100)
    assert precision is not None
    update = update_work(asked, precision)
    assert update.traffic_bytes == pytest.approx(28 * 1_179_648, rel=0.01)
    assert update.kernels == pytest.approx(2 * 48)


def test_one_product_at_a_time_is_unpacked() -> None:
    """The widest of Llama 2's 7 B is 4,096 x 11,008; of a model by numbers nobody knows it."""
    assert unpacked_bytes(load_workload("llama-2-7b")) == pytest.approx(2 * 4096 * 11008, rel=0.01)
    numbers = workload_of_numbers(RawNumbers(7e9, 2e13, 1e10), None, 1024)
    assert unpacked_bytes(numbers) == 0.0
    assert four_bit_weights(numbers) == pytest.approx(7e9)


def test_experts_of_a_mixture_get_no_adapters_and_no_weight_gradients() -> None:
    mixtral = load_workload("mixtral-8x7b")
    attention = 4096 * 8 + 2 * (4096 + 1024)
    assert adapted_matrices(mixtral).features < 32 * (attention + 2 * 4096)
    experts = [o for o in frozen(mixtral).operations if o.op_class == "bmm"]
    assert sum(o.flops.per_sample for o in experts if o.phase == "backward") == pytest.approx(
        sum(o.flops.per_sample for o in experts if o.phase == "forward"), rel=0.01
    )


@pytest.mark.parametrize(
    ("model", "tokens", "batch", "four_bit", "gb"),
    [
        # Lightning-AI/litgpt@4839345 tutorials/resource-tables.md: an A100 of 40 GB, bf16-true, longest example
        # Lightning-AI/litgpt@4839345 tutorials/resource-tables.md: an A100, bf16-true, the longest example of Alpaca
        ("llama-2-7b", 1304, 1, False, 21.30),
        ("llama-2-7b", 1304, 2, False, 29.07),
        ("llama-2-7b", 1304, 1, True, 13.84),
        ("llama-2-13b", 1304, 1, False, 38.12),
        ("llama-2-13b", 1304, 1, True, 22.55),
    ],
)
def test_memory_is_what_litgpt_measured(model: str, tokens: int, batch: int, four_bit: bool, gb: float) -> None:
    """Its adapters are on queries and values only; the allocator that it reports of knows nothing of the context."""
    asked = resolve_experiment(
        ExperimentRequest(
            model,
            steps=1,
            lora_rank=8,
            seq_length=tokens,
            precision="bf16-pure",
            optimizer="adamw",
            four_bit_weights=four_bit,
        )
    )
    precision = resolve_precision("bf16-pure", A100)
    assert precision is not None
    calibration = load_calibration()
    required = memory_model(asked, precision, 1, calibration).required_bytes(batch)
    assert required - calibration.memory["context_bytes"] == pytest.approx(gb * 1e9, rel=0.15)
