"""A sweep for people: the answer, the Gantt chart with its bill, when results come, other pools, the experiments."""

from __future__ import annotations

from datetime import datetime, timedelta

from planner.cli.marks import marked
from planner.cli.money import Currency
from planner.cli.table import (
    Column,
    fitted,
    markdown,
    paragraph,
    render,
    shorten,
    styled,
    terminal_width,
    use_color,
    wrapped,
)
from planner.experiment.resolve import describe
from planner.plan import gantt
from planner.plan.sentence import machine_words, moment_words
from planner.plan.sweep import SweepPlan, Track
from planner.plan.sweep_options import DAY_S, PoolOption, Sooner
from planner.plan.swept import Swept
from planner.plan.words import at_most_words, bound_mark, had_word
from planner.units import format_duration

_POOL_COLUMNS = (
    Column("pool", width=60, least=24),
    Column("machines", "right", drop=1),
    Column("makespan", "right"),
    Column("done by", "right"),
    Column("cost", "right"),
    Column("front"),
)
_EXPERIMENT_COLUMNS = (
    Column("#", "right"),
    Column("experiment", width=60, least=16),
    Column("machine", width=30, least=10),
    Column("starts after", "right", drop=1),
    Column("result after", "right"),
    Column("result", "right"),
)
_MOST_POOLS = 12
_LEAST_BAR = 16


def sweep_lines(swept: Swept, currency: Currency, max_rows: int, *, markdown: bool = False) -> list[str]:
    """The whole answer as lines for a terminal as wide as this one, or as Markdown."""
    width = 100 if markdown else terminal_width()
    color = use_color() and not markdown
    plan = swept.plan
    lines = [*(styled(line, "bold", color) for line in wrapped(_title(swept), width)), ""]
    lines += [*(styled(line, "bold", color) for line in wrapped(_answer(swept, currency), width))]
    lines += wrapped(_fastest(plan, currency), width)
    lines += wrapped(_bound(plan), width)
    if len(plan.labels) > 1:
        lines += wrapped(_feedback(swept), width)
    lines += [line for text in _sooner_sentences(swept, currency) for line in wrapped(text, width)]
    chart = _chart(swept, currency, width)
    lines += ["", *(["```text", *chart, "```"] if markdown else chart)]
    lines += [styled(line, "dim", color) for line in wrapped(gantt.LEGEND, width)]
    for title, columns, cells in _tables(swept, currency, max_rows):
        lines += ["", *(styled(line, "bold", color) for line in wrapped(title, width))]
        lines += _table(columns, cells, width, color, markdown)
    lines += ["", *paragraph("Warning", swept.warnings, width, color, "warn")]
    return lines + [styled(line, "dim", color) for line in wrapped(f"Assumed: {'; '.join(swept.assumptions)}.", width)]


def _table(
    columns: tuple[Column, ...], cells: list[list[str]], width: int, color: bool, as_markdown: bool
) -> list[str]:
    if as_markdown:
        return ["", *markdown(columns, cells)]
    return render(fitted(columns, cells, width) or columns, cells, color=color)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _title(swept: Swept) -> str:
    """What is trained; where the grid makes it something else, what the first experiment is."""
    of = "of" if swept.alike else "of which the first is"
    return f"{_count(len(swept.plan.labels), 'experiment')} {of} {describe(swept.experiment)}"


def _answer(swept: Swept, currency: Currency) -> str:
    plan = swept.plan
    time, cost = plan.makespan_s, plan.cost_usd
    text = (
        f"{_count(len(plan.labels), 'experiment')} on {plan.used} of {_count(len(plan.tracks), 'machine')}: "
        f"{format_duration(time.p50)} ({format_duration(time.p10)}–{format_duration(time.p90)}), "
        f"done {moment_words(plan.finish_at, swept.started_at)}, for {at_most_words(plan)}{currency.show(cost.p50)}"
        f"{'' if plan.complete else ' and what nobody knows the price of'} "
        f"({currency.show(cost.p10)}–{currency.show(cost.p90)})"
    )
    if plan.p_meets is None:
        return f"{text}."
    verdict = "meets your limits" if swept.meets else "misses your limits"
    return f"{text}; {verdict} ({plan.p_meets:.0%}, asked for {swept.limits.confidence:.0%})."


def _fastest(plan: SweepPlan, currency: Currency) -> str:
    """What the schedule that ends soonest would come to, where machines are left idle for the limits."""
    other = plan.fastest
    if other is None:
        return ""
    return (
        f"Chosen for your limits: at its soonest, on {_count(other.machines, 'machine')}, the sweep would end after "
        f"{format_duration(other.makespan_s)} for {at_most_words(other)}{currency.show(other.cost_usd)} and meet them "
        f"with {other.p_meets or 0:.0%}."
    )


def _bound(plan: SweepPlan) -> str:
    above = plan.makespan_s.p50 / plan.bound_s - 1 if plan.bound_s > 0 else 0.0
    return (
        f"No schedule on this pool can end before {format_duration(plan.bound_s)} (the largest of: linear relaxation "
        f"of the assignment, counting, longest experiment): this one is {above:.1%} above."
    )


def _feedback(swept: Swept) -> str:
    times = swept.plan.feedback
    started = swept.started_at
    return (
        f"Results: the first after {format_duration(times.first_s)} ({_clock(started, times.first_s)}), a quarter "
        f"after {format_duration(times.quarter_s)}, half after {format_duration(times.half_s)}, all after "
        f"{format_duration(times.all_s)}; on average after {format_duration(times.mean_s)} (--order)."
    )


