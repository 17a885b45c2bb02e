"""What keys have changed in the form (levers, limits, ways to fit, earlier questions), to take back with one key."""

from typing import NamedTuple

from planner.tui.asked import Values, changed_words


class Change(NamedTuple):
    before: Values
    after: Values


class Changes:
    """The newest last. What was typed into other fields since a change stays when that is taken back."""

    def __init__(self) -> None:
        self._made: list[Change] = []

    def __bool__(self) -> bool:
        return bool(self._made)

    def add(self, before: Values, after: Values) -> None:
        self._made.append(Change(before, after))

    def take_back(self, values: Values) -> Values | None:
        """The form without the newest change; None where none is left."""
        if not self._made:
            return None
        before, after = self._made.pop()
        changed = [key for key in {**before, **after} if before.get(key, "") != after.get(key, "")]
        merged = {**values, **{key: before.get(key, "") for key in changed}}
        return {key: text for key, text in merged.items() if text}

    def levers_on(self, values: Values) -> str:
        """Of the newest change the words of the levers field that are still in the form; '' where there are none."""
        if not self._made:
            return ""
        before = self._made[-1].before.get("levers", "")
        return changed_words({"levers": before}, {"levers": values.get("levers", "")})
