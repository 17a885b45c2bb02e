"""How often spot instances were taken away: the advisor's steps, and rates measured by holding instances."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import quantiles

MEASURED_UNTIL = "2023-08-27"


def read_steps(path: Path) -> list[tuple[str, str, int]]:
    """(region, instance type, step 0..4) of the AWS Spot Instance Advisor."""
    with path.open(encoding="utf-8", newline="") as file:
        return sorted((row["region"], row["instance_type"], int(row["r"])) for row in csv.DictReader(file))


def read_measured(path: Path) -> list[tuple[str, float, float, float, str, str]]:
    """Per provider the 10th percentile of its traces, their pooled rate and the 90th percentile, per instance and hour.

    On AWS the traces of GPU instances are taken; on Google Cloud there are only CPU instances.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = {
        "aws": [row for row in rows if row["collection"].startswith("aws") and "intel" not in row["zone_instance"]],
        "gcp": [row for row in rows if row["collection"].startswith("gcp")],
    }
    what = {"aws": "GPU", "gcp": "CPU"}
    return [_measured(provider, what[provider], traces) for provider, traces in sorted(kinds.items())]


def _measured(provider: str, what: str, traces: list[dict[str, str]]) -> tuple[str, float, float, float, str, str]:
    rates = [float(row["instances_lost_per_instance_hour"]) for row in traces]
    tenths = quantiles(rates, n=10, method="inclusive")
    weights = [float(row["hours_available"]) * int(row["max_instances"]) for row in traces]
    pooled = sum(rate * weight for rate, weight in zip(rates, weights, strict=True)) / sum(weights)
    source = f"skypilot-org/spot-traces: {len(traces)} traces of {what} instances"
    return (provider, round(tenths[0], 4), round(pooled, 4), round(tenths[8], 4), MEASURED_UNTIL, source)
