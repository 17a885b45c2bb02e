"""Write a price snapshot: one SQLite file, small, byte-identical for the same rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pricing.tables import SCHEMA, Contents, fill

# Where the header of a SQLite file says which library wrote it: the only bytes that differ between two machines.
_VERSION_OFFSET = 96
_VERSION_BYTES = (3_040_000).to_bytes(4, "big")


def write_snapshot(path: Path, contents: Contents) -> None:
    """Write everything to ``path``, replacing it."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    try:
        connection.executescript(SCHEMA)
        fill(connection, contents)
        connection.commit()
        connection.execute("vacuum")
    finally:
        connection.close()
    _forget_library_version(path)


def _forget_library_version(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(_VERSION_OFFSET)
        file.write(_VERSION_BYTES)
