"""How fast the disk reads that holds a directory: a file is written, dropped from the cache, and read once."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

FILE_BYTES = 128 << 20
_BLOCK = 4 << 20


def read_rate(directory: Path, file_bytes: int = FILE_BYTES) -> float | None:
    """Bytes a second; None where it cannot be told, because the system keeps the file in its cache or has no room."""
    if not hasattr(os, "posix_fadvise"):
        return None
    path = directory / f".gpuplanner-disk-{os.getpid()}"
    try:
        with path.open("wb") as file:
            block = os.urandom(_BLOCK)
            for _ in range(file_bytes // _BLOCK):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begin = time.perf_counter()
        with path.open("rb", buffering=0) as file:
            while file.read(_BLOCK):
                pass
        return file_bytes / (time.perf_counter() - begin)
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
