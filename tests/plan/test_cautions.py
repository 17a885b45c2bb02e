"""What is said of the rows one is likely to take, before it goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.accelerator import GIB
from planner.plan.cautions import cautions, cautions_of
from planner.plan.plan import Estimate

RESNET = resolve_experiment(ExperimentRequest("resnet50", epochs=90))


def _row(**changes: Any) -> Estimate:
    plain: dict[str, Any] = dict.fromkeys(Estimate._fields)
    plain |= {"rank": 1, "place": "workstation", "is_this_machine": False, "hypothetical": False, "name": "desk"}
    plain |= {"num_nodes": 1, "num_gpus": 1, "stack": "cuda", "flags": (), "bound_by": "compute"}
    plain |= {"accelerator": "RTX3090", "precision": "amp"}
    plain |= {"memory_required_bytes": 23.0 * GIB, "memory_available_bytes": 23.7 * GIB}
    return Estimate(**(plain | changes))


def _said(*rows: Estimate, recommended: int | None = 1) -> list[str]:
    return list(cautions(RESNET, rows, recommended))


def test_nothing_is_said_of_an_ordinary_row() -> None:
    assert _said(_row()) == []


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("memory_tight", "23.0 GiB of 23.7 GiB"),
        ("host_bound", "a faster GPU does not"),
        ("input_unknown", "the loader sets the pace"),
        ("network_unknown", "a slow one is assumed"),
        ("architecture_unmeasured", "nothing was measured on the architecture of"),
    ],
)
def test_a_flag_of_the_recommended_row_becomes_a_sentence(flag: str, words: str) -> None:
    (sentence,) = _said(_row(flags=(flag,)))
    assert words in sentence
    assert "desk" in sentence


def test_a_step_of_more_samples_than_are_known_to_help_is_said() -> None:
    """2,000 nodes of eight take 16,000 sequences a step where the model's source ends at 2,048."""
    (sentence,) = _said(_row(flags=("global_batch_above_useful",), global_batch_size=16_000))
    assert "16,000 samples" in sentence
    assert f"{RESNET.workload.max_global_batch_size:,}" in sentence


def test_a_row_one_is_unlikely_to_take_is_passed_over() -> None:
    assert _said(_row(), _row(rank=2, flags=("host_bound",))) == []
    assert _said(_row(flags=("host_bound",)), recommended=None) == []


def test_this_machine_is_named_beside_the_recommended_row() -> None:
    here = _row(rank=7, is_this_machine=True, flags=("host_bound",))
    (sentence,) = _said(_row(flags=("host_bound",)), here)
    assert "desk and this machine" in sentence


def test_the_release_of_pytorch_matters_on_early_apple() -> None:
    assert "PyTorch up to 2.2" in _said(_row(precision="fp32", accelerator="M1-Max-32c"))[0]
    assert _said(_row(precision="fp32", accelerator="M4-Max-40c")) == []


def test_spilling_is_said_of_machines_that_have_a_desktop() -> None:
    assert "20 to 160 times slower" in _said(_row(flags=("memory_tight",)))[0]
    (rented,) = _said(_row(flags=("memory_tight",), place="cloud", provider="aws", instance_type="g5.xlarge"))
    assert "Windows" not in rented
    assert "second step" in rented


def test_nodes_that_wait_for_their_network_are_named() -> None:
    waiting = _row(num_nodes=2, bound_by="communication")
    assert "further nodes" in _said(waiting)[0]
    assert _said(waiting._replace(num_nodes=1)) == []


def test_accumulation_and_whole_volumes_are_said_of_the_experiment() -> None:
    accumulated = RESNET._replace(grad_accum_steps=40)
    (sentence,) = cautions_of(accumulated)
    assert "40 times as long" in sentence
    volumes = RESNET._replace(workload=RESNET.workload._replace(task="volume segmentation"))
    (sentence,) = cautions_of(volumes)
    assert "validation" in sentence


@pytest.mark.parametrize(
    ("model", "data", "advice"),
    [
        ("resnet18", "cifar10", "--img-size 32 trains them as they are"),
        ("vgg16", "mnist", "--img-size 32 is nearer"),
        ("vit_b_16", "cifar100", "enlarged to 224 x 224 here"),
    ],
)
def test_small_images_on_a_model_of_large_ones_are_said_with_the_flag(model: str, data: str, advice: str) -> None:
    enlarged = resolve_experiment(ExperimentRequest(model, dataset=data, epochs=1))
    (sentence,) = cautions_of(enlarged)
    assert sentence.endswith(advice)
    asked = resolve_experiment(ExperimentRequest(model, dataset=data, epochs=1, image_size=224))
    assert list(cautions_of(asked)) == []


def test_images_of_the_models_size_are_not_spoken_of() -> None:
    own = resolve_experiment(ExperimentRequest("resnet18-cifar", dataset="cifar10", epochs=1))
    assert list(cautions_of(own)) == []


def _of(model: str, **said: Any) -> list[str]:
    return list(cautions_of(resolve_experiment(ExperimentRequest(model, **said))))


def test_instructions_that_are_shorter_than_their_sequence_are_said_to_be() -> None:
    (sentence,) = _of("llama-3-8b", dataset="alpaca")
    assert "alpaca is counted as a sequence of 2,048 tokens (its median has 110)" in sentence
    assert _of("llama-3-8b", dataset="alpaca", seq_length=256) == []
    (unknown,) = _of("llama-3-8b", dataset="dolly", epochs=1)
    assert "dolly-15k is counted as a sequence of 2,048 tokens: say --seq-length" in unknown
    assert _of("llama-3-8b", dataset="fineweb", epochs=1) == []


def test_a_fine_tuned_head_on_pretraining_data_points_to_the_model_that_is_pretrained() -> None:
    (sentence,) = _of("bert-large", dataset="wikipedia", epochs=1)
    assert "bert-large is question answering" in sentence
    assert sentence.endswith("wikipedia is for pretraining: -m bert-large-pretraining")
    (alone,) = _of("roberta-base", dataset="openwebtext", epochs=1)
    assert alone.endswith("openwebtext is for pretraining")
    assert _of("bert-large-pretraining") == []
    assert _of("bert-large", dataset="squad") == []
