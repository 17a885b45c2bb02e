"""docs/published_runs.md: every published run beside the product's time, the scores, and what could not be read."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from planner.units import format_duration
from tools.published.prediction import Predicted
from tools.published.reading import MOST_ON_ONE_NODE, Unread

MEDIAN_BAR = 0.25
WITHIN = 1.5
WITHIN_BAR = 0.8

_HEAD = """# Published training runs, predicted

<!-- Written by `python tools/published_runs.py --shared DIR`; do not edit. -->

Whole runs that vendors and projects published (MLPerf, NVIDIA's examples, detectron2, StyleGAN2-ADA, DAWNBench), each
put to the product as its own experiment on its own machine, time only. Vendors' runs are predicted with `--tuned`, the
others as an ordinary script; MLPerf's clock covers no checkpoints, the others' does. Where a row states no batch the
recipe's is taken (StyleGAN2-ADA: what `--cfg=auto` sets), where it states no precision mixed precision (detectron2:
fp32). MLPerf 0.5 counts epochs from 0; what single logs of MLPerf count otherwise than their rows tell stands in
`tools/published/mlperf_counts.csv`, each with its log. The throughput model learns from rates of NVIDIA's examples and
others (docs/model.md); MLPerf, StyleGAN2-ADA and DAWNBench had no part in any fit.

The residual is ln(predicted / published): 0.10 is a tenth too slow, 0.41 half as long again.

MLPerf's code of 2020 is faster than NVIDIA's examples, from which `--tuned` is learnt, by about what it is predicted
too slow: 806,854 tokens/s of the Transformer on 8 A100 in the log of `dgxa100_ngc20.06_pytorch` against 551,599 in
DeepLearningExamples (a residual of 0.38), and 183 images/s of Mask R-CNN on 8 V100 in Tencent's run against 135 (0.30).
"""


class Score(NamedTuple):
    """``median`` of the absolute residuals, the share ``within`` a factor of 1.5, and the mean residual (``bias``)."""

    runs: int
    median: float
    within: float
    bias: float

    @property
    def meets(self) -> bool:
        return self.median <= MEDIAN_BAR and self.within >= WITHIN_BAR


def score(predicted: Sequence[Predicted]) -> Score:
    """Raises statistics.StatisticsError without runs."""
    residuals = [each.log_error for each in predicted]
    sizes = [abs(residual) for residual in residuals]
    within = sum(size <= math.log(WITHIN) for size in sizes) / len(sizes)
    return Score(len(residuals), statistics.median(sizes), within, statistics.fmean(residuals))


def on_one_host(predicted: Iterable[Predicted]) -> list[Predicted]:
    """Without TPU slices of more chips: one row, and one interconnect, but many hosts."""
    return [each for each in predicted if each.run.num_accelerators <= MOST_ON_ONE_NODE]


def page(predicted: Sequence[Predicted], unread: Sequence[Unread]) -> str:
    hosts = on_one_host(predicted)
    slices = [each for each in predicted if each not in hosts]
    lines = [_HEAD, f"- {summary(predicted)}"]
    if slices:
        lines.append(f"- without the TPU slices of more than sixteen chips: {summary(hosts)}")
    lines += ["", "## By source and model", "", *_groups(predicted)]
    lines += ["", "## Every run", "", *_runs(hosts)]
    lines += ["", "## TPU slices of more than sixteen chips", "", *_runs(slices)]
    lines += ["", "## Not predicted", "", *_unread(unread)]
    return "\n".join(lines) + "\n"


def summary(counted: Sequence[Predicted]) -> str:
    total = score(counted)
    verdict = "meets" if total.meets else "misses"
    return (
        f"{total.runs} runs: median |residual| {total.median:.3f}, {total.within:.1%} within {WITHIN:g}x, "
        f"bias {total.bias:+.3f}; {verdict} the bar ({MEDIAN_BAR:g}, {WITHIN_BAR:.0%})"
    )


def _groups(predicted: Iterable[Predicted]) -> list[str]:
    groups: dict[tuple[str, str], list[Predicted]] = {}
    for each in predicted:
        groups.setdefault((each.run.source, each.run.workload.name), []).append(each)
    lines = ["| source | model | runs | median | within 1.5x | bias |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for (source, model), members in sorted(groups.items()):
        one = score(members)
        lines.append(f"| {source} | {model} | {one.runs} | {one.median:.2f} | {one.within:.0%} | {one.bias:+.2f} |")
    return lines


def _runs(predicted: Iterable[Predicted]) -> list[str]:
    lines = [
        "| source | run | level | batch/GPU | published | predicted | P10–P90 | binds | evidence | residual |",
        "| --- | --- | --- | ---: | ---: | ---: | --- | --- | --- | ---: |",
    ]
    for each in predicted:
        run, time = each.run, each.time_s
        cells = (
            run.source, run.label, "tuned" if run.tuned else "ordinary", f"{each.batch_size_per_gpu:,}",
            format_duration(run.actual_s), format_duration(time.p50),
            f"{format_duration(time.p10)}–{format_duration(time.p90)}",
            each.bound_by, each.evidence, f"{each.log_error:+.2f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _unread(unread: Iterable[Unread]) -> list[str]:
    counts = Counter((each.source, each.label.split(", ")[0], each.reason) for each in unread)
    lines = ["| source | run | rows | reason |", "| --- | --- | ---: | --- |"]
    for (source, label, reason), count in sorted(counts.items()):
        lines.append(f"| {source} | {label} | {count} | {reason} |")
    return lines
