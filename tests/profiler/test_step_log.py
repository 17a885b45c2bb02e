"""Steps read from what training commands print."""

from __future__ import annotations

import pytest

from planner.profiler.step_log import StepLog


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def fed(lines: list[tuple[float, bytes]]) -> StepLog:
    clock = Clock()
    log = StepLog(clock)
    for moment, line in lines:
        clock.now = moment
        log.feed("stdout", line)
    return log


def test_markers_with_samples_and_waits() -> None:
    log = fed([(i * 0.5, b"gpuplanner: step=%d samples=32 wait_s=0.05\n" % i) for i in range(1, 9)])
    summary = log.summary()
    assert summary.steps == 8
    assert summary.step_time_s == pytest.approx(0.5)
    assert summary.samples_per_s == pytest.approx(64)
    assert summary.wait_share == pytest.approx(0.1)


def test_a_marker_in_pieces_and_among_other_lines() -> None:
    clock = Clock()
    log = StepLog(clock)
    for i in range(1, 7):
        clock.now = i * 1.0
        log.feed("stdout", b"loss 0.1\ngpuplanner: st")
        log.feed("stderr", b"gpuplanner: nonsense\n")
        log.feed("stdout", b"ep=%d\n" % i)
    assert log.steps == 6
    assert log.summary().step_time_s == pytest.approx(1.0)
    assert log.summary().samples_per_s is None


# Lines as tqdm 4.67, Lightning 2.5 and transformers 4.57 write them.
TQDM = b"\r %3d%%|\xe2\x96\x88\xe2\x96\x8f        | %d/100 [00:0%d<00:22,  4.01it/s]"
LIGHTNING = b"\rEpoch 0: %3d%%|\xe2\x96\x88  | %d/100 [00:0%d<00:30,  3.41it/s, v_num=0, train_loss=2.3]"
SLOW = b"\r %3d%%|\xe2\x96\x88\xe2\x96\x8f        | %d/100 [00:0%d<03:20,  2.00s/it]"


@pytest.mark.parametrize("bar", [TQDM, LIGHTNING, SLOW])
def test_bars(bar: bytes) -> None:
    log = fed([(i * 0.8, bar % (4 * i, 4 * i, i)) for i in range(1, 7)] + [(6.0, b"\n")])
    summary = log.summary()
    assert summary.steps == 24
    assert summary.step_time_s == pytest.approx(0.2)


def test_the_rate_that_a_trainer_tells_at_its_end() -> None:
    log = fed([(1.0, b"{'train_runtime': 12.3, 'train_samples_per_second': 81.25, 'epoch': 1.0}\n")])
    assert log.summary().samples_per_s == 81.25
    assert log.summary().step_time_s is None


def test_a_second_bar_does_not_count_backwards() -> None:
    bars = [(float(i), TQDM % (i, i, i)) for i in range(1, 6)]
    again = [(10.0 + i, TQDM % (i, i, i)) for i in range(1, 6)]
    summary = fed([*bars, *again, (20.0, b"\n")]).summary()
    assert summary.step_time_s == pytest.approx(1.0)


def test_too_few_steps_are_unknown() -> None:
    summary = fed([(1.0, b"gpuplanner: step=1\n"), (2.0, b"gpuplanner: step=2\n")]).summary()
    assert (summary.steps, summary.step_time_s, summary.wait_share) == (2, None, None)


@pytest.mark.parametrize(
    "line", [b"gpuplanner:", b"gpuplanner: step=x", b"gpuplanner: step=-4", b"gpuplanner: step=nan"]
)
def test_what_is_no_marker_counts_nothing(line: bytes) -> None:
    assert fed([(1.0, line + b"\n")]).steps == 0
