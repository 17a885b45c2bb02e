"""The error tables of docs/model.md, between two marks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tools.fit.evaluation import Evaluation
from tools.fit.folds import Errors
from tools.fit.intervals import Table

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
    parts += ["", *_coverage(evaluation), "", *_architectures(evaluation), "", *_intervals(evaluation.intervals), ""]
    return "\n".join(parts)


def _coverage(evaluation: Evaluation) -> list[str]:
    """By tier, and by kind of operations in each tier."""
    parts = ["**Coverage of P10-P90, every left-out group held against the intervals of the others**", ""]
    parts += _header("tier", "rows", "covered %", "groups of 50 rows or more", "of them within 65-93 %", "the others")
    for tier, found in evaluation.coverage.items():
        others = ", ".join(f"{group} {100 * share:.0f} %" for group, share in found.outside.items())
        within = found.groups - len(found.outside)
        row = (f"`{tier}`", f"{found.rows:,}", f"{100 * found.covered:.1f}", str(found.groups), str(within), others)
        parts.append(_cells(*row))
    tiers, every = list(evaluation.coverage), evaluation.coverage.values()
    rows, groups = sum(c.rows for c in every), sum(c.groups for c in every)
    pooled = sum(c.covered * c.rows for c in every) / rows
    within = groups - sum(len(c.outside) for c in every)
    parts.append(_cells("all", f"{rows:,}", f"{100 * pooled:.1f}", str(groups), str(within), ""))
    parts += ["", "**The same by kind of operations: % covered (rows)**", ""]
    parts += _header("", *(f"`{tier}`" for tier in tiers))
    for kind, by_tier in evaluation.coverage_by_kind.items():
        cells = [by_tier.get(tier) for tier in tiers]
        parts.append(_cells(kind, *("" if c is None else f"{100 * c.covered:.0f} ({c.rows:,})" for c in cells)))
    return parts


def _architectures(evaluation: Evaluation) -> list[str]:
    """How many rows of architectures that were left out whole lie inside `specs_only`, and inside it with its doubt."""
    parts = [
        "**Coverage of `specs_only` on architectures left out whole: without and with the doubt of a new one**",
        "",
    ]
    parts += _header("", "covered %", "with the doubt %")
    for name, (without, doubted) in evaluation.coverage_without_architecture.items():
        parts.append(_cells(name, f"{100 * without:.0f}", f"{100 * doubted:.0f}"))
    low, high = evaluation.unseen_architecture
    parts += [
        "",
        f"The doubt of an architecture that no row is of: time / P50 of {math.exp(-low):.2f} to {math.exp(high):.2f}.",
    ]
    return parts


def _intervals(table: Table) -> list[str]:
    """Time / P50 at P10 and P90, by lineage and tier."""
    tiers = list(table["tiers"])
    parts = ["**Intervals: time / P50 at P10 and P90, by software lineage and tier**", ""]
    parts += _header("", *(f"`{tier}`" for tier in tiers))
    parts.append(_cells("any other", *(_range(table["tiers"][tier]) for tier in tiers)))
    for lineage in sorted({name for of_tier in table["lineages"].values() for name in of_tier}):
        edges = [table["lineages"].get(tier, {}).get(lineage, table["tiers"][tier]) for tier in tiers]
        parts.append(_cells(lineage, *map(_range, edges)))
    return parts


def _header(*titles: str) -> list[str]:
    return [_cells(*titles), _cells(*["---"] * len(titles))]


def _cells(*texts: str) -> str:
    return f"| {' | '.join(texts)} |"


def _range(edges: Sequence[float]) -> str:
    return "-".join(f"{math.exp(edge):.2f}" for edge in edges)


def _line(name: str, e: Errors) -> str:
    return f"| {name} | {e.n:,} | {100 * e.mean:.1f} | {100 * e.median:.1f} | {100 * e.p90:.1f} | {e.bias:+.3f} |"
