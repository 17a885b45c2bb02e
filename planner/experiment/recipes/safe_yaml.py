"""YAML without code, without surprises in size: PyYAML's safe loader, and a bound on what aliases unfold to."""

from __future__ import annotations

from typing import Any

from planner.errors import InputError, PlannerError

MAX_NODES = 100_000
_MAX_DEPTH = 100


def load_yaml(text: str, subject: str) -> Any:
    """The document in ``text``; ``subject`` begins the complaint. Raises InputError; PlannerError without PyYAML."""
    try:
        import yaml
    except ImportError as error:
        raise PlannerError("reading YAML needs PyYAML: pip install 'gpuplanner[yaml]'") from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise InputError(f"{subject} is empty")
        _unfolded_size(root, subject, {}, 0)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        place = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        said = " ".join(str(error.problem or error.context or "it is broken").split())
        raise InputError(f"{subject} is not YAML that can be read safely{place}: {said}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = next(iter(str(error).splitlines()), "it is broken")
        raise InputError(f"{subject} is not YAML that can be read: {said}") from error


def _unfolded_size(node: Any, subject: str, known: dict[int, int], depth: int) -> int:
    """Nodes below ``node`` with every alias written out. Raises InputError above ``MAX_NODES``.

    A few lines of aliases to aliases are billions of nodes: they are counted, never unfolded.
    """
    if depth > _MAX_DEPTH:
        raise InputError(f"{subject} is nested more than {_MAX_DEPTH} deep, or contains itself")
    if id(node) not in known:
        size = 1
        for child in _children(node):
            size += _unfolded_size(child, subject, known, depth + 1)
            if size > MAX_NODES:
                raise InputError(f"{subject} unfolds to more than {MAX_NODES:,} values")
        known[id(node)] = size
    return known[id(node)]


def _children(node: Any) -> list[Any]:
    if isinstance(node.value, str):
        return []
    return [child for item in node.value for child in (item if isinstance(item, tuple) else (item,))]
