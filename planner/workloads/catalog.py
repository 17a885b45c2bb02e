"""The shipped zoo: find a model by any usual name and parse only its record.

``zoo.jsonl`` holds one record a line; ``zoo_index.csv`` says where each line starts and repeats what listings show;
``model_aliases.csv`` maps other spellings to names. Both tables are sorted, so a name is found without parsing them.
"""

import csv
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planner.errors import DataError, UnknownNameError, near_misses
from planner.workloads.record import MODEL_CONFIG, parse_record
from planner.workloads.workload import Workload

DATA = Path(__file__).parent.parent / "data"


class ModelSummary(NamedTuple):
    """What a listing shows of one model; ``offset`` and ``length`` are the record's bytes in ``zoo.jsonl``."""

    name: str
    task: str
    family: str
    parameters: int
    forward_flops_per_sample: float
    activation_bytes_per_sample: float
    default_dataset: str | None
    recipe_batch_size_per_gpu: int
    max_global_batch_size: int
    sample_unit: str
    image_size: int | None
    seq_length: int | None
    source: str
    offset: int
    length: int


def load_workload(name: str, seq_length: int | None = None) -> Workload:
    """The workload of that name or alias, or of a file of the user's own (``own.py`` says which).

    A model given by formulas is evaluated at ``seq_length`` tokens; any other keeps its recorded length. Raises
    UnknownNameError with the nearest names, InputError for a file that cannot be used.
    """
    if names_a_file(name):
        from planner.workloads.own import load_own

        return load_own(name, seq_length)
    return zoo_workload(name)


def zoo_workload(name: str) -> Workload:
    """The shipped workload of that name or alias; no path is opened, whatever the name. Raises UnknownNameError."""
    return _load(find_model(name))


def names_a_file(name: str) -> bool:
    """Whether ``name`` is a path to a model rather than a name in the zoo.

    It is where it ends as model files do or is written as a path (``./hf``, ``/etc``), there or not. 'a/b' may be a
    publisher's name too: it is a path where a config.json is in it. A bare name is the zoo's, else one of this folder:
    a folder without a config.json is refused as one, not taken for a misspelt model.
    """
    if name.lower().endswith((".json", ".onnx", ".py")):
        return True
    if not name or "\0" in name:
        return False
    if name.startswith((".", "~")) or os.path.isabs(name):
        return True
    if os.path.isfile(os.path.join(name, MODEL_CONFIG)):
        return "/" in name or os.sep in name or not _is_known(name)
    is_here = os.path.isdir(name) or ("." in name and os.path.isfile(name))
    return is_here and not _is_known(name)


def _is_known(name: str) -> bool:
    try:
        return bool(find_model(name))
    except UnknownNameError:
        return False


def _load(summary: ModelSummary) -> Workload:
    try:
        with (DATA / "zoo.jsonl").open("rb") as zoo:
            zoo.seek(summary.offset)
            line = zoo.read(summary.length)
        return parse_record(json.loads(line))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the record of {summary.name!r} in zoo.jsonl cannot be read: {error}") from error


def find_model(name: str) -> ModelSummary:
    """The index row for a name as people and benchmarks write it. Raises UnknownNameError."""
    tried = list(spellings(name))
    known = next(filter(None, map(_as_written, tried)), None) or next(filter(None, map(_folded, tried)), None)
    if known is None:
        raise UnknownNameError("model", name, near_misses(name.strip(), _all_names()), not_a_network(name) or "")
    return _summary(next(_rows_containing(_index_text(), f"\n{known},")))


def spellings(name: str) -> Iterator[str]:
    """What ``name`` may be called, most faithful first.

    As written; without remarks in brackets and what follows ' + ' or ' seq'; then the parts of a path such as
    'meta-llama/Llama-3.1-8B' or 'PyTorch/LanguageModeling/BERT', last part first; and a timm name without its tag.
    """
    yield name.strip()
    bare = name
    for mark in ("[", "(", " + ", " seq", " params="):
        bare = bare.partition(mark)[0]
    yield bare.strip()
    for part in reversed(bare.split("/")[1:]):
        yield part.strip()
    if "/" in bare:
        yield bare.partition("/")[0].strip()
    yield bare.rpartition("/")[2].partition(".")[0].strip()


def summary_of(workload: Workload) -> ModelSummary:
    """What a listing shows of a workload that is in no zoo."""
    return ModelSummary(
        name=workload.name,
        task=workload.task,
        family=workload.family,
        parameters=workload.parameters,
        forward_flops_per_sample=workload.forward_flops_per_sample,
        activation_bytes_per_sample=workload.memory_amp.saved_bytes.per_sample,
        default_dataset=workload.default_dataset,
        recipe_batch_size_per_gpu=workload.recipe_batch_size_per_gpu,
        max_global_batch_size=workload.max_global_batch_size,
        sample_unit=workload.sample_unit,
        image_size=workload.image_size,
        seq_length=workload.seq_length,
        source=workload.source,
        offset=0,
        length=0,
    )


