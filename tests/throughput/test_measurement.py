"""Rows as people publish them: every spelling found in the wild, every unit, and reasons for what cannot be read."""

from __future__ import annotations

import pytest

from planner.errors import InputError, UnknownNameError
from planner.throughput.measurement import (
    find_workload,
    read_accelerator,
    read_input,
    read_measurement,
)
from planner.throughput.row_software import read_precision, read_software

ROW = {
    "model": "resnet50",
    "gpu": "A100 SXM 80GB",
    "n_gpus": "1",
    "n_nodes": "1",
    "precision": "amp-fp16",
    "batch_per_gpu": "256",
    "input": "224x224",
    "samples_per_s": "1500",
}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("amp-fp16", "fp16"),
        ("amp_bf16", "bf16"),
        ("AMP", "amp"),
        ("tf32?", "tf32"),
        ("fp16(master fp32)", "fp16"),
        ("fp16(pure)", "fp16-pure"),
        ("bf16-true", "bf16-pure"),
        ("mixed (AMP/FP16)", "amp"),
        ("FP32", "fp32"),
        ("fp16?", "fp16"),
        ("mxfp8", "fp8"),
        ("amp_fp8", "fp8"),
        ("fp8+bf16", "fp8"),
        ("", "amp"),
    ],
)
def test_precisions(written: str, meant: str) -> None:
    assert read_precision(written) == meant


@pytest.mark.parametrize("written", ["fp64", "nvfp4", "qat", "?", "bf16-true + bnb.nf4"])
def test_precisions_that_are_not_modelled(written: str) -> None:
    with pytest.raises(InputError, match="not modelled"):
        read_precision(written)


@pytest.mark.parametrize(
    ("version", "variant", "framework", "levels"),
    [
        ("pytorch 1.12 cu113", "", "pytorch", ""),
        ("pytorch 1.12 cu113", "nhwc", "pytorch", "channels_last"),
        ("pytorch 2.0 nightly compile", "", "pytorch", "compiled"),
        ("pytorch nightly 2024-12", "dynamo", "pytorch", "compiled"),
        ("tensorflow 1.15", "XLANVLinksynthetic", "tensorflow", "compiled"),
        ("PyTorch NGC 22.11", "", "pytorch", "tuned"),
        ("MxNet NGC mxnet-20.12-py3", "", "mxnet", "tuned"),
        ("26.02 NeMo Container", "", "nemo", "tuned"),
        ("pytorch/composer FSDP", "", "llm-foundry", ""),
        ("lua torch7 cudnn 5005", "", "torch7", ""),
        ("", "", "pytorch", ""),
    ],
)
def test_software(version: str, variant: str, framework: str, levels: str) -> None:
    software = read_software(version, variant)
    assert software.framework == framework
    for level in ("channels_last", "compiled", "tuned"):
        assert getattr(software, level) == (level in levels)


def test_optimizers_looped_over_tensors_before_pytorch_2() -> None:
    assert read_software("pytorch 1.12 cu113", "").update_loop
    assert not read_software("pytorch 2.3.0a0+40ec155e58.nv24.03 cuda V12.4.99", "").update_loop


@pytest.mark.parametrize(
    ("written", "size", "length"),
    [
        ("224x224", 224, None),
        ("300x300 COCO", 300, None),
        ("seq 384", None, 384),
        ("tgt_len 192", None, 192),
        ("seq 8192 (torchtitan llama3 default)", None, 8192),
        ("WMT16 en-de variable len", None, None),
        ("COCO ~800x1333", None, None),
        ("", None, None),
    ],
)
def test_inputs(written: str, size: int | None, length: int | None) -> None:
    assert read_input(written) == (size, length)


def test_one_die_in_many_spellings() -> None:
    keys = {read_accelerator(name).key for name in ("A100 80GB", "A100 SXM 80GB", "NVIDIA A100-SXM4-80GB")}
    assert len(keys) == 1
    with pytest.raises(UnknownNameError):
        read_accelerator("??")


@pytest.mark.parametrize("name", ["resnet50", "ResNet-50", "ConvNets/resnet50v1.5", "RN50v1.5"])
def test_one_model_in_many_spellings(name: str) -> None:
    assert find_workload(name).name == "resnet50"


