"""The plan as one HTML page to send to somebody: no script, nothing loaded from elsewhere, light and dark."""

from collections.abc import Callable, Iterable
from html import escape
from typing import NamedTuple

from planner import __version__
from planner.cli.html_chart import NARROW, WIDE, chart_svg, near_and_far, time_of
from planner.cli.marks import answer_notes, cost_words, marks_of
from planner.cli.money import Currency
from planner.experiment.resolve import describe
from planner.plan.plan import CostPart, Estimate, Plan
from planner.plan.words import EVIDENCE_WORDS, bound_mark, buy_word, gpus_words, machine_name, price_mark, where_words
from planner.units import UNKNOWN, Interval, counted, format_duration, format_span

_STYLE = """\
:root { --ground: #eef0f4; --pane: #fafbfc; --line: #bcc5d2; --text: #2b3442; --strong: #0d131c; --dim: #5b6778;
  --accent: #0b62c4; --warn: #8f5b00; --laptop: #6a4fc0; --workstation: #1d7a68; --cluster: #a83a76; --cloud: #2f62b0;
  color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0f1218; --pane: #151a22; --line: #303a4a; --text: #ccd3de; --strong: #f3f6fa; --dim: #8590a2;
    --accent: #62b0ff; --warn: #e3b765; --laptop: #b8a1ee; --workstation: #6cc8b8; --cluster: #e09bbd;
    --cloud: #8fb0dc; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: .5rem 0 0; color: var(--strong); }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; color: var(--strong); }
section { overflow-x: auto; background: var(--pane);
  border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0; }
.dim, figcaption { color: var(--dim); font-size: .9rem; }
.warn { color: var(--warn); }
.answer { font-size: 1.1rem; color: var(--strong); margin: 0; }
figure { margin: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--dim); font-weight: 500; font-size: .85rem; }
td.number, th.number { text-align: right; white-space: nowrap; }
td small { display: block; color: var(--dim); white-space: nowrap; font-weight: 400; }
.ranking { font-size: .92rem; }
tr.chosen td { color: var(--strong); font-weight: 600; }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; }
summary { cursor: pointer; }
summary:focus-visible { outline: 2px solid var(--accent); }
.bill { font-size: .9rem; margin: .3rem 0 .6rem; }
.bill td { overflow-wrap: anywhere; }
.total td { color: var(--strong); font-weight: 600; border-bottom: 0; }
li { overflow-wrap: anywhere; }
.chart { width: 100%; height: auto; display: block; }
.narrow { display: none; }
.grid { stroke: var(--line); stroke-width: 1; }
.tick { fill: var(--dim); font-size: 13px; }
.front { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 4 3; }
.rank { fill: var(--pane); text-anchor: middle; font-weight: 600; }
.laptop circle { fill: var(--laptop); } .workstation circle { fill: var(--workstation); }
.cluster circle { fill: var(--cluster); } .cloud circle { fill: var(--cloud); }
.place { white-space: nowrap; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin: 0 .3em 0 .8em; }
@media (max-width: 52rem) {
  .wide { display: none; } .narrow { display: block; }
  .ranking thead { display: none; }
  .ranking tr { display: grid; grid-template-columns: 1fr 1fr; column-gap: 1rem; padding: .6rem 0;
    border-bottom: 1px solid var(--line); }
  .ranking td { border: 0; padding: .1rem 0; text-align: left; white-space: normal; overflow-wrap: anywhere; }
  .ranking td::before { content: attr(data-label); display: block; color: var(--dim); font-weight: 400;
    font-size: .75rem; line-height: 1.2; }
  .ranking td small { display: inline; }
}
"""


class _Cell(NamedTuple):
    """A column of the ranking: its title, whether it holds numbers, and a row's HTML."""

    title: str
    number: bool
    html: Callable[[Estimate, Currency], str]


