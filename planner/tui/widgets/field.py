"""The fields of the form, and the input that each of them is."""

from collections.abc import Callable
from functools import cache
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from planner.experiment.resolve import OPTIMIZERS, PRECISIONS
from planner.hardware.catalog import accelerators
from planner.plan.plan import PLACES
from planner.tui.widgets.wrapped_input import WrappedInput
from planner.workloads.catalog import aliases, model_index
from planner.workloads.datasets import datasets

Names = Callable[[], tuple[str, ...]]
Step = Callable[["FieldInput", int], None]


class Field(NamedTuple):
    """``empty`` is what a field without a text means; ``names`` what may be typed, for completion."""

    key: str
    label: str
    section: str
    empty: str
    help: str
    names: Names | None = None


@cache
def model_names() -> tuple[str, ...]:
    return (*(model.name for model in model_index()), *aliases())


def _dataset_names() -> tuple[str, ...]:
    return tuple(data.name for data in datasets())


FIELDS = (
    Field("model", "model", "", "", "A network of the zoo, by any usual name, or a file of your own.", model_names),
    Field("dataset", "dataset", "", "usual", "Empty: the model's usual data set.", _dataset_names),
    Field("epochs", "epochs", "", "usual", "How long: 90, 300B tokens or 5000 steps. Empty: the usual recipe."),
    Field("size", "size", "", "recipe", "Pixels a side, or tokens a sequence: 224, 512. Empty: as recorded."),
    Field(
        "batch",
        "batch",
        "",
        "recipe",
        "Samples per GPU and pass. Empty: the recipe's, less where it does not fit. "
        "max: the largest that fits the machine under the cursor.",
    ),
    Field("global", "global", "", "by GPUs", "Samples per optimizer step on all GPUs. Empty: it grows with the GPUs."),
    Field("precision", "precision", "", "amp", "amp is autocast in bf16 or fp16.", lambda: PRECISIONS),
    Field("optimizer", "optimizer", "", "usual", "Empty: the model's usual one.", lambda: OPTIMIZERS),
    Field("levers", "levers", "", "none", "Words: nhwc compile tuned ckpt zero2 lora16 4bit accum4 tp8 pp2 offload."),
    Field("measured", "measured", "", "nothing", "Your own samples/s, with ; between: RTX 3090=812; A100:8=9800,b128."),
    Field("where", "where", "Machines", "any", "Places and providers, with commas.", lambda: PLACES),
    Field("gpus", "GPUs", "Machines", "any", "H100:8, 80GB+:8 or 24GB..80GB.", lambda: tuple(accelerators())),
    Field("nodes", "nodes", "Machines", "1", "Machines for one job."),
    Field("region", "region", "Machines", "any", "Cloud regions with commas: us-*."),
    Field("buy", "buy", "Machines", "any", "spot or on-demand.", lambda: ("spot", "on-demand")),
    Field("max_price", "$/h max", "Machines", "none", "The dearest hour, all nodes together, in USD."),
    Field("country", "country", "Machines", "EU", "Whose electricity price: DE, US-NY."),
    Field("deadline", "deadline", "Limits", "none", "24h, tomorrow 09:00 or Tue 18:00."),
    Field("budget", "budget", "Limits", "none", "The most the run may cost, in USD."),
    Field("sure", "sure", "Limits", "90", "Probability to meet the limits, in percent."),
    Field("hour_value", "my hour", "Limits", "2", "What an hour of waiting is worth, in USD."),
)


LABELS = {field.key: field.label for field in FIELDS}


class FieldInput(WrappedInput):
    """One field; the arrow keys move between fields, or in the list of completions while that is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", show=False),
        Binding("down", "step(1)", show=False),
        # With priority: keys that follow at once are handed out only when the focus has moved.
        Binding("shift+tab", "tab(-1)", show=False, priority=True),
        Binding("tab", "tab(1)", show=False, priority=True),
        Binding("escape", "leave", show=False),
    ]

    def __init__(self, field: Field, value: str, step: Step, tab: Step, leave: Callable[[], None]) -> None:
        """``step`` and ``tab`` go to the field before (-1) or behind (1), ``leave`` out of the form: all at once, and
        not by a message, so that what is typed next goes where it is meant to."""
        super().__init__(value, placeholder=field.empty, id=f"field-{field.key}", compact=True, select_on_focus=True)
        self.field = field
        self.tooltip = field.help
        self._step, self._tab, self._leave = step, tab, leave

    @property
    def help_text(self) -> str:
        """What F1 shows; other widgets have the same words for every instance."""
        return (
            f"{self.field.label}: {self.field.help}\n\n"
            "Every key asks again and the table follows; a text that cannot be used is named in the answer pane.\n\n"
            "up, down, Tab   other fields\nEnter   take the completion\nEsc   back to the table"
        )

    def action_step(self, by: int) -> None:
        self._step(self, by)

    def action_tab(self, by: int) -> None:
        self._tab(self, by)

    def action_leave(self) -> None:
        self._leave()
