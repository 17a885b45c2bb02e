"""Keep keys and tokens out of everything that is shown, logged or stored."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "***"


def redact(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every secret, plain or as written in an address, replaced by ``***``."""
    for secret in secrets:
        if secret:
            for written in (secret, quote(secret, safe=""), quote_plus(secret)):
                text = text.replace(written, MASK)
    return text


class RedactingFilter(logging.Filter):
    """Rewrites the records of a logger that would show a secret: HTTP libraries log whole addresses."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        safe = redact(message, self._secrets)
        if safe != message:
            record.msg, record.args = safe, ()
        return True
