"""The whole run on one machine: what it takes and costs, for the row that is explained and for every lever on it."""

import math
from datetime import date
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.plan.candidates import Candidate
from planner.plan.cost import after_credit, is_bounded, total_cents
from planner.plan.plan import CostPart, TimePart
from planner.plan.run_parts import cost_parts, time_parts
from planner.plan.search import Setting
from planner.plan.timeline import timeline
from planner.throughput.estimate import StepEstimate
from planner.units import Interval
from pricing.offer import Offer


class WholeRun(NamedTuple):
    """Seconds and USD from start to finish; ``cost_usd`` is None where no part of it is known.

    It is what is left to pay once ``credit_usd`` of the user's credit is used up, at P50. ``time_parts`` add up to
    ``time_s.p50``, the known ``cost_parts`` to ``cost_usd.p50``.
    """

    time_s: Interval
    cost_usd: Interval | None
    time_parts: tuple[TimePart, ...] = ()
    cost_parts: tuple[CostPart, ...] = ()
    credit_usd: float = 0.0

    @property
    def at_most(self) -> bool:
        """Whether a part of the cost is taken at the dearest rate known of anybody."""
        return is_bounded(self.cost_parts)


def whole_run(
    experiment: Experiment, candidate: Candidate, offer: Offer | None, step: StepEstimate, today: date
) -> WholeRun | None:
    """The run at the pace of ``step``; None where it does not fit or would never end."""
    if not step.fits or step.parts is None or step.samples_per_s is None:
        return None
    line = timeline(experiment, candidate.machine, step, rented=candidate.provider is not None)
    setting = Setting(candidate, step, line)
    time_s = setting.time_s(offer)
    if not math.isfinite(time_s.p50):
        return None
    parts = time_parts(setting, offer)
    if candidate.usd_per_hour(offer) is None:
        return WholeRun(time_s, None, parts)
    tariff = candidate.tariff
    total = total_cents(candidate.charges(offer), time_s.p50 + tariff.idle_s)
    paid = after_credit(total, tariff.credit_usd)
    lines = cost_parts(candidate, offer, time_s, parts)
    return WholeRun(time_s, setting.cost_usd(offer, today), parts, lines, (total - paid) / 100)
