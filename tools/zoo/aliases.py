"""Other spellings of zoo names: aliases.csv, written by hand, and the names timm itself has given up."""

from __future__ import annotations

import csv
from pathlib import Path

ALIASES = Path(__file__).parent / "aliases.csv"

# Names timm maps to the wrong network or no longer knows.
_MENDED = {
    "ig_resnext101_32x16d": "resnext101_32x16d",
    "ig_resnext101_32x32d": "resnext101_32x32d",
    "ig_resnext101_32x48d": "resnext101_32x48d",
    "vit_base_resnet50_384": "vit_base_r50_s16_384",
}


def alias_table(names: set[str]) -> bytes:
    """``alias,name`` rows sorted by alias; only for names in the zoo, and never hiding a name."""
    spellings = {**_timm_renamed(names), **_by_hand()}
    rows = [f"{alias},{name}\n" for alias, name in sorted(spellings.items()) if name in names and alias not in names]
    return ("alias,name\n" + "".join(rows)).encode()


def _by_hand() -> dict[str, str]:
    with ALIASES.open(encoding="utf-8", newline="") as table:
        return {row["alias"]: row["name"] for row in csv.DictReader(table)}


def _timm_renamed(names: set[str]) -> dict[str, str]:
    """timm's deprecated names; a tag of another image size goes to the record at that size if there is one."""
    from timm.models._registry import _deprecated_models

    renamed = {}
    for old, new in _deprecated_models.items():
        if new is None:
            continue
        base = _MENDED.get(old, new.partition(".")[0])
        sized = f"{base}@{_image_size(new)}"
        renamed[old] = sized if sized in names and old not in _MENDED else base
    return {**renamed, **_MENDED}


def _image_size(name: str) -> int | None:
    import timm

    try:
        config = timm.get_pretrained_cfg(name)
    except RuntimeError:
        return None
    return None if config is None else int(config.input_size[-1])
