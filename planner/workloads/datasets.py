"""Data sets: how many samples, how large, what decoding costs, and the usual recipe.

``datasets.csv`` holds one data set a row, with the source of its figures and the other spellings people use;
``usual_epochs.csv`` how long families of models train on one, where that is known to be otherwise.
"""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planner.errors import UnknownNameError, near_misses
from planner.workloads.catalog import fold

_DATA = Path(__file__).parent.parent / "data"
_TABLE = _DATA / "datasets.csv"

# Of this task, a data set is a stream of tokens that training cuts into sequences; its documents are not samples.
TOKEN_STREAM = "language modelling"


class Dataset(NamedTuple):
    """A data set; ``decode`` is the class of work one sample costs on the CPU (none, text, jpeg, audio, volume).

    ``samples`` counts the training split's images, questions, sentence pairs ...; documents where ``tokens`` counts
    the usual tokenizer's tokens. ``usual_epochs`` is what the source's recipe trains;
    ``image_size`` the pixels a side of images that are all square and as large; ``example_tokens`` the tokens of the
    median example. Unknown is None.
    """

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
    image_size: int | None = None
    example_tokens: int | None = None

    def samples_for(self, seq_length: int | None) -> float:
        """Samples of one epoch for a model of that sequence length; a corpus is cut into sequences."""
        if seq_length is None or self.tokens is None or self.task != TOKEN_STREAM:
            return float(self.samples)
        return max(1.0, self.tokens / seq_length)


@cache
def datasets() -> tuple[Dataset, ...]:
    """Every data set of the table, sorted by name."""
    return tuple(_dataset(row) for row in _rows())


def dataset(name: str) -> Dataset:
    """The data set of that name or alias, written in any case and punctuation. Raises UnknownNameError."""
    found = _by_spelling().get(fold(name))
    if found is None:
        known = {spelling: data.name for spelling, data in _by_spelling().items()}
        nearest = dict.fromkeys(known[spelling] for spelling in near_misses(fold(name), known))
        raise UnknownNameError("data set", name, list(nearest))
    return found


def family_epochs(family: str, data: Dataset) -> float | None:
    """Epochs that models of the family usually train on the data set; None where only its own recipe is known."""
    with (_DATA / "usual_epochs.csv").open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            if (row["family"], row["dataset"]) == (family, data.name):
                return float(row["epochs"])
    return None


@cache
def _by_spelling() -> dict[str, Dataset]:
    return {
        fold(spelling): data
        for row, data in zip(_rows(), datasets(), strict=True)
        for spelling in (data.name, *row["aliases"].split(";"))
        if spelling
    }


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as table:
        return tuple(csv.DictReader(table))


def _dataset(row: dict[str, str]) -> Dataset:
    return Dataset(
        name=row["name"],
        title=row["title"],
        task=row["task"],
        samples=int(row["samples"]),
        validation_samples=int(row["validation_samples"]) if row["validation_samples"] else None,
        bytes=float(row["bytes"]) if row["bytes"] else None,
        tokens=int(row["tokens"]) if row["tokens"] else None,
        decode=row["decode"],
        usual_epochs=float(row["usual_epochs"]) if row["usual_epochs"] else None,
        source=row["source"],
        image_size=int(row["image_size"]) if row["image_size"] else None,
        example_tokens=int(row["example_tokens"]) if row["example_tokens"] else None,
    )
