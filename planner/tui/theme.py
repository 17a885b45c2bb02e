"""The two themes: every colour has a role, and the accent means focus and nothing else."""

from collections.abc import Mapping
from typing import NamedTuple

from textual.theme import Theme


class Palette(NamedTuple):
    """Colours by role. ``places`` and ``parts`` are never the only signal: a word or a glyph says the same."""

    background: str
    surface: str
    panel: str
    border: str
    text: str
    strong: str
    dim: str
    faint: str
    accent: str
    cursor: str
    good: str
    warn: str
    bad: str
    places: Mapping[str, str]
    parts: Mapping[str, str]


DARK = Palette(
    background="#0f1218",
    surface="#151a22",
    panel="#1f2632",
    border="#303a4a",
    text="#ccd3de",
    strong="#f3f6fa",
    dim="#8590a2",
    faint="#566174",
    accent="#62b0ff",
    cursor="#193450",
    good="#84c48e",
    warn="#e3b765",
    bad="#e8847d",
    places={"laptop": "#b8a1ee", "workstation": "#6cc8b8", "cluster": "#e09bbd", "cloud": "#8fb0dc"},
    parts={
        "forward": "#7ea3cf",
        "backward": "#4d6f9e",
        "optimizer": "#9a86cc",
        "communication": "#c47b9d",
        "input": "#58a898",
        "host": "#a8905f",
    },
)

LIGHT = Palette(
    background="#eef0f4",
    surface="#fafbfc",
    panel="#e2e6ed",
    border="#bcc5d2",
    text="#2b3442",
    strong="#0d131c",
    dim="#5b6778",
    faint="#8d98a8",
    accent="#0b62c4",
    cursor="#d3e5fb",
    good="#1f7a3a",
    warn="#8f5b00",
    bad="#b3322b",
    places={"laptop": "#6d4fc2", "workstation": "#1c7f70", "cluster": "#a8386f", "cloud": "#2f62a8"},
    parts={
        "forward": "#6f97c8",
        "backward": "#3c639a",
        "optimizer": "#8a72c4",
        "communication": "#b9608a",
        "input": "#3f9384",
        "host": "#a58340",
    },
)

PALETTES = {"planner-dark": DARK, "planner-light": LIGHT}


def themes() -> list[Theme]:
    """The palettes as Textual themes; the stylesheet uses their variables."""
    return [_theme(name, palette, dark=palette is DARK) for name, palette in PALETTES.items()]


def _theme(name: str, palette: Palette, *, dark: bool) -> Theme:
    return Theme(
        name=name,
        primary=palette.accent,
        secondary=palette.border,
        accent=palette.accent,
        foreground=palette.text,
        background=palette.background,
        surface=palette.surface,
        panel=palette.panel,
        success=palette.good,
        warning=palette.warn,
        error=palette.bad,
        dark=dark,
        variables={
            "line": palette.border,
            "strong": palette.strong,
            "dim": palette.dim,
            "faint": palette.faint,
            "cursor-row": palette.cursor,
            "input-cursor-background": palette.strong,
            "input-cursor-foreground": palette.background,
            "input-selection-background": palette.cursor,
            "block-cursor-background": palette.cursor,
            "block-cursor-foreground": palette.strong,
            "block-cursor-text-style": "none",
            "scrollbar": palette.border,
            "scrollbar-hover": palette.dim,
            "scrollbar-active": palette.dim,
            "scrollbar-background": palette.surface,
            "scrollbar-background-hover": palette.surface,
            "scrollbar-background-active": palette.surface,
        },
    )
