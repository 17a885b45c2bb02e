"""Evidence: which measurements stand behind an estimate, the offset they give, and how wide the interval must be.

ln(predicted time / measured time) is modelled as a sum of random effects: of the software lineage, the architecture and
the accelerator; of the network's family in a lineage and precision; of the network, of it in a lineage (a workload), in
a precision, on an architecture, on an accelerator. Fitted effects ship with their remaining uncertainty; the user's own
measurements update them by best linear unbiased prediction (Robinson, "That BLUP is a good thing", 1991): never by a
raw ratio, since a single reference carries its own noise. What is a network's own, its family's included, has a long
tail: one that is far off the others says so of itself, and less of the software and the device that it shares with
them (:func:`tail_factor`).
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planner.errors import DataError
from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.machine import Machine
from planner.throughput.calibration import Calibration, load_calibration
from planner.throughput.device import Deviations, HostSpeed, architecture_group
from planner.throughput.estimate import Evidence
from planner.throughput.spread import edges, widened
from planner.units import Interval

NETWORK_EFFECTS = Path(__file__).parent.parent / "data" / "network_effects.jsonl"

GENERAL_KINDS = ("software", "software_architecture", "architecture", "architecture_precision", "accelerator")
FAMILY_KINDS = ("family", "family_precision")
NETWORK_KINDS = ("network", "workload", "workload_precision", "workload_architecture", "workload_accelerator")
OWN_KINDS = (*FAMILY_KINDS, *NETWORK_KINDS)
EFFECT_KINDS = (*GENERAL_KINDS, *OWN_KINDS)

# The row of the interval table for a network that nobody measured, but others of its family in its software.
SAME_FAMILY = "same_family"
# Networks of a user have no family: what one is off by says nothing of the next.
_NO_FAMILY = ("", "own")

# Architectures whose measurements taught the constants, and with them every lineage.
ANY_LINEAGE = ""

# How many standard deviations off the others a network may be before its own effects are taken to be wider.
TAIL_FROM = 0.8
TAIL_STEPS = 4
# Of two networks that differ nobody knows which one is odd.
_FEWEST_NETWORKS = 3

# Releases of one framework describe a network alike: its own effects are shared between old and new ones.
OLD = "-old"
# A compiler fuses what lies between products and convolutions; those are the same libraries' on an architecture.
_COMPILED = "-compiled"

Effects = Mapping[str, Mapping[str, Sequence[float]]]


class Subject(NamedTuple):
    """What an estimate or a measurement is about, as far as effects are shared: their names, in order."""

    software: str
    software_architecture: str
    architecture: str
    architecture_precision: str
    accelerator: str
    family: str
    family_precision: str
    network: str
    workload: str
    workload_precision: str
    workload_architecture: str
    workload_accelerator: str

    @property
    def lineage(self) -> str:
        return self.software.partition("|")[0]

    @property
    def framework(self) -> str:
        return self.lineage.partition("-")[0]


def subject_of(workload: str, lineage: str, width: str, accelerator: Accelerator, family: str = "") -> Subject:
    """A workload is a network in a software lineage ('tensorflow-compiled'); ``width`` is half, tf32 or fp32."""
    network, group, releases = workload.partition("@")[0], architecture_group(accelerator), lineage.replace(OLD, "")
    described = f"{network}|{releases}"
    related = f"{network if family in _NO_FAMILY else family}|{releases}"
    return Subject(
        software=f"{lineage}|{width}",
        software_architecture=f"{lineage.replace(_COMPILED, '')}|{group}",
        architecture=group,
        architecture_precision=f"{group}|{width}",
        accelerator=accelerator.key,
        family=related,
        family_precision=f"{related}|{width}",
        network=network,
        workload=described,
        workload_precision=f"{described}|{width}",
        workload_architecture=f"{described}|{group}",
        workload_accelerator=f"{described}|{width}|{accelerator.key}",
    )


def run_of(batch_size_per_gpu: float, devices: int) -> str:
    """What one run of a subject is told from others by."""
    return f"{batch_size_per_gpu:g} on {devices}"


def architecture_name(accelerator: Accelerator) -> str:
    """Vendor and architecture: 'NVIDIA Turing', 'AMD CDNA 3'."""
    return f"{accelerator.vendor} {accelerator.architecture}"


class Reference(NamedTuple):
    """A measurement to learn from: ``log_residual`` = ln(predicted / measured time) with shipped knowledge alone.

    ``run`` names the batch and the devices where they are known: what such a run was off by, it is again, where another
    batch is not. ``tail`` and ``family_tail`` are by how much the variances of what is its network's and its family's
    are larger than usual, ``spreads`` the standard deviations that shipped measurements leave of each effect: they
    follow from what it is known beside.
    """

    subject: Subject
    log_residual: float
    on_this_machine: bool = False
    run: str = ""
    tail: float = 1.0
    family_tail: float = 1.0
    spreads: tuple[float, ...] = ()


class Correction(NamedTuple):
    """``log_offset`` is subtracted from ln(time); ``low`` and ``high`` are ln(time / P50) at P10 and P90."""

    log_offset: float
    low: float
    high: float
    evidence: Evidence

    def interval(self, p50: float) -> Interval:
        return Interval(p50 * math.exp(self.low), p50, p50 * math.exp(self.high))


class _Shared(NamedTuple):
    """A covariance of two residuals by whose effects both have: anybody's, their family's, their network's own."""

    general: float
    family: float
    own: float


