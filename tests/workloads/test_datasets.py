"""The table of data sets: integrity, spot values, spellings, and what one epoch means to a model of sequences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import UnknownNameError
from planner.workloads.catalog import model_index
from planner.workloads.datasets import dataset, datasets

DECODE_CLASSES = {"none", "text", "jpeg", "audio", "volume"}


def test_names_are_sorted_and_unique() -> None:
    names = [data.name for data in datasets()]
    assert names == sorted(set(names))
    assert len(names) >= 50


def test_every_row_is_sound() -> None:
    for data in datasets():
        assert data.samples > 0, data.name
        assert data.validation_samples is None or data.validation_samples > 0, data.name
        assert data.decode in DECODE_CLASSES, data.name
        assert data.usual_epochs is None or 0 < data.usual_epochs < 5000, data.name
        assert all((data.title, data.task, len(data.source) > 10)), data.name


def test_every_figure_was_read_somewhere() -> None:
    for data in datasets():
        assert "memory" not in data.source, data.name
        assert any(character.isdigit() for character in data.source) or "/" in data.source, data.name


@pytest.mark.parametrize(
    ("name", "documents", "tokens", "passes"),
    [
        ("openwebtext", 8_013_769, 9_035_582_198, 600_000 * 491_520 / 9_035_582_198),
        ("pile", 210_607_728, 334_000_000_000, 299_892_736_000 / 334e9),
        ("c4", 364_868_892, 156_000_000_000, 1),
        ("fineweb-10b", 14_868_862, 10_371_489_838, 1),
        ("wikitext-103", 28_475, 103_227_021, 40_000 * 256 * 192 / 103_227_021),
    ],
)
def test_published_corpora(name: str, documents: int, tokens: int, passes: float) -> None:
    data = dataset(name)
    assert (data.samples, data.tokens) == (documents, tokens)
    assert data.usual_epochs == pytest.approx(passes, rel=5e-3)


def test_text_is_a_few_bytes_a_token_and_a_document_many_tokens() -> None:
    for data in datasets():
        if data.tokens is not None:
            assert data.task == "language modelling", data.name
            assert data.decode == "text", data.name
            assert data.tokens / data.samples > 10, data.name
            assert data.bytes is None or 1 < data.bytes / data.tokens < 10, data.name


def test_images_are_kilobytes() -> None:
    for data in datasets():
        if data.decode == "jpeg" and data.bytes is not None:
            assert 1e3 < data.bytes / data.samples < 2e6, data.name


def test_every_default_data_set_of_the_zoo_is_known() -> None:
    for model in model_index():
        if model.default_dataset is not None:
            assert dataset(model.default_dataset).name == model.default_dataset


@pytest.mark.parametrize(
    ("name", "samples", "validation", "epochs", "decode"),
    [
        ("imagenet", 1_281_167, 50_000, 90, "jpeg"),
        ("cifar10", 50_000, 10_000, 200, "none"),
        ("mnist", 60_000, 10_000, 14, "none"),
        ("coco", 118_287, 5_000, 12, "jpeg"),
        ("squad", 87_599, 10_570, 3, "text"),
        ("librispeech", 281_241, 5_567, 440, "audio"),
        ("kits19", 168, 42, 2976, "volume"),
        ("alpaca", 52_002, None, 3, "text"),
    ],
)
def test_published_sizes(name: str, samples: int, validation: int | None, epochs: float, decode: str) -> None:
    data = dataset(name)
    assert (data.samples, data.validation_samples, data.usual_epochs, data.decode) == (
        samples,
        validation,
        epochs,
        decode,
    )


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("ImageNet-1k", "imagenet"), ("imagenet1k", "imagenet"), ("ILSVRC2012", "imagenet"),
        ("ilsvrc 2012", "imagenet"),
        ("imagenet-22k", "imagenet-21k"), ("CIFAR-10", "cifar10"), ("cifar_100", "cifar100"),
        ("wikitext103", "wikitext-103"), ("SQuAD-v1.1", "squad"), ("SQuAD 2.0", "squad-v2"), ("ml20m", "ml-20m"),
        ("movielens", "ml-20m"), ("MS COCO", "coco"), ("bookcorpus+wikipedia", "wikipedia-bookcorpus"),
        ("WMT16", "wmt16-en-de"), ("The Pile", "pile"), ("fineweb-10BT", "fineweb-10b"),
        ("laion-5b subset", "laion-aesthetics"),
    ],
)  # fmt: skip
def test_other_spellings(spelling: str, name: str) -> None:
    assert dataset(spelling).name == name


@given(st.sampled_from([data.name for data in datasets()]), st.sampled_from(["", " ", "-", "_"]))
def test_case_and_punctuation_do_not_matter(name: str, joint: str) -> None:
    assert dataset(joint + name.upper().replace("-", joint)).name == name


def test_no_two_data_sets_share_a_spelling() -> None:
    from planner.workloads.catalog import fold
    from planner.workloads.datasets import _rows

    owner: dict[str, str] = {}
    for row in _rows():
        for spelling in {fold(text) for text in (row["name"], *row["aliases"].split(";")) if text}:
            assert owner.setdefault(spelling, row["name"]) == row["name"], spelling


def test_a_wrong_name_gets_each_near_miss_once() -> None:
    with pytest.raises(UnknownNameError) as caught:
        dataset("imagenet1")
    assert caught.value.kind == "data set"
    assert caught.value.suggestions[0] == "imagenet"
    assert len(set(caught.value.suggestions)) == len(caught.value.suggestions)
    with pytest.raises(UnknownNameError, match="gpuplanner datasets"):
        dataset("")


def test_a_corpus_is_cut_into_sequences() -> None:
    corpus = dataset("openwebtext")
    assert corpus.tokens is not None
    assert corpus.samples_for(1024) == pytest.approx(corpus.tokens / 1024)
    assert corpus.samples_for(10**12) == 1
    assert corpus.samples_for(None) == corpus.samples


@pytest.mark.parametrize("name", ["squad", "glue", "wmt16-en-de", "alpaca", "cnn-dailymail", "imagenet"])
def test_questions_pairs_and_images_are_counted(name: str) -> None:
    assert dataset(name).samples_for(384) == dataset(name).samples