@cache
def model_index() -> tuple[ModelSummary, ...]:
    """Every model, sorted by name; variants at other sizes (``resnet50@288``) are left out."""
    return tuple(_summary(row) for row in _rows(_index_text()) if "@" not in row[0])


def recorded_variants(name: str) -> tuple[ModelSummary, ...]:
    """The model and its records at other image sizes or sequence lengths, in index order."""
    base = name.partition("@")[0]
    row = _row_starting_with(_index_text(), base)
    others = _rows_containing(_index_text(), f"\n{base}@")
    return tuple(_summary(found) for found in ([row] if row else []) + list(others))


def aliases() -> dict[str, str]:
    """Other spelling -> name in the index."""
    return {row[0]: row[1] for row in _rows(_alias_text())}


def not_a_network(name: str) -> str | None:
    """A sentence for methods that need no GPU at all; None for everything else."""
    folded = fold(name)
    if any(method in folded for method in _NO_GPU_NEEDED):
        return f"{name} trains on the CPU in minutes: it needs no GPU and so no plan here"
    return None


_NO_GPU_NEEDED = (
    "xgboost", "lightgbm", "catboost", "randomforest", "gradientboosting", "sklearn", "scikitlearn",
    "linearregression", "logisticregression", "naivebayes", "decisiontree", "kmeans", "svm",
)  # fmt: skip


_PUNCTUATION = str.maketrans("", "", " \t\n!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def fold(name: str) -> str:
    """A spelling without case, spaces and punctuation: 'ResNet-50 v1.5' and 'resnet50_v1.5' are the same."""
    return name.casefold().translate(_PUNCTUATION)


def _summary(row: list[str]) -> ModelSummary:
    return ModelSummary(
        name=row[0],
        task=row[1],
        family=row[2],
        parameters=int(row[3]),
        forward_flops_per_sample=float(row[4]),
        activation_bytes_per_sample=float(row[5]),
        default_dataset=row[6] or None,
        recipe_batch_size_per_gpu=int(row[7]),
        max_global_batch_size=int(row[8]),
        sample_unit=row[9],
        image_size=int(row[10]) if row[10] else None,
        seq_length=int(row[11]) if row[11] else None,
        source=row[12],
        offset=int(row[13]),
        length=int(row[14]),
    )


@cache
def _index_text() -> str:
    return (DATA / "zoo_index.csv").read_text(encoding="utf-8")


@cache
def _alias_text() -> str:
    return (DATA / "model_aliases.csv").read_text(encoding="utf-8")


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()[1:]))


def _row_starting_with(text: str, key: str) -> list[str] | None:
    """The row whose first field is ``key``; the table is searched, not parsed."""
    if not key or any(character in key for character in ',"\n'):
        return None
    return next(iter(_rows_containing(text, f"\n{key},")), None)


def _rows_containing(text: str, line_start: str) -> Iterator[list[str]]:
    """The rows that begin with ``line_start`` (a newline and more)."""
    start = text.find(line_start)
    while start >= 0:
        end = text.find("\n", start + 1)
        yield next(csv.reader([text[start + 1 : end if end > 0 else None]]))
        start = text.find(line_start, start + 1)


def _as_written(spelling: str) -> str | None:
    """The name behind a name or alias, in its own or in lower case; the tables are searched, not parsed."""
    for written in dict.fromkeys((spelling, spelling.casefold())):
        if _row_starting_with(_index_text(), written) is not None:
            return written
        if (row := _row_starting_with(_alias_text(), written)) is not None:
            return row[1]
    return None


def _folded(spelling: str) -> str | None:
    """The name whose folded spelling, or an alias's, is this one's, with or without what people append."""
    known = _names_by_folded_spelling()
    folded = fold(spelling)
    for suffix in ("", *_TRAINED_SUFFIXES):
        if folded.endswith(suffix) and (found := known.get(folded.removesuffix(suffix))) is not None:
            return found
    return None


_TRAINED_SUFFIXES = ("instruct", "chat", "chathf", "hf", "base", "it", "pt")


@cache
def _names_by_folded_spelling() -> dict[str, str]:
    by_spelling = {fold(alias): name for alias, name in aliases().items()}
    by_spelling.update((fold(name), name) for name in _names())
    return by_spelling


def _names() -> list[str]:
    """First fields of the index; a name holds no comma, so the rows need no parsing."""
    return [line.partition(",")[0] for line in _index_text().splitlines()[1:]]


def _all_names() -> list[str]:
    return [*_names(), *aliases()]