def plan_html(plan: Plan, currency: Currency) -> str:
    """The whole page."""
    title = describe(plan.experiment)
    sections = (
        _answer(plan),
        _chart(plan, currency),
        _ranking(plan, currency),
        _bills(plan),
        _list("Warnings", plan.warnings),
        _list("Assumed", plan.assumptions),
        _list("Sources", _sources(plan)),
        _list("Not ranked", _reasons(plan)),
    )
    prices = f"Prices seen from {plan.prices_as_of} on. " if plan.prices_as_of else ""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            f'<head><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>\n{_STYLE}</style></head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="dim">{prices}Written by gpuplanner {__version__} on {plan.generated_at:%Y-%m-%d %H:%M %Z}.</p>',
            *(section for section in sections if section),
            "</body></html>",
            "",
        ]
    )


def _answer(plan: Plan) -> str:
    if plan.recommendation is None:
        words = f'<p class="answer warn">{escape(plan.no_recommendation)}</p>'
        return f"<section><h2>Answer</h2>{words}{_ways(plan)}</section>"
    chosen = plan.recommendation
    passed = f'<p class="dim">Passed over: {escape(chosen.passed_over)}.</p>' if chosen.passed_over else ""
    words = f'<p class="answer">{escape(chosen.sentence)}</p>'
    notes = "".join(f'<p class="dim">{escape(note)}</p>' for note in answer_notes(plan))
    return f"<section><h2>Answer (rank {chosen.rank})</h2>{words}{passed}{notes}{_ways(plan)}</section>"


def _ways(plan: Plan) -> str:
    """What would do instead, an item each."""
    items = "".join(f"<li>{escape(way)}</li>" for way in plan.nearest)
    return f"<ul>{items}</ul>" if items else ""


def _chart(plan: Plan, currency: Currency) -> str:
    drawn, far = near_and_far(plan.estimates)
    drawings = [chart_svg(drawn, currency, box, name) for box, name in ((WIDE, "wide"), (NARROW, "narrow"))]
    if not drawings[0]:
        return ""
    places = list(dict.fromkeys(row.place for row in drawn))
    keys = "".join(
        f'<span class="place"><span class="key" style="background:var(--{place})"></span>{place}</span>'
        for place in places
    )
    caption = (
        "Cost over time, both on logarithmic axes. The digits are ranks; the dashed line is the Pareto front. "
        f"{escape(_far_words(far))}{keys}"
    )
    figure = f"<figure>{''.join(drawings)}<figcaption>{caption}</figcaption></figure>"
    return f"<section><h2>Cost over time</h2>{figure}</section>"


def _far_words(far: list[Estimate]) -> str:
    names = ", ".join(f"{row.rank} ({machine_name(row)}, {format_duration(time_of(row))})" for row in far)
    return f"Too slow to draw: {names}. " if far else ""


def _ranking(plan: Plan, currency: Currency) -> str:
    if not plan.estimates:
        return ""
    limited = any(row.p_meets is not None for row in plan.estimates)
    cells = [cell for cell in _CELLS if limited or cell.title != "meets"]
    chosen = plan.recommendation.rank if plan.recommendation else None
    head = "".join(f"<th{_number(cell)}>{cell.title}</th>" for cell in cells)
    rows = []
    for row in plan.estimates:
        inner = "".join(
            f'<td{_number(cell)} data-label="{cell.title}"><span>{cell.html(row, currency)}</span></td>'
            for cell in cells
        )
        rows.append(f'<tr class="chosen">{inner}</tr>' if row.rank == chosen else f"<tr>{inner}</tr>")
    table = f'<table class="ranking"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    shown, ranked = counted(len(plan.estimates), "row"), counted(plan.ranked_count, "ranked offer")
    count = f"{shown} of {ranked}. Small: P10 to P90; o-d: on demand; {escape(marks_of(plan))}."
    return f'<section><h2>Ranking</h2>{table}<p class="dim">{count}</p></section>'


def _number(cell: _Cell) -> str:
    return ' class="number"' if cell.number else ""


def _spread(value: Interval | None, show: Callable[[float], str], likely: str = "") -> str:
    """The P50, in other words where ``likely`` has them, with P10 to P90 small beside it."""
    if value is None:
        return UNKNOWN
    return f"{escape(likely or show(value.p50))} <small>{escape(format_span(value, show))}</small>"


def _cost(row: Estimate, currency: Currency) -> str:
    return _spread(row.cost_usd, currency.show, cost_words(row, currency))


