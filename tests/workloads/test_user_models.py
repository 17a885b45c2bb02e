"""Model files as people write them, and what becomes of each: parameters and FLOPs counted by hand, or one sentence.

``tools/trace_user_models.py`` stored what the tracer said. Where GPUPLANNER_TORCH_PYTHON names an interpreter with
torch, the files are traced again and must say the same.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.workloads.catalog import load_workload
from planner.workloads.own_trace import TraceRequest, parse_inputs, trace
from planner.workloads.workload import Workload

HERE = Path(__file__).parent
MODELS, TRACES = HERE / "user_models", HERE / "user_traces"
TORCH_PYTHON = os.environ.get("GPUPLANNER_TORCH_PYTHON")


def stored(name: str) -> Workload:
    return load_workload(str(TRACES / f"{name}.json"))


def refusal(name: str) -> str:
    return str(json.loads((TRACES / f"{name}.json").read_text(encoding="utf-8"))["refused"])


def flops(workload: Workload, phase: str, *classes: str) -> float:
    return sum(op.flops.per_sample for op in workload.operations if op.phase == phase and op.op_class in classes)


def test_a_plain_network() -> None:
    """Two 3 x 3 convolutions on 32 and 16 pixels, one linear layer; the first needs no gradient of its input."""
    net = stored("plain_cnn")
    first, second, last = 2 * 32 * 32 * 32 * 27, 2 * 64 * 16 * 16 * 32 * 9, 2 * 4096 * 10
    assert net.parameters == 32 * 27 + 32 + 2 * 32 + 64 * 32 * 9 + 64 + 2 * 64 + 4096 * 10 + 10
    assert net.forward_flops_per_sample == first + second + last
    assert net.training_flops_per_sample == 2 * first + 3 * (second + last)
    assert net.image_size == 32
    assert "loss: cross entropy over 10 classes (assumed)" in net.notes


def test_a_u_net_with_skips_and_its_own_loss() -> None:
    net = stored("unet")
    assert net.parameters == 117_681
    # transposed convolutions: every input element meets the whole 2 x 2 window
    up = 2 * 64 * 16 * 16 * 32 * 4 + 2 * 32 * 32 * 32 * 16 * 4
    sides = ((64, 3, 16), (64, 16, 16), (32, 16, 32), (32, 32, 32), (16, 32, 64), (16, 64, 64),
             (32, 64, 32), (32, 32, 32), (64, 32, 16), (64, 16, 16))  # fmt: skip
    convolutions = sum(2 * side**2 * into * out * 9 for side, into, out in sides)
    assert net.forward_flops_per_sample == up + convolutions + 2 * 64 * 64 * 16
    assert "loss: the given loss" in net.notes


def test_a_gan_that_steps_two_optimizers_itself() -> None:
    """The generator runs once, the discriminator three times; backward as far as each gradient goes."""
    gan = stored("gan")
    generator, discriminator = 2 * (64 * 256 + 256 * 784), 2 * (784 * 256 + 256)
    assert gan.parameters == 64 * 256 + 256 + 256 * 784 + 784 + 784 * 256 + 256 + 256 + 1
    assert gan.forward_flops_per_sample == generator + 3 * discriminator
    # of the discriminator: weights three times, its inner data three times, its input once (for the generator)
    d_back = 3 * discriminator + 3 * 2 * 256 + 2 * 784 * 256
    g_back = generator + 2 * 256 * 784
    assert gan.training_flops_per_sample == gan.forward_flops_per_sample + d_back + g_back
    assert "loss: the model's training_step" in gan.notes


def test_a_vision_transformer_that_computes_numbers_from_tensors_as_it_is_built() -> None:
    """8 x 8 patches of 8 pixels and a class token, 4 layers of width 128; attention is one fused operation."""
    net, tokens, width = stored("vit"), 65, 128
    layer = 2 * tokens * 12 * width**2 + 4 * tokens * tokens * width
    assert net.forward_flops_per_sample == 2 * 64 * 192 * width + 4 * layer + 2 * width * 100
    assert flops(net, "forward", "sdpa") == 4 * 4 * tokens * tokens * width
    assert any("without initialising" in note for note in net.notes)


def test_a_recurrent_classifier() -> None:
    """Both directions over 200 words of 100 numbers, 128 units and 4 gates."""
    net = stored("lstm")
    assert net.parameters == 20_000 * 100 + 2 * (4 * 128 * (100 + 128) + 2 * 4 * 128) + 256 * 2 + 2
    assert net.embedding_parameters == 2_000_000
    assert net.forward_flops_per_sample == 2 * 200 * 2 * 4 * 128 * (100 + 128) + 2 * 256 * 2
    assert (net.seq_length, net.sample_unit) == (200, "sequence")


def test_a_gpt_that_returns_scores_and_loss() -> None:
    net, tokens, width = stored("gpt"), 256, 384
    layer = 2 * tokens * 12 * width**2 + 4 * tokens * tokens * width
    assert net.parameters == 6 * (12 * width**2 + 4 * width) + 2 * width + (65 + 256) * width
    assert net.forward_flops_per_sample == 6 * layer + 2 * tokens * width * 65
    assert "loss: the model's own loss" in net.notes


def test_a_deep_stack_is_continued_from_a_few_layers() -> None:
    shallow, deep = stored("gpt"), stored("gpt_deep")
    tokens, width = 256, 384
    layer = 2 * tokens * 12 * width**2 + 4 * tokens * tokens * width
    assert deep.parameters - shallow.parameters == 18 * (12 * width**2 + 4 * width)
    assert deep.forward_flops_per_sample - shallow.forward_flops_per_sample == 18 * layer
    assert flops(deep, "backward", "sdpa_bw") == 4 * flops(shallow, "backward", "sdpa_bw")
    per_layer = shallow.memory_amp.saved_bytes.per_sample / 6
    assert deep.memory_amp.saved_bytes.per_sample == pytest.approx(24 * per_layer, rel=0.05)


def test_a_script_that_prints_and_reads_its_arguments() -> None:
    net = stored("script")
    assert net.parameters == 784 * 64 + 64 + 64 * 10 + 10
    assert net.forward_flops_per_sample == 2 * (784 * 64 + 64 * 10)


def test_a_lightning_module_without_a_trainer() -> None:
    net = stored("lightning_like")
    assert net.parameters == 16 * 27 + 16 + 16 * 5 + 5
    assert net.forward_flops_per_sample == 2 * 30 * 30 * 16 * 27 + 2 * 16 * 5


def test_grouped_and_depthwise_gradients_count_their_groups() -> None:
    """16 x 16 positions: 32 channels one by one, then 4 groups of 8 to 16; put on the GPU by name."""
    net = stored("mobile")
    depthwise, grouped = 2 * 256 * 32 * 9, 2 * 256 * 64 * 8 * 9
    assert flops(net, "forward", "dw") == depthwise
    assert flops(net, "backward", "dw_dg") == flops(net, "backward", "dw_wg") == depthwise
    assert flops(net, "forward", "gconv") == grouped
    assert flops(net, "backward", "gconv_dg") == flops(net, "backward", "gconv_wg") == grouped


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("branching", ("depends on the values of its tensors", "branching.py:11", "--params", "--measured")),
        ("needs_arguments", ("ends the program (exit 2)", '`if __name__ == "__main__":`')),
        ("missing_import", ("No module named 'a_package_nobody_has'", "missing_import.py:2")),
        ("lstm_without_arguments", ("it needs vocab_size", "--arg vocab_size=VALUE")),
    ],
)
def test_what_cannot_be_traced_is_named_with_its_line_and_a_way_on(name: str, parts: tuple[str, ...]) -> None:
    sentence = refusal(name)
    assert all(part in sentence for part in parts)
    assert "\n" not in sentence


LIVE = [
    ("plain_cnn.py:build_model", "3x32x32", {}, None, "plain_cnn"),
    ("unet.py:UNet", "x:float32:3x64x64,y:float32:1x64x64", {}, "dice_bce", "unet"),
    ("gan.py:GAN", "1x28x28", {}, None, "gan"),
    ("vit.py:ViT", "3x64x64", {}, None, "vit"),
    ("lstm.py:Classifier", "text:int64:200", {"vocab_size": 20000}, None, "lstm"),
    ("gpt.py:build_deep", "idx:int64:256,targets:int64:256", {}, None, "gpt_deep"),
    ("script.py:model", "1x28x28", {}, None, "script"),
    ("lightning_like.py:LitClassifier", "3x32x32", {}, None, "lightning_like"),
    ("mobile.py:Mobile", "3x16x16", {}, None, "mobile"),
]


@pytest.mark.skipif(TORCH_PYTHON is None, reason="GPUPLANNER_TORCH_PYTHON names no interpreter with torch")
@pytest.mark.parametrize(("target", "inputs", "options", "loss", "name"), LIVE, ids=[row[-1] for row in LIVE])
def test_traced_again_it_is_the_same(
    monkeypatch: pytest.MonkeyPatch, target: str, inputs: str, options: dict[str, object], loss: str | None, name: str
) -> None:
    monkeypatch.chdir(MODELS)
    workload = trace(TraceRequest(target, parse_inputs(inputs), options, loss, TORCH_PYTHON))
    assert workload.parameters == stored(name).parameters
    assert workload.training_flops_per_sample == stored(name).training_flops_per_sample


@pytest.mark.skipif(TORCH_PYTHON is None, reason="GPUPLANNER_TORCH_PYTHON names no interpreter with torch")
def test_traced_again_a_branch_on_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MODELS)
    with pytest.raises(InputError, match=r"branching\.py:11"):
        trace(TraceRequest("branching.py:EarlyExit", parse_inputs("32"), python=TORCH_PYTHON))
