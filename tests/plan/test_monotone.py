"""What no decision may violate: a dearer hour, a slower step and more interruptions never make a run cheaper."""

from __future__ import annotations

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.presets import machine_from_spec
from planner.plan.candidates import Candidate, Tariff
from planner.plan.cost import Charge, cents
from planner.plan.search import Setting
from planner.plan.timeline import Timeline
from planner.throughput.step import StepModel
from planner.units import Interval
from pricing.offer import Offer
from pricing.rates import Billing

TODAY = date(2026, 11, 30)
MACHINE = machine_from_spec("box", "A100", 8)
STEP = StepModel(resolve_experiment(ExperimentRequest("resnet50", epochs=1))).estimate(MACHINE)
SECONDS = Billing(1.0, 60.0, "2026-01-01", "per second")
NONE = Interval(0.0, 0.0, 0.0)

works = st.floats(60, 3e6)
rates = st.floats(0.001, 3.0)
prices = st.floats(0.05, 100)
factors = st.floats(1.0, 3.0)
checkpoints = st.floats(0.5, 600)


def _setting(work_s: float, per_hour: float, checkpoint_s: float) -> Setting:
    rate = Interval(per_hour / 2, per_hour, per_hour * 2)
    disk = Charge("disk", 0.02, 0.0, "a rate")
    tariff = Tariff((disk,), SECONDS, lambda _: rate, idle_s=600.0)
    candidate = Candidate("box", "cloud", MACHINE, tariff, (), provider="aws")
    work = Interval(work_s * 0.9, work_s, work_s * 1.2)
    return Setting(candidate, STEP, Timeline(180.0, 100.0, 700.0, work, NONE, checkpoint_s, checkpoint_s, 10.0))


def _offer(price: float, purchase: str = "spot") -> Offer:
    return Offer("aws", "box", "us-east-1", None, purchase, str(price), price, (), "2026-11-29", "list")


def _usd(setting: Setting, offer: Offer) -> float:
    """As the ranking counts it: to the cent."""
    run = setting.run(offer)
    return (run.extra_cents + cents(offer.usd_per_hour * run.billed_hours)) / 100 if not run.problem else float("inf")


@given(works, rates, checkpoints, prices, factors)
def test_a_dearer_hour_is_never_cheaper(
    work_s: float, rate: float, checkpoint_s: float, price: float, f: float
) -> None:
    setting = _setting(work_s, rate, checkpoint_s)
    assert _usd(setting, _offer(price)) <= _usd(setting, _offer(price * f))


@given(works, rates, checkpoints, prices, factors)
def test_a_slower_step_is_never_cheaper(
    work_s: float, rate: float, checkpoint_s: float, price: float, f: float
) -> None:
    fast, slow = _setting(work_s, rate, checkpoint_s), _setting(work_s * f, rate, checkpoint_s)
    assert _usd(fast, _offer(price)) <= _usd(slow, _offer(price))


@given(works, rates, checkpoints, prices, factors)
def test_more_interruptions_are_never_cheaper(
    work_s: float, rate: float, checkpoint_s: float, price: float, f: float
) -> None:
    calm, rough = _setting(work_s, rate, checkpoint_s), _setting(work_s, rate * f, checkpoint_s)
    assert _usd(calm, _offer(price)) <= _usd(rough, _offer(price))


@given(works, rates, checkpoints, prices)
def test_interruptions_never_save_money(work_s: float, rate: float, checkpoint_s: float, price: float) -> None:
    setting = _setting(work_s, rate, checkpoint_s)
    undisturbed = _offer(price, "on_demand")
    assert _usd(setting, undisturbed) <= _usd(setting, _offer(price))
    calm, rough = setting.time_s(undisturbed), setting.time_s(_offer(price))
    assert all(quiet <= disturbed * (1 + 1e-9) for quiet, disturbed in zip(calm, rough, strict=True))


@given(works, rates, checkpoints, prices)
def test_the_cost_has_its_percentiles_in_order_around_the_bill(
    work_s: float, rate: float, checkpoint_s: float, price: float
) -> None:
    setting, offer = _setting(work_s, rate, checkpoint_s), _offer(price)
    if setting.run(offer).problem:
        return
    cost = setting.cost_usd(offer, TODAY)
    assert cost.p10 <= cost.p50 <= cost.p90
    assert cost.p50 == _usd(setting, offer)
