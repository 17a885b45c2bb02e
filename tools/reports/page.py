"""docs/reports.md: what was reported, what is predicted, and why the two differ where they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from planner.units import Interval
from tools.reports.replay import Outcome, Verdict

BAR = 0.60
GIB = 1 << 30

HEAD = """# Public reports, replayed

<!-- Written by `python tools/replay_reports.py --shared DIR`; do not edit. -->

People report how long their runs took and whether they fitted. Every report of time (A), memory (B) and scaling (C)
that states enough is put to the product as its own experiment on its own machine, and the outcome is held against
P10-P90 or the fit verdict. None of these reports had a part in any fit. Only figures are quoted; the links lead to what
was said. How each report was read stands in `tools/reports/cases.toml`.
"""

CAUSES = {
    "loader": ("the data loader, not the GPU", "`input_unknown`, with a warning; `input_bound` where vCPUs are known"),
    "spill": (
        "memory spilled to the host",
        "`memory_tight`, with a warning of the second step, the desktop and the cost of a spill",
    ),
    "network": (
        "a network that is not stated",
        "`network_unknown`, with a warning; another where waiting nodes bind; P10 allows a fast network",
    ),
    "host": ("the host, or what else runs on it", "`host_bound`, with a warning that a faster GPU does not help"),
    "software": ("software the tool does not know", "the evidence tier widens the interval"),
    "clock": ("a clock that did not wait for the device", "none: the figure is no step time"),
    "beside": ("work beside the network that is trained", "an assumption line says what is not in the model's record"),
    "method": ("a method the tool does not model", "none: said here"),
    "model": ("a model the zoo lacks", "`unknown model`, with the nearest names"),
    "unstated": ("the report leaves out what decides", "none: nothing to predict"),
}


def page(verdicts: Sequence[Verdict]) -> str:
    """The page as Markdown."""
    right = sum(verdict.right for verdict in verdicts)
    lines = [HEAD, "## What came out", ""]
    lines.append(
        f"**{right} of {len(verdicts)} reports ({right / len(verdicts):.0%}; the bar is {BAR:.0%}) come out right.** "
        "Reports that cannot be replayed count as missed."
    )
    lines += ["", *_table(verdicts), "", "*Extra* rows are further figures of a report; they do not count.", ""]
    lines += ["## Why the others differ", "", *_causes(verdicts), "", *_explanations(verdicts)]
    return "\n".join(lines).rstrip() + "\n"


def _table(verdicts: Iterable[Verdict]) -> Iterable[str]:
    yield "| report | run | reported | P10 | P50 | P90 | unit | right? | why not |"
    yield "|---|---|--:|--:|--:|--:|---|---|---|"
    for verdict in verdicts:
        name = f"[{verdict.report.id}]({verdict.report.url})"
        if not verdict.outcomes:
            report = verdict.report
            yield _row(
                name,
                f"{report.model}, {report.gpu}",
                f"{_main(verdict)} | | | | {report.outcome_unit}",
                "no",
                _why(verdict),
            )
        for outcome in verdict.outcomes:
            yield _row(name, _run(outcome), _figures(outcome), _judged(outcome), _reason(verdict, outcome))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _main(verdict: Verdict) -> str:
    return "" if verdict.report.outcome is None else f"{verdict.report.outcome:g}"


def _run(outcome: Outcome) -> str:
    machine = outcome.replay.machine
    count, nodes = machine.get("count", 1), machine.get("nodes", 1)
    devices = f"{nodes} x {count} x " if nodes > 1 else f"{count} x " if count > 1 else ""
    label = f" ({outcome.replay.label})" if outcome.replay.label else ""
    beside = f" beside {outcome.replay.beside['gpu']}" if outcome.replay.measure == "times_as_fast" else ""
    return f"{outcome.replay.experiment['model']}, {devices}{machine['gpu']}{beside}{label}"


def _figures(outcome: Outcome) -> str:
    if outcome.predicted is not None:
        return f"{outcome.reported} | {_interval(outcome.predicted)} | {outcome.unit}"
    step = outcome.step
    if step is None:
        return f"{outcome.reported} | | | | "
    needs, has = step.memory_required_bytes, step.memory_available_bytes
    said = "does not fit" if not step.fits else "tight" if "memory_tight" in step.flags else "fits"
    memory = f"{needs / GIB:.1f} of {has / GIB:.1f} GiB" if needs is not None and has is not None else ""
    return f"{outcome.reported} | | {said} | | {memory}"


def _interval(predicted: Interval) -> str:
    return " | ".join(f"{value:.3g}" if value < 1000 else f"{value:,.0f}" for value in predicted)


def _judged(outcome: Outcome) -> str:
    answer = {True: "yes", False: "no", None: "not replayed"}[outcome.right]
    return f"*{answer}* (extra)" if outcome.replay.extra else answer


def _reason(verdict: Verdict, outcome: Outcome) -> str:
    if outcome.problem:
        return outcome.problem
    return "" if outcome.right or outcome.replay.extra else _why(verdict)


def _why(verdict: Verdict) -> str:
    return CAUSES[verdict.case.cause][0] if verdict.case.cause else "not explained"


def _causes(verdicts: Sequence[Verdict]) -> Iterable[str]:
    counts = Counter(verdict.case.cause for verdict in verdicts if not verdict.right)
    yield "| cause | reports | what the tool says of it by itself |"
    yield "|---|--:|---|"
    for cause, (words, warning) in CAUSES.items():
        if counts[cause]:
            yield f"| {words} | {counts[cause]} | {warning} |"


def _explanations(verdicts: Iterable[Verdict]) -> Iterable[str]:
    for verdict in verdicts:
        case = verdict.case
        parts = [case.reading] if case.reading else []
        if not verdict.right and case.explanation:
            parts.append(f"*Missed:* {case.explanation}")
        if parts:
            yield f"- **{verdict.report.id}** ({verdict.report.source}). {' '.join(parts)}"
