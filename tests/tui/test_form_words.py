"""The planner's flags as the form's words."""

from __future__ import annotations

import pytest

from planner.tui.form_words import in_form
from planner.tui.theme import DARK
from planner.tui.widgets.why_pane import caution_words, why_lines
from tests.tui.samples import sample_plan


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("data set imagenet (-d, --samples)", "data set imagenet (dataset in the form)"),
        (
            "not compiled (--channels-last, --compile, --tuned)",
            "not compiled (levers nhwc compile tuned in the form)",
        ),
        ("30 cents (--country, --electricity-price)", "30 cents (country in the form)"),
        ("with --num-nodes 4 --zero 3 --grad-ckpt it takes 18h", "with nodes 4 zero3 ckpt it takes 18h"),
        ("with --offload all", "with offload-all"),
        ("--offload takes away gradients", "offload takes away gradients"),
        ("with --optimizer adamw8bit", "with optimizer adamw8bit"),
        ("say how long to train: -e EPOCHS, --tokens or --steps",
         "say how long to train: dataset, or epochs as 90, 300B tokens or 5000 steps"),
        ("left out (--max-price; this machine stays)", "left out ($/h max; this machine stays)"),
        ("as measured (--no-profile leaves it out)", "as measured (--no-profile leaves it out)"),
        ("a pre-trained x-y model, -3 degrees", "a pre-trained x-y model, -3 degrees"),
    ],
)  # fmt: skip
def test_flags_are_named_as_the_form_names_them(sentence: str, said: str) -> None:
    assert in_form(sentence) == said


def test_panes_name_no_flag() -> None:
    row = sample_plan({"model": "resnet50"}).plan.estimates[0]
    assert caution_words(row._replace(hints=("--region takes it",))) == "region takes it"
    unfit = row._replace(step_parts=None, reason="needs 33.9 GiB (--zero 3 shards it)")
    assert why_lines(unfit, None, DARK, 60, 12)[1].plain == "needs 33.9 GiB (zero3 shards it)"
