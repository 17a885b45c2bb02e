"""Data sets: how many samples, how large, what decoding costs, and the usual recipe."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set; ``decode`` is the class of work one sample costs on the CPU (none, text, jpeg, audio, volume)."""

    name: str
    title: str
    task: str
    samples: int
    validation_samples: int | None
    bytes: float | None
    tokens: int | None
    decode: str
    usual_epochs: float | None
    source: str
