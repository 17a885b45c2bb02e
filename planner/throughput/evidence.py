"""Evidence: which measurements stand behind an estimate, the offset they give, and how wide the interval must be.

ln(predicted time / measured time) is modelled as a sum of random effects: of the software lineage, of the workload in
it, of the architecture, of both together, of the accelerator, of the workload on that accelerator. Fitted effects ship
with their remaining uncertainty; the user's own measurements update them by best linear unbiased prediction (Robinson,
"That BLUP is a good thing", 1991): never by a raw ratio, since a single reference carries its own noise.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planner.hardware.accelerator import Accelerator
from planner.throughput.calibration import Calibration, load_calibration
from planner.throughput.device import HostSpeed, architecture_group
from planner.throughput.estimate import Evidence
from planner.units import Interval

EFFECT_KINDS = ("software", "workload", "architecture", "workload_architecture", "accelerator", "workload_accelerator")


class Subject(NamedTuple):
    """What an estimate or a measurement is about, as far as effects are shared: names of its effects."""

    software: str
    workload: str
    architecture: str
    workload_architecture: str
    accelerator: str
    workload_accelerator: str


def subject_of(workload: str, lineage: str, half: bool, accelerator: Accelerator) -> Subject:
    """Effects differ between 2-byte and 4-byte arithmetic, and between software lineages ('pytorch', 'tensorflow')."""
    width = "half" if half else "single"
    group = architecture_group(accelerator)
    described = f"{workload.partition('@')[0]}|{lineage}|{width}"
    return Subject(
        software=f"{lineage}|{width}",
        workload=described,
        architecture=f"{group}|{width}",
        workload_architecture=f"{described}|{group}",
        accelerator=accelerator.key,
        workload_accelerator=f"{described}|{accelerator.key}",
    )


class Reference(NamedTuple):
    """A measurement to learn from: ``log_residual`` = ln(predicted / measured time) with shipped knowledge alone."""

    subject: Subject
    log_residual: float
    on_this_machine: bool = False


class Correction(NamedTuple):
    """``log_offset`` is subtracted from ln(time); ``low`` and ``high`` are ln(time / P50) at P10 and P90."""

    log_offset: float
    low: float
    high: float
    evidence: Evidence

    def interval(self, p50: float) -> Interval:
        return Interval(p50 * math.exp(self.low), p50, p50 * math.exp(self.high))


class Knowledge(NamedTuple):
    """What is known beyond specifications: fitted constants and effects, the host's launch cost, own measurements.

    ``weights`` are the solved BLUP weights of ``references``; make one with :meth:`with_references`.
    """

    calibration: Calibration
    host: HostSpeed | None = None
    references: tuple[Reference, ...] = ()
    weights: tuple[float, ...] = ()

    def with_references(self, references: Sequence[Reference]) -> "Knowledge":
        """This knowledge and these measurements as well."""
        known = (*self.references, *references)
        noise = float(self.calibration.offsets["noise_sd"]) ** 2
        matrix = [
            [self._shared(a.subject, b.subject) + noise * (i == j) for j, b in enumerate(known)]
            for i, a in enumerate(known)
        ]
        weights = solve_symmetric(matrix, [reference.log_residual for reference in known])
        return self._replace(references=known, weights=tuple(weights))

    def correction(self, subject: Subject, kind: str, flags: Sequence[str]) -> Correction:
        """The offset and the interval for ``subject``; ``kind`` is the workload's class of operations."""
        effects: Mapping[str, Mapping[str, Sequence[float]]] = self.calibration.offsets["effects"]
        offset = sum(effects[effect].get(name, (0.0,))[0] for effect, name in zip(EFFECT_KINDS, subject, strict=True))
        for weight, reference in zip(self.weights, self.references, strict=True):
            offset += weight * self._shared(subject, reference.subject)
        evidence = self.evidence(subject)
        low, high = self._spread(evidence, kind, flags)
        return Correction(offset, low, high, evidence)

    def evidence(self, subject: Subject) -> Evidence:
        """The best tier that shipped or own measurements reach for this subject."""
        own = self.references
        if any(r.on_this_machine and r.subject.workload_accelerator == subject.workload_accelerator for r in own):
            return "measured_here"
        effects = self.calibration.offsets["effects"]
        if _known(subject, "workload_accelerator", effects, own):
            return "measured_same_gpu"
        if _known(subject, "workload", effects, own):
            return "measured_other_gpu"
        return "same_architecture" if _known(subject, "architecture", effects, own) else "specs_only"

    def _shared(self, first: Subject, second: Subject) -> float:
        """Covariance of two residuals: the variance left in every effect that both have."""
        table = self.calibration.offsets
        return sum(
            _variance(table, kind, one)
            for kind, one, other in zip(EFFECT_KINDS, first, second, strict=True)
            if one == other
        )

    def _spread(self, evidence: Evidence, kind: str, flags: Sequence[str]) -> tuple[float, float]:
        """ln(time / P50) at P10 and P90: the tier's quantiles, scaled by kind, widened by independent doubts."""
        table = self.calibration.intervals
        low, high = table["tiers"][evidence]
        scale = table["kinds"].get(kind, 1.0)
        low_variance, high_variance = (low * scale) ** 2, (high * scale) ** 2
        for flag in flags:
            doubt = table["doubts"].get(flag)
            if doubt is not None:
                low_variance += doubt[0] ** 2
                high_variance += doubt[1] ** 2
        return -math.sqrt(low_variance), math.sqrt(high_variance)


def _known(
    subject: Subject, kind: str, effects: Mapping[str, Mapping[str, object]], references: Sequence[Reference]
) -> bool:
    name = getattr(subject, kind)
    return name in effects[kind] or any(getattr(reference.subject, kind) == name for reference in references)


def _variance(table: Mapping[str, Mapping[str, object]], kind: str, name: str) -> float:
    fitted = table["effects"][kind].get(name)  # type: ignore[attr-defined]
    sd = fitted[1] if fitted is not None else table["prior_sd"][kind]
    return float(sd) ** 2  # type: ignore[arg-type]


def solve_symmetric(matrix: list[list[float]], right: list[float]) -> list[float]:
    """x in ``matrix x = right`` for a symmetric positive definite matrix, by Cholesky factorisation."""
    count = len(right)
    lower = [[0.0] * count for _ in range(count)]
    for row in range(count):
        for column in range(row + 1):
            left = matrix[row][column] - sum(lower[row][k] * lower[column][k] for k in range(column))
            lower[row][column] = math.sqrt(left) if row == column else left / lower[column][column]
    forward: list[float] = []
    for row in range(count):
        forward.append((right[row] - sum(lower[row][k] * forward[k] for k in range(row))) / lower[row][row])
    solution = [0.0] * count
    for row in reversed(range(count)):
        solution[row] = (forward[row] - sum(lower[k][row] * solution[k] for k in range(row + 1, count))) / lower[row][
            row
        ]
    return solution


def shipped_knowledge() -> Knowledge:
    """The knowledge of a user who has measured nothing."""
    return Knowledge(load_calibration())
