"""Fetch a model's ``config.json`` from the Hugging Face hub, once, and only when asked to with ``--hub``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import InputError, PlannerError
from planner.workloads.reading import parse_json_object
from planner.workloads.record import MODEL_CONFIG

if TYPE_CHECKING:
    import httpx

HUB = "https://huggingface.co"
MAX_CONFIG_BYTES = 4 << 20
_TIMEOUT_S = 20.0
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def fetched_config(name: str, *, cache: Path | None = None, transport: httpx.BaseTransport | None = None) -> Path:
    """The folder with the configuration of ``owner/name``, from the cache where it was fetched before.

    Raises InputError for a name the hub does not know or does not show, PlannerError where it cannot be reached.
    """
    if _NAME.fullmatch(name) is None or ".." in name:
        raise InputError(f"--hub takes a model as the hub names it, OWNER/NAME, not {name!r}")
    folder = (cache or _cache()) / name.replace("/", "--")
    path = folder / MODEL_CONFIG
    if not path.is_file():
        text = _downloaded(name, transport)
        parse_json_object(text, f"the hub's config.json of {name}")
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    return folder


def _cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("gpuplanner") / "hub"


def _downloaded(name: str, transport: httpx.BaseTransport | None) -> str:
    import httpx

    url = f"{HUB}/{name}/resolve/main/{MODEL_CONFIG}"
    content = b""
    try:
        with (
            httpx.Client(timeout=_TIMEOUT_S, follow_redirects=True, transport=transport) as client,
            client.stream("GET", url) as response,
        ):
            if response.status_code in (401, 403):
                raise InputError(
                    f"the hub does not show {name} to everybody: download its config.json and give its path"
                )
            if response.status_code == 404:
                raise InputError(f"the hub has no config.json under the name {name}")
            response.raise_for_status()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_CONFIG_BYTES:
                    raise InputError(f"the hub's config.json of {name} has more than {MAX_CONFIG_BYTES:,} bytes")
    except httpx.HTTPError as error:
        raise PlannerError(f"the hub cannot be read: {str(error) or type(error).__name__}") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the hub's config.json of {name} is not UTF-8 text") from error
