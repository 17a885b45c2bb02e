"""Finding a model by the names people and benchmarks use, and reading only its record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import DataError, UnknownNameError
from planner.workloads import catalog
from planner.workloads.catalog import find_model, load_workload, model_index, not_a_network, recorded_variants


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("resnet50", "resnet50"),
        ("ResNet-50", "resnet50"),
        ("resnet_50", "resnet50"),
        (" resnet50 ", "resnet50"),
        ("torchvision/resnet50", "resnet50"),
        ("timm/resnet50.a1_in1k", "resnet50"),
        ("resnet50.a1_in1k", "resnet50"),
        ("ConvNets/resnet50v1.5", "resnet50"),
        ("PyTorch/Classification/ConvNets/resnet50v1.5", "resnet50"),
        ("TensorFlow/resnet50v1.5 [batch size = 128 & without xla]", "resnet50"),
        ("ResNet-50 v1.5 + ImageNet [resnet]", "resnet50"),
        ("gluon_resnet50_v1b", "resnet50"),
        ("vit_b_16", "vit_base_patch16_224"),
        ("ViT-B/16", "vit_base_patch16_224"),
        ("bert_base_squad", "bert-base-squad"),
        ("hf/bert-base-uncased", "bert-base"),
        ("google-bert/bert-base-uncased", "bert-base"),
        ("meta-llama/Llama-3.1-8B", "llama-3-8b"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"),
        ("mistralai/Mistral-7B-v0.1", "mistral-7b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("Llama 2 7 B [Finetuning with LoRA on 1 GPU]", "llama-2-7b"),
        ("MPT-13b seq2048 params=12853954560", "mpt-13b"),
        ("openai-community/gpt2", "gpt2"),
        ("transformerxlbase", "transformer-xl-base-full-softmax"),
        ("SSD", "ssd300"),
        ("SSD-ResNet34", "ssd300-resnet34"),
        ("torchvision/ssd300_vgg16", "ssd300-vgg16"),
        ("StyleGAN2-ADA 256x256", "stylegan2-ada-256"),
        ("maskrcnn", "mask-rcnn-r50-fpn"),
        ("stabilityai/stable-diffusion-xl-base-1.0", "stable-diffusion-xl"),
        ('NCF (app "ncf")', "ncf"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert find_model(spelling).name == name


@pytest.mark.parametrize(
    "name", ["resnet51", "", "   ", ",", '"', "\n", "resnet50,resnet", "nothing/like/this", "x" * 500]
)
def test_unknown_names_are_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(UnknownNameError) as refused:
        find_model(name)
    assert "\n" not in str(refused.value).removeprefix(f"unknown model {name!r}")


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UnknownNameError) as refused:
        load_workload("resnet500")
    assert "resnet50" in refused.value.suggestions


@pytest.mark.parametrize("name", ["xgboost", "LightGBM", "random forest", "sklearn", "linear regression", "K-Means"])
def test_methods_that_need_no_gpu_are_told_so(name: str) -> None:
    sentence = not_a_network(name)
    assert sentence is not None
    assert "no GPU" in sentence
    with pytest.raises(UnknownNameError, match="no GPU"):
        find_model(name)


def test_networks_are_not_mistaken_for_other_methods() -> None:
    assert all(not_a_network(model.name) is None for model in model_index())


@given(st.text())
def test_any_text_is_found_or_refused(name: str) -> None:
    try:
        found = find_model(name).name
    except UnknownNameError as refused:
        found = refused.name
    assert found == name or find_model(found).name == found


def test_listing_leaves_out_records_at_other_sizes() -> None:
    assert not any("@" in model.name for model in model_index())
    assert len(recorded_variants("resnet50")) > 1
    assert recorded_variants("resnet50")[0].name == "resnet50"


def test_variants_of_an_unknown_name_are_none() -> None:
    assert recorded_variants("nothing") == ()


def test_only_the_asked_for_record_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def parse(record: dict[str, object]) -> object:
        lengths.append(len(json.dumps(record)))
        return record["name"]

    monkeypatch.setattr(catalog, "parse_record", parse)
    assert str(load_workload("resnet18")) == "resnet18"
    assert len(lengths) == 1
    assert lengths[0] < 10_000


def test_a_damaged_zoo_is_reported_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zoo.jsonl").write_bytes(b"not json at all" * 200_000)
    summary = find_model("resnet18")
    monkeypatch.setattr(catalog, "DATA", tmp_path)
    with pytest.raises(DataError, match="resnet18"):
        load_workload(summary.name)


def test_a_missing_zoo_is_reported_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = find_model("resnet18")
    monkeypatch.setattr(catalog, "DATA", tmp_path)
    with pytest.raises(DataError, match="resnet18"):
        load_workload(summary.name)


def test_a_network_that_timm_gave_up_is_not_passed_off_as_a_smaller_one() -> None:
    with pytest.raises(UnknownNameError):
        find_model("ig_resnext101_32x48d")
    assert find_model("ig_resnext101_32x32d").parameters == 468_530_472
