"""How much memory the system hands out to this process meanwhile, counted in page faults."""

from __future__ import annotations

try:
    import resource
except ImportError:  # Windows has no getrusage
    resource = None  # type: ignore[assignment]


class PageFaults:
    """Counts from when it is made. Pages that were the process's already cost nothing and are not counted."""

    def __init__(self) -> None:
        self._begin = _faults()

    def bytes_each(self, calls: int) -> float | None:
        """Bytes for each of so many calls since; None where the system does not count."""
        begin, end = self._begin, _faults()
        if begin is None or end is None:
            return None
        return (end - begin) * resource.getpagesize() / calls


def _faults() -> int | None:
    return None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_minflt