def _clock(started: datetime, seconds: float) -> str:
    moment = started + timedelta(seconds=seconds)
    return f"{moment:%a %H:%M}" if seconds < 6 * 86400 else f"{moment:%d %b %Y}"


def _sooner_sentences(swept: Swept, currency: Currency) -> list[str]:
    day, step = swept.day_sooner, swept.next_sooner
    found = []
    if day is not None:
        found.append(f"One day sooner: {_money(day, currency)} with {day.pool} ({_sooner(day)} sooner).")
    elif swept.plan.makespan_s.p50 > DAY_S and len(swept.options) > 1:
        found.append("One day sooner: no pool of those below ends a day sooner.")
    if step is not None and step != day:
        found.append(f"Cheapest hour sooner: {_money(step, currency)} with {step.pool} ({_sooner(step)} sooner).")
    return found


def _money(sooner: Sooner, currency: Currency) -> str:
    return f"{currency.show(abs(sooner.usd))} {'more' if sooner.usd >= 0 else 'less'}"


def _sooner(sooner: Sooner) -> str:
    return format_duration(sooner.seconds)


def _chart(swept: Swept, currency: Currency, width: int) -> list[str]:
    """The axis, a row a machine with what it is, how it is bought, its bar and its bill, and the sum."""
    plan = swept.plan
    deadline = swept.limits.deadline
    deadline_s = None if deadline is None else (deadline - swept.started_at).total_seconds()
    heads = [_machine_cells(track) for track in plan.tracks]
    name_width = min(22, max(len(name) for name, _, _ in heads))
    gpu_width = min(20, max(len(gpus) for _, gpus, _ in heads)) if width >= 90 else 0
    bills = [_bill(track, currency) for track in plan.tracks]
    total = bound_mark(plan) + currency.exact(sum(currency.hundredths(usd) for usd in _amounts(plan)))
    money_width = max(map(len, (*bills, total)))
    left = name_width + 1 + (gpu_width + 1 if gpu_width else 0) + 5
    bar_width = max(_LEAST_BAR, width - left - money_width - 1)
    span_s = gantt.span_of(plan, deadline_s)

    def row(name: str, gpus: str, buy: str, middle: str, money: str) -> str:
        gpu_cell = f"{shorten(gpus, gpu_width):{gpu_width}} " if gpu_width else ""
        head = f"{gantt.short_name(name, name_width):{name_width}} {gpu_cell}{buy:4} "
        return f"{head}{middle:{bar_width}} {money:>{money_width}}".rstrip()

    lines = [" " * left + gantt.axis_line(span_s, bar_width, swept.started_at)]
    for (name, gpus, buy), track, bill in zip(heads, plan.tracks, bills, strict=True):
        lines.append(row(name, gpus, buy, gantt.bar(track, span_s, bar_width, deadline_s), bill))
    paid = [row(part.name, "", "", "", currency.exact(currency.hundredths(part.usd or 0.0))) for part in plan.credits]
    return [*lines, *paid, row("sum", "", "", "", total)]


def _machine_cells(track: Track) -> tuple[str, str, str]:
    candidate = track.machine.candidate
    purchase = candidate.purchase(track.machine.offer)
    name = f"*{track.machine.name}" if candidate.hypothetical else track.machine.name
    return name, machine_words(candidate), had_word(purchase, hypothetical=candidate.hypothetical)


def _bill(track: Track, currency: Currency) -> str:
    if not track.used:
        return "idle"
    amount = currency.exact(currency.hundredths(track.cost_usd))
    return f"{bound_mark(track)}{amount}{'' if track.cost_known else '?'}"


def _amounts(plan: SweepPlan) -> list[float]:
    """The lines that the sum is of."""
    return [*(track.cost_usd for track in plan.tracks), *(part.usd or 0.0 for part in plan.credits)]


def _tables(swept: Swept, currency: Currency, max_rows: int) -> list[tuple[str, tuple[Column, ...], list[list[str]]]]:
    pools = [
        [
            ("▸ " if option.this else "") + option.name,
            f"{option.machines:,}",
            format_duration(option.makespan_s),
            _clock(swept.started_at, option.makespan_s),
            marked(option, option.cost_usd, currency),
            "◆" if option.on_front else "",
        ]
        for option in _shown_pools(swept)
    ]
    placed = sorted(
        ((item, track) for track in swept.plan.tracks for item in track.placed), key=lambda pair: pair[0].end_s
    )
    shown = placed[:max_rows] if max_rows else placed
    experiments = [
        [
            str(item.experiment + 1),
            swept.plan.labels[item.experiment],
            track.machine.name,
            format_duration(item.start_s),
            format_duration(item.end_s),
            _clock(swept.started_at, item.end_s),
        ]
        for item, track in shown
    ]
    rest = f", the first {len(shown):,} of {len(placed):,} (-n 0 for all)" if len(shown) < len(placed) else ""
    tables: list[tuple[str, tuple[Column, ...], list[list[str]]]]
    tables = [(f"Experiments, in the order of their results{rest}", _EXPERIMENT_COLUMNS, experiments)]
    if len(pools) > 1:
        title = "Pools: what other machines would come to (◆ nothing is both sooner and cheaper)"
        tables.insert(0, (title, _POOL_COLUMNS, pools))
    return tables


def _shown_pools(swept: Swept) -> list[PoolOption]:
    """The Pareto front and this pool first of all; then others up to a screenful, in the order of cost."""
    options = swept.options
    kept = {index for index, option in enumerate(options) if option.on_front or option.this}
    for index in range(len(options)):
        if len(kept) >= _MOST_POOLS:
            break
        kept.add(index)
    return [options[index] for index in sorted(kept)]
