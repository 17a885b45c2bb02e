"""Where the traced step lives: the meta device or, as a second try, fake tensors on the CPU; never a real device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

_FACTORY_NAMES = """
    empty zeros ones full rand randn randint randperm arange linspace logspace eye tensor as_tensor normal tril_indices
    triu_indices hann_window empty_strided
"""
_FACTORIES = {getattr(torch, name) for name in _FACTORY_NAMES.split()}
_MOVES = ("cuda", "cpu", "xpu")
_DEVICES = ("cuda", "cpu", "mps", "xpu", "meta")


class OnOneDevice(TorchFunctionMode):
    """Puts every tensor on ``device``, whatever device the model's code names."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in _MOVES and args and isinstance(args[0], torch.Tensor):
            return args[0]
        if kwargs.get("device") is not None or func in _FACTORIES:
            kwargs["device"] = self.device
        if name == "to" and len(args) > 1 and _names_a_device(args[1]):
            args = (args[0], self.device, *args[2:])
        return func(*args, **kwargs)


def _names_a_device(value: Any) -> bool:
    if isinstance(value, str):
        return value.partition(":")[0] in _DEVICES
    return isinstance(value, (torch.device, int)) and not isinstance(value, bool)


class Stage(NamedTuple):
    """One way to run the step: ``open`` is entered around all of it, ``device`` is where its inputs are made."""

    name: str
    device: str
    open: Callable[[], contextlib.AbstractContextManager[Any]]


@contextlib.contextmanager
def on_device(device: str, *modes: Any) -> Iterator[None]:
    """Everything the code inside makes or moves is on ``device``; ``modes`` are entered first."""
    plain = nn.Module.cuda
    nn.Module.cuda = lambda module, *_, **__: module  # type: ignore[method-assign,assignment]
    try:
        with contextlib.ExitStack() as stack:
            for mode in (*modes, OnOneDevice(device)):
                stack.enter_context(mode)
            yield
    finally:
        nn.Module.cuda = plain  # type: ignore[method-assign]


def _fake_tensors() -> Any:
    """Imported where it is used: it takes as long to import as a small network takes to trace."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


STAGES = (
    Stage("the meta device", "meta", lambda: on_device("meta")),
    Stage("fake tensors", "cpu", lambda: on_device("cpu", _fake_tensors())),
)


def move(model: nn.Module, device: str) -> None:
    """Replace every parameter and buffer by an empty one on ``device``; what was shared stays shared.

    Under an open FakeTensorMode the new ones are fake.
    """
    known: dict[int, Any] = {}

    def empty(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)

    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                if id(parameter) not in known:
                    known[id(parameter)] = nn.Parameter(empty(parameter), requires_grad=parameter.requires_grad)
                module._parameters[name] = known[id(parameter)]
        for name, buffer in module._buffers.items():
            if buffer is not None:
                if id(buffer) not in known:
                    known[id(buffer)] = empty(buffer)
                module._buffers[name] = known[id(buffer)]
