"""Whether a value is of an annotated kind, for records that come back from a file and arguments that programs give."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from numbers import Integral, Real
from os import PathLike
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

_WORDS: dict[object, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    datetime: "a datetime",
    PathLike: "a path",
    Sequence: "a list of texts",
}


def is_a(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated kind: a union, a tuple or sequence of one kind, a literal, or a class."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(is_a(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin in (tuple, Sequence):
        return isinstance(value, origin) and all(is_a(one, arguments[0]) for one in value)
    if kind in (int, float):
        # numpy's numbers are of these classes, too; a truth value is an int that nobody means as a number.
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    return isinstance(value, origin or kind)


def in_words(kind: Any) -> str:
    """What would be right: 'a text or a datetime', 'spot or on_demand'; whether it may be left out is not said."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(in_words(one) for one in arguments if one is not NoneType)
    if origin is Literal:
        return " or ".join(map(str, arguments))
    return _WORDS.get(origin or kind) or f"an {kind.__name__}"


def plain(value: Any) -> Any:
    """The value, a number of another library as Python's own."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)
