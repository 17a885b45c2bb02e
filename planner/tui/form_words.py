"""The planner's sentences name the command line's flags; in the app they name the form's fields and words instead."""

import re
from collections.abc import Mapping

_FIELDS: Mapping[str, str] = {
    "-m": "model",
    "--model": "model",
    "-d": "dataset",
    "--dataset": "dataset",
    "-e": "epochs",
    "--epochs": "epochs",
    "--tokens": "epochs",
    "--steps": "epochs",
    "--img-size": "size",
    "--seq-length": "size",
    "-b": "batch",
    "--batch-size": "batch",
    "--global-batch-size": "global",
    "--precision": "precision",
    "--optimizer": "optimizer",
    "--measured": "measured",
    "--where": "where",
    "--gpus": "GPUs",
    "--num-nodes": "nodes",
    "--region": "region",
    "--spot": "buy",
    "--on-demand": "buy",
    "--max-price": "$/h max",
    "--country": "country",
    "--deadline": "deadline",
    "--budget": "budget",
    "--confidence": "sure",
    "--hour-value": "my hour",
}
"""Flags and the labels of the fields that are the same."""

_LEVERS: Mapping[str, str] = {
    "--channels-last": "nhwc",
    "--compile": "compile",
    "--tuned": "tuned",
    "--grad-ckpt": "ckpt",
    "--load-in-4bit": "4bit",
    "--zero": "zero",
    "--lora-rank": "lora",
    "--grad-accum-steps": "accum",
    "--tensor-parallel": "tp",
    "--pipeline-parallel": "pp",
    "--offload": "offload",
}
"""Flags and the words of the levers field that are the same; a number behind the flag is written to the word."""

_FLAG = r"(?<![\w-])--?[a-z][a-z0-9-]*"
_LISTED = re.compile(rf"\(({_FLAG}(?:, {_FLAG})*)\)")
_ALONE = re.compile(rf"({_FLAG})( \d+\b| all\b| optimizer\b)?")
_LENGTHS = re.compile(r"(?:-e EPOCHS|-d, --samples), --tokens or --steps")


def in_form(sentence: str) -> str:
    """'data set imagenet (dataset in the form)' for '... (-d, --samples)'; 'with zero3 ckpt' for '--zero 3 ...'.

    A flag that the form has no field for stays as it is.
    """
    sentence = _LENGTHS.sub("dataset, or epochs as 90, 300B tokens or 5000 steps", sentence)
    return _ALONE.sub(_named, _LISTED.sub(_listed, sentence))


def _listed(found: re.Match[str]) -> str:
    """Of flags in brackets those that the form has, each once; all of them where it has none."""
    flags = found[1].split(", ")
    fields = dict.fromkeys(_FIELDS[flag] for flag in flags if flag in _FIELDS)
    levers = [_LEVERS[flag] for flag in flags if flag in _LEVERS]
    words = [*fields, *([f"levers {' '.join(levers)}"] if levers else [])]
    return f"({', '.join(words)} in the form)" if words else found[0]


def _named(found: re.Match[str]) -> str:
    flag, value = found[1], found[2] or ""
    if flag in _FIELDS:
        return _FIELDS[flag] + value
    if flag not in _LEVERS:
        return found[0]
    if flag == "--offload":
        return "offload-all" if value == " all" else "offload"
    return _LEVERS[flag] + value.strip()
