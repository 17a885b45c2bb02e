"""Stand-ins for the user's interpreter: they answer as the measuring scripts would, without torch."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEVICE = {"kind": "device", "device": "cpu", "name": "cpu", "torch": "9.9", "threads": 2, "cases": 4}
MODEL = {
    "kind": "model",
    "device": "cpu",
    "torch": "9.9",
    "library": "timm",
    "parameters": 11689512,
    "batch_size": 8,
    "precision": "fp32",
    "image_size": 224,
    "seq_length": None,
}


def rate(op_class: str, flops: float, moved: float, seconds: float, kernels: float = 1, **more: Any) -> dict[str, Any]:
    return {
        "kind": "rate",
        "name": f"a {op_class}",
        "op_class": op_class,
        "phase": "forward",
        "flops": flops,
        "bytes": moved,
        "kernels": kernels,
        "seconds": seconds,
        "low_s": seconds,
        "high_s": seconds,
        "repeats": 5,
        **more,
    }


RATES = [rate("mm", 1e9, 1e7, 0.01), rate("conv", 1e9, 1e7, 0.02), rate("ew", 0.0, 1e9, 0.1)]
LAUNCH = rate("launch", 0.0, 0.0, 1e-3, 100)


def interpreter(
    folder: Path,
    *,
    torch: Sequence[dict[str, Any]] | None = (),
    train: Sequence[dict[str, Any]] = (),
    plain: Sequence[dict[str, Any]] = (),
    decode: Sequence[dict[str, Any]] = (),
    then: str = "",
) -> str:
    """An executable that writes these lines when it is given the script of that name, then runs ``then``.

    ``torch`` None is an interpreter without torch.
    """
    lines = {"torch_bench": torch or (), "train_bench": train, "plain_bench": plain, "decode_bench": decode}
    answers = {name: [json.dumps(line) for line in said] for name, said in lines.items()}
    path = folder / "python"
    path.write_text(
        f"#!{sys.executable}\n"
        "import os, pathlib, sys, time\n"
        f"if sys.argv[1] == '-c': sys.exit({int(torch is None)})\n"
        "print('a library says hello')\n"
        f"for line in {answers!r}[pathlib.Path(sys.argv[1]).stem]: print(line, flush=True)\n"
        f"{then}\n"
    )
    path.chmod(0o755)
    return str(path)
