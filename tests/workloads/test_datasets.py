"""The shipped data sets: complete, sourced, found by the names people use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import UnknownNameError
from planner.workloads.datasets import TOKEN_STREAM, dataset, datasets

WANTED = (
    "imagenet", "imagenet-21k", "cifar10", "cifar100", "mnist", "coco", "voc", "ade20k", "kits19", "celeba", "ffhq",
    "laion-aesthetics", "squad", "glue", "wikitext-103", "wmt14-en-de", "wmt16-en-de", "wikipedia-bookcorpus",
    "openwebtext", "c4", "pile", "fineweb-10b", "slimpajama", "alpaca", "librispeech", "ljspeech", "ml-20m", "criteo",
    "ogbn-products",
)  # fmt: skip

# Training samples as the data sets' own pages state them.
SAMPLES = {
    "imagenet": 1_281_167,
    "cifar10": 50_000,
    "cifar100": 50_000,
    "mnist": 60_000,
    "coco": 118_287,
    "squad": 87_599,
    "alpaca": 52_002,
    "librispeech": 281_241,
    "ljspeech": 13_100,
    "celeba": 162_770,
    "ffhq": 70_000,
    "ade20k": 20_210,
}


@pytest.mark.parametrize("name", WANTED)
def test_every_wanted_data_set_is_there(name: str) -> None:
    assert dataset(name).name == name


@pytest.mark.parametrize(("name", "samples"), SAMPLES.items())
def test_samples_are_the_published_ones(name: str, samples: int) -> None:
    assert dataset(name).samples == samples


def test_imagenet_in_full() -> None:
    imagenet = dataset("imagenet")
    assert imagenet.validation_samples == 50_000
    assert imagenet.bytes == pytest.approx(146e9, rel=0.02)
    assert imagenet.decode == "jpeg"
    assert imagenet.usual_epochs == 90


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("imagenet1k", "imagenet"),
        ("ILSVRC2012", "imagenet"),
        ("ImageNet-1k", "imagenet"),
        ("CIFAR-10", "cifar10"),
        ("coco2017", "coco"),
        ("movielens", "ml-20m"),
        ("wikitext103", "wikitext-103"),
        ("allenai/c4", "c4"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert dataset(spelling).name == name


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UnknownNameError) as refused:
        dataset("imagnet")
    assert "imagenet" in refused.value.suggestions


@given(st.text())
def test_any_text_is_found_or_refused(name: str) -> None:
    try:
        found = dataset(name).name
    except UnknownNameError as refused:
        found = refused.name
    assert found == name or dataset(found).name == found


def test_every_row_is_possible_and_sourced() -> None:
    for data in datasets():
        assert data.source, data.name
        assert data.samples > 0
        assert data.decode in ("none", "text", "jpeg", "audio", "volume")
        for amount in (data.validation_samples, data.bytes, data.tokens, data.usual_epochs):
            assert amount is None or amount > 0, data.name


def test_names_are_sorted_and_unique() -> None:
    names = [data.name for data in datasets()]
    assert names == sorted(set(names))


def test_a_corpus_is_cut_into_sequences() -> None:
    corpus = dataset("openwebtext")
    assert corpus.task == TOKEN_STREAM
    assert corpus.tokens is not None
    assert corpus.samples_for(1024) == pytest.approx(corpus.tokens / 1024)


def test_questions_stay_samples_whatever_their_length() -> None:
    assert dataset("squad").samples_for(384) == 87_599
    assert dataset("imagenet").samples_for(None) == 1_281_167