class Here(NamedTuple):
    """The machine that was profiled: its device's measured constants, its host, and what training runs taught.

    ``complete`` when an estimate with them is one from measurements made here.
    """

    machine: Machine
    calibration: Calibration
    references: tuple[Reference, ...] = ()
    weights: tuple[float, ...] = ()
    complete: bool = True
    host: HostSpeed | None = None

    def is_on(self, machine: Machine) -> bool:
        """Whether ``machine`` has this machine's device beside its CPU, in any number."""
        return machine.accelerator == self.machine.accelerator and machine.cpu == self.machine.cpu


class Knowledge(NamedTuple):
    """What is known beyond specifications: fitted constants and effects, the host's launch cost, own measurements.

    ``weights`` are the solved BLUP weights of ``references``; make one with :meth:`with_references`. ``deviations`` are
    what a GPU that was measured tells of its like. ``here`` is what a profile measured of this machine, which it is
    asked about instead; ``profiled`` marks that knowledge itself.
    """

    calibration: Calibration
    host: HostSpeed | None = None
    references: tuple[Reference, ...] = ()
    weights: tuple[float, ...] = ()
    here: Here | None = None
    profiled: bool = False
    deviations: Deviations | None = None

    def factors(self, accelerator: Accelerator) -> Mapping[str, float]:
        """What measured rates make of those expected of an accelerator; see :func:`planner.throughput.device_rates`."""
        return {} if self.deviations is None else self.deviations.factors(accelerator)

    def with_references(self, references: Sequence[Reference]) -> "Knowledge":
        """This knowledge and these measurements as well."""
        known = [
            reference._replace(tail=1.0, family_tail=1.0, spreads=self._spreads(reference.subject))
            for reference in (*self.references, *references)
        ]
        noise = float(self.calibration.offsets["noise_sd"]) ** 2
        parts = [[self._shared(a.subject, a.spreads, b, a.run if a is not b else "") for b in known] for a in known]
        residuals = [reference.log_residual for reference in known]
        several = len({reference.subject.network for reference in known}) >= _FEWEST_NETWORKS
        for _ in range(TAIL_STEPS if several else 0):
            weights = _weights(parts, known, residuals, noise)
            left = [
                residual - sum(part.general * weight for part, weight in zip(row, weights, strict=True))
                for residual, row in zip(residuals, parts, strict=True)
            ]
            known = _with_tails(known, left, [parts[i][i].family + parts[i][i].own + noise for i in range(len(known))])
        return self._replace(references=tuple(known), weights=tuple(_weights(parts, known, residuals, noise)))

    def taught_by(self, references: Sequence[Reference | None]) -> "Knowledge":
        """This knowledge and what these measurements teach, of which None teaches nothing."""
        known = [reference for reference in references if reference is not None]
        return self.with_references(known) if known else self

    @property
    def of_here(self) -> "Knowledge":
        """What is known of the profiled device."""
        if self.here is None:
            return self
        _, calibration, references, weights, complete, host = self.here
        deviations = None if self.deviations is None else self.deviations._replace(itself=True)
        return Knowledge(calibration, host, references, weights, profiled=complete, deviations=deviations)

    def knows_architecture(self, subject: Subject, accelerator: Accelerator) -> bool:
        """Whether somebody measured the accelerator's architecture: in any software for the fit, in this one, or here.

        A CPU's doubts are its own.
        """
        if accelerator.kind == "cpu" or self.profiled:
            return True
        known = self.calibration.intervals["architectures"]
        named = (*known[ANY_LINEAGE], *known.get(subject.lineage, ()))
        return architecture_name(accelerator) in named or any(
            reference.subject.architecture == subject.architecture for reference in self.references
        )

    def correction(self, subject: Subject, flags: Sequence[str] = (), run: str = "") -> Correction:
        """The offset and the interval for ``subject`` in a ``run``; flags that say what is not known widen it."""
        fitted = self._fitted(subject)
        offset = sum(fitted[effect][0] for effect in fitted)
        spreads = self._spreads(subject) if self.references else ()
        for weight, reference in zip(self.weights, self.references, strict=True):
            offset += weight * _with_tail(self._shared(subject, spreads, reference, run), reference)
        evidence = self.evidence(subject)
        table = self.calibration.intervals
        known = edges(table, self._row_of_spread(subject, evidence), subject.lineage)
        low, high = widened(known, flags, table["doubts"])
        return Correction(offset, low, high, evidence)

    def _row_of_spread(self, subject: Subject, evidence: Evidence) -> str:
        """The row of the interval table: rates measured here predict a network less well than its own run does, and its
        like tell something of a network that nobody measured.

        A GPU's rates have no row: nobody has checked yet by how much they narrow an interval, so it stays as it is.
        """
        if self.profiled and not self._ran_here(subject):
            row = "another_network_measured_here" if self.references else "rates_measured_here"
            if row in self.calibration.intervals["tiers"]:
                return row
            evidence = self._tier_elsewhere(subject)
        known = evidence == "same_architecture" and self._is_known(subject, "family_precision")
        return SAME_FAMILY if known else evidence

    def evidence(self, subject: Subject) -> Evidence:
        """The best tier that shipped or own measurements reach for this subject."""
        if self.profiled or self._ran_here(subject):
            return "measured_here"
        return self._tier_elsewhere(subject)

    def _ran_here(self, subject: Subject) -> bool:
        return any(
            reference.on_this_machine and reference.subject.workload_accelerator == subject.workload_accelerator
            for reference in self.references
        )

    def _tier_elsewhere(self, subject: Subject) -> Evidence:
        if self._is_known(subject, "workload_accelerator"):
            return "measured_same_gpu"
        if self._is_known(subject, "network"):
            return "measured_other_gpu"
        return "same_architecture" if self._is_known(subject, "architecture") else "specs_only"

    def _is_known(self, subject: Subject, kind: str) -> bool:
        """Whether a shipped or own measurement has the subject's effect of the kind."""
        name = getattr(subject, kind)
        return kind in self._fitted(subject) or any(getattr(r.subject, kind) == name for r in self.references)

    def _fitted(self, subject: Subject) -> dict[str, Sequence[float]]:
        """Kind -> (mean, remaining sd) of the subject's effects that the shipped measurements say something about.

        A network with a tail has its own share of what is its family's.
        """
        general: Effects = self.calibration.offsets["effects"]
        family, network = (self._own_effects(name) for name in (family_line(subject.family), subject.network))
        found = {}
        for table in (general, family, network):
            for kind, names in table.items():
                value = names.get(getattr(subject, kind))
                if value is not None:
                    found[kind] = value
        return found

    def _own_effects(self, name: str) -> Effects:
        networks: Mapping[str, Effects] | None = self.calibration.offsets.get("networks")
        return network_effects(name) if networks is None else networks.get(name, {})

    def _spreads(self, subject: Subject) -> tuple[float, ...]:
        """The standard deviation that shipped measurements leave of each of the subject's effects, in order."""
        fitted, prior = self._fitted(subject), self.calibration.offsets["prior_sd"]
        return tuple(float(fitted[kind][1] if kind in fitted else prior[kind]) for kind in EFFECT_KINDS)

    def _shared(self, subject: Subject, spreads: Sequence[float], other: Reference, run: str) -> _Shared:
        """Of effects that both have, of the user's own loop, and of the run itself where it is the same.

        A network with a tail has more of what is its family's, so the spreads may differ. What ran on the profiled
        machine is held against rates of that loop already.
        """
        offsets = self.calibration.offsets
        of_loop = not other.on_this_machine and subject.framework == other.subject.framework
        general = float(offsets["loop_sd"]) ** 2 if of_loop else 0.0
        if run and run == other.run and subject.workload_accelerator == other.subject.workload_accelerator:
            general += float(offsets["noise_sd"]) ** 2 - float(offsets["repeat_sd"]) ** 2
        family = own = 0.0
        known = zip(EFFECT_KINDS, subject, other.subject, spreads, other.spreads, strict=True)
        for kind, one, another, spread, other_spread in known:
            if one != another:
                continue
            if kind in NETWORK_KINDS:
                own += spread * other_spread
            elif kind in FAMILY_KINDS:
                family += spread * other_spread
            else:
                general += spread * other_spread
        return _Shared(general, family, own)


