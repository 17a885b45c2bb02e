"""The backtest: every row answered or explained, and errors that mean what they say."""

from __future__ import annotations

import math
import time

import pytest

from planner.errors import InputError
from planner.throughput.backtest import quantile, run_backtest, score

ROW = {
    "model": "resnet50",
    "gpu": "RTX 3090",
    "n_gpus": "1",
    "precision": "amp-fp16",
    "batch_per_gpu": "128",
    "samples_per_s": "800",
    "source": "mine",
}


def test_a_row_is_predicted_with_its_interval_and_error() -> None:
    report = run_backtest([ROW])
    (row,) = report.rows
    assert row.predicted_samples_per_s is not None
    assert row.p10 is not None
    assert row.p90 is not None
    assert row.p10 < row.predicted_samples_per_s < row.p90
    assert row.ape == pytest.approx(abs(row.predicted_samples_per_s / 800 - 1))
    assert row.row is ROW
    assert report.total.n == report.total.n_predicted == 1
    assert report.total.bias == pytest.approx(math.log(row.predicted_samples_per_s / 800))


def test_rows_that_cannot_be_predicted_are_counted_and_keep_the_reason() -> None:
    report = run_backtest([ROW, {**ROW, "precision": "fp64"}, {**ROW, "model": "no-such-net-xyz"}])
    assert (report.total.n, report.total.n_predicted) == (3, 1)
    assert "not modelled" in (report.rows[1].reason or "")
    assert "unknown model" in (report.rows[2].reason or "")


def test_a_batch_that_does_not_fit_is_predicted_and_flagged() -> None:
    (row,) = run_backtest([{**ROW, "batch_per_gpu": "4096"}]).rows
    assert row.predicted_samples_per_s is not None
    assert "memory_exceeded" in row.flags


def test_an_empty_batch_is_assumed_and_flagged() -> None:
    (row,) = run_backtest([{**ROW, "batch_per_gpu": ""}]).rows
    assert "batch_assumed" in row.flags


def test_groups_partition_the_rows() -> None:
    report = run_backtest([ROW, {**ROW, "gpu": "A100 SXM 80GB", "source": "theirs"}, {**ROW, "model": "??"}])
    for kind in ("gpu", "family", "precision", "source", "evidence"):
        assert sum(group.n for group in report.groups[kind].values()) == 3
    assert report.groups["source"]["theirs"].n == 1


def test_inference_and_steps_without_update_are_faster() -> None:
    whole, no_update, forward = (
        run_backtest([{**ROW, **scope}]).rows[0].predicted_samples_per_s or 0.0
        for scope in ({}, {"opt_step": "no"}, {"mode": "infer"})
    )
    assert whole < no_update < forward


def test_an_anchor_moves_the_others_and_is_not_judged_itself() -> None:
    rows = [ROW, {**ROW, "gpu": "RTX 3080", "samples_per_s": "600"}]
    alone = run_backtest(rows).rows[1].predicted_samples_per_s or 0.0
    slow_anchor = [{**ROW, "samples_per_s": "500"}, rows[1]]
    anchored = run_backtest(slow_anchor, anchor="3090")
    assert "anchor" in (anchored.rows[0].reason or "")
    assert (anchored.rows[1].predicted_samples_per_s or 0.0) < alone


def test_an_anchor_nobody_measured_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be the anchor"):
        run_backtest([ROW], anchor="H100")


def test_an_empty_group_has_no_errors() -> None:
    assert score([]).median_ape is None
    assert run_backtest([]).total.n == 0


def test_quantiles_interpolate() -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert quantile([7.0], 0.9) == 7.0


def test_a_thousand_rows_take_seconds() -> None:
    names = ("resnet50", "vgg16", "bert-base", "efficientnet_b0")
    rows = [{**ROW, "model": names[i % 4], "batch_per_gpu": str(8 + i % 50)} for i in range(1000)]
    started = time.process_time()
    run_backtest(rows)
    assert time.process_time() - started < 3.0


def test_a_file_without_a_rate_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="no column with a measured rate"):
        run_backtest([{"model": "resnet50", "gpu": "RTX 3090", "precision": "amp"}])


def test_a_negative_number_of_gpus_is_explained() -> None:
    (row,) = run_backtest([{**ROW, "n_gpus": "-1"}]).rows
    assert row.predicted_samples_per_s is None
    assert "must not be negative" in (row.reason or "")


@pytest.mark.parametrize(("version", "stated"), [("pytorch 1.9.0a0", 200.0), ("pytorch 1.13.0a0", 1600.0)])
def test_old_ssd_logs_state_the_rate_of_one_gpu(version: str, stated: float) -> None:
    """RTX 3090, 8 GPUs: a few hundred images/s each, whatever the log multiplies by."""
    ssd = {
        "model": "SSD",
        "gpu": "RTX 3090",
        "n_gpus": "8",
        "precision": "amp-fp16",
        "batch_per_gpu": "88",
        "samples_per_s": str(stated),
        "source": "lambdal/deeplearning-benchmark",
        "framework_version": version,
    }
    (row,) = run_backtest([ssd]).rows
    assert row.measured_samples_per_s == 1600.0
    assert row.row is ssd
