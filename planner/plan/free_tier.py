"""A run on a free notebook: cut into sessions, and held up until the next week where it outlasts the week's hours."""

import math
from datetime import date
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.free_tiers import FreeTier
from planner.plan.candidates import Candidate, Tariff
from planner.plan.cost import Charge
from planner.plan.extras import disk_gb
from planner.plan.timeline import Timeline
from planner.units import SECONDS_PER_HOUR, Interval

SESSION_LIMIT = "session_limit"
"""The run is longer than one session: it must be started again from its last checkpoint."""

WEEKLY_QUOTA = "weekly_quota"
"""The run is longer than a week's hours: its time counts the days until the next ones."""

QUOTA_UNKNOWN = "quota_unknown"
"""The run is longer than one session and nobody says how many there are a week: its time counts no waiting."""

WEEK_S = 7 * 24 * SECONDS_PER_HOUR


class Schedule(NamedTuple):
    """What the limits add to a run: setting up and copying the data again in every further session, and waiting."""

    sessions: float
    restarts_s: float
    waiting_s: float


def schedule(run_s: float, restart_s: float, tier: FreeTier) -> Schedule:
    """The sessions of a run of ``run_s`` seconds that begins with a full week's hours.

    Every session begins with ``restart_s`` of setting up (the first one's is part of the run) and is taken to end on
    a checkpoint. Sessions follow each other until the week's hours are used; the rest waits for the next week.
    A session too short to set up in never finishes: infinity.
    """
    progress_s = tier.session_hours * SECONDS_PER_HOUR - restart_s
    if progress_s <= 0:
        return Schedule(math.inf, math.inf, 0.0)
    sessions = max(1, math.ceil((run_s - restart_s) / progress_s))
    restarts_s = (sessions - 1) * restart_s
    if tier.weekly_hours is None:
        return Schedule(sessions, restarts_s, 0.0)
    week_s = tier.weekly_hours * SECONDS_PER_HOUR
    weeks = max(1, math.ceil((run_s + restarts_s) / week_s))
    return Schedule(sessions, restarts_s, (weeks - 1) * (WEEK_S - week_s))


def calendar_time(line: Timeline, tier: FreeTier) -> Interval:
    """From start to finish with the limits, in seconds; each end of the interval has its own sessions."""
    return Interval(*(_calendar_s(line, line.fixed_s + work_s, tier) for work_s in line.work))


def within_limits(line: Timeline, tier: FreeTier) -> bool:
    """Whether even a slow run (P90) ends within the week's hours, or within one session where nobody says these."""
    run_s = line.fixed_s + line.work.p90
    added = schedule(run_s, _restart_s(line), tier)
    if tier.weekly_hours is None:
        return added.sessions == 1
    return added.waiting_s == 0 and math.isfinite(added.restarts_s)


def limits_at_p50(line: Timeline, tier: FreeTier) -> Schedule:
    """What the limits add to the likely run."""
    return schedule(line.total.p50, _restart_s(line), tier)


def limit_flags(added: Schedule, tier: FreeTier) -> tuple[str, ...]:
    """The marks of a run to which the limits add something."""
    flags = []
    if added.sessions > 1:
        flags.append(SESSION_LIMIT)
        if tier.weekly_hours is None:
            flags.append(QUOTA_UNKNOWN)
    if added.waiting_s > 0:
        flags.append(WEEKLY_QUOTA)
    return tuple(flags)


def free_candidate(tier: FreeTier, experiment: Experiment, today: date) -> Candidate:
    """The tier as a machine that competes at no cost; blocked where it has ended or its disk is too small."""
    source = f"free: {tier.source}"
    return Candidate(
        name=tier.name,
        place="cloud",
        machine=tier.machine,
        tariff=Tariff((Charge("compute", 0.0, 0.0, source),), price_as_of=tier.as_of, source=source),
        offers=(None,),
        blocked=_blocked(tier, experiment, today),
        provider=tier.provider,
        instance_type=tier.runtime,
        free_tier=tier,
    )


def _blocked(tier: FreeTier, experiment: Experiment, today: date) -> str:
    if tier.ended is not None and tier.ended <= today.isoformat():
        return f"not lent since {tier.ended} ({tier.source})"
    needed = disk_gb(experiment)
    if tier.disk_bytes is not None and needed > tier.disk_bytes / 1e9:
        return f"its disk holds {tier.disk_bytes / 1e9:.0f} GB; system, data and checkpoints need {needed:.0f}"
    return ""


def _calendar_s(line: Timeline, run_s: float, tier: FreeTier) -> float:
    added = schedule(run_s, _restart_s(line), tier)
    return run_s + added.restarts_s + added.waiting_s


def _restart_s(line: Timeline) -> float:
    return line.setup_s + line.download_s
