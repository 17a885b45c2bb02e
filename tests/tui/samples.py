"""A plan with invented numbers that agree with each other, and a core that answers with it at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from threading import Event

from planner.errors import DataError, InputError
from planner.experiment.resolve import resolve_experiment
from planner.plan.buy_or_rent import BuyOrRent, Terms
from planner.plan.explain import Explanation, PartComparison, Stage
from planner.plan.lever_runs import LeverRun
from planner.plan.plan import CostPart, Estimate, Place, Plan, Recommendation, TimePart
from planner.plan.probability import p_below
from planner.plan.relax import Relaxation
from planner.plan.search import Limits, Sort
from planner.plan.swept import Swept
from planner.profiler.detect import LocalMachine
from planner.profiler.local_facts import GpuFacts, HostFacts
from planner.throughput.estimate import StepEstimate, StepParts
from planner.throughput.kernels import ClassTime
from planner.throughput.levers import Lever
from planner.throughput.sensitivity import Sensitivity
from planner.tui.asked import Values, question, request
from planner.tui.core import Alternative, Prices, Ranked
from planner.tui.measured import Stored
from planner.tui.profiling import Profiling
from planner.tui.refreshing import Refreshing
from planner.tui.sweep_form import SweepForm
from planner.units import GIB, Interval
from pricing.catalog import PriceSource
from pricing.offer import InstanceType, Offer, Quarantined
from pricing.store import Change
from tests.tui.buying import sample_buying
from tests.tui.profiles import SampleProfiling
from tests.tui.refreshes import SampleRefreshing, outcomes
from tests.tui.sweeps import sample_sweep

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=timezone(timedelta(hours=1)))
SEEN = "2026-11-28"

# name, place, provider, region, GPUs, accelerator, hours, USD, USD per hour, purchase, binds, evidence
# fmt: off
_MACHINES: tuple[tuple[str, Place, str | None, str | None, int, str, float, float, float, str, str, str], ...] = (
    ("desk", "workstation", None, None, 1, "RTX4090", 22.0, 6.82, 0.31, "owned", "compute", "measured_same_gpu"),
    ("lab-a100", "cluster", None, None, 8, "A100-80GB", 1.87, 15.63, 8.4, "owned", "input", "measured_other_gpu"),
    ("RTX4090-16c", "cloud", "runpod", "eu-ro", 1, "RTX4090", 22.95, 16.22, 0.69, "on_demand", "input",
     "measured_here"),
    ("p4d.24xlarge", "cloud", "aws", "us-east-2", 8, "A100-40GB", 2.17, 20.31, 9.12, "spot", "communication",
     "measured_other_gpu"),
    ("g6e.xlarge", "cloud", "aws", "us-east-2", 1, "L40S", 23.8, 23.46, 0.97, "spot", "input", "specs_only"),
    ("a2-highgpu-1g", "cloud", "gcp", "us-east4", 1, "A100-40GB", 14.47, 23.88, 1.62, "spot", "compute",
     "measured_other_gpu"),
    ("NC40ads_H100_v5", "cloud", "azure", "eastus2", 1, "H100-NVL", 11.15, 31.56, 2.79, "spot", "memory",
     "same_architecture"),
    ("p5.48xlarge", "cloud", "aws", "us-east-1", 8, "H100-SXM", 1.75, 45.58, 25.7, "spot", "host",
     "measured_other_gpu"),
    ("NC24ads_A100_v4", "cloud", "azure", "eastus", 1, "A100-80GB", 14.12, 52.83, 3.71, "on_demand", "compute",
     "measured_same_gpu"),
    ("gpu_8x_a100", "cloud", "lambda", "us-east-1", 8, "A100-40GB", 2.12, 67.72, 31.9, "on_demand", "communication",
     "measured_other_gpu"),
)  # fmt: skip
# fmt: on
_LAPTOP = ("this laptop", "laptop", 1, "RTX4070-Laptop", 50.7, 4.56, 0.09, "compute", "measured_here")

PARTS = StepParts(0.0512, 0.1036, 0.0029, 0.0, 0.0098, 0.0055)


def estimate(
    name: str,
    place: Place,
    provider: str | None,
    region: str | None,
    gpus: int,
    accelerator: str,
    hours: float,
    usd: float,
    hourly: float,
    purchase: str,
    binds: str,
    evidence: str,
    *,
    this_machine: bool = False,
    limits: Limits | None = None,
) -> Estimate:
    time_s = Interval(hours * 3400, hours * 3600, hours * 4000)
    cost = Interval(usd * 0.93, usd, usd * 1.15)
    finish = NOW + timedelta(hours=hours)
    probabilities = []
    if limits is not None and limits.deadline is not None:
        probabilities.append(p_below(time_s, (limits.deadline - NOW).total_seconds()))
    if limits is not None and limits.budget_usd is not None:
        probabilities.append(p_below(cost, limits.budget_usd))
    rate = 115_300_000 / time_s.p50
    return Estimate(
        rank=None,
        place=place,
        is_this_machine=this_machine,
        hypothetical=False,
        name=name,
        provider=provider,
        instance_type=name if provider else None,
        region=region,
        zone=None,
        purchase=purchase,
        accelerator=accelerator,
        accelerator_name=f"NVIDIA {accelerator}",
        num_gpus=gpus,
        num_nodes=1,
        stack="cuda",
        precision="bf16",
        fits=True,
        memory_required_bytes=20.9 * GIB,
        memory_available_bytes=23.7 * GIB,
        batch_size_per_gpu=256,
        grad_accum_steps=1,
        global_batch_size=256 * gpus,
        step_time_s=Interval(0.164, 0.173, 0.183),
        samples_per_s=Interval(rate * 0.9, rate, rate * 1.06),
        time_s=time_s,
        finish_at=finish,
        cost_usd=cost,
        usd_per_hour=hourly,
        cost_parts=(CostPart("electricity" if provider is None else "compute", usd, "a sample"),),
        time_parts=(TimePart("training", time_s.p50 * 0.98), TimePart("evaluation", time_s.p50 * 0.02)),
        p_meets=min(probabilities) if probabilities else None,
        on_front=False,
        mfu=0.22,
        bound_by=binds,
        evidence=evidence,
        flags=(),
        price_as_of=SEEN if provider else None,
        price_source="a sample",
        energy_kwh=11.0,
        co2_kg=None,
        step_parts=PARTS,
    )


def sample_plan(values: Values, sort: Sort = "value") -> Ranked:
    """The plan for the form's values, with the fields' own errors; the numbers do not depend on the experiment."""
    asked = question(values, NOW, sort)
    experiment = resolve_experiment(request(values))
    limits = asked.limits
    rows = [estimate(*machine, limits=limits) for machine in _MACHINES]
    name, _place, gpus, accelerator, hours, usd, hourly, binds, evidence = _LAPTOP
    rows.append(
        estimate(
            name,
            "laptop",
            None,
            None,
            gpus,
            accelerator,
            hours,
            usd,
            hourly,
            "owned",
            binds,
            evidence,
            this_machine=True,
            limits=limits,
        )
    )
    if asked.where:
        rows = [row for row in rows if row.place in asked.where]
    rows.sort(key=lambda row: _order(row, limits, sort))
    rows = [row._replace(rank=rank) for rank, row in enumerate(rows, start=1)]
    best = next((row for row in rows if not limits.given or _meets(row, limits)), None)
    refused = estimate(*_MACHINES[0], limits=limits)._replace(
        name="tiny", time_s=None, cost_usd=None, step_parts=None, fits=False, reason="a batch of 1 needs 9.1 GiB"
    )
    plan = Plan(
        experiment=experiment,
        generated_at=NOW,
        prices_as_of=SEEN,
        estimates=tuple(rows),
        unranked=(refused,),
        ranked_count=214,
        unranked_count=63,
        recommendation=Recommendation(best.rank or 1, "Run it.", "", best) if best is not None else None,
        no_recommendation="" if best is not None else "Nothing meets the limits.",
        assumptions=("precision amp (--precision)",),
        warnings=("a warning",),
    )
    other = next((row for row in rows if best is not None and row.name == "lab-a100" and row is not best), None)
    ways_out = _ways_out(rows, limits) if best is None and limits.given else ()
    alternative = Alternative(other, 0.44, True) if other else None
    return Ranked(1, values, asked, plan, alternative, None, relaxations=ways_out)


def _ways_out(rows: Sequence[Estimate], limits: Limits) -> tuple[Relaxation, ...]:
    """The limits moved to where lab-a100 meets them: its P90 is 2h05, $17.98."""
    row = next(row for row in rows if row.name == "lab-a100")
    deadline = limits._replace(deadline=NOW + timedelta(hours=2, minutes=15))
    return (
        Relaxation("deadline", deadline, row, meets_all=False),
        Relaxation("budget", limits._replace(budget_usd=18.0), row, meets_all=False),
    )


def _order(row: Estimate, limits: Limits, sort: Sort) -> tuple[float, ...]:
    time_s, usd = (row.time_s.p50, row.cost_usd.p50) if row.time_s and row.cost_usd else (0.0, 0.0)
    if sort == "time":
        return (time_s,)
    return (float(limits.given and not _meets(row, limits)), usd) if sort == "value" else (usd,)


def _meets(row: Estimate, limits: Limits) -> bool:
    return row.p_meets is not None and row.p_meets >= limits.confidence


class CannedCore:
    """Answers at once with the sample plan; ``asked`` are the questions that came."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, str], Sort]] = []
        self.refreshes: list[tuple[str, ...]] = []
        self.reopened = 0

    def ask(self, values: Values, sort: Sort) -> Ranked:
        self.asked.append((dict(values), sort))
        return sample_plan(values, sort)._replace(number=len(self.asked))

    def complete(self, ranked: Ranked) -> Ranked:
        return ranked

    def levers(self, ranked: Ranked, row: Estimate) -> Sequence[Lever]:
        base = ranked.plan.experiment
        return (
            Lever("torch.compile", "fuses", base._replace(compiled=True), step_estimate(), 0.91, 0.94),
            Lever(
                "gradient checkpointing", "slower", base._replace(grad_checkpointing=True), step_estimate(), 1.27, 0.46
            ),
            Lever("fp32", "too large", base._replace(precision="fp32"), step_estimate(fits=False), None, None),
        )

    def largest_batch(self, ranked: Ranked, row: Estimate) -> int | None:
        return 288

    def explain(self, ranked: Ranked, row: Estimate) -> Explanation | None:
        return Explanation(
            step=step_estimate(),
            by_operation=(
                ClassTime("conv", 6.27e12, 61e9, 0.1124, "compute"),
                ClassTime("bn", 4.9e9, 22.9e9, 0.0246, "memory"),
                ClassTime("conv_wg", 1e12, 3e9, 0.0132, "compute"),
            ),
            cpu_vs_gpu=(
                PartComparison("forward", 2.2, 0.0512, 43.0, "side by side"),
                PartComparison("total", 7.65, 0.173, 44.2, "256 samples"),
            ),
            crossover_batch=2,
            sensitivity=(
                Sensitivity("flops", 0.1, -0.041),
                Sensitivity("bandwidth", 0.1, -0.029),
                Sensitivity("link", 0.1, 0.0),
            ),
            levers=tuple(self.levers(ranked, row)),
            stages=(
                Stage("checkpoint", 0.205, "GB", "one an epoch"),
                Stage("forward passes alone", None, "samples/s", ""),
            ),
        )

    def lever_runs(self, ranked: Ranked, row: Estimate, explanation: Explanation) -> Sequence[LeverRun]:
        return [LeverRun(lever, None, lever.time_factor, lever.time_factor) for lever in explanation.levers]

    def sweep(self, values: Values, form: SweepForm) -> Swept:
        return sample_sweep(values, form)

    def buy_or_rent(self, values: Values, terms: Terms) -> BuyOrRent:
        return sample_buying(terms)

    def export(self, ranked: Ranked, estimate: Estimate, launcher: str) -> str:
        if launcher == "dstack":
            raise InputError("dstack cannot rent from a sample")
        return f"# a sample for {launcher}\nTRAIN_SCRIPT=train.py  # EDIT\n"

    def prices(self) -> Prices:
        kinds = {
            (name.provider, name.instance_type): name
            for name in (
                InstanceType(
                    "aws", "p5.48xlarge", "H100-SXM", 8, 80, "nvswitch", 3200, "EFA", 192, "", 2048, None, "", ""
                ),
                InstanceType("aws", "m7i.large", "", 0, None, "none", 12, "", 2, "SPR", 8, None, "", ""),
                InstanceType(
                    "azure", "Standard_NV4as_v4", "MI25", 0.125, 2, "none", 1, "", 4, "", 14, None, "retired", ""
                ),
            )
        }
        offers = (
            Offer("aws", "p5.48xlarge", "us-east-1", None, "spot", "25.70", 25.70, (), SEEN, "spot history"),
            Offer(
                "aws",
                "p5.48xlarge",
                "us-west-2",
                None,
                "on_demand",
                "56.40",
                56.40,
                ("composed",),
                "2026-10-01",
                "list",
            ),
            Offer("aws", "m7i.large", "us-east-1", None, "on_demand", "0.10", 0.10, (), SEEN, "list"),
            Offer("azure", "Standard_NV4as_v4", "eastus", None, "spot", "0.04", 0.04, (), "2026-05-20", "list"),
        )
        apart = (Quarantined(offers[0]._replace(price="0.00"), "H100-SXM", 8, "the price is 0"),)
        sources = (PriceSource("list", "", "", len(offers), "2026-10-01", SEEN),)
        return Prices(date(2026, 11, 30), offers, kinds, apart, sources, (), _changes())

    def refreshing(self, providers: Sequence[str]) -> Refreshing:
        self.refreshes.append(tuple(providers))
        return SampleRefreshing(outcomes())

    def prices_changed(self) -> None:
        self.reopened += 1

    def profile_words(self) -> str:
        return ""

    def stored_profile(self) -> Stored | None:
        return None

    def profiling(self) -> Profiling:
        return SampleProfiling()

    def machine(self) -> LocalMachine:
        host = HostFacts("AMD Ryzen 9 5950X 16-Core Processor", 32, 2, 64 * GIB)
        return LocalMachine(host, (GpuFacts("NVIDIA GeForce RTX 4090", 24 * GIB, 450.0),), "575.12")


