"""Find and make the user's model: ``file.py:attribute``, ``module:attribute``, ``timm/NAME``, ``torchvision/NAME``."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from torch import nn

from .devices import on_device
from .errors import CannotTraceError, sentence
from .torchvision_operators import imported

LIBRARIES = ("timm", "torchvision")


class Made(NamedTuple):
    """A model, the loss that its maker returned with it (or None), and what there is to say of the making."""

    model: nn.Module
    loss: Any
    notes: tuple[str, ...]


def found(target: str) -> Any:
    """The object that ``target`` names. Raises CannotTraceError."""
    if ":" not in target:
        library, _, name = target.partition("/")
        return _library_maker(library, name)
    source, _, attribute = target.rpartition(":")
    module = _imported(source)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise CannotTraceError("import", f"{source} has no {attribute!r}{_its_own(module)}")
        value = getattr(value, part)
    return value


def _its_own(module: ModuleType) -> str:
    """'; it has a, b': what the module defines itself and may have been meant."""
    own = [name for name, item in vars(module).items() if getattr(item, "__module__", None) == module.__name__]
    return f"; it has {', '.join(own[:8])}" if own else ""


def _imported(source: str) -> ModuleType:
    """Import a file by path, its folder importable as for ``python file.py``; or a module by name."""
    is_file = source.endswith(".py")
    sys.path.insert(0, str(Path(source).resolve().parent) if is_file else os.getcwd())
    sys.argv = [source]
    try:
        return _file_module(Path(source)) if is_file else importlib.import_module(source)
    except SystemExit as stop:
        raise CannotTraceError(
            "import",
            f"importing {source} ends the program (exit {stop.code}), as a script does that reads its arguments: "
            'put that under `if __name__ == "__main__":`',
        ) from stop
    except Exception as error:
        raise CannotTraceError("import", f"importing {source} fails: {sentence(error)}") from error


def _file_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _library_maker(library: str, name: str) -> Callable[..., Any]:
    """What makes the untrained model that timm or torchvision has under this name."""
    try:
        module = imported(library)
    except Exception as error:
        raise CannotTraceError(
            "import", f"{library} cannot be imported beside this torch: {sentence(error)}"
        ) from error
    known = module.list_models() if library == "timm" else module.models.list_models()
    if name not in known:
        near = difflib.get_close_matches(name, known, 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise CannotTraceError("import", f"{library} has no model {name!r}{hint}")

    def make(**options: Any) -> Any:
        if library == "timm":
            return module.create_model(name, **options)
        return module.models.get_model(name, weights=None, **options)

    return make


def library_input(target: str) -> tuple[int, ...] | None:
    """The image shape that timm trains ``timm/NAME`` on; None for everything else."""
    if not target.startswith("timm/"):
        return None
    config = imported("timm").get_pretrained_cfg(target.partition("/")[2])
    return tuple(config.input_size) if config is not None else None


def made(value: Any, options: dict[str, Any]) -> Made:
    """Make the model on the meta device; where that fails, on the CPU without initialising it. Raises CannotTraceError.

    Numbers computed from tensors while a model is built are common, and the meta device has none.
    """
    if isinstance(value, nn.Module):
        return Made(value, None, ())
    if not callable(value):
        kind = type(value).__name__
        raise CannotTraceError("build", f"it is a {kind}, neither an nn.Module nor a function that makes one")
    missing = _missing_arguments(value, options)
    if missing:
        message = f"it needs {', '.join(missing)}: give --arg {missing[0]}=VALUE, or name a function that needs nothing"
        raise CannotTraceError("build", message)
    try:
        with on_device("meta"):
            return _parted(value(**options), ())
    except CannotTraceError:
        raise
    except Exception:
        pass  # tried again below, where errors are final
    try:
        with on_device("cpu"), _initialisation_skipped():
            return _parted(value(**options), ("built on the CPU, without initialising weights",))
    except (Exception, SystemExit) as error:
        if isinstance(error, CannotTraceError):
            raise
        raise CannotTraceError("build", f"making the model fails: {sentence(error)}") from error


def _parted(result: Any, notes: tuple[str, ...]) -> Made:
    """A model alone, or a model and its loss."""
    if isinstance(result, nn.Module):
        return Made(result, None, notes)
    if isinstance(result, (tuple, list)) and len(result) == 2 and isinstance(result[0], nn.Module):
        return Made(result[0], result[1], notes)
    kind = type(result).__name__
    raise CannotTraceError("build", f"it returns a {kind}, not an nn.Module (or a model and its loss)")


def _missing_arguments(value: Any, options: dict[str, Any]) -> list[str]:
    """Arguments without a default that nobody gave."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    collecting = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in collecting and parameter.name not in options
    ]


@contextlib.contextmanager
def _initialisation_skipped() -> Iterator[None]:
    """Weights keep what memory holds: nobody reads them, and pages that nobody touches are never there."""
    names = [name for name in vars(nn.init) if name.endswith("_") and not name.startswith("_")]
    originals = {name: getattr(nn.init, name) for name in names}
    for name in names:
        setattr(nn.init, name, lambda tensor, *_, **__: tensor)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(nn.init, name, original)
