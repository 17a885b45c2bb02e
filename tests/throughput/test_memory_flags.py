"""The flag of a run that fits with next to nothing to spare."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.throughput.step import StepModel
from tests.throughput.examples import A100, convolutional, experiment, machine


def _share(batch: int) -> tuple[float, bool, bool]:
    """(required / available, fits, flagged) of a fixed batch on 40 GB."""
    step = StepModel(experiment(convolutional(), batch_size_per_gpu=batch)).estimate(machine(A100))
    assert step.memory_required_bytes is not None
    assert step.memory_available_bytes is not None
    share = step.memory_required_bytes / step.memory_available_bytes
    return share, step.fits, "memory_tight" in step.flags


@given(st.integers(1, 600))
def test_memory_is_tight_in_its_last_twentieth_only(batch: int) -> None:
    share, fits, tight = _share(batch)
    assert tight == (fits and share > 0.95)


def test_both_sides_occur() -> None:
    tight = [batch for batch in range(300, 480) if _share(batch)[2]]
    assert tight
    assert not _share(tight[0] - 1)[2]
    assert not _share(tight[-1] + 1)[1]
