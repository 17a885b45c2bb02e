"""Run real training steps of a model on synthetic data, and say how long each took.

Runs by itself in the user's interpreter; needs torch, and torchvision, timm or transformers where the model is theirs.
Every line it writes is one JSON object:

    {"kind": "model", "device": "cpu", "torch": "2.14.1", "library": "torchvision", "parameters": 11689512,
     "batch_size": 8, "precision": "fp32", "image_size": 224, "seq_length": null}
    {"kind": "step", "seconds": 0.91}
    {"kind": "memory", "peak_bytes": ...}

On an accelerator without a batch size, the largest power of two that fits is searched, each try being given back
before the next.

usage: python train_bench.py REQUEST, a JSON object with model, batch_size (or null), precision, optimizer, seconds,
steps, image_size, seq_length (or null), inputs (of a model of the user's own).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)

# The one module outside this folder that it needs: tracing meets the same libraries in the same interpreter.
sys.path.append(str(Path(__file__).resolve().parents[2] / "workloads" / "user_trace"))
from torchvision_operators import imported

WARM_UP_STEPS = 2
LARGEST_BATCH = 4096
DEFAULT_IMAGE = 224
DEFAULT_SEQUENCE = 128
_SETTLING_BATCH = 2  # batch normalisation takes no single sample

Step = Callable[[], None]


class Model(NamedTuple):
    """A model to train: what makes a batch for it, and its loss on one."""

    library: str
    module: torch.nn.Module
    batch: Callable[[int, torch.device], Any]
    loss: Callable[[torch.nn.Module, Any], torch.Tensor]
    image_size: int | None = None
    seq_length: int | None = None


class LanguageModel(torch.nn.Module):  # type: ignore[misc]  # torch is not installed where types are checked
    """The two-layer LSTM of 650 units over 33,278 words (Zaremba et al., 2014, medium)."""

    def __init__(self, words: int = 33278, width: int = 650, layers: int = 2) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(words, width)
        self.recurrent = torch.nn.LSTM(width, width, layers, dropout=0.5)
        self.dropout = torch.nn.Dropout(0.5)
        self.decoder = torch.nn.Linear(width, words)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.recurrent(self.dropout(self.embedding(tokens)))
        scores: torch.Tensor = self.decoder(self.dropout(hidden))
        return scores


# Published shapes of transformers by name, as keyword arguments of their configuration class.
_TRANSFORMERS: dict[str, tuple[str, str, dict[str, int]]] = {
    "bert-base": ("BertConfig", "BertForQuestionAnswering", {}),
    "bert-large": (
        "BertConfig",
        "BertForQuestionAnswering",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    ),
    "distilbert-base": ("DistilBertConfig", "DistilBertForQuestionAnswering", {}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {}),
}


def find_model(name: str, image_size: int | None, seq_length: int | None, inputs: list[list[Any]]) -> Model:
    """The model of that name, or what ``file.py:function`` makes, which takes ``inputs`` (name, dtype, shape each).

    Raises LookupError with a sentence where no library here has it.
    """
    if name == "lstm-lm":
        return _lstm(seq_length or 70)
    if ":" in name:
        return _own(name, inputs)
    if name in _TRANSFORMERS:
        return _transformer(name, seq_length or DEFAULT_SEQUENCE)
    library, _, plain = name.rpartition("/")
    for source in (library,) if library else ("timm", "torchvision"):
        module = _vision_module(source, plain)
        if module is not None:
            return _vision(source, module, image_size or DEFAULT_IMAGE)
    raise LookupError(
        f"neither timm nor torchvision beside this torch has {name!r}, and it is no transformer known here"
    )


def _vision_module(library: str, name: str) -> torch.nn.Module | None:
    if library not in ("timm", "torchvision"):
        return None
    with contextlib.suppress(ImportError):
        module = imported(library)
        if library == "timm":
            return module.create_model(name) if name in module.list_models() else None
        return module.models.get_model(name) if name in module.models.list_models() else None
    return None


def _vision(library: str, module: torch.nn.Module, size: int) -> Model:
    def batch(count: int, device: torch.device) -> Any:
        images = torch.randn(count, 3, size, size, device=device)
        return images, torch.randint(0, 1000, (count,), device=device)

    def loss(model: torch.nn.Module, data: Any) -> torch.Tensor:
        scores = model(data[0])
        return F.cross_entropy(getattr(scores, "logits", scores), data[1])

    return Model(library, module, batch, loss, image_size=size)


def _transformer(name: str, length: int) -> Model:
    try:
        import transformers
    except ImportError as error:
        raise LookupError(f"{name!r} needs transformers beside torch") from error
    config_class, model_class, shape = _TRANSFORMERS[name]
    config = getattr(transformers, config_class)(**shape)
    module = getattr(transformers, model_class)(config)
    generates = model_class.endswith("LMHeadModel")

    def batch(count: int, device: torch.device) -> Any:
        tokens = torch.randint(0, config.vocab_size, (count, length), device=device)
        if generates:
            return {"input_ids": tokens, "labels": tokens}
        places = torch.randint(0, length, (count,), device=device)
        return {"input_ids": tokens, "start_positions": places, "end_positions": places}

    def loss(model: torch.nn.Module, data: Any) -> torch.Tensor:
        value: torch.Tensor = model(**data).loss
        return value

    return Model("transformers", module, batch, loss, seq_length=length)


def _own(target: str, inputs: list[list[Any]]) -> Model:
    """The user's own model on random inputs: its own loss where its output is one or has one, else a sum of squares."""
    path, _, attribute = target.rpartition(":")
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        value = getattr(importlib.import_module(Path(path).stem), attribute)
        module = value if isinstance(value, torch.nn.Module) else value()
    except Exception as error:  # whatever the user's code raises is theirs to read
        raise LookupError(f"{target} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(module, torch.nn.Module):
        raise LookupError(f"{target} makes a {type(module).__name__}, no torch.nn.Module")
    words = min((part.num_embeddings for part in module.modules() if isinstance(part, torch.nn.Embedding)), default=2)

    def tensor(count: int, dtype: str, shape: list[int], device: torch.device) -> torch.Tensor:
        if dtype == "int64":
            return torch.randint(0, words, (count, *shape), device=device)
        return torch.randn(count, *shape, device=device).to(getattr(torch, dtype))

    def batch(count: int, device: torch.device) -> Any:
        return [tensor(count, dtype, shape, device) for _, dtype, shape in inputs]

    def loss(model: torch.nn.Module, data: Any) -> torch.Tensor:
        output: Any = model(*data)
        if getattr(output, "loss", None) is not None:
            output = output.loss
        output = getattr(output, "logits", output)
        output = output[0] if isinstance(output, (tuple, list)) else output
        value: torch.Tensor = output if output.dim() == 0 else output.float().square().mean()
        return value

    return Model(path, module, batch, loss)


def _lstm(length: int) -> Model:
    def batch(count: int, device: torch.device) -> Any:
        words = torch.randint(0, 33278, (length, count), device=device)
        return words, words.flatten()

    def loss(model: torch.nn.Module, data: Any) -> torch.Tensor:
        return F.cross_entropy(model(data[0]).flatten(0, 1), data[1])

    return Model("torch", LanguageModel(), batch, loss, seq_length=length)


def make_optimizer(name: str, parameters: Any) -> torch.optim.Optimizer:
    """The optimizer of that name with its usual settings. Raises LookupError for one that torch lacks."""
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
    if name == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=1e-3, momentum=0.9)
    if name in ("adam", "adamw"):
        return (torch.optim.Adam if name == "adam" else torch.optim.AdamW)(parameters, lr=1e-4)
    raise LookupError(f"torch has no optimizer {name!r}: sgd, adam, adamw or rmsprop")


