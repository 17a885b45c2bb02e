"""The decisions over ranked rows: tier, front, nearest misses, hints, carbon, purchases, scaling."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from planner.errors import InputError
from planner.experiment.experiment import Experiment
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.hardware.catalog import accelerator
from planner.hardware.interconnect import Network, network
from planner.hardware.machine import Machine
from planner.hardware.presets import machine_from_spec
from planner.plan.buy_or_rent import Terms, buy_or_rent
from planner.plan.carbon import carbon_of_country, carbon_of_region, grid_carbon, site_overhead
from planner.plan.cards import cards_for, per_dollar
from planner.plan.config import Config, load_config
from planner.plan.cost import cents
from planner.plan.deadline import later, parse_deadline
from planner.plan.electricity import PSU_EFFICIENCY
from planner.plan.front import front, hour_sooner_usd
from planner.plan.hints import hints_for
from planner.plan.nearest import nearest
from planner.plan.ownership import wall_power_w
from planner.plan.planning import Answer, answer, written
from planner.plan.purchase import card_price, described_purchase, sold_singly
from planner.plan.question import NO_LIMITS, Question
from planner.plan.recommend import recommend
from planner.plan.relax import relaxations
from planner.plan.scaling import WORTH_IT, Market, Scan, counts, machines_with, scan, separate, with_kept_batch
from planner.plan.search import ORDINARY_STACKS, Limits, Row
from planner.plan.tail import is_sound
from planner.plan.tier import arrangement_of, tier_of
from planner.plan.timeline import timeline
from planner.plan.world import World, open_world
from planner.profiler.this_machine import find_this_machine
from planner.throughput.step import StepModel

NOW = datetime.now().astimezone()
TODAY = NOW.date()
RESNET = resolve_experiment(ExperimentRequest("resnet50", epochs=90))
CLOUD = Question(where=("cloud",))


@pytest.fixture(scope="module")
def world() -> World:
    return open_world(find_this_machine())


@pytest.fixture(scope="module")
def rented(world: World) -> Answer:
    return answer(RESNET, CLOUD, world, NOW)


def _with(world: World, text: str, tmp_path: Path) -> World:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return world._replace(config=load_config(path))


# The bill


def test_every_bill_adds_up_to_the_cent(rented: Answer) -> None:
    plan = written(RESNET, rented, NOW, max_rows=300)
    for row, ranked in zip(plan.estimates, rented.ranking.rows, strict=False):
        assert row.cost_usd is not None
        total = sum(cents(part.usd) for part in row.cost_parts if part.usd is not None)
        assert total == cents(row.cost_usd.p50) == cents(ranked.cost_usd)
        for part in row.cost_parts:
            if part.parts:
                assert sum(cents(use.usd) for use in part.parts) == cents(part.usd or 0.0)
        assert sum(part.seconds for part in row.time_parts) == pytest.approx(row.time_s.p50 if row.time_s else 0)


def test_credits_and_discounts_lower_what_is_paid(world: World, tmp_path: Path) -> None:
    asked = Question(where=("gcp",), purchases=("on_demand",), gpus="L4:1")
    plain = answer(RESNET, asked, world, NOW).ranking.rows[0]
    cheaper = _with(world, "[discounts]\ngcp = 0.5\n[credits]\ngcp = 10\n", tmp_path)
    found = answer(RESNET, asked, cheaper, NOW)
    row = next(one for one in found.ranking.rows if one.offer and plain.offer and one.offer[:4] == plain.offer[:4])
    assert row.offer is not None
    assert row.offer.usd_per_hour == pytest.approx(0.5 * (plain.offer.usd_per_hour if plain.offer else 0))
    assert "less your 50%" in row.offer.price_source
    plan = written(RESNET, found, NOW, max_rows=1)
    parts = {part.name: part.usd for part in plan.estimates[0].cost_parts}
    assert parts["credits"] == -10.0
    assert plan.estimates[0].cost_usd is not None
    assert sum(cents(usd) for usd in parts.values() if usd is not None) == cents(plan.estimates[0].cost_usd.p50)


def test_a_credit_that_covers_all_leaves_nothing_to_pay(world: World, tmp_path: Path) -> None:
    rich = _with(world, "[credits]\ngcp = 100000\n", tmp_path)
    row = answer(RESNET, Question(where=("gcp",)), rich, NOW).ranking.rows[0]
    assert row.cost_usd == 0.0


def test_reserved_prices_are_ranked_only_where_asked_for(world: World, rented: Answer) -> None:
    assert {row.offer.purchase for row in rented.ranking.rows if row.offer} == {"on_demand", "spot"}
    found = answer(RESNET, Question(where=("cloud",), purchases=("reserved",)), world, NOW)
    assert {row.offer.purchase for row in found.ranking.rows if row.offer} == {"reserved"}
    assert any("8,760 hours" in text for text in found.competition.assumptions)


def test_a_commitment_without_prices_is_said_where_clouds_are_asked_for(world: World) -> None:
    said = {
        purchase: answer(RESNET, Question(where=("cloud",), purchases=(purchase,)), world, NOW).competition.warnings
        for purchase in ("reserved", "savings_plan")
    }
    assert any("no savings-plan price is known" in text for text in said["savings_plan"])
    assert not any("is known" in text for text in said["reserved"])
    at_home = answer(RESNET, Question(where=("laptop",), purchases=("savings_plan",)), world, NOW)
    assert not at_home.competition.warnings


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[discounts]\naws = 1.5\n", r"discounts\.aws must be at least 0"),
        ("[credits]\naws = -1\n", r"credits\.aws must be at least 0"),
        ("discounts = 3\n", "discounts must be a table"),
        ("[ownership]\ncluster_pue = 0.5\n", r"ownership\.cluster_pue must be at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=complaint):
        load_config(path)
    assert Config().idle_minutes == 10


def test_tries_are_paid_for_and_a_pilot_shortens_them() -> None:
    machine = machine_from_spec("desk", "RTX 3090")

    def total(**said: float) -> float:
        experiment = resolve_experiment(ExperimentRequest("resnet50", epochs=90, **said))  # type: ignore[arg-type]
        step = StepModel(experiment).estimate(machine)
        return timeline(experiment, machine, step, rented=False).total.p50

    once = timeline(RESNET, machine, StepModel(RESNET).estimate(machine), rented=False)
    assert total(tries=3) == pytest.approx(once.total.p50 + 2 * once.work.p50)
    assert total(tries=3, pilot_epochs=9) == pytest.approx(once.total.p50 + 2 * 0.1 * once.work.p50)
    with pytest.raises(InputError, match="--tries 2"):
        resolve_experiment(ExperimentRequest("resnet50", pilot_epochs=1))


# Front and tier


def test_the_front_is_beaten_by_no_row_and_its_price_of_an_hour_is_the_slope(rented: Answer) -> None:
    rows = rented.ranking.rows
    points = front(rows)
    chosen = [rows[point.row] for point in points]
    assert [row.time_s for row in chosen] == sorted(row.time_s for row in chosen)
    for row in rows:
        ordinary = row.setting.candidate.machine.accelerator.stack in ORDINARY_STACKS
        if ordinary and row.cost_known and is_sound(row):
            assert not any(row.time_s < one.time_s and row.cost_usd < one.cost_usd for one in chosen)
    assert points[-1].usd_per_hour_sooner is None
    first, second = chosen[:2]
    slope = points[0].usd_per_hour_sooner
    assert slope == hour_sooner_usd(first, second)
    assert slope is not None
    hours = (second.time_s - first.time_s) / 3600
    assert first.cost_usd == pytest.approx(second.cost_usd + slope * hours)


@pytest.mark.parametrize(
    ("machine", "level"),
    [
        (machine_from_spec("cpu", "none", cpu="Zen4-Genoa", vcpus=64), 0),
        (machine_from_spec("desk", "RTX 4090"), 1),
        (machine_from_spec("desk", "RTX A6000"), 2),
        (machine_from_spec("box", "RTX 4090", 2), 2),
        (machine_from_spec("cluster", "A100", 8, 2, network="100 Gb/s Ethernet"), 3),
        (machine_from_spec("tpu", "TPU v3", 4), None),
    ],
)
def test_arrangements_go_by_what_a_machine_is(machine: Machine, level: int | None) -> None:
    assert arrangement_of(machine) == level


def test_a_long_run_needs_more_than_a_short_one(world: World) -> None:
    def of(**said: object) -> str:
        experiment = resolve_experiment(ExperimentRequest(**said))  # type: ignore[arg-type]
        found = tier_of(answer(experiment, Question(), world, NOW).ranking.rows)
        assert found is not None
        assert "for $" in found.sentence
        return found.arrangement

    assert of(model="resnet18-cifar", epochs=1) == "no GPU needed"
    assert of(model="resnet50", epochs=1) == "one modest GPU", "hours on a CPU, minutes and cents on a GPU"
    assert of(model="resnet50", epochs=90) == "one modest GPU"
    assert of(model="llama-3-8b", tokens=15e9) == "a workstation or one cloud machine"
    assert tier_of([]) is None


def test_a_single_arrangement_is_not_named_twice(rented: Answer) -> None:
    found = tier_of([row for row in rented.ranking.rows if _is_one_machine(row)])
    assert found is not None
    assert found.sentence.startswith("A workstation or one cloud machine within 14d00h: it takes ")


def _is_one_machine(row: Row) -> bool:
    return arrangement_of(row.setting.candidate.machine) == 2


def test_a_deadline_replaces_patience(rented: Answer) -> None:
    soon = tier_of(rented.ranking.rows, 6 * 3600.0)
    assert soon is not None
    assert soon.arrangement == "a workstation or one cloud machine"
    assert "within 6h00" in soon.sentence


# What would make it


def test_the_nearest_misses_say_what_would_make_it(world: World) -> None:
    limits = Limits(deadline=NOW + timedelta(hours=5))
    asked = Question(gpus="A100:1", limits=limits)
    found = answer(RESNET, asked, world, NOW)
    assert found.best is None
    said = nearest(RESNET, asked, found, world, NOW)
    assert any(text.startswith("a deadline of ") for text in said)
    assert any(text.startswith("without --gpus, ") for text in said)
    assert any(" of the 90 epochs would fit on " in text for text in said)


def test_the_nearest_limits_are_those_of_the_cheapest_and_of_the_quickest_row(world: World) -> None:
    asked = CLOUD._replace(limits=Limits(deadline=NOW + timedelta(hours=1), budget_usd=0.5))
    found = answer(RESNET, asked, world, NOW)
    rows = [row for row in found.ranking.rows if recommend([row], Limits(), found.competition.named) is not None]
    needed_usd = min(row.setting.cost_usd(row.offer, NOW.date()).p90 for row in rows)
    needed_s = min(row.setting.time_s(row.offer).p90 for row in rows)
    deadline, budget = relaxations(found, NOW)
    assert budget.limits.budget_usd == math.ceil(needed_usd)
    assert deadline.limits.deadline is not None
    left_s = (deadline.limits.deadline - NOW).total_seconds()
    assert 0 <= left_s - needed_s < 900
    ready = [row for row in rows if row.setting.time_s(row.offer).p90 <= left_s]
    assert deadline.estimate.cost_usd is not None
    assert deadline.estimate.cost_usd.p90 == min(row.setting.cost_usd(row.offer, NOW.date()).p90 for row in ready)


def test_a_limit_that_is_met_by_itself_is_not_moved(world: World) -> None:
    """A thousand dollars are enough for something, if only not within a minute: only the deadline is in the way."""
    asked = CLOUD._replace(limits=Limits(deadline=NOW + timedelta(minutes=1), budget_usd=1000))
    assert [one.limit for one in relaxations(answer(RESNET, asked, world, NOW), NOW)] == ["deadline"]


def test_fewer_epochs_would_really_fit(world: World) -> None:
    limits = Limits(budget_usd=10)
    asked = Question(gpus="A100:1", where=("cloud",), limits=limits)
    said = nearest(RESNET, asked, answer(RESNET, asked, world, NOW), world, NOW)
    epochs = float(next(text for text in said if "epochs would fit" in text).split()[0])
    shorter = resolve_experiment(ExperimentRequest("resnet50", epochs=epochs))
    assert answer(shorter, asked, world, NOW).best is not None


def test_where_something_meets_the_limits_nothing_more_is_said(world: World, rented: Answer) -> None:
    easy = CLOUD._replace(limits=Limits(budget_usd=10_000))
    assert nearest(RESNET, easy, answer(RESNET, easy, world, NOW), world, NOW) == ()
    assert nearest(RESNET, CLOUD, rented, world, NOW) == ()


# Clock time


def test_a_finish_after_summer_time_began_is_on_the_clock_of_then() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    before = datetime(2026, 3, 28, 12, 0, tzinfo=berlin)  # clocks go forward on 29 March at 02:00
    assert later(before, 24 * 3600).isoformat() == "2026-03-29T13:00:00+02:00"
    assert parse_deadline("tomorrow 09:00", before).astimezone(UTC).isoformat() == "2026-03-29T07:00:00+00:00"


# Hints, carbon, power


def test_hints_go_by_provider_machine_and_purchase() -> None:
    (spot,) = hints_for("aws", "p5.48xlarge", "spot")
    (steady,) = hints_for("aws", "p5.48xlarge", "on_demand")
    assert "P spot instances" in spot
    assert "quota" in steady
    assert spot != steady
    assert hints_for("aws", "c5.large", "spot") == ()
    assert hints_for(None, None, "owned") == ()


def test_a_region_stands_on_the_grid_of_its_place() -> None:
    sweden, france = carbon_of_region("aws", "eu-north-1"), carbon_of_region("azure", "francecentral")
    assert sweden is not None
    assert france is not None
    assert (sweden.place, france.place) == ("SE", "FR")
    iowa = carbon_of_region("gcp", "us-central1")
    assert iowa is not None
    assert iowa.g_per_kwh == 431.95
    marketplace = carbon_of_region("vast", "de-germany")
    assert marketplace is not None
    assert marketplace.place == "DE"
    assert carbon_of_region("lambda", "all") is None
    assert carbon_of_country("de") == grid_carbon()["DE"]
    assert carbon_of_country(None).place == "WORLD"


def test_energy_and_carbon_of_a_row_follow_its_power_time_and_place(rented: Answer) -> None:
    plan = written(RESNET, rented, NOW, max_rows=50)
    known = [row for row in plan.estimates if row.co2_kg is not None and row.provider == "gcp" and row.time_s]
    assert known
    for row in known:
        device = accelerator(row.accelerator)
        assert row.time_s is not None
        assert device.power_w is not None
        kwh = device.power_w * row.num_gpus * row.num_nodes * site_overhead("gcp") * row.time_s.p50 / 3.6e6
        grid = carbon_of_region("gcp", row.region or "")
        assert row.energy_kwh == pytest.approx(kwh)
        assert grid is not None
        assert row.co2_kg == pytest.approx(kwh * grid.g_per_kwh / 1000)


def test_a_cluster_is_cooled_and_a_desk_is_not() -> None:
    machine = machine_from_spec("eight", "A100", 8)
    desk, room = wall_power_w(machine, "workstation", 1000.0), wall_power_w(machine, "cluster", 1000.0, cluster_pue=1.5)
    assert machine.accelerator.power_w is not None
    assert desk == pytest.approx((8 * machine.accelerator.power_w + 1000) / PSU_EFFICIENCY)
    assert desk is not None
    assert room == pytest.approx(desk * 1.5)


def test_spot_rows_know_their_interruptions(rented: Answer) -> None:
    plan = written(RESNET, rented, NOW, max_rows=100)
    for row in plan.estimates:
        assert (row.spot is not None) == (row.purchase == "spot")
    spot = next(row.spot for row in plan.estimates if row.spot is not None and row.spot.break_even_per_hour)
    assert spot is not None
    assert spot.interruptions >= 0
    assert 0 < spot.never_interrupted <= 1
    assert spot.break_even_per_hour is not None
    assert spot.break_even_per_hour > spot.per_hour.p50


# Buying


def test_a_purchase_is_its_cards_and_a_host_of_its_size() -> None:
    one, four = described_purchase("RTX 4090"), described_purchase("4x RTX A6000")
    assert one.usd == pytest.approx(3129.99 + 1500)
    assert four.usd == pytest.approx(4 * 5189.96 + 6000)
    assert four.machine.num_gpus == 4
    used = described_purchase("used RTX 3090", host_usd=0)
    assert (used.usd, used.card.condition) == (700, "used")
    mine = described_purchase("RTX 4090", 1900.0, 1000.0)
    assert (mine.usd, mine.card.as_of) == (2900, None)
    with pytest.raises(InputError, match="RTX 4090 is known; say it: --card-price 'used RTX 4090=USD'"):
        described_purchase("used RTX 4090")


def test_launch_prices_stand_in_where_no_shop_was_seen() -> None:
    found = card_price(accelerator("RTX5070"))
    assert found is not None
    assert (found.condition, found.usd, found.as_of) == ("launch", 549, "2025")
    assert not sold_singly(accelerator("H100-SXM"))
    assert sold_singly(accelerator("RTX4090"))


def test_buy_or_rent_compares_the_same_work(world: World) -> None:
    terms = Terms(purchases=("RTX 4090", "RTX 3090"), hours_per_week=50, months=24)
    found = buy_or_rent(RESNET, Question(purchases=("on_demand",)), terms, world, NOW)
    first = next(one for one in found.bought if one.purchase.name == "RTX 4090")
    assert first.hours_per_week == pytest.approx(50)
    for one in found.bought:
        assert one.owning is not None
        assert one.owning.runs_per_month(one.hours_per_week or 0) == pytest.approx(found.runs_per_month)
        assert cents(one.spent_usd or 0) == cents(one.owning.spent_usd(24, found.runs_per_month))
        for rent, even in one.against:
            assert rent.purchase == "on_demand"
            assert even.months == pytest.approx(even.runs / found.runs_per_month)
    assert [one.spent_usd for one in found.bought] == sorted(one.spent_usd or 0 for one in found.bought)
    fewer = buy_or_rent(RESNET, Question(), terms._replace(runs_per_month=2.0), world, NOW)
    assert fewer.runs_per_month == 2.0


def test_what_does_not_fit_has_no_break_even(world: World) -> None:
    experiment = resolve_experiment(ExperimentRequest("llama-3-8b", tokens=1e9))
    terms = Terms(purchases=("RTX 4090", "4x RTX A6000"), runs_per_month=1)
    found = buy_or_rent(experiment, Question(), terms, world, NOW)
    (small,) = [one for one in found.bought if one.purchase.name == "RTX 4090"]
    assert small.owning is None
    assert "fit" in small.problem


def test_cards_for_a_sum_are_ranked_by_what_a_dollar_trains(world: World) -> None:
    found = cards_for(RESNET, Question(), world, TODAY, budget_usd=1500)
    assert found
    assert all(one.purchase.card.usd <= 1500 for one in found)
    fitting = [one for one in found if not one.problem]
    groups = [
        (one.purchase.machine.accelerator.stack not in ORDINARY_STACKS, one.purchase.card.condition == "launch")
        for one in fitting
    ]
    assert groups == sorted(groups), "shop prices, then those at launch, then what needs the code ported"
    assert len(set(groups)) == 3
    for group in set(groups):
        values = [per_dollar(one) for one, own in zip(fitting, groups, strict=True) if own == group]
        assert values == sorted(values, reverse=True)
    assert all(int((one.purchase.card.as_of or "0")[:4]) >= TODAY.year - 4 for one in found)


@pytest.mark.parametrize("text", ["RTX 4090", "RTX 4090=", "=3", "RTX 4090=-1", "RTX 4090=cheap"])
def test_a_card_price_that_cannot_be_read_is_refused(text: str, world: World) -> None:
    with pytest.raises(InputError):
        buy_or_rent(RESNET, Question(), Terms(purchases=("RTX 4090",), card_prices=(text,)), world, NOW)


# How many GPUs


def _scan(experiment: Experiment, key: str, sizes: list[tuple[int, int]], between: Network | None = None) -> Scan:
    """On GPUs that nobody has."""
    return scan(experiment, Market(accelerator(key), {}, between), sizes, NO_LIMITS, NOW)


def test_each_size_is_the_run_that_the_ranking_has_on_that_machine(rented: Answer) -> None:
    """The host's vCPUs, its links and the bill are the machine's: ResNet-50 on eight A100s is bound by its loader."""
    machines = machines_with(rented.competition.candidates, "A100-40GB-SXM")
    found = scan(RESNET, Market(accelerator("A100-40GB-SXM"), machines), counts(8, 1), NO_LIMITS, NOW)
    for size in (1, 8):
        row = found.rows[size - 1]
        assert row.cost_usd is not None
        assert any(
            (ranked.setting.time_s(ranked.offer), ranked.setting.cost_usd(ranked.offer, TODAY))
            == (row.time_s, row.cost_usd)
            for ranked in rented.ranking.rows
            if ranked.setting.candidate.machine.name == row.machine
        )
    assert found.rows[7].bound_by == "input"


def test_what_nobody_has_takes_its_share_of_a_larger_host(rented: Answer) -> None:
    eight = machines_with(rented.competition.candidates, "A100-40GB-SXM")[8]
    market = Market(accelerator("A100-40GB-SXM"), {8: eight})
    assert market.options(3, 1) == []
    share = market.share(3, 1, eight[0].machine)
    assert share.vcpus == pytest.approx((eight[0].machine.vcpus or 0.0) * 3 / 8)
    row = scan(RESNET, market, [(3, 1)], NO_LIMITS, NOW).rows[0]
    assert (row.machine, row.cost_usd) == (None, None)


def test_the_fewest_that_meet_the_limits_are_named(rented: Answer) -> None:
    market = Market(accelerator("A100-40GB-SXM"), machines_with(rented.competition.candidates, "A100-40GB-SXM"))
    free = scan(RESNET, market, counts(8, 1), NO_LIMITS, NOW)
    assert free.fewest is None
    eight = free.rows[7].time_s
    assert eight is not None
    deadline = NOW + timedelta(seconds=eight.p90 * 1.01)
    found = scan(RESNET, market, counts(8, 1), Limits(deadline=deadline), NOW)
    assert found.fewest is not None
    fewer = [row for row in found.rows if row.devices < found.fewest.devices and row.machine is not None]
    assert all((row.p_meets or 0.0) < 0.9 for row in fewer)
    assert (found.fewest.p_meets or 0.0) >= 0.9
    cheap = scan(RESNET, market, counts(8, 1), Limits(budget_usd=0.01), NOW)
    assert cheap.fewest is None


def test_efficiency_falls_and_the_knee_is_before_a_gpu_adds_too_little() -> None:
    found = _scan(RESNET, "A100-40GB-SXM", counts(8, 2), network("100 Gb/s Ethernet"))
    assert [row.devices for row in found.rows] == [1, 2, 3, 4, 5, 6, 7, 8, 16]
    first, last = found.rows[0], found.rows[-1]
    assert first.efficiency == 1.0
    assert first.added is None
    assert last.efficiency is not None
    assert 0 < last.efficiency < 1
    assert found.knee is not None
    assert all(row.added is None or row.added >= WORTH_IT for row in found.rows if row.devices <= found.knee.devices)
    assert first.usd is None
    assert first.machine is None


def test_a_kept_batch_stays_and_scales_worse() -> None:
    kept = with_kept_batch(RESNET)
    assert kept.global_batch_size == RESNET.workload.recipe_batch_size_per_gpu
    scaled_up = _scan(RESNET, "RTX3090", counts(4, 1)).rows[-1]
    as_before = _scan(kept, "RTX3090", counts(4, 1)).rows[-1]
    assert as_before.global_batch_size == 256
    assert scaled_up.global_batch_size == 4 * 256
    assert as_before.efficiency is not None
    assert scaled_up.efficiency is not None
    assert as_before.efficiency < scaled_up.efficiency


def test_separate_experiments_end_sooner_than_one_after_another() -> None:
    found = _scan(RESNET, "RTX3090", counts(4, 1))
    last = found.rows[-1]
    other = separate(found.rows, last)
    assert other is not None
    assert last.efficiency is not None
    assert other.experiments == 4
    assert other.at_once_s < other.one_by_one_s
    assert other.at_once_s / other.one_by_one_s == pytest.approx(last.efficiency, rel=0.02)


def test_what_fits_nowhere_has_no_knee() -> None:
    large = resolve_experiment(ExperimentRequest("llama-3-70b", tokens=1e9))
    found = _scan(large, "RTX3090", counts(2, 1))
    assert found.knee is None
    assert all(row.problem for row in found.rows)
