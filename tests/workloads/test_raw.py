"""A model by three numbers."""

from __future__ import annotations

import pytest

from planner.errors import InputError
from planner.workloads.raw import raw_numbers, workload_of_numbers

NUMBERS = raw_numbers(1.3e9, 2.6e12, 4e8)


def test_the_step_is_three_times_the_forward_pass() -> None:
    workload = workload_of_numbers(NUMBERS, None, 1024)
    assert workload.parameters == 1_300_000_000
    assert workload.forward_flops_per_sample == 2.6e12
    assert workload.training_flops_per_sample == 7.8e12
    assert workload.memory_amp.saved_bytes == (2.6e9, 4e8)
    assert (workload.sample_unit, workload.seq_length) == ("sequence", 1024)


def test_in_fp32_activations_are_twice_as_large_and_weights_are_not_copied() -> None:
    assert workload_of_numbers(NUMBERS, None, None).memory_fp32.saved_bytes == (0.0, 8e8)


def test_images_and_anything_else_have_their_own_unit() -> None:
    assert workload_of_numbers(NUMBERS, 224, None).sample_unit == "image"
    assert workload_of_numbers(NUMBERS, None, None).sample_unit == "sample"


def test_all_three_are_needed() -> None:
    with pytest.raises(InputError, match="needs --flops-per-sample and --activation-bytes too"):
        raw_numbers(1e9, None, None)
