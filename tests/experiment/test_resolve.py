"""From what was said to a complete experiment: defaults are told, work is counted once, nonsense is one sentence."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError, UnknownNameError
from planner.experiment import resolve
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, describe, resolve_experiment
from planner.workloads.catalog import load_workload
from planner.workloads.datasets import dataset

IMAGES = 1_281_167


def resolved(model: str = "resnet50", **said: Any) -> Experiment:
    return resolve_experiment(ExperimentRequest(model, **said))


def assumption(experiment: Experiment, words: str) -> str:
    (line,) = [line for line in experiment.assumptions if words in line]
    return line


class TestDefaults:
    def test_every_default_taken_is_said(self) -> None:
        experiment = resolved()
        assert experiment.dataset == dataset("imagenet")
        assert (experiment.epochs, experiment.precision, experiment.optimizer) == (90, "amp", "sgd")
        assert experiment.total_samples == 90 * IMAGES
        assert "imagenet (-d" in assumption(experiment, "data set")
        assert "usual recipe on imagenet" in assumption(experiment, "90 epochs")
        assert "--precision" in assumption(experiment, "autocast")
        assert "--optimizer" in assumption(experiment, "optimizer sgd")
        assert "8,192 in all" in assumption(experiment, "batch 256 per GPU")
        assert "--tuned" in assumption(experiment, "ordinary eager PyTorch")

    @pytest.mark.parametrize(("model", "epochs", "words"), [
        ("yolov8n", 100, "100 epochs, the usual recipe of yolo on coco (-e)"),
        ("ssd300", 65, "65 epochs, the usual recipe of ssd on coco (-e)"),
        ("whisper-small", 1.14, "1.14 epochs, the usual recipe of whisper on librispeech (-e)"),
        ("faster-rcnn-r50-fpn", 12, "12 epochs, the usual recipe on coco, whatever the model (-e)"),
    ])  # fmt: skip
    def test_epochs_are_the_familys_where_that_is_known(self, model: str, epochs: float, words: str) -> None:
        experiment = resolve_experiment(ExperimentRequest(model))
        assert experiment.epochs == epochs
        assert assumption(experiment, "epochs, ") == words

    def test_what_was_said_is_not_assumed(self) -> None:
        experiment = resolved(
            dataset="ImageNet-1k",
            epochs=3.0,
            precision="bf16",
            optimizer="adamw",
            batch_size_per_gpu=64,
            compiled=True,
            image_size=224,
        )
        assert experiment.assumptions == ()
        assert experiment.precision == "bf16"
        assert experiment.optimizer == "adamw"
        assert experiment.batch_size_per_gpu == 64
        assert experiment.compiled

    @pytest.mark.parametrize("flag", ["channels_last", "compiled", "tuned"])
    def test_any_software_flag_silences_the_line_on_software(self, flag: str) -> None:
        assert not any("eager" in line for line in resolved("resnet50", **{flag: True}).assumptions)

    def test_flags_are_carried_over(self) -> None:
        experiment = resolved(grad_checkpointing=True, zero_stage=2, workers=0, grad_accum_steps=4, channels_last=True)
        assert experiment.grad_checkpointing
        assert experiment.channels_last
        assert (experiment.zero_stage, experiment.workers) == (2, 0)
        assert experiment.grad_accum_steps == 4

    def test_a_vendor_script_is_not_compiled_as_well(self) -> None:
        with pytest.raises(InputError, match="give it or --compile"):
            resolved(compiled=True, tuned=True)

    def test_what_a_model_has_no_use_for_is_refused(self) -> None:
        with pytest.raises(InputError, match="--lora-rank is for transformers"):
            resolved(lora_rank=8)
        with pytest.raises(InputError, match=r"squad is text; resnet50 takes images, such as imagenet, \w+ or \w+$"):
            resolved(dataset="squad")
        fitting = r"imagenet is images; bert-base takes sequences of tokens, such as \w+, \w+ or c4$"
        with pytest.raises(InputError, match=fitting):
            resolve_experiment(ExperimentRequest("bert-base", dataset="imagenet", epochs=1))
        adapted = resolve_experiment(ExperimentRequest("bert-base", dataset="squad", epochs=1, lora_rank=8))
        assert adapted.lora_rank == 8
        assert any("every matrix product but the output layer's" in text for text in adapted.assumptions)

    def test_a_model_by_numbers_tells_nothing_of_adapters(self) -> None:
        numbers: dict[str, Any] = {"parameters": 7e9, "flops_per_sample": 2e13, "activation_bytes": 1e10}
        adapted = resolve_experiment(ExperimentRequest("", tokens=1e9, seq_length=1024, lora_rank=16, **numbers))
        assert any("tells no widths" in text for text in adapted.assumptions)

    def test_offload_works_with_the_zero_stage_that_it_needs(self) -> None:
        kept = resolved(zero_stage=1, offload="all")
        assert (kept.zero_stage, kept.sharding_stage) == (1, 3)
        assert resolved(zero_stage=3, offload="optimizer").sharding_stage == 3
        assert resolved(zero_stage=1).sharding_stage == 1
        with pytest.raises(UnknownNameError, match="known are optimizer, all"):
            resolved(offload="disk")

    def test_what_a_record_leaves_out_is_an_assumption(self) -> None:
        request = ExperimentRequest("stable-diffusion-xl", steps=10)
        assert any("the image and text encoders are not in it" in a for a in resolve_experiment(request).assumptions)

    def test_four_bit_weights_need_adapters(self) -> None:
        with pytest.raises(InputError, match="--load-in-4bit is for frozen weights"):
            resolve_experiment(ExperimentRequest("bert-base", dataset="squad", epochs=1, four_bit_weights=True))
        request = ExperimentRequest("bert-base", dataset="squad", epochs=1, lora_rank=8, four_bit_weights=True)
        assert resolve_experiment(request).four_bit_weights

    def test_vision_transformers_take_adapters(self) -> None:
        assert resolve_experiment(ExperimentRequest("vit_base_patch16_224", epochs=1, lora_rank=8)).lora_rank == 8

    def test_precision_and_optimizer_as_people_write_them(self) -> None:
        experiment = resolved(precision=" BF16_pure", optimizer="AdamW")
        assert (experiment.precision, experiment.optimizer) == ("bf16-pure", "adamw")


class TestWork:
    def test_samples_of_ones_own(self) -> None:
        experiment = resolved(samples=5000.0, epochs=4.0)
        assert experiment.dataset is None
        assert (experiment.samples_per_epoch, experiment.total_samples) == (5000, 20_000)

    def test_samples_need_a_length_of_training(self) -> None:
        with pytest.raises(InputError, match="say how long to train"):
            resolved(samples=5000.0)

    def test_a_data_set_without_a_usual_recipe_needs_epochs(self) -> None:
        assert dataset("food101").usual_epochs is None
        with pytest.raises(InputError, match="say how long to train"):
            resolved(dataset="food101")
        assert resolved(dataset="food101", epochs=2.0).total_samples == 2 * 75_750

    def test_a_corpus_is_counted_in_sequences(self) -> None:
        experiment = resolved("gpt2", epochs=1.0)
        corpus = dataset("openwebtext")
        assert corpus.tokens is not None
        assert experiment.samples_per_epoch == pytest.approx(corpus.tokens / 1024)

    def test_pretraining_on_text_to_text_counts_sequences_too(self) -> None:
        corpus = dataset("c4")
        assert corpus.tokens is not None
        assert resolved("t5-base", epochs=1.0).samples_per_epoch == pytest.approx(corpus.tokens / 512)

    @pytest.mark.parametrize(("model", "data"), [("bert-base", "squad"), ("gpt2", "alpaca"), ("t5-base", "wmt16")])
    def test_questions_and_pairs_are_counted_as_they_are(self, model: str, data: str) -> None:
        assert resolved(model, dataset=data, epochs=1.0).samples_per_epoch == dataset(data).samples

    @given(st.floats(1e3, 1e13))
    def test_tokens_are_the_whole_work(self, tokens: float) -> None:
        experiment = resolved("gpt2", tokens=tokens)
        assert experiment.total_samples * 1024 == pytest.approx(tokens)
        assert experiment.epochs * experiment.samples_per_epoch == pytest.approx(experiment.total_samples)

    def test_tokens_follow_the_sequence_length(self) -> None:
        assert resolved("gpt2", tokens=1e9, seq_length=512).total_samples == pytest.approx(1e9 / 512)

    def test_images_have_no_tokens(self) -> None:
        with pytest.raises(InputError, match="--tokens is for models of token sequences; resnet50 takes images"):
            resolved(tokens=1e9)

    def test_steps_of_a_global_batch(self) -> None:
        experiment = resolved(steps=1000.0, global_batch_size=1024)
        assert experiment.total_samples == 1_024_000
        assert experiment.epochs == pytest.approx(1_024_000 / IMAGES)
        assert not any("a step of --steps" in line for line in experiment.assumptions)

    @pytest.mark.parametrize(
        ("said", "batch"),
        [({}, 256), ({"batch_size_per_gpu": 32}, 32), ({"batch_size_per_gpu": 32, "grad_accum_steps": 4}, 128)],
    )
    def test_steps_of_one_gpus_batch_are_said(self, said: dict[str, Any], batch: int) -> None:
        experiment = resolved(steps=10.0, **said)
        assert experiment.total_samples == 10 * batch
        assert "fix it with --global-batch-size" in assumption(experiment, f"a step of --steps is {batch} samples")

    @pytest.mark.parametrize("amount", [{"steps": 10.0}, {"tokens": 1e6}])
    def test_without_a_data_set_the_work_is_one_epoch(
        self, monkeypatch: pytest.MonkeyPatch, amount: dict[str, Any]
    ) -> None:
        gpt2 = load_workload("gpt2")._replace(default_dataset=None)
        monkeypatch.setattr(resolve, "load_workload", lambda name, seq_length: gpt2)
        experiment = resolved("gpt2", **amount)
        assert experiment.dataset is None
        assert experiment.epochs == 1
        assert experiment.samples_per_epoch == experiment.total_samples

    def test_a_model_without_a_data_set_needs_an_amount(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpt2 = load_workload("gpt2")._replace(default_dataset=None)
        monkeypatch.setattr(resolve, "load_workload", lambda name, seq_length: gpt2)
        with pytest.raises(InputError, match="gpt2 has no default data set"):
            resolved("gpt2", epochs=1.0)

    def test_resuming_leaves_the_rest(self) -> None:
        experiment = resolved(epochs=90.0, resume_epoch=30.0)
        assert (experiment.epochs, experiment.resume_epoch) == (90, 30)
        assert experiment.total_samples == 60 * IMAGES

    @pytest.mark.parametrize("done", [90.0, 91.0])
    def test_nothing_left_to_train(self, done: float) -> None:
        with pytest.raises(InputError, match="leaves nothing to train of 90 epochs"):
            resolved(epochs=90.0, resume_epoch=done)


class TestSize:
    def test_a_length_as_recorded_changes_nothing(self) -> None:
        assert resolved("gpt2", seq_length=1024, epochs=1.0).workload == load_workload("gpt2")

    def test_another_length(self) -> None:
        assert resolved("gpt2", seq_length=512, epochs=1.0).workload.seq_length == 512

    def test_an_image_size_as_recorded_changes_nothing(self) -> None:
        assert resolved(image_size=224).workload == load_workload("resnet50")

    def test_an_image_size_far_from_every_record_is_refused(self) -> None:
        with pytest.raises(InputError, match="known at image size"):
            resolved(image_size=8192)

    def test_sizes_of_the_wrong_kind_are_refused(self) -> None:
        with pytest.raises(InputError, match="--seq-length does not apply"):
            resolved(seq_length=128)
        with pytest.raises(InputError, match="--img-size does not apply"):
            resolved("gpt2", image_size=224)


class TestRefusals:
    @pytest.mark.parametrize(
        ("said", "message"),
        [
            ({"epochs": 1.0, "tokens": 1e9}, "--epochs and --tokens contradict"),
            ({"epochs": 1.0, "steps": 10.0}, "--epochs and --steps contradict"),
            ({"tokens": 1e9, "steps": 10.0}, "--tokens and --steps contradict"),
            ({"dataset": "imagenet", "samples": 10.0}, "--dataset and --samples contradict"),
            ({"epochs": 90.0, "tries": 2, "pilot_epochs": 500.0}, "--pilot-epochs 500 is longer than the run"),
            ({"steps": 10.0, "tries": 2, "pilot_epochs": 1.0}, "--pilot-epochs 1 is longer than the run"),
            ({"resume_epoch": 3.0}, "--resume-epoch needs --epochs"),
            ({"batch_size_per_gpu": 48, "global_batch_size": 100}, "100 is not a multiple of --batch-size 48$"),
            (
                {"batch_size_per_gpu": 32, "grad_accum_steps": 3, "global_batch_size": 128},
                "128 is not a multiple of --batch-size 32 x --grad-accum-steps 3",
            ),
        ],
    )
    def test_contradictions(self, said: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            resolved(**said)

    def test_a_global_batch_in_whole_batches_is_taken(self) -> None:
        experiment = resolved(batch_size_per_gpu=32, grad_accum_steps=2, global_batch_size=256)
        assert (experiment.batch_size_per_gpu, experiment.global_batch_size) == (32, 256)
        assert not any("batch" in line for line in experiment.assumptions)

    @pytest.mark.parametrize(
        ("field", "value", "flag"),
        [
            ("epochs", 0.0, "--epochs must be greater than 0"),
            ("epochs", -1.0, "--epochs"),
            ("epochs", math.nan, "--epochs"),
            ("epochs", math.inf, "--epochs"),
            ("samples", 0.0, "--samples"),
            ("tokens", 0.0, "--tokens"),
            ("steps", -5.0, "--steps"),
            ("batch_size_per_gpu", 0, "--batch-size must be at least 1"),
            ("global_batch_size", 1 << 25, "--global-batch-size"),
            ("grad_accum_steps", 0, "--grad-accum-steps"),
            ("image_size", 4, "--img-size"),
            ("seq_length", 0, "--seq-length"),
            ("lora_rank", 0, "--lora-rank"),
            ("zero_stage", 4, "--zero"),
            ("tensor_parallel", 0, "--tensor-parallel"),
            ("pipeline_parallel", 5000, "--pipeline-parallel"),
            ("workers", -1, "--workers"),
            ("resume_epoch", -1.0, "--resume-epoch"),
        ],
    )
    def test_numbers_out_of_range(self, field: str, value: Any, flag: str) -> None:
        with pytest.raises(InputError, match=flag):
            resolved(**{field: value})

    @pytest.mark.parametrize(
        ("said", "kind", "suggestion"),
        [
            ({"model": "resnet5O"}, "model", "resnet50"),
            ({"dataset": "imagnet"}, "data set", "imagenet"),
            ({"precision": "fp61"}, "precision", "fp16"),
            ({"optimizer": "adamm"}, "optimizer", "adam"),
        ],
    )
    def test_wrong_names_get_near_misses(self, said: dict[str, str], kind: str, suggestion: str) -> None:
        with pytest.raises(UnknownNameError) as caught:
            resolved(**{"model": "resnet50", **said})
        assert caught.value.kind == kind
        assert suggestion in caught.value.suggestions


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"epochs": 90.0}, "resnet50 · imagenet · 90 epochs · amp"),
        ({"epochs": 1.0, "precision": "bf16"}, "resnet50 · imagenet · 1 epoch · bf16"),
        ({"epochs": 2.5, "samples": 5000.0}, "resnet50 · 5k samples · 2.5 epochs · amp"),
        ({"steps": 1000.0, "batch_size_per_gpu": 100}, "resnet50 · imagenet · 100k samples seen · amp"),
        ({"model": "llama-3-8b", "tokens": 1e9}, "llama-3-8b · fineweb-10b · 1B tokens · amp"),
    ],
)
def test_one_line(said: dict[str, Any], line: str) -> None:
    assert describe(resolved(**said)) == line
