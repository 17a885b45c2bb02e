"""Closed formulas against the zoo's traces of the same networks, published counts, and wrong configurations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InputError
from planner.workloads.catalog import load_workload
from planner.workloads.workload import Workload

CONFIGS = Path(__file__).parent / "configs"

# configuration, the zoo's record traced from the same network, and its sequence length (None: an image model's)
IN_THE_ZOO = [
    ("llama-3-8b", "llama-3-8b", 2048),
    ("llama-3.2-1b", "llama-3.2-1b", 2048),
    ("mistral-7b", "mistral-7b", 2048),
    ("mixtral-8x7b", "mixtral-8x7b", 4096),
    ("qwen2.5-0.5b", "qwen2.5-0.5b", 4096),
    ("qwen3-0.6b", "qwen3-0.6b", 4096),
    ("qwen3-30b-a3b", "qwen3-30b-a3b", 4096),
    ("gemma-2b", "gemma-2b", 2048),
    ("phi-1.5", "phi-1.5", 2048),
    ("phi-3-mini", "phi-3-mini", 2048),
    ("gpt2", "gpt2", 1024),
    ("pythia-410m", "pythia-410m", 2048),
    ("opt-1.3b", "opt-1.3b", 2048),
    ("roberta-base-mnli", "roberta-base", 128),
    ("t5-base", "t5-base", 512),
    ("vit-base-patch16-224", "vit_base_patch16_224", None),
]
# Their layers do as much arithmetic, but other copies: timm's ViT makes queries, keys and values in one product, and
# the zoo's mixtures of experts are described without transformers' routing.
OTHER_LAYERS = ("mixtral-8x7b", "qwen3-30b-a3b", "vit-base-patch16-224")


def described(name: str, seq_length: int | None = None) -> Workload:
    return load_workload(str(CONFIGS / f"{name}.json"), seq_length)


def flops(workload: Workload) -> float:
    return sum(op.flops.at(16) for op in workload.operations)


@pytest.mark.parametrize(("name", "zoo", "seq_length"), IN_THE_ZOO, ids=lambda value: str(value))
def test_parameters_are_exact_and_flops_those_of_the_trace(name: str, zoo: str, seq_length: int | None) -> None:
    formula, trace = described(name, seq_length), load_workload(zoo)
    assert formula.parameters == trace.parameters
    assert formula.embedding_parameters == trace.embedding_parameters
    assert flops(formula) == pytest.approx(flops(trace), rel=0.0005)
    assert formula.forward_flops_per_sample == pytest.approx(trace.forward_flops_per_sample, rel=0.0005)


@pytest.mark.parametrize(
    ("name", "zoo", "seq_length"),
    [row for row in IN_THE_ZOO if row[0] not in OTHER_LAYERS],
    ids=lambda value: str(value),
)
def test_bytes_kernels_and_memory_are_those_of_the_trace(name: str, zoo: str, seq_length: int) -> None:
    formula, trace = described(name, seq_length), load_workload(zoo)
    assert formula.parameter_tensors == trace.parameter_tensors
    moved = [sum(op.bytes.at(16) for op in workload.operations) for workload in (formula, trace)]
    assert moved[0] == pytest.approx(moved[1], rel=0.03)
    kernels = [sum(op.kernels for op in workload.operations) for workload in (formula, trace)]
    assert kernels[0] == pytest.approx(kernels[1], rel=0.07)
    for one, other in ((formula.memory_amp, trace.memory_amp), (formula.memory_fp32, trace.memory_fp32)):
        assert one.saved_bytes.at(16) == pytest.approx(other.saved_bytes.at(16), rel=0.035)
        assert one.live_bytes.at(16) == pytest.approx(other.live_bytes.at(16), rel=0.035)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("bert-base-uncased", 109_514_298),  # with the masked word head, as transformers counts it
        ("whisper-small", 241_734_912),
        ("gemma-2-2b", 2_614_341_888),
        ("phi-2", 2_779_683_840),
        ("mpt-7b", 6_649_286_656),
        ("vit-base-patch16-224", 86_567_656),
    ],
)
def test_published_parameter_counts(name: str, parameters: int) -> None:
    assert described(name).parameters == parameters


def test_flops_of_gpt2_by_hand() -> None:
    """12 layers of 12 h^2 weights and 4 h T of attention a token, and the tied output over 50,257 words."""
    hidden, tokens, layers, words = 768, 1024, 12, 50257
    products = 2 * tokens * (layers * 12 * hidden**2 + hidden * words)
    attention = layers * 4 * tokens * tokens * hidden
    assert described("gpt2").forward_flops_per_sample == products + attention


def test_attention_grows_with_the_square_of_the_length_and_the_rest_with_it() -> None:
    short, long = described("llama-3.2-1b", 1024), described("llama-3.2-1b", 4096)
    for op_class, ratio in (("sdpa", 16), ("mm", 4)):
        totals = [
            sum(op.flops.per_sample for op in workload.operations if op.op_class == op_class)
            for workload in (short, long)
        ]
        assert totals[1] == pytest.approx(ratio * totals[0])


def test_the_usual_length_is_bounded_by_what_the_positions_allow() -> None:
    assert described("llama-3.2-1b").seq_length == 2048
    assert described("gpt2").seq_length == 1024
    assert described("bert-base-uncased").seq_length == 512
    with pytest.raises(InputError, match="at most 1,024 tokens, not 4,096"):
        described("gpt2", 4096)


@pytest.mark.parametrize(
    ("architecture", "task", "parameters"),
    [
        ("BertForSequenceClassification", "text classification", 109_483_778),
        ("BertForTokenClassification", "token classification", 108_893_186),
        ("BertForQuestionAnswering", "question answering", 108_893_186),
        ("BertForPreTraining", "language pretraining", 110_106_428),
        ("BertModel", "language pretraining", 109_514_298),
    ],
)
def test_what_is_trained_on_a_bert_is_its_head(tmp_path: Path, architecture: str, task: str, parameters: int) -> None:
    workload = _written(tmp_path, "bert-base-uncased", architectures=[architecture])
    assert (workload.task, workload.parameters) == (task, parameters)
    assert bool(workload.notes) == (architecture == "BertModel")


def test_a_folder_stands_for_the_configuration_in_it(tmp_path: Path) -> None:
    _write(tmp_path / "config.json", "gpt2")
    assert load_workload(str(tmp_path)).parameters == 124_439_808
    assert load_workload(f"{tmp_path}/").parameters == 124_439_808


def test_variants_of_opt_and_neox(tmp_path: Path) -> None:
    """OPT-350m norms after each block and looks words up in 512 dimensions; its published count is 331,196,416."""
    small = _written(
        tmp_path, "opt-1.3b", hidden_size=1024, ffn_dim=4096, num_hidden_layers=24, num_attention_heads=16,
        word_embed_proj_dim=512, do_layer_norm_before=False,
    )  # fmt: skip
    assert small.parameters == 331_196_416
    sequential = _written(tmp_path, "pythia-410m", use_parallel_residual=False)
    assert sequential.parameters == 405_334_016
    assert flops(sequential) == flops(described("pythia-410m"))


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("llama-3-8b", {"model_type": "deepseek_v9"}, "no formulas for model_type 'deepseek_v9'"),
    ("llama-3-8b", {"model_type": 7}, "'model_type' must be a short text"),
    ("llama-3-8b", {"model_type": None}, "neither a workload file nor a Hugging Face configuration"),
    ("llama-3-8b", {"hidden_size": "4096"}, "'hidden_size' must be a whole number"),
    ("llama-3-8b", {"hidden_size": 4096.0}, "'hidden_size' must be a whole number"),
    ("llama-3-8b", {"hidden_size": -1}, "'hidden_size' must be a whole number from 1"),
    ("llama-3-8b", {"hidden_size": 10**30}, "'hidden_size' must be a whole number"),
    ("llama-3-8b", {"hidden_size": None}, "has no 'hidden_size'"),
    ("llama-3-8b", {"hidden_size": 4097}, "cannot be divided by 32"),
    ("llama-3-8b", {"num_key_value_heads": 5}, "num_attention_heads 32 cannot be divided by 5"),
    ("llama-3-8b", {"num_hidden_layers": 999_999}, "'num_hidden_layers' is above 10,000"),
    ("llama-3-8b", {"hidden_size": 9_999_872, "num_hidden_layers": 9_999}, "describes"),
    ("llama-3-8b", {"tie_word_embeddings": "yes"}, "'tie_word_embeddings' must be true or false"),
    ("mixtral-8x7b", {"num_experts_per_tok": 9}, "9 of 8 experts cannot be chosen"),
    ("qwen3-30b-a3b", {"decoder_sparse_step": 2}, "in turn are not described"),
    ("gpt2", {"resid_pdrop": 3}, "'resid_pdrop' must be a number from 0 to 1"),
    ("mpt-7b", {"no_bias": False}, "an mpt with biases"),
    ("phi-2", {"qk_layernorm": True}, "norms on queries and keys"),
    ("vit-base-patch16-224", {"patch_size": 15}, "cannot be divided by 15"),
    ("phi-3-mini", {"rope_parameters": [1]}, "'rope_parameters' must be an object"),
]


@pytest.mark.parametrize(("name", "changes", "sentence"), WRONG, ids=[f"{row[0]}-{row[1]}" for row in WRONG])
def test_what_is_wrong_is_named_in_one_sentence(
    tmp_path: Path, name: str, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        _written(tmp_path, name, **changes)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@settings(max_examples=200, deadline=None)
@given(
    key=st.sampled_from([*json.loads((CONFIGS / "gpt2.json").read_text()), "n_inner", "tie_word_embeddings"]),
    value=st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.integers(), max_size=2),
)
def test_any_value_of_any_field_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: object
) -> None:
    try:
        workload = _written(tmp_path_factory.mktemp("config"), "gpt2", **{key: value})
    except InputError as error:
        sentence = str(error)
    else:
        sentence = ""
        assert workload.parameters > 0
    assert "\n" not in sentence


def _write(path: Path, name: str, **changes: object) -> Path:
    content = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def _written(folder: Path, name: str, **changes: object) -> Workload:
    return load_workload(str(_write(folder / "config.json", name, **changes)))
