"""Which rows are ranked and never recommended, and that the answer says so."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime

import pytest

from planner.cli.plan_json import plan_record
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.plan.candidates import Candidate, Tariff
from planner.plan.cost import Charge
from planner.plan.planning import Answer, answer, written
from planner.plan.question import Question
from planner.plan.recommend import LONGEST_WAIT_S, Named, recommend, why_none, why_not_before
from planner.plan.search import Limits, Ranking, Row, rank
from planner.plan.tail import has_long_tail, mean
from planner.plan.world import World, open_world
from planner.profiler.this_machine import find_this_machine
from planner.throughput.step import StepModel
from planner.units import Interval
from pricing.flags import FAR_BELOW_MEDIAN, MARKETPLACE_ASK
from pricing.offer import Offer
from tests.pricing.samples import OFFER, priced
from tests.throughput.examples import A100, experiment, machine

NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)
RESNET = resolve_experiment(ExperimentRequest("resnet50", epochs=90))
ANYONE = Named(frozenset(), None, government=False)
SPOT = OFFER._replace(purchase="spot")


@pytest.fixture(scope="module")
def world() -> World:
    return open_world(find_this_machine())


def _best(answered: Answer) -> Row:
    assert answered.best is not None
    return answered.ranking.rows[answered.best]


def _ranked(*offers: Offer, often: Interval, charges: tuple[Charge, ...] = (), hours: float = 100.0) -> Ranking:
    """A rented A100 that trains for about so many hours, with spot machines taken so often an hour."""
    tariff = Tariff(charges, interruption_rate=lambda offer: often)
    candidate = Candidate("a100", "cloud", machine(A100), tariff, offers, provider="aws", instance_type="a100")
    asked = experiment()
    step = StepModel(asked).estimate(candidate.machine)
    assert step.samples_per_s is not None
    asked = asked._replace(total_samples=step.samples_per_s.p50 * hours * 3600)
    return rank(asked, StepModel(asked), [candidate], Limits(), NOW)


# Spot


def test_the_mean_of_a_skewed_quantity_lies_above_its_median() -> None:
    assert mean(Interval(1.0, 1.0, 1.0)) == pytest.approx(1.0)
    assert mean(Interval(0.5, 1.0, 2.0)) == pytest.approx(1.15)
    assert mean(Interval(0.5, 1.0, math.inf)) == math.inf


@pytest.mark.parametrize(
    ("often", "is_taken"),
    [
        (Interval(0.001, 0.01, 0.02), True),
        (Interval(0.0, 0.05, 60.0), False),  # a machine held for a minute at a time: hardly a segment ends
    ],
)
def test_spot_is_recommended_unless_its_tail_outweighs_its_saving(often: Interval, is_taken: bool) -> None:
    rows = _ranked(priced(OFFER, "10"), priced(SPOT, "5"), often=often).rows
    spot = next(index for index, row in enumerate(rows) if row.offer and row.offer.purchase == "spot")
    assert spot == 0, "by its P50 it is the cheaper"
    assert has_long_tail(rows[spot].setting, rows[spot].offer) is not is_taken
    assert recommend(rows, Limits(), ANYONE) == (0 if is_taken else 1)
    passed_over = why_not_before(rows[: 0 if is_taken else 1], Limits(), ANYONE)
    assert passed_over == ("" if is_taken else "1 on spot, which interruptions may make dearer than on demand")


def test_spot_that_saves_little_is_not_worth_its_interruptions() -> None:
    """At 99 % of the price, the mean of a run that is interrupted costs more."""
    rows = _ranked(priced(OFFER, "10"), priced(SPOT, "9.9"), often=Interval(0.01, 0.1, 1.0)).rows
    (spot,) = (row for row in rows if row.offer and row.offer.purchase == "spot")
    assert has_long_tail(spot.setting, spot.offer)


def test_without_a_price_on_demand_the_length_of_the_tail_decides() -> None:
    (short,) = _ranked(priced(SPOT, "5"), often=Interval(0.001, 0.01, 0.05)).rows
    (long,) = _ranked(priced(SPOT, "5"), often=Interval(0.0, 0.05, 60.0)).rows
    assert not has_long_tail(short.setting, short.offer)
    assert has_long_tail(long.setting, long.offer)


def test_a_month_on_128_nodes_is_not_trusted_to_spot(world: World) -> None:
    """Its answer was 19 days for $615,905, with a P90 of 3,436 years for 40 billion."""
    asked = ExperimentRequest("llama-2-7b", tokens=2e12, zero_stage=1, grad_checkpointing=True)
    question = Question(gpus="A100-80GB:8", num_nodes=128, where=("cloud",))
    trained = resolve_experiment(asked)
    answered = answer(trained, question, world, NOW)
    best = _best(answered)
    assert best.offer is not None
    assert best.offer.purchase == "on_demand"
    assert best.setting.time_s(best.offer).p90 < 30 * 86400
    plan = written(trained, answered, NOW)
    assert plan.recommendation is not None
    assert "which interruptions may make dearer than on demand" in plan.recommendation.passed_over
    endless = [row for row in plan.estimates if row.time_s is not None and row.time_s.p90 == math.inf]
    assert endless
    assert all("spot_tail" in row.flags for row in endless)
    record = json.loads(json.dumps(plan_record(plan), allow_nan=False))
    told = [row for row in record["estimates"] if row["time_s"]["p90"] is None]
    assert len(told) == len(endless)
    assert all(row["cost_usd"]["p90"] is None and row["cost_usd"]["p10"] > 0 for row in told)


# Prices


def test_a_price_far_below_other_regions_is_recommended_only_where_the_region_is_named(world: World) -> None:
    """p5en.48xlarge at $6.84 in eu-south-2, 0.36 of the median of its regions, was the answer of the README."""
    question = Question(gpus="H200-SXM:8", purchases=("spot",), where=("aws",))
    answered = answer(RESNET, question, world, NOW)
    first = answered.ranking.rows[0].offer
    assert first is not None
    assert (first.region, FAR_BELOW_MEDIAN in first.flags) == ("eu-south-2", True)
    best = _best(answered).offer
    assert best is not None
    assert FAR_BELOW_MEDIAN not in best.flags
    named = answer(RESNET, question._replace(regions=("eu-south-2",)), world, NOW)
    assert named.best == 0
    hints = written(RESNET, named, NOW, max_rows=1).estimates[0].hints
    assert any("less than half of the median" in hint for hint in hints)


def test_an_unknown_egress_of_cents_does_not_keep_a_provider_from_being_recommended(world: World) -> None:
    """52 rows of Lambda and Vast were passed over for the egress of 0.2 GB."""
    answered = answer(RESNET, Question(where=("lambda",)), world, NOW)
    best = _best(answered)
    assert 0 < best.bounded_usd < 0.05
    plan = written(RESNET, answered, NOW, max_rows=1)
    assert plan.recommendation is not None
    assert "cost_bounded" in plan.recommendation.estimate.flags
    (egress,) = (part for part in plan.recommendation.estimate.cost_parts if part.name == "egress")
    assert (egress.usd, egress.at_most) == (best.bounded_usd, True)
    assert any("its egress at the dearest rate known" in text and "0.02 USD" in text for text in plan.warnings)
    assert "for at most $" in plan.recommendation.sentence


def test_what_nobody_knows_of_a_cost_counts_at_the_dearest_rate_and_keeps_no_row_out() -> None:
    """A bound is an answer however large: ranked by it, a row that is still the cheapest is the cheapest."""
    egress = Charge("egress", 0.0, 20.0, "nobody knows", at_most=True)
    (free,) = _ranked(priced(OFFER, "10"), often=Interval(0.0, 0.0, 0.0)).rows
    (row,) = _ranked(priced(OFFER, "10"), often=Interval(0.0, 0.0, 0.0), charges=(egress,)).rows
    assert row.bounded_usd == 20.0
    assert row.cost_usd == pytest.approx(free.cost_usd + 20)
    assert row.cost_known
    assert recommend([row], Limits(), ANYONE) == 0
    cost, without = (one.setting.cost_usd(one.offer, NOW.date()) for one in (row, free))
    assert cost.p50 == pytest.approx(without.p50 + 20)
    assert cost.p10 < without.p50, "the dearest rate is not sure to be asked"


def test_a_charge_without_a_bound_keeps_a_row_from_being_recommended() -> None:
    unknown = Charge("egress", None, None, "nobody knows")
    (row,) = _ranked(priced(OFFER, "10"), often=Interval(0.0, 0.0, 0.0), charges=(unknown,)).rows
    assert 1000 < row.cost_usd < 1100
    assert not row.cost_known
    assert recommend([row], Limits(), ANYONE) is None


def test_several_nodes_are_not_had_of_one_seller_on_a_marketplace() -> None:
    ask = priced(OFFER, "10")._replace(flags=(MARKETPLACE_ASK,))
    candidate = _ranked(ask, often=Interval(0.0, 0.0, 0.0)).rows[0].setting.candidate
    nodes = candidate._replace(machine=candidate.machine._replace(num_nodes=2))
    for one, best in ((candidate, 0), (nodes, None)):
        rows = rank(experiment(), StepModel(experiment()), [one], Limits(), NOW).rows
        assert recommend(rows, Limits(), ANYONE) == best


def test_a_short_run_at_a_provider_without_an_egress_rate_is_recommended(world: World) -> None:
    """Cents of egress left 46 rows of Vast without an answer for two epochs of bert-base on SQuAD."""
    bert = resolve_experiment(ExperimentRequest("bert-base", dataset="squad", epochs=2))
    answered = answer(bert, Question(where=("vast",)), world, NOW)
    best = _best(answered)
    assert best.cost_known
    assert 0.01 <= best.bounded_usd < best.cost_usd


def test_a_cost_of_which_nothing_is_known_is_not_nothing(world: World) -> None:
    answered = answer(RESNET, Question(gpus="M3-Max-40c", limits=Limits(budget_usd=1000.0)), world, NOW)
    row = next(row for row in answered.ranking.rows if row.setting.candidate.hypothetical)
    assert (row.cost_usd, row.p_meets) == (math.inf, 0.0)
    plan = written(RESNET, answered, NOW)
    (shown,) = (estimate for estimate in plan.estimates if estimate.hypothetical)
    assert (shown.cost_usd, shown.usd_per_hour) == (None, None)
    assert plan.recommendation is None


# What the answer says


def test_where_what_meets_the_limits_may_not_be_recommended_the_reason_is_said(world: World) -> None:
    """ "Nothing meets the limits" stood above a free notebook that meets them with certainty."""
    limits = Limits(budget_usd=0.5)
    answered = answer(RESNET, Question(where=("kaggle", "aws"), limits=limits), world, NOW)
    assert answered.best is None
    assert answered.ranking.rows[0].p_meets == 1.0
    said = why_none(answered.ranking.rows, limits, answered.competition.named)
    assert said == (
        "Nothing that may be recommended meets the limits with a probability of 90%; of what does, "
        "1 free, but for fewer hours than this takes."
    )


def test_reasons_are_of_as_many_machines_as_have_them(world: World) -> None:
    """By time the first rows of a machine are of other offers: "0 only for a government's suppliers" was said."""
    answered = answer(RESNET, Question(limits=Limits(sort="time")), world, NOW)
    assert answered.best is not None
    said = why_not_before(answered.ranking.rows[: answered.best], Limits(), answered.competition.named)
    assert " only for a government's suppliers" in said
    assert not any(reason.startswith("0 ") for reason in said.split(", "))


@pytest.mark.parametrize("by_machine", [True, False])
@pytest.mark.parametrize(
    "limits", [Limits(), Limits(sort="time"), Limits(sort="time", budget_usd=30), Limits(sort="cost")]
)
def test_the_rows_passed_over_are_as_many_as_stand_before_the_answer(
    world: World, limits: Limits, *, by_machine: bool
) -> None:
    """ "Answer (#5)" had 12 + 1 passed over, offers of the 4 machines before it."""
    plan = written(RESNET, answer(RESNET, Question(limits=limits), world, NOW), NOW, max_rows=1, by_machine=by_machine)
    assert plan.recommendation is not None
    counts = re.findall(r"(?:^|, )([0-9]+) ", plan.recommendation.passed_over)
    assert sum(map(int, counts)) == plan.recommendation.rank - 1


def test_this_machine_is_called_so_where_gpus_does_not_name_it(world: World) -> None:
    question = Question(where=("workstation", "cloud"), gpus="RTX4090:1")
    answered = answer(RESNET, question, world, NOW)
    here = [row for row in answered.ranking.rows if row.setting.candidate.is_this_machine]
    assert why_none(here, Limits(), answered.competition.named).startswith("Nothing that --gpus names can be ranked")
    assert why_not_before(here, Limits(), answered.competition.named) == "1 at hand, but not named by --gpus"


@pytest.mark.parametrize(("gpus", "ported"), [("80GB+:8", False), ("TPUv5p:8", True)])
def test_a_range_of_memory_asks_for_no_other_code(world: World, gpus: str, ported: bool) -> None:
    best = _best(answer(RESNET, Question(gpus=gpus), world, NOW))
    assert (best.setting.candidate.machine.accelerator.stack == "xla") is ported


def test_a_machine_that_must_be_bought_is_recommended_with_its_price(world: World) -> None:
    question = Question(where=("workstation",), gpus="RTXA6000:4")
    plan = written(RESNET, answer(RESNET, question, world, NOW), NOW, max_rows=1)
    assert plan.recommendation is not None
    assert ", once it is bought for $26,760; " in plan.recommendation.sentence
    assert plan.recommendation.estimate.to_buy_usd == pytest.approx(26_760, abs=1)


def test_a_reserved_price_is_recommended_with_the_years_commitment(world: World) -> None:
    question = Question(where=("aws",), purchases=("reserved",), gpus="A100-40GB-SXM:8")
    answered = answer(RESNET, question, world, NOW)
    offer = _best(answered).offer
    assert offer is not None
    plan = written(RESNET, answered, NOW, max_rows=1)
    assert plan.recommendation is not None
    assert f"for who commits to a year, used or not: ${offer.usd_per_hour * 8760:,.0f}." in plan.recommendation.sentence


def test_a_cpu_for_months_is_no_answer_wherever_it_stands(world: World) -> None:
    trained = resolve_experiment(ExperimentRequest("resnet50", epochs=9000))
    answered = answer(trained, Question(where=("aws",), purchases=("on_demand",)), world, NOW)
    slow = [
        row
        for row in answered.ranking.rows
        if row.setting.candidate.machine.num_gpus == 0 and row.time_s > LONGEST_WAIT_S
    ]
    assert slow
    assert recommend(slow, answered.competition.limits, answered.competition.named) is None
    named = Named(frozenset({"cloud"}), None, government=False)
    assert recommend(slow, answered.competition.limits, named) is None


def test_what_takes_bitsandbytes_is_not_ranked_where_that_does_not_run(world: World) -> None:
    def stacks(trained: Experiment) -> set[str]:
        rows = answer(trained, Question(), world, NOW).ranking.rows
        return {row.setting.candidate.machine.accelerator.stack for row in rows}

    adapted = resolve_experiment(ExperimentRequest("gpt2", tokens=1e8, lora_rank=16))
    assert {"mps", "xla"} <= stacks(adapted)
    assert not {"mps", "xla", "neuron"} & stacks(adapted._replace(four_bit_weights=True))
    small = resolve_experiment(ExperimentRequest("gpt2", tokens=1e8, optimizer="adamw8bit"))
    assert not {"mps", "xla", "neuron"} & stacks(small)
