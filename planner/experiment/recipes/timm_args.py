"""``args.yaml`` that timm's train.py writes beside its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.experiment.recipes.found import (
    Found,
    Setter,
    as_text,
    as_whole,
    data_set,
    number,
    optimizer,
    switch,
    text,
    whole,
)

MARKS = frozenset({"model", "batch_size", "opt", "sched"})
NAME = "timm args.yaml"


def read(content: Mapping[str, Any], found: Found) -> None:
    """Put what the file says into ``found``."""
    for key, value in content.items():
        setter = _SETTERS.get(str(key))
        if value in (None, "", False) and key != "amp":
            continue
        if setter is not None:
            setter(found, str(key), value)
        elif str(key) in _MATTERS:
            found.leave(str(key))
    if content.get("amp") is not None:
        amp = {"float16": "fp16", "bfloat16": "bf16"}.get(str(content.get("amp_dtype")), "amp")
        found.put("precision", amp if content["amp"] else "fp32")


def _input_size(found: Found, key: str, value: Any) -> None:
    """[channels, height, width]; squares are planned."""
    if not isinstance(value, list) or len(value) != 3:
        raise found.wrong(key, value, "a list of channels, height and width")
    height, width = (as_whole(found, key, size) for size in value[1:])
    if height == width:
        found.put("image_size", height)
    else:
        found.leave(f"{key}: {height} x {width}")


def _dataset(found: Found, key: str, value: Any) -> None:
    """A name after its loader: 'torch/cifar10', 'hfds/mnist'; a loader of a folder names none."""
    name = as_text(found, key, value).rpartition("/")[2]
    if name not in _LOADERS_OF_FOLDERS:
        data_set(found, key, name)


_LOADERS_OF_FOLDERS = ("folder", "image_folder", "image_tar", "ImageFolder", "ImageTar")
_SETTERS: Mapping[str, Setter] = {
    "model": text("model"),
    "batch_size": whole("batch_size_per_gpu"),
    "dataset": _dataset,
    "epochs": number("epochs"),
    "img_size": whole("image_size"),
    "input_size": _input_size,
    "opt": optimizer,
    "grad_accum_steps": whole("grad_accum_steps"),
    "grad_checkpointing": switch("grad_checkpointing"),
    "channels_last": switch("channels_last"),
    "workers": whole("workers"),
    "torchcompile": lambda found, key, value: found.put("compiled", True),
}
# The file holds all of some 150 arguments; these change what is computed and have no place in an experiment here.
_NAMES_THAT_MATTER = """
    aug_repeats aug_splits model_ema split_bn jsd_loss bce_loss kd_model_name naflex_loader num_classes in_chans
    model_kwargs train_num_samples
"""
_MATTERS = frozenset(_NAMES_THAT_MATTER.split())
