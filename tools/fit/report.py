"""The error tables of docs/model.md, between two marks."""

from __future__ import annotations

import math

from tools.fit.evaluation import Evaluation
from tools.fit.folds import Errors

BEGIN = "<!-- error tables: made by tools/fit_throughput.py -->"
END = "<!-- end of the error tables -->"


def with_error_tables(document: str, evaluation: Evaluation, observations: int) -> str:
    """``document`` with the part between the marks made anew. Raises ValueError where it has no marks."""
    if BEGIN not in document or END not in document:
        raise ValueError("the document has no place for the error tables")
    before, after = document.split(BEGIN)[0], document.split(END)[1]
    return f"{before}{BEGIN}\n\n{_tables(evaluation, observations)}\n{END}{after}"


def _tables(evaluation: Evaluation, observations: int) -> str:
    parts = [f"{observations:,} single-GPU rows. Errors of samples/s in %; bias: mean of ln(predicted / measured)."]
    for title, table in evaluation.tables.items():
        parts += ["", f"**{title}**", "", "| | rows | mean | median | P90 | bias |", "|---|---|---|---|---|---|"]
        parts += [_line(name, errors) for name, errors in table.items()]
    parts += ["", "**Largest batch on 24 GB against timm's ladder, % of rows**", ""]
    parts += ["| | rows | exact | within one rung | over-estimated |", "|---|---|---|---|---|"]
    parts += [
        f"| {layout} | {s.rows} | {100 * s.exact:.1f} | {100 * s.within_one:.1f} | {100 * s.over:.1f} |"
        for layout, s in evaluation.memory.items()
    ]
    parts += ["", "**Sync times between nodes (Sia profiles, g4dn.12xlarge), left out by network: median factor**", ""]
    parts += ["| | steps | factor |", "|---|---|---|"]
    parts += [f"| {name} | {count} | {factor:.2f} |" for name, (count, factor) in evaluation.sync_factors.items()]
    parts += ["", "**Coverage of P10-P90, every left-out group held against the quantiles of the others**", ""]
    parts += [
        "| tier | rows | covered % | groups of 50 rows or more | of them within 65-93 % |",
        "|---|---|---|---|---|",
    ]
    parts += [
        f"| `{tier}` | {c.rows:,} | {100 * c.covered:.1f} | {c.groups} | {c.groups_within} |"
        for tier, c in evaluation.coverage.items()
    ]
    parts += ["", "**Intervals: time / P50 at P10 and P90, by tier**", "", "| tier | P10 | P90 |", "|---|---|---|"]
    parts += [f"| `{tier}` | {_factor(low)} | {_factor(high)} |" for tier, (low, high) in evaluation.tiers.items()]
    traits = ", ".join(f"{trait} {factor:.2f}" for trait, factor in evaluation.traits.items())
    return "\n".join([*parts, "", f"Scaled by kind of operations and by software lineage: {traits}.", ""])


def _line(name: str, e: Errors) -> str:
    return f"| {name} | {e.n:,} | {100 * e.mean:.1f} | {100 * e.median:.1f} | {100 * e.p90:.1f} | {e.bias:+.3f} |"


def _factor(log_ratio: float) -> str:
    return f"{math.exp(log_ratio):.2f}"