def _changes() -> tuple[Change, ...]:
    """What two months of refreshes saw of the p5.48xlarge on spot, the newest first."""
    prices = ("18.40", "17.90", "19.60", "22.30", "21.10", "26.10", "25.70")
    days = ("2026-10-02", "2026-10-12", "2026-10-21", "2026-11-01", "2026-11-09", "2026-11-20", SEEN)
    seen = [
        Change(day, "aws", "p5.48xlarge", "us-east-1", None, "spot", old, new, "spot history")
        for day, old, new in zip(days, ("", *prices), prices, strict=False)
    ]
    return tuple(reversed(seen))


class SilentCore(CannedCore):
    """Does not answer until it is released: the loading state."""

    def __init__(self) -> None:
        super().__init__()
        self.release = Event()

    def ask(self, values: Values, sort: Sort) -> Ranked:
        self.release.wait(10)
        return super().ask(values, sort)


class BrokenCore(CannedCore):
    """Prices that cannot be read: the error state."""

    def ask(self, values: Values, sort: Sort) -> Ranked:
        raise DataError("the price snapshot snapshot.sqlite is missing")

    def prices(self) -> Prices:
        raise DataError("the price snapshot snapshot.sqlite is missing")


def step_estimate(*, fits: bool = True) -> StepEstimate:
    return StepEstimate(
        precision="bf16",
        batch_size_per_gpu=256,
        grad_accum_steps=1,
        global_batch_size=256,
        fits=fits,
        memory_required_bytes=20.9 * GIB,
        memory_available_bytes=23.7 * GIB,
        step_time_s=Interval(0.164, 0.173, 0.183) if fits else None,
        samples_per_s=Interval(1400, 1480, 1560) if fits else None,
        parts=PARTS if fits else None,
        bound_by="compute",
        mfu=0.22,
        evidence="measured_same_gpu",
        reason="" if fits else "needs 33.9 GiB",
    )