def _finish(row: Estimate, _: Currency) -> str:
    return UNKNOWN if row.finish_at is None else f"{row.finish_at:%a %H:%M} <small>{row.finish_at:%d %b %Y}</small>"


def _hourly(row: Estimate, currency: Currency) -> str:
    if row.usd_per_hour is None:
        return UNKNOWN
    return escape(currency.show(row.usd_per_hour)) + price_mark(row)


_CELLS = (
    _Cell("#", True, lambda row, _: str(row.rank)),
    _Cell("machine", False, lambda row, _: escape(machine_name(row))),
    _Cell("where", False, lambda row, _: escape(where_words(row))),
    _Cell("GPUs", False, lambda row, _: escape(gpus_words(row))),
    _Cell("time", True, lambda row, _: _spread(row.time_s, format_duration)),
    _Cell("done by", True, _finish),
    _Cell("cost", True, _cost),
    _Cell("an hour", True, _hourly),
    _Cell("buy", False, lambda row, _: escape(buy_word(row))),
    _Cell("bound by", False, lambda row, _: escape(row.bound_by or UNKNOWN)),
    _Cell("meets", True, lambda row, _: UNKNOWN if row.p_meets is None else f"{row.p_meets:.0%}"),
    _Cell("evidence", False, lambda row, _: escape(EVIDENCE_WORDS.get(row.evidence or "", UNKNOWN))),
)


def _bills(plan: Plan) -> str:
    if not plan.estimates:
        return ""
    return f"<section><h2>What it is made of, in USD</h2>{''.join(map(_bill, plan.estimates))}</section>"


def _bill(row: Estimate) -> str:
    """A row's money and time, line by line; the totals are the sums of the lines."""
    money = [
        (part.name, UNKNOWN if part.usd is None else bound_mark(part) + _exact(part.usd), _source_words(part))
        for part in row.cost_parts
    ]
    total = bound_mark(row) + _exact(row.cost_usd.p50) if row.cost_usd else UNKNOWN
    times = [(part.name, format_duration(part.seconds), "") for part in row.time_parts]
    whole = format_duration(row.time_s.p50) if row.time_s else UNKNOWN
    head = f"{row.rank}. {machine_name(row)}, {where_words(row)}: {whole} for {total}"
    tables = _lines(money, total) + _lines(times, whole)
    return f"<details><summary>{escape(head)}</summary>{tables}</details>"


def _source_words(part: CostPart) -> str:
    """What a line was spent on, and where its price comes from."""
    uses = ", ".join(f"{use.name} {_exact(use.usd)}" for use in part.parts)
    seen = f", seen {part.as_of}" if part.as_of else ""
    return f"{uses}; {part.source}{seen}" if uses else f"{part.source}{seen}"


def _exact(usd: float) -> str:
    """To the cent whatever the size, in the currency of the prices: a bill must add up where it is read."""
    return f"${usd:,.2f}"


def _lines(lines: Iterable[tuple[str, str, str]], total: str) -> str:
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{escape(amount)}</td><td class="dim">{escape(source)}</td></tr>'
        for name, amount, source in lines
    )
    sum_row = f'<tr class="total"><td>total (P50)</td><td class="number">{escape(total)}</td><td></td></tr>'
    return f'<table class="bill"><tbody>{rows}{sum_row}</tbody></table>'


def _list(title: str, texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<section><h2>{title}</h2><ul>{items}</ul></section>" if items else ""


def _sources(plan: Plan) -> list[str]:
    """Where each price shown comes from and when it was seen, once each."""
    found: dict[str, None] = {}
    for row in plan.estimates:
        if row.price_source:
            day = f", seen {row.price_as_of}" if row.price_as_of else ""
            found[f"{row.provider or row.place}: {row.price_source}{day}"] = None
        for part in row.cost_parts:
            if part.source and part.source != row.price_source:
                found[f"{part.name}: {part.source}"] = None
    return sorted(found)


def _reasons(plan: Plan) -> list[str]:
    counts: dict[str, int] = {}
    for row in plan.unranked:
        counts[row.reason] = counts.get(row.reason, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return [f"{reason}: {count} {'machine' if count == 1 else 'machines'}" for reason, count in ordered]
