"""The batch rule: recipe per GPU, at most the largest useful global batch, and what the user fixes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.throughput.batch import check_batch_request, fit_by_accumulation, plan_batch
from tests.throughput.examples import convolutional, experiment


def test_one_gpu_takes_the_recipe() -> None:
    assert plan_batch(experiment(), 1, 1000)[:3] == (256, 1, 256)


def test_accumulation_keeps_the_recipe_where_it_does_not_fit() -> None:
    assert plan_batch(experiment(), 1, 100)[:3] == (64, 4, 256)


def test_the_global_batch_grows_with_the_gpus_up_to_the_largest_useful_one() -> None:
    assert plan_batch(experiment(), 8, 1000)[:3] == (256, 1, 2048)
    assert plan_batch(experiment(), 64, 1000)[:3] == (128, 1, 8192)


def test_fine_tuning_of_32_samples_in_all_shrinks_to_4_on_8_gpus() -> None:
    small = experiment(convolutional(recipe=32, useful=32))
    assert plan_batch(small, 8, 1000)[:3] == (4, 1, 32)


def test_more_gpus_than_samples_is_flagged() -> None:
    plan = plan_batch(experiment(convolutional(recipe=32, useful=32)), 64, 1000)
    assert plan.batch_size_per_gpu == 1
    assert "global_batch_above_useful" in plan.flags


def test_a_fixed_batch_per_gpu_is_honoured_and_does_not_accumulate() -> None:
    assert plan_batch(experiment(batch_size_per_gpu=48), 4, 1000)[:3] == (48, 1, 192)
    assert plan_batch(experiment(batch_size_per_gpu=48, grad_accum_steps=3), 4, 1000)[:3] == (48, 3, 576)


def test_a_fixed_batch_that_does_not_fit_is_a_problem_that_says_what_fits() -> None:
    assert (
        plan_batch(experiment(batch_size_per_gpu=48), 4, 40).problem == "batch 48 per GPU does not fit; at most 40 fits"
    )
    assert plan_batch(experiment(), 4, 0).problem == "not even a batch of 1 per GPU fits"


def test_a_fixed_global_batch_is_split_and_accumulated() -> None:
    assert plan_batch(experiment(global_batch_size=1024), 2, 128)[:3] == (128, 4, 1024)
    assert plan_batch(experiment(global_batch_size=1024, batch_size_per_gpu=64), 2, 128)[:3] == (64, 8, 1024)
    assert plan_batch(experiment(global_batch_size=1024, grad_accum_steps=8), 2, 128)[:3] == (64, 8, 1024)


def test_a_global_batch_that_does_not_divide_is_rounded_down_and_flagged() -> None:
    plan = plan_batch(experiment(global_batch_size=1000), 3, 1000)
    assert plan.global_batch_size == 999
    assert plan.flags == ("global_batch_rounded",)


def test_a_global_batch_smaller_than_the_devices_is_a_problem() -> None:
    assert "cannot be split over 8 devices" in plan_batch(experiment(global_batch_size=4), 8, 100).problem


def test_three_numbers_that_disagree_on_this_machine_are_a_problem() -> None:
    plan = plan_batch(experiment(global_batch_size=512, batch_size_per_gpu=64, grad_accum_steps=2), 2, 100)
    assert "is not the global batch of 512" in plan.problem


@pytest.mark.parametrize(
    "request_",
    [
        {"batch_size_per_gpu": 0},
        {"global_batch_size": -8},
        {"grad_accum_steps": 0},
        {"batch_size_per_gpu": 512, "global_batch_size": 256},
        {"batch_size_per_gpu": 64, "grad_accum_steps": 8, "global_batch_size": 256},
    ],
)
def test_contradictions_on_every_machine_are_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        check_batch_request(experiment(**request_))


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_accumulation_never_exceeds_what_fits_nor_what_was_asked(wanted: int, fitting: int) -> None:
    batch, accumulation = fit_by_accumulation(wanted, fitting)
    assert 1 <= batch <= fitting
    assert wanted / 2 < batch * accumulation <= wanted


@given(st.integers(1, 4096), st.integers(1, 128), st.integers(0, 4096))
def test_the_global_batch_is_the_product_of_its_parts(recipe: int, devices: int, fitting: int) -> None:
    plan = plan_batch(experiment(convolutional(recipe, 4 * recipe)), devices, fitting)
    assert plan.global_batch_size == plan.batch_size_per_gpu * plan.grad_accum_steps * devices
    assert plan.batch_size_per_gpu <= recipe
