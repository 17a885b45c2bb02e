"""The rule for split models against the published runs that ship with the tools."""

from __future__ import annotations

import csv
import statistics

import pytest

from tools.check_split_models import TABLE, compared, published_rate


def _rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def test_tokens_a_second_follow_from_flops_or_step_time() -> None:
    """1,008 billion parameters at 163 TFLOP/s: about 20 tokens/s of a GPU; 2,048 x 1,024 tokens in 1.153 s on 128."""
    by_name = {(row["model"], row["num_gpus"]): row for row in _rows()}
    assert published_rate(by_name["gpt 1008B", "3072"]) == pytest.approx(20.0, rel=0.01)
    assert published_rate(by_name["gpt 1.2B", "128"]) == pytest.approx(2048 * 1024 / 1.153 / 128)


def test_the_rule_comes_near_the_published_runs() -> None:
    """Without a fit; far off are the two fp8 runs, which are predicted too slow."""
    found = [compared(row) for row in _rows()]
    assert statistics.mean(abs(run.error) for run in found) < 0.12
    assert statistics.median(abs(run.error) for run in found) < 0.08
    assert all(-0.4 < run.error < 0.3 for run in found)
