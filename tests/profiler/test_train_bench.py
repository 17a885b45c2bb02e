"""Training steps of the user's own models, in an interpreter that has torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from planner.profiler.microbench import TRAIN_BENCH

pytest.importorskip("torch")

LAZY = """
import torch

def make():
    nn = torch.nn
    return nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
"""


def test_lazy_modules_are_trained_whole(tmp_path: Path) -> None:
    """4 x 27 + 4 of the convolution, 8 of the normalisation, 4 x 36 x 10 + 10 of the linear layer."""
    (tmp_path / "lazy.py").write_text(LAZY)
    request = {"model": f"{tmp_path / 'lazy.py'}:make", "batch_size": 2, "precision": "fp32", "optimizer": "sgd"}
    request |= {"seconds": 20, "steps": 1, "image_size": None, "seq_length": None, "device": "cpu"}
    command = [sys.executable, str(TRAIN_BENCH), json.dumps({**request, "inputs": [[None, "float32", [3, 8, 8]]]})]
    said = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    model, step = (json.loads(line) for line in said)
    assert model["parameters"] == 4 * 27 + 4 + 8 + 4 * 36 * 10 + 10
    assert step["kind"] == "step"
