"""Keeping the garbage collector out of the way of the interface."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THOROUGH_EVERY = 200
_times = 0


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection meanwhile, and none later of what was made: a plan is a hundred thousand records without cycles,
    and a search for cycles among them stops every thread for longer than the interface may be held up.

    What else is set aside with them, closed screens among it, is looked through once in a while.
    """
    global _times
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        _times += 1
        if _times % THOROUGH_EVERY == 0:
            gc.unfreeze()
            gc.collect()
        gc.freeze()
        if was_on:
            gc.enable()
