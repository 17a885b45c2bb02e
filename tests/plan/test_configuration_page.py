"""docs/configuration.md has every key of the configuration file, as the code reads it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from planner.plan.config import (
    RENAMED_OF_A_MACHINE,
    REQUIRED_OF_A_MACHINE,
    SETTINGS,
    Config,
    OwnershipTerms,
    OwnMachine,
    ThisMachine,
    load_config,
)

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
HEADINGS = {"": "Top of the file", "machine": "[[machine]]"}
DEFAULTS = {
    "": Config._field_defaults,
    "ownership": OwnershipTerms._field_defaults,
    "this_machine": ThisMachine._field_defaults,
    "machine": OwnMachine._field_defaults,
}
MACHINE = {"name": "'x'", "place": "'cluster'", "gpu": "'T4'"}


def _rows(section: str) -> dict[str, list[str]]:
    """The cells of a section's table after the first, by the key in that."""
    heading = HEADINGS.get(section, f"[{section}]")
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in part.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    return {row[0].strip("`"): row[1:] for row in cells}


def _default(section: str, key: str) -> str:
    if section == "machine" and key in REQUIRED_OF_A_MACHINE:
        return "needed"
    value = DEFAULTS.get(section, {}).get(RENAMED_OF_A_MACHINE.get(key, key))
    return "–" if value is None else f"{value:g}"


@pytest.mark.parametrize("section", SETTINGS)
def test_the_page_has_every_key_with_its_values_and_its_default(section: str) -> None:
    rows = _rows(section)
    assert list(rows) == list(SETTINGS[section])
    for key, (what, value, default, _) in rows.items():
        assert what
        assert value == SETTINGS[section][key].kind
        assert re.fullmatch(rf"{re.escape(_default(section, key))}( \(.+\))?", default), key


@pytest.mark.parametrize("section", SETTINGS)
def test_every_example_is_read_as_it_is_written(section: str, tmp_path: Path) -> None:
    header = {"": "", "machine": "[[machine]]\n"}.get(section, f"[{section}]\n")
    for key, (*_, example) in _rows(section).items():
        line = example.strip("`")
        others = [f"{name} = {value}" for name, value in MACHINE.items() if section == "machine" and name != key]
        path = tmp_path / "config.toml"
        path.write_text(header + "\n".join((*others, line)) + "\n", encoding="utf-8")
        config = load_config(path)
        ((name, value),) = tomllib.loads(line).items()
        assert name == key or key == "a provider"
        if section == "machine":
            assert getattr(config.machines[0], RENAMED_OF_A_MACHINE.get(name, name)) == value
        elif section in ("discounts", "credits"):
            assert {"discounts": config.discounts, "credits": config.credits_usd}[section] == {name: value}
        else:
            assert getattr(getattr(config, section) if section else config, name) == value


def test_the_page_begins_with_a_file_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(PAGE.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    config = load_config(path)
    assert config.machines[0].num_gpus == 8
    assert config.discounts == {"aws": 0.1}
