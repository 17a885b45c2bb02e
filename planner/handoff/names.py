"""What other launchers call clouds and accelerators.

``planner/data/launcher_names.csv`` maps our accelerator keys: the names of SkyPilot's catalogue (the table of
accelerators lists them as cloud names), and of dstack's (gpuhunt's list of known accelerators, with the memory where a
name has several); an empty cell is an accelerator that dstack cannot name.
"""

from __future__ import annotations

from functools import cache

from planner.errors import InputError
from planner.hardware.tables import read_rows

SKYPILOT_CLOUDS = {
    "aws": "aws",
    "azure": "azure",
    "gcp": "gcp",
    "lambda": "lambda",
    "runpod": "runpod",
    "vast": "vast",
    "cudocompute": "cudo",
    "fluidstack": "fluidstack",
    "paperspace": "paperspace",
    "oraclecloud": "oci",
    "datacrunch": "verda",
}
"""Providers of the snapshot among the clouds of SkyPilot 0.14."""

DSTACK_BACKENDS = {
    "aws": "aws",
    "azure": "azure",
    "gcp": "gcp",
    "lambda": "lambda",
    "runpod": "runpod",
    "vast": "vastai",
    "cudocompute": "cudo",
    "oraclecloud": "oci",
    "datacrunch": "datacrunch",
    "jarvislabs": "jarvislabs",
}
"""Providers of the snapshot among the backends of dstack 0.22."""

REGIONS_ALIKE = frozenset({"aws", "azure", "gcp"})
"""Clouds whose regions have one name everywhere; elsewhere the launcher is left to choose."""


def skypilot_accelerator(key: str, instance_type: str | None) -> str:
    """SkyPilot's name of an accelerator; a TPU slice is named as a whole, an unknown one keeps our key."""
    if instance_type is not None and instance_type.startswith("tpu-"):
        return instance_type
    return _names().get(key, (key, ""))[0]


def dstack_accelerator(key: str, instance_type: str | None) -> str:
    """dstack's name of an accelerator, 'A100:80GB' where memory tells variants apart; "" where it has none."""
    if instance_type is not None and instance_type.startswith("tpu-"):
        return instance_type.removeprefix("tpu-")
    return _names().get(key, ("", ""))[1]


def known_cloud(provider: str, clouds: dict[str, str], launcher: str) -> str:
    """The launcher's name of a provider. Raises InputError where it cannot rent there."""
    if provider not in clouds:
        raise InputError(
            f"{launcher} cannot rent from {provider}: use --to bash, or choose another row with --on or --where"
        )
    return clouds[provider]


@cache
def _names() -> dict[str, tuple[str, str]]:
    return {row["key"]: (row["skypilot"], row["dstack"]) for row in read_rows("launcher_names.csv")}
