"""How often a spot machine is taken away: events per hour of one running machine, with how little is known of it.

AWS publishes, by region and machine, the share of spot instances interrupted in the last month in five steps, but not
how long those instances had run. A share f of instances that each ran T hours is a rate of -ln(1 - f) / T (a constant
rate over T). T lies between an hour and the whole month of 730 hours: the low and the high end; the likely value takes
their geometric mean, 27 hours, about a day. The last step, "over 20 %", is open: its high end is what was measured by
holding GPU spot instances on AWS for weeks at a time in 2022 and 2023, its likely value the geometric mean of the ends.

Where a provider publishes nothing, its default is stated in the source text of the result.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

SHARE_STEPS = ((0.0, 0.05), (0.05, 0.10), (0.10, 0.15), (0.15, 0.20), (0.20, None))
MONTH_HOURS = 730.0
SHORTEST_RUN_HOURS = 1.0
LIKELY_RUN_HOURS = math.sqrt(MONTH_HOURS * SHORTEST_RUN_HOURS)
_ADVISOR = "AWS Spot Instance Advisor"


class Interruption(NamedTuple):
    """Interruptions per hour of one running machine: the low end, the likely value, the high end."""

    low_per_hour: float
    per_hour: float
    high_per_hour: float
    as_of: str
    source: str


class Measured(NamedTuple):
    """What was measured by holding instances of one provider: the 10th percentile of the traces, pooled, the 90th."""

    low_per_hour: float
    per_hour: float
    high_per_hour: float
    as_of: str
    source: str


class Interruptions:
    """The published steps by (region, machine) of AWS and the measured rates by provider, ready to be asked.

    Raises ValueError on a step outside 0..4 and LookupError without any step or without measured rates of AWS.
    """

    def __init__(
        self, steps: Mapping[tuple[str, str], int], steps_as_of: str, measured: Mapping[str, Measured]
    ) -> None:
        if not all(0 <= step < len(SHARE_STEPS) for step in steps.values()):
            raise ValueError(f"an interruption step is outside 0..{len(SHARE_STEPS) - 1}")
        self._steps = steps
        self._as_of = steps_as_of
        self._measured = measured
        self._measured_aws = measured["aws"]
        by_machine: dict[str, list[int]] = {}
        for (_region, instance_type), step in steps.items():
            by_machine.setdefault(instance_type, []).append(step)
        self._machine_steps = {machine: _median(found) for machine, found in by_machine.items()}
        self._by_step: dict[tuple[int, str], Interruption] = {}
        self._by_provider: dict[str, Interruption] = {}
        self._middle_step = _median(list(steps.values()))

    def of(self, provider: str, instance_type: str, region: str) -> Interruption:
        """The rate of one machine in one region; always an answer, whose source says how near it is."""
        if provider == "aws":
            step = self._steps.get((region, instance_type))
            if step is not None:
                return self._of_step(step, _ADVISOR)
            step = self._machine_steps.get(instance_type)
            if step is not None:
                return self._of_step(step, f"{_ADVISOR}: the middle of the other regions")
        known = self._by_provider.get(provider)
        if known is None:
            known = self._by_provider[provider] = self._of_provider(provider)
        return known

    def _of_provider(self, provider: str) -> Interruption:
        """What was measured there; else anything from never to the most that was measured on AWS."""
        found = self._measured.get(provider) if provider != "aws" else None
        if found is not None:
            high = max(found.high_per_hour, self._measured_aws.high_per_hour)
            source = f"{found.source}; high end as measured on AWS"
            return Interruption(found.low_per_hour, found.per_hour, high, found.as_of, source)
        source = f"{_ADVISOR}: the middle of all GPU machines on AWS"
        if provider != "aws":
            source = f"no figures of {provider}; {source}"
        middle = self._of_step(self._middle_step, source)
        return middle._replace(low_per_hour=0.0, high_per_hour=self._measured_aws.high_per_hour)

    def _of_step(self, step: int, source: str) -> Interruption:
        key = (step, source)
        if key not in self._by_step:
            self._by_step[key] = self._computed(step, source)
        return self._by_step[key]

    def _computed(self, step: int, source: str) -> Interruption:
        least, most = SHARE_STEPS[step]
        low = _rate(least, MONTH_HOURS)
        if most is None:
            high = self._measured_aws.high_per_hour
            return Interruption(low, math.sqrt(low * high), high, self._as_of, source)
        likely = _rate((least + most) / 2, LIKELY_RUN_HOURS)
        return Interruption(low, likely, _rate(most, SHORTEST_RUN_HOURS), self._as_of, source)


def _rate(share: float, hours: float) -> float:
    return -math.log1p(-share) / hours


def _median(steps: list[int]) -> int:
    return sorted(steps)[len(steps) // 2]
