"""The questions asked last, the newest first: what they are called, and which of them are kept."""

from collections.abc import Sequence

from planner.tui.asked import Values

MOST = 9
"""Questions kept: as many as there are digits to choose one by."""

_BEHIND: tuple[tuple[str, str], ...] = (
    ("size", "size {}"),
    ("batch", "batch {}"),
    ("global", "global {}"),
    ("precision", "{}"),
    ("optimizer", "{}"),
    ("levers", "{}"),
    ("measured", "measured {}"),
    ("where", "on {}"),
    ("gpus", "{}"),
    ("nodes", "{} nodes"),
    ("region", "in {}"),
    ("buy", "{}"),
    ("max_price", "≤ ${}/h"),
    ("country", "{}"),
    ("deadline", "by {}"),
    ("budget", "≤ ${}"),
    ("sure", "{} % sure"),
    ("hour_value", "${} my hour"),
)
"""Fields behind model, data set and epochs, and how a text in them is said."""


def kept(values: Values, before: Sequence[Values]) -> tuple[Values, ...]:
    """``before`` with this question as the newest, once, and without those that are one too many."""
    said = {key: text.strip() for key, text in values.items() if text.strip()}
    return (said, *(one for one in before if one != said))[:MOST]


def called(values: Values) -> str:
    """'bert-large · squad · 3 epochs · bf16 · by 24h · ≤ $100': what the form says of it."""
    words = [values.get("model", ""), values.get("dataset", "")]
    epochs = values.get("epochs", "").strip()
    words.append(f"{epochs} epochs" if epochs and epochs.split()[-1][0].isdigit() else epochs)
    words += [form.format(text.removeprefix("$")) for key, form in _BEHIND if (text := values.get(key, "").strip())]
    return " · ".join(word for word in words if word)