@pytest.mark.parametrize(
    ("columns", "rate"),
    [
        ({"samples_per_s": "1500"}, 1500.0),
        ({"samples_per_s": "", "step_time_ms": "200"}, 1280.0),
        ({"samples_per_s": "", "metric_median": "1500", "metric_unit": "images/s"}, 1500.0),
        ({"samples_per_s": "", "metric_median": "200", "metric_unit": "ms/iter"}, 1280.0),
        ({"samples_per_s": "", "metric_median": "0.2", "metric_unit": "s/step"}, 1280.0),
        ({"samples_per_s": "", "metric_median": "700", "metric_unit": "images/s/GPU", "n_gpus": "2"}, 1400.0),
    ],
)
def test_rates_in_every_unit(columns: dict[str, str], rate: float) -> None:
    assert read_measurement({**ROW, **columns}).samples_per_s == pytest.approx(rate)


def test_tokens_become_samples_by_the_sequence_length() -> None:
    row = {**ROW, "model": "bert-base", "input": "seq 384", "samples_per_s": "", "metric_median": "38400"}
    assert read_measurement({**row, "metric_unit": "tokens/s"}).samples_per_s == pytest.approx(100.0)
    assert read_measurement({**row, "metric_unit": "tokens/s(src+tgt)"}).samples_per_s == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"samples_per_s": ""}, "states no rate"),
        ({"samples_per_s": "", "metric_median": "3", "metric_unit": "s/run"}, "unit 's/run'"),
        ({"samples_per_s": "", "metric_median": "3", "metric_unit": "ms/iter", "batch_per_gpu": ""}, "without a batch"),
        ({"samples_per_s": "", "metric_median": "3", "metric_unit": "tokens/s"}, "without a sequence length"),
        ({"samples_per_s": "fast"}, "not a number"),
        ({"samples_per_s": "-3"}, "greater than 0"),
        ({"batch_per_gpu": "0"}, "at least 1"),
        ({"n_gpus": "many"}, "not a number"),
        ({"n_gpus": "8", "n_nodes": "3"}, "equal nodes"),
        ({"n_gpus": "1.5"}, "not a whole number"),
        ({"mode": "foo"}, "neither train nor infer"),
        ({"model": "no-such-model-xyz"}, "unknown model"),
        ({"gpu": "no such gpu"}, "unknown accelerator"),
        ({"precision": "fp64"}, "not modelled"),
    ],
)
def test_reasons(columns: dict[str, str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_measurement({**ROW, **columns})


def test_machines_have_their_usual_link_or_the_bridge_the_row_names() -> None:
    eight = read_measurement({**ROW, "n_gpus": "8"}).machine
    assert (eight.num_gpus, eight.num_nodes) == (8, 1)
    assert eight.link is not None
    assert eight.link.kind == "nvswitch"
    bridged = read_measurement({**ROW, "gpu": "RTX 2080 Ti", "n_gpus": "2", "variant": "NVLinksynthetic"}).machine
    assert bridged.link is not None
    assert bridged.link.kind == "nvlink_bridge"
    many = read_measurement({**ROW, "n_gpus": "64", "n_nodes": ""}).machine
    assert (many.num_gpus, many.num_nodes) == (8, 8)


def test_scope_and_optimizer() -> None:
    assert read_measurement({**ROW, "opt_step": "yes(SGD)"}).optimizer == "sgd"
    assert read_measurement({**ROW, "opt_step": "no"}).scope == "no_update"
    assert read_measurement({**ROW, "mode": "infer"}).scope == "forward"
    assert read_measurement(ROW).scope == "step"


@pytest.mark.parametrize(("batch", "name"), [("2", "nnunet-3d"), ("64", "nnunet-2d"), ("", "nnunet-2d")])
def test_nnunet_names_two_networks_told_apart_by_the_batch(batch: str, name: str) -> None:
    row = {**ROW, "model": "nnUNet", "input": "", "batch_per_gpu": batch}
    assert read_measurement(row).workload.name == name


@pytest.mark.parametrize(
    ("version", "gpu", "precision"),
    [
        ("tensorflow 2.3", "A100 SXM 40GB", "fp32-strict"),
        ("tensorflow 2.4", "A100 SXM 40GB", "fp32"),
        ("tensorflow 2.2", "V100 SXM 32GB", "fp32"),
        ("TensorFlow2 NGC ?", "A100 SXM 80GB", "tf32"),
        ("TensorFlow2 NGC ?", "V100 SXM 32GB", "fp32"),
    ],
)
def test_stock_tensorflow_has_tf32_from_2_4_on(version: str, gpu: str, precision: str) -> None:
    row = {**ROW, "framework_version": version, "gpu": gpu, "precision": "fp32"}
    assert read_measurement(row).precision == precision


@pytest.mark.parametrize(
    ("version", "gpu", "batch", "name"),
    [
        ("PyTorch NGC pytorch-20.06-py3", "A100 SXM 40GB", "32", "transformer-xl-base"),
        ("PyTorch NGC pytorch-20.06-py3", "A100 SXM 40GB", "16", "transformer-xl-large"),
        ("PyTorch NGC pytorch-20.06-py3", "V100 SXM 32GB", "16", "transformer-xl-base"),
        ("PyTorch NGC pytorch-20.06-py3", "V100 SXM 32GB", "8", "transformer-xl-large"),
        ("PyTorch NGC pytorch-20.06-py3", "V100 SXM 16GB", "16", "transformer-xl-base"),
        ("PyTorch NGC pytorch-20.06-py3", "V100 SXM 16GB", "4", "transformer-xl-large"),
        ("TensorFlow NGC tensorflow:20.06-tf1-py3", "A100 SXM 40GB", "16", "transformer-xl-base"),
    ],
)
def test_nvidias_transformer_xl_rows_are_of_two_networks(version: str, gpu: str, batch: str, name: str) -> None:
    """The README of its PyTorch example has a table each; that of TensorFlow has the base network alone."""
    row = {**ROW, "model": "Transformer-XL", "input": "", "framework_version": version, "gpu": gpu}
    assert read_measurement({**row, "batch_per_gpu": batch}).workload.name.partition("@")[0] == name


@pytest.mark.parametrize(
    ("version", "written", "tokens"),
    [
        ("PyTorch NGC ?", "seq 512", 288),
        ("PaddlePaddle NGC ?", "seq 512", 288),
        ("PyTorch NGC ?", "seq 128", 128),
        ("TensorFlow2 NGC ?", "seq 512", 512),
        ("pytorch 1.13", "seq 512", 512),
    ],
)
def test_nvidias_loaders_do_not_pad_to_512_tokens(version: str, written: str, tokens: int) -> None:
    row = {**ROW, "model": "BERT", "input": written, "framework_version": version, "batch_per_gpu": "32"}
    assert read_measurement(row).workload.seq_length == tokens


def test_nvidias_bert_rows_without_a_length_are_bert_large_on_squad() -> None:
    row = {**ROW, "model": "BERT", "input": "", "batch_per_gpu": "32", "samples_per_s": "110"}
    measurement = read_measurement(row)
    assert measurement.workload.name.startswith("bert-large")
    assert measurement.workload.seq_length == 384


@pytest.mark.parametrize(
    ("version", "lineage"),
    [("pytorch 1.4.0a0", "pytorch-cuda10"), ("pytorch 1.7.0a0", "pytorch-old"), ("pytorch 1.13.0a0", "pytorch")],
)
def test_releases_before_cuda_11_are_a_lineage_of_their_own(version: str, lineage: str) -> None:
    assert read_software(version, "").framework == lineage


@pytest.mark.parametrize(
    ("version", "variant", "gpu", "precision", "channels_last"),
    [
        ("tensorflow 2.3", "synthetic", "A100 SXM 40GB", "fp16(master fp32)", True),
        ("tensorflow 1.15", "synthetic", "RTX 3070", "fp16(master fp32)", True),
        ("tensorflow 2.2", "synthetic", "V100 SXM 32GB", "fp16(master fp32)", True),
        ("tensorflow 1.15", "synthetic", "V100 SXM 32GB", "fp16(master fp32)", False),
        ("tensorflow 2.2", "synthetic", "RTX 2080 Ti", "fp16(master fp32)", False),
        ("tensorflow 1.15", "XLAsynthetic", "RTX 2080 Ti", "fp16(master fp32)", True),
        ("tensorflow 2.2", "XLAsynthetic", "GTX 1080 Ti", "fp16(master fp32)", False),
        ("tensorflow 2.3", "XLAsynthetic", "A100 SXM 40GB", "fp32", False),
        ("pytorch 1.13.0a0", "", "A100 SXM 40GB", "amp-fp16", False),
        ("pytorch 1.13.0a0", "nhwc", "A100 SXM 40GB", "amp-fp16", True),
    ],
)
def test_tensorflow_changes_the_layout_of_2_byte_convolutions(
    version: str, variant: str, gpu: str, precision: str, channels_last: bool
) -> None:
    row = {**ROW, "framework_version": version, "variant": variant, "gpu": gpu, "precision": precision}
    assert read_measurement(row).software.channels_last == channels_last
