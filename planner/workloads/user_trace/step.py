"""One training step of the user's model: its inputs at any batch size, and the most explicit loss that it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from .errors import CannotTraceError

Loss = Callable[[nn.Module, tuple[Any, ...]], Any]


class InputRow(NamedTuple):
    """One input: its name where the user gave one, its dtype, and its shape without the batch."""

    name: str | None
    dtype: str
    shape: tuple[int, ...]


class UserStep:
    """Inputs and losses of one model on one device; ``said`` tells what loss was taken."""

    def __init__(self, model: nn.Module, given_loss: Any, rows: list[InputRow], device: str) -> None:
        self.model = model
        self.rows = rows
        self.device = device
        self.said = ""
        self._given = given_loss

    def inputs(self, batch: int) -> tuple[Any, ...]:
        return tuple(self._empty((batch, *row.shape), row.dtype) for row in self.rows)

    def losses(self) -> list[tuple[str, Loss]]:
        """Ways to a scalar, each with its name; the first that runs is the one to take."""
        given = self._given
        if isinstance(given, nn.Module):
            return [("the given criterion", lambda model, inputs: self._criterion(given, self._call(inputs)))]
        if given is not None:
            return [("the given loss", lambda model, inputs: given(model, *inputs))]
        if callable(getattr(self.model, "training_step", None)):
            _without_a_trainer(self.model)
            forms = (self._as_tuple, self._as_mapping, self._as_single)
            return [("the model's training_step", self._training_step(form)) for form in forms]
        return [("", lambda model, inputs: self._by_rule(self._call(inputs)))]

    def _empty(self, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
        return torch.empty(shape, dtype=getattr(torch, dtype), device=self.device)

    def _call(self, inputs: tuple[Any, ...]) -> Any:
        """By name where every name is one of forward's; a model that computes its own loss gets tokens as labels."""
        accepted = inspect.signature(self.model.forward).parameters
        open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
        names = [row.name for row in self.rows]
        if not all(name is not None and (open_ended or name in accepted) for name in names):
            return self.model(*inputs)
        named: dict[Any, Any] = dict(zip(names, inputs, strict=True))
        if "labels" in accepted and "labels" not in named:
            named.update(self._own_labels(inputs[0]))
        if "use_cache" in accepted:
            named.setdefault("use_cache", False)
        return self.model(**named)

    def _own_labels(self, first: torch.Tensor) -> dict[str, torch.Tensor]:
        """What a model of transformers takes as ``labels``, by the head its name ends with; nothing for others."""
        kind = type(self.model).__name__
        if kind.endswith(("LM", "LMHeadModel")) and first.dtype == torch.int64:
            return {"labels": first}
        if kind.endswith(("ForSequenceClassification", "ForImageClassification")):
            return {"labels": self._empty((first.shape[0],), "int64")}
        return {}

    # --- losses ---

    def _training_step(self, form: Callable[[tuple[Any, ...]], Any]) -> Loss:
        step = self.model.training_step
        indexed = len(inspect.signature(step).parameters) > 1

        def loss(model: nn.Module, inputs: tuple[Any, ...]) -> Any:
            batch = form(inputs)
            result = step(batch, 0) if indexed else step(batch)
            return result["loss"] if isinstance(result, dict) and "loss" in result else result

        return loss

    def _as_tuple(self, inputs: tuple[Any, ...]) -> Any:
        """(data, target): a single input comes with class labels."""
        return inputs if len(inputs) > 1 else (inputs[0], self._empty((inputs[0].shape[0],), "int64"))

    def _as_mapping(self, inputs: tuple[Any, ...]) -> Any:
        named = zip(self.rows, inputs, strict=True)
        return {row.name or f"input_{place}": data for place, (row, data) in enumerate(named)}

    def _as_single(self, inputs: tuple[Any, ...]) -> Any:
        return inputs[0]

    def _criterion(self, criterion: nn.Module, output: Any) -> Any:
        if isinstance(criterion, (nn.CrossEntropyLoss, nn.NLLLoss)):
            return criterion(output, self._labels(output))
        return criterion(output, torch.empty_like(output))

    def _by_rule(self, output: Any) -> Any:
        """The model's own scalar, else the sum over its outputs of cross entropy (scores) or squared error."""
        own = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        tensors = [own] if isinstance(own, torch.Tensor) else list(_differentiable(output))
        if not tensors:
            raise CannotTraceError("step", "its output has no tensor that depends on the model's parameters")
        scalars = [tensor for tensor in tensors if tensor.dim() == 0]
        if len(scalars) == 1:  # alone, or beside the scores as in (scores, loss)
            self.said = "the model's own loss"
            return scalars[0]
        return sum(self._assumed_loss(tensor) for tensor in tensors)

    def _assumed_loss(self, output: torch.Tensor) -> torch.Tensor:
        of_tokens = output.dim() == 3 and any(row.dtype == "int64" for row in self.rows)
        if of_tokens or (output.dim() == 2 and output.shape[1] > 1):
            self.said = f"cross entropy over {output.shape[-1]:,} classes (assumed)"
            scores = output.flatten(0, -2)
            return F.cross_entropy(scores, self._labels(scores))
        self.said = "mean squared error against a target like the output (assumed)"
        return F.mse_loss(output, torch.empty_like(output))

    def _labels(self, scores: torch.Tensor) -> torch.Tensor:
        """Class labels for scores of shape (batch, classes, ...)."""
        return self._empty((scores.shape[0], *scores.shape[2:]), "int64")


def _differentiable(tree: Any) -> Iterator[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        if tree.is_floating_point() and tree.requires_grad:
            yield tree
    elif isinstance(tree, dict):
        yield from _differentiable(list(tree.values()))
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from _differentiable(item)


def _without_a_trainer(model: Any) -> None:
    """A LightningModule calls its trainer to log and to step optimizers; here nobody answers."""
    if not hasattr(model, "configure_optimizers") or not hasattr(type(model), "manual_backward"):
        return
    for name in ("log", "log_dict", "print", "toggle_optimizer", "untoggle_optimizer", "clip_gradients"):
        object.__setattr__(model, name, lambda *_, **__: None)
    object.__setattr__(model, "manual_backward", lambda loss, *_, **__: loss.backward())
    object.__setattr__(model, "optimizers", lambda *_, **__: _as_optimizers(model.configure_optimizers()))
    object.__setattr__(model, "lr_schedulers", lambda *_, **__: None)


def _as_optimizers(configured: Any) -> Any:
    """What ``self.optimizers()`` returns: one, or a list; schedulers left out."""
    if isinstance(configured, tuple) and len(configured) == 2 and isinstance(configured[0], list):
        configured = configured[0]
    found = [item["optimizer"] if isinstance(item, dict) else item for item in _listed(configured)]
    return found[0] if len(found) == 1 else found


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