def _with_tail(shared: _Shared, reference: Reference) -> float:
    """What two share where one is the reference: who shares a family or a network shares its tail."""
    return shared.general + shared.family * reference.family_tail + shared.own * reference.tail


def tail_factor(left: float, variance: float) -> float:
    """By how much the variance of a network's own effects is larger where it is ``left`` off what it shares.

    Beyond ``TAIL_FROM`` standard deviations a network's own mean is what its variance is taken from (an empirical
    prior of each; Tipping, "Sparse Bayesian learning and the relevance vector machine", 2001).
    """
    return max((left / TAIL_FROM) ** 2 / variance, 1.0)


def _with_tails(references: Sequence[Reference], left: Sequence[float], variances: Sequence[float]) -> list[Reference]:
    """The references with the :func:`tail_factor` of their network's mean and of their family's, networks alike."""
    networks = [reference.subject.network for reference in references]
    families = [family_line(reference.subject.family) for reference in references]
    off, of_family = _means(networks, left), dict(zip(networks, families, strict=True))
    variance = _means(networks, variances)
    family_off = _means(list(of_family.values()), [off[network] for network in of_family])
    family_variance = _means(list(of_family.values()), [variance[network] for network in of_family])
    return [
        reference._replace(
            tail=tail_factor(off[network], variance[network]),
            family_tail=tail_factor(family_off[family], family_variance[family]),
        )
        for reference, network, family in zip(references, networks, families, strict=True)
    ]


