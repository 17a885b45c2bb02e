"""How fast the disk reads that holds a directory: a file is written, dropped from the cache, and read once."""

from __future__ import annotations

import contextlib
import math
import os
import time
from pathlib import Path

FILE_BYTES = 128 << 20
_BLOCK = 4 << 20


def read_rate(directory: Path, file_bytes: int = FILE_BYTES, limit_s: float = math.inf) -> float | None:
    """Bytes a second; None where the file stays in the cache, has no room or takes longer than ``limit_s``."""
    if not hasattr(os, "posix_fadvise"):
        return None
    path = directory / f".gpuplanner-disk-{os.getpid()}"
    end = time.monotonic() + limit_s
    try:
        with path.open("wb") as file:
            block = os.urandom(_BLOCK)
            for _ in range(file_bytes // _BLOCK):
                file.write(block)
                file.flush()
                os.fsync(file.fileno())  # block by block: a slow disk must not hold us beyond the limit
                if time.monotonic() > end:
                    return None
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begin = time.perf_counter()
        with path.open("rb", buffering=0) as file:
            while file.read(_BLOCK):
                if time.monotonic() > end:
                    return None
        return file_bytes / (time.perf_counter() - begin)
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
