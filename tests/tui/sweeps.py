"""A sweep with invented times and prices, scheduled for real."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from planner.experiment.resolve import resolve_experiment
from planner.hardware.presets import machine_from_spec
from planner.plan.candidates import Candidate, Tariff
from planner.plan.cost import Charge
from planner.plan.plan import Place
from planner.plan.sweep import Costing, plan_sweep
from planner.plan.sweep_options import pool_options
from planner.plan.sweep_pool import PoolMachine
from planner.plan.swept import Swept
from planner.tui.asked import Values, question, request
from planner.tui.sweep_form import SweepForm
from planner.units import Interval
from pricing.offer import Offer

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=timezone(timedelta(hours=1)))

# name, place, provider, GPU, USD an hour, hours for an experiment, copies
_KINDS: tuple[tuple[str, Place, str | None, str, float, float, int], ...] = (
    ("desk", "workstation", None, "RTX 4090", 0.31, 7.3, 1),
    ("g6e.xlarge", "cloud", "aws", "L40S", 0.97, 7.9, 2),
    ("this laptop", "laptop", None, "RTX 4070 laptop", 0.09, 16.9, 1),
)


def sample_pool() -> list[PoolMachine]:
    pool = []
    for kind, (name, place, provider, gpu, hourly, _, copies) in enumerate(_KINDS):
        machine = machine_from_spec(name, gpu, 1)
        offer, charges = None, (Charge("electricity", hourly, 0.0, "a sample"),)
        if provider is not None:
            offer = Offer(provider, name, "us-east-2", None, "spot", str(hourly), hourly, (), "2026-11-28", "a sample")
            charges = (Charge("disk", 0.02, 0.05, "a sample"),)
        candidate = Candidate(
            name, place, machine, Tariff(charges), (offer,), provider=provider, instance_type=name if provider else None
        )
        pool += [
            PoolMachine(f"{name} #{copy}" if copies > 1 else name, kind, candidate, offer)
            for copy in range(1, copies + 1)
        ]
    return pool


def sample_sweep(values: Values, form: SweepForm) -> Swept:
    """The form's own errors, and its experiments at invented paces, the odd ones half as long again."""
    base = request(values)
    asked = question(values, NOW, "value")
    variants = form.question(base).variants
    pool = sample_pool()
    hours = [_KINDS[machine.kind][5] for machine in pool]
    times = tuple(
        tuple(Interval(h * 3400, h * 3600, h * 4000).scaled(1 + number % 2 / 2) for h in hours)
        for number in range(len(variants))
    )
    tariffs = tuple(machine.candidate.tariff for machine in pool)
    costing = Costing(
        labels=tuple(variant.label for variant in variants),
        times=times,
        heads=tuple(900.0 if machine.rented else 0.0 for machine in pool),
        tariffs=(tariffs,) * len(variants),
        reasons=("",) * len(variants),
    )
    plan = plan_sweep(costing, pool, asked.limits, NOW, form.order)
    options = pool_options(costing, pool, plan, asked.limits, NOW, form.order)
    return Swept(resolve_experiment(base), plan, options, asked.limits, NOW, "2026-11-28", ("a sample",), ())
