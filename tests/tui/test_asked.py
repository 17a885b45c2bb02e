"""The form as a question: it asks what its command line asks."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cli.commands import build_parser
from planner.cli.options import experiment_request
from planner.cli.options import question as command_question
from planner.errors import InputError, UnknownNameError
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.tui.asked import (
    FieldError,
    changed_words,
    command_line,
    faults,
    field_of,
    parse_levers,
    question,
    request,
    with_changes,
)
from planner.tui.core import LiveCore
from tests.tui.samples import NOW

TEXTS = {
    "model": st.sampled_from(["resnet50", "bert-large"]),
    "dataset": st.sampled_from(["", "imagenet"]),
    "epochs": st.sampled_from(["", "90", "2.5", "300M tokens", "5000 steps", "1 step"]),
    "size": st.sampled_from(["", "256"]),
    "batch": st.sampled_from(["", "64"]),
    "global": st.sampled_from(["", "1024"]),
    "precision": st.sampled_from(["", "bf16"]),
    "optimizer": st.sampled_from(["", "adamw"]),
    "levers": st.lists(st.sampled_from(["nhwc", "compile", "tuned", "ckpt", "zero2", "lora16", "4bit", "accum4"])).map(
        " ".join
    ),
    "measured": st.sampled_from(["", "RTX 3090=812", "RTX 3090=812; A100:8=9800,b128"]),
    "country": st.sampled_from(["", "DE"]),
    "where": st.sampled_from(["", "any", "cloud", "laptop, cloud"]),
    "gpus": st.sampled_from(["", "H100:8", "80GB+:8"]),
    "nodes": st.sampled_from(["", "2"]),
    "region": st.sampled_from(["", "us-*"]),
    "buy": st.sampled_from(["", "any", "spot", "on-demand", "o-d"]),
    "max_price": st.sampled_from(["", "none", "30"]),
    "deadline": st.sampled_from(["", "24h", "Tue 18:00"]),
    "budget": st.sampled_from(["", "60"]),
    "sure": st.sampled_from(["", "80", "99.5"]),
    "hour_value": st.sampled_from(["", "0", "12"]),
}


@given(st.fixed_dictionaries(TEXTS), st.sampled_from(["value", "cost", "time"]))
def test_the_command_line_asks_the_same(values: dict[str, str], sort: str) -> None:
    line = command_line(values, sort)  # type: ignore[arg-type]
    program, *words = shlex.split(line)
    arguments = build_parser("estimate").parse_args(words)
    assert program == "gpuplanner"
    assert experiment_request(arguments) == request(values)
    assert command_question(arguments, NOW) == question(values, NOW, sort)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("epochs", "soon"),
        ("epochs", "5 parsecs"),
        ("batch", "many"),
        ("levers", "fast"),
        ("levers", "zero"),
        ("nodes", "0"),
        ("buy", "gift"),
        ("max_price", "-1"),
        ("deadline", "yesterday"),
        ("budget", "all"),
        ("sure", "100"),
        ("size", "large"),
        ("global", "some"),
        ("hour_value", "-2"),
    ],
)
def test_a_text_that_cannot_be_used_names_its_field(key: str, text: str) -> None:
    values = {"model": "resnet50", key: text}
    with pytest.raises(FieldError) as caught:
        _ = request(values), question(values, NOW)
    assert field_of(caught.value, values) == key


def test_every_fault_of_the_form_is_found() -> None:
    values = {"model": "resnet50", "dataset": "squad", "nodes": "0", "budget": "all", "epochs": "3"}
    error = InputError("the data set squad is text; resnet50 takes images")
    found = faults(error, values, NOW)
    assert list(found) == ["dataset", "nodes", "budget"]
    assert found["dataset"] == str(error)
    assert found["nodes"] == "expected 1 to 10,000 machines, not 0"


def test_names_that_the_planner_does_not_know_name_their_field() -> None:
    with pytest.raises(UnknownNameError) as caught:
        resolve_experiment(request({"model": "resnet5O"}))
    assert field_of(caught.value, {}) == "model"
    assert field_of(InputError("anything else"), {}) is None


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"global": "7", "batch": "2"}, "global"),
        ({"size": "7"}, "size"),
        ({"size": "13"}, "size"),
        ({"model": "nowhere/model.onnx"}, "model"),
        ({"model": "train.py:modle"}, "model"),
        ({"levers": "lora16"}, "levers"),
        ({"dataset": "squad"}, "dataset"),
        ({"epochs": "300M tokens"}, "epochs"),
    ],
)
def test_a_contradiction_is_laid_at_the_field_it_speaks_of(values: dict[str, str], key: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_experiment(request({"model": "resnet50", **values}))
    assert field_of(caught.value, values) == key


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"measured": "foo=3"}, "measured"),
        ({"gpus": "foo", "measured": "RTX 3090=812"}, "gpus"),
        ({"gpus": "H100:0"}, "gpus"),
        ({"measured": "RTX 3090=-1"}, "measured"),
        ({"where": "mars"}, "where"),
        ({"region": "us-nowhere-9"}, "region"),
        ({"country": "ZZ"}, "country"),
    ],
)
def test_what_only_the_answer_finds_out_is_laid_at_its_field(values: dict[str, str], key: str) -> None:
    with pytest.raises(InputError) as caught:
        LiveCore(lambda: NOW).ask({"model": "resnet50", **values}, "value")
    assert field_of(caught.value, values) == key


def test_the_size_is_pixels_or_tokens_as_the_model_takes() -> None:
    assert request({"model": "resnet50", "size": "256"}).image_size == 256
    assert request({"model": "bert-large", "size": "256"}).seq_length == 256
    assert "--seq-length 256" in command_line({"model": "bert-large", "size": "256"})


@pytest.mark.parametrize("words", ["", "nhwc", "compile ckpt zero3", "tuned lora8 4bit accum2"])
def test_levers_are_written_as_they_are_read(words: str) -> None:
    assert parse_levers(words).words() == words


def test_four_bits_a_weight_go_into_the_form() -> None:
    base = resolve_experiment(ExperimentRequest("llama-3-8b", tokens=1e6, lora_rank=16))
    values = {"model": "llama-3-8b", "levers": "lora16"}
    changed = with_changes(values, base, base._replace(four_bit_weights=True, optimizer="adamw8bit"))
    assert changed["levers"] == "lora16 4bit"
    assert request(changed).four_bit_weights
    assert changed_words(values, changed) == "4bit optimizer adamw8bit"


def test_a_lever_goes_into_the_form() -> None:
    base = resolve_experiment(ExperimentRequest("resnet50", epochs=90, channels_last=True))
    changed = base._replace(precision="bf16-pure", optimizer="adamw", batch_size_per_gpu=128, grad_accum_steps=2)
    values = with_changes({"model": "resnet50", "levers": "nhwc"}, base, changed)
    assert values == {
        "model": "resnet50",
        "precision": "bf16-pure",
        "optimizer": "adamw",
        "batch": "128",
        "levers": "nhwc accum2",
    }
