"""What the app remembers between visits: the questions that had an answer, the theme, the order of the table."""

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from planner.profiler.this_machine import cache_directory
from planner.tui.arrange import GROUPS, SORTS
from planner.tui.asked import FIRST_VALUES, Values
from planner.tui.recent import MOST
from planner.tui.theme import PALETTES
from planner.tui.widgets.field import LABELS

_FILE = "app.json"


class Settings(NamedTuple):
    values: Values = FIRST_VALUES
    theme: str = "planner-dark"
    sort: str = "value"
    group: str = ""
    recent: tuple[Values, ...] = ()


def load_settings(directory: Path | None = None) -> Settings:
    """The settings of the last visit; what is missing, damaged or unknown is as at the first visit."""
    directory = directory or cache_directory()
    if directory is None:
        return Settings()
    try:
        record = json.loads((directory / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Settings()
    if not isinstance(record, dict):
        return Settings()
    values = record.get("values")
    known = Settings()
    return Settings(
        values=_texts(values) or known.values,
        theme=_one_of(record.get("theme"), PALETTES, known.theme),
        sort=_one_of(record.get("sort"), SORTS, known.sort),
        group=_one_of(record.get("group"), GROUPS, known.group),
        recent=_questions(record.get("recent")),
    )


def save_settings(settings: Settings, directory: Path | None = None) -> None:
    """Keep the settings; a directory that cannot be written to costs the memory, not the visit."""
    directory = directory or cache_directory()
    if directory is None:
        return
    with suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        plain = settings._replace(values=dict(settings.values), recent=tuple(map(dict, settings.recent)))
        text = json.dumps(plain._asdict(), ensure_ascii=False, indent=1)
        partial = directory / f"{_FILE}.part"
        partial.write_text(text, encoding="utf-8")
        partial.replace(directory / _FILE)


def _texts(values: object) -> dict[str, str]:
    """What of a record can be a form: texts by the keys of its fields; nothing where no model is among them."""
    if not isinstance(values, dict):
        return {}
    texts = {key: text for key, text in values.items() if key in LABELS and isinstance(text, str)}
    return texts if "model" in texts else {}


def _questions(stored: object) -> tuple[Values, ...]:
    """The forms among a list's entries, as many as are kept."""
    found = map(_texts, stored) if isinstance(stored, list) else ()
    return tuple(values for values in found if values)[:MOST]


def _one_of(value: object, known: object, default: str) -> str:
    return value if isinstance(value, str) and value in known else default  # type: ignore[operator]