class Trainer:
    """A model on a device in a precision, ready to take steps."""

    def __init__(self, model: Model, device: torch.device, precision: str, optimizer: str) -> None:
        self.model = model
        self.device = device
        self.module = model.module.to(device).train()
        self._settle()
        self.optimizer = make_optimizer(optimizer, self.module.parameters())
        self.type = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.type is torch.float16)

    def _settle(self) -> None:
        """One pass for the shapes of lazy modules, whose parameters no optimizer takes before."""
        if any(torch.nn.parameter.is_lazy(parameter) for parameter in self.module.parameters()):
            with torch.no_grad():
                self.model.loss(self.module, self.model.batch(_SETTLING_BATCH, self.device))

    def step(self, data: Any) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, self.type, enabled=self.type is not None):
            loss = self.model.loss(self.module, data)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.wait()

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        elif self.device.type == "mps":
            torch.mps.synchronize()

    def largest_batch(self) -> int:
        """The largest power of two whose step fits the accelerator's memory."""
        batch, fitting = 1, 0
        while batch <= LARGEST_BATCH and self._fits(batch):
            fitting, batch = batch, 2 * batch
        if fitting == 0:
            raise LookupError("not even a batch of 1 fits the memory of this device")
        return fitting

    def _fits(self, batch: int) -> bool:
        try:
            self.step(self.model.batch(batch, self.device))
        except torch.OutOfMemoryError:
            return False
        finally:
            self.optimizer.zero_grad(set_to_none=True)
            gc.collect()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        return True


def resolved_precision(precision: str, device: torch.device) -> str:
    """'amp' as this device runs it: bf16, else fp16, on a GPU; fp32 on a CPU."""
    if precision != "amp":
        return precision
    if device.type != "cuda":
        return "fp32"
    return "bf16" if torch.cuda.is_bf16_supported() else "fp16"


def run(request: dict[str, Any]) -> None:
    end = time.perf_counter() + request["seconds"]
    accelerator = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    device = torch.device(request["device"] or accelerator)
    model = find_model(request["model"], request["image_size"], request["seq_length"], request["inputs"])
    precision = resolved_precision(request["precision"], device)
    trainer = Trainer(model, device, precision, request["optimizer"])
    batch = request["batch_size"] or (trainer.largest_batch() if device.type == "cuda" else 8)
    _write(
        {
            "kind": "model",
            "device": device.type,
            "torch": torch.__version__,
            "library": model.library,
            "parameters": sum(parameter.numel() for parameter in model.module.parameters()),
            "batch_size": batch,
            "precision": precision,
            "image_size": model.image_size,
            "seq_length": model.seq_length,
        }
    )
    data = model.batch(batch, device)
    for _ in range(WARM_UP_STEPS):
        trainer.step(data)
    taken = 0
    while taken < request["steps"] and (taken == 0 or time.perf_counter() < end):
        start = time.perf_counter()
        trainer.step(data)
        _write({"kind": "step", "seconds": time.perf_counter() - start})
        taken += 1
    if device.type == "cuda":
        _write({"kind": "memory", "peak_bytes": torch.cuda.max_memory_allocated(device)})


def _write(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        run(json.loads(sys.argv[1]))
    except LookupError as problem:
        sys.exit(str(problem))