def _means(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """The mean of the values of each name."""
    by_name: dict[str, list[float]] = {}
    for name, value in zip(names, values, strict=True):
        by_name.setdefault(name, []).append(value)
    return {name: sum(own) / len(own) for name, own in by_name.items()}


def _weights(
    parts: Sequence[Sequence[_Shared]], references: Sequence[Reference], residuals: Sequence[float], noise: float
) -> list[float]:
    """BLUP weights where covariances are ``parts``, with the references' tails."""
    matrix = [
        [_with_tail(part, references[i]) + noise * (i == j) for j, part in enumerate(row)]
        for i, row in enumerate(parts)
    ]
    return solve_symmetric(matrix, list(residuals))


def family_line(family: str) -> str:
    """Under which name the table of effects by network has those of a whole family ('resnet|pytorch')."""
    return f"family {family.partition('|')[0]}"


@cache
def network_effects(network: str) -> Effects:
    """The fitted effects of one network or family, from its line of the table; empty where nobody measured it."""
    text = _effects_text()
    start = text.find(f'{{"network":"{network}",')
    if start < 0:
        return {}
    line: dict[str, Effects] = json.loads(text[start : text.index("\n", start)])
    return line["effects"]


@cache
def _effects_text() -> str:
    try:
        return NETWORK_EFFECTS.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"the fitted offsets (planner/data/{NETWORK_EFFECTS.name}) cannot be read: {error}") from error


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


Expectation = Callable[[Experiment], Knowledge]
"""What measurements of an experiment are held against: shipped knowledge, and what a profile's rates make of it."""


def shipped_knowledge() -> Knowledge:
    """The knowledge of a user who has measured nothing."""
    return Knowledge(load_calibration())
