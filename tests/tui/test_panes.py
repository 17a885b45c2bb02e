"""What panes say of a plan, drawn without an app."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from rich.text import Text

from planner.plan.plan import CostPart, Recommendation, TimePart
from planner.throughput.levers import Lever
from planner.tui.clock import age, day, moment
from planner.tui.drawing import LogAxis
from planner.tui.offers import age_counts, chosen_lines, offer_lines
from planner.tui.screens.machine import detected_text, plan_text
from planner.tui.texts import assumptions_text
from planner.tui.theme import DARK, LIGHT, PALETTES
from planner.tui.widgets.answer_pane import answer_text
from planner.tui.widgets.chart import chart_text
from planner.tui.widgets.columns import View, columns_for, missed_cells, total_width
from planner.tui.widgets.comparison import comparison_text
from planner.tui.widgets.completions import matching
from planner.tui.widgets.offer_pane import history_text, offer_text
from planner.tui.widgets.offers_table import fitting
from planner.tui.widgets.why_pane import caution_words, why_lines
from planner.tui.widgets.why_panes import OperationsPane
from planner.units import Interval, format_duration
from pricing.flags import MEANING
from tests.tui.samples import NOW, CannedCore, sample_plan

FREE = sample_plan({"model": "resnet50"})
LIMITED = sample_plan({"model": "resnet50", "deadline": "32h", "budget": "60"})
HOPELESS = sample_plan({"model": "resnet50", "deadline": "1h", "budget": "1"})


def view_of(palette: str = "planner-dark") -> View:
    recommended = LIMITED.recommended
    return View(
        PALETTES[palette], NOW, LIMITED.question.limits, LogAxis(3600, 400_000), recommended and recommended.rank
    )


@pytest.mark.parametrize("width", [60, 78, 98, 102, 132, 180])
def test_columns_are_chosen_and_never_clipped(width: int) -> None:
    columns = columns_for(width)
    assert total_width(columns) <= width + 1
    assert {"machine", "time", "cost"} <= {column.title for column in columns}
    for row in LIMITED.plan.estimates:
        for column in columns:
            assert column.render(row, view_of()).cell_len == column.width + (1 if column.title else 0)


@pytest.mark.parametrize("width", [60, 78, 98, 102, 132, 180])
@pytest.mark.parametrize("missed_cells", [12, 24])
def test_the_columns_of_misses_fit_too(width: int, missed_cells: int) -> None:
    columns = columns_for(width, missed_cells=missed_cells)
    assert total_width(columns) <= width + 1
    assert ("misses by" in {column.title for column in columns}) == (width >= 74)


def test_a_miss_says_by_how_many_hours_and_dollars() -> None:
    limits = HOPELESS.question.limits._replace(budget_usd=10.0)
    view = View(DARK, NOW, limits, LogAxis(3600, 400_000), None, all_miss=True)
    column = next(column for column in columns_for(132, missed_cells=24) if column.title == "misses by")
    said = {row.name: column.render(row, view).plain.split() for row in HOPELESS.plan.estimates}
    assert said["desk"] == ["21h00", "late"]
    assert said["lab-a100"] == ["52m", "late", "$5.63", "over"]
    assert said["p5.48xlarge"] == ["45m", "late", "$35.58", "over"]
    unsure = HOPELESS.plan.estimates[0]._replace(finish_at=NOW, cost_usd=Interval(5, 9, 20), p_meets=0.59)
    assert column.render(unsure, view).plain.strip() == "59 % sure"


def test_a_column_of_misses_is_as_wide_as_its_rows_need() -> None:
    limits, rows = HOPELESS.question.limits, HOPELESS.plan.estimates
    view = View(DARK, NOW, limits, LogAxis(3600, 400_000), None, all_miss=True)
    late = view._replace(limits=limits._replace(budget_usd=None))
    dear = view._replace(limits=limits._replace(deadline=None))
    assert [missed_cells(rows, one) for one in (view, late, dear, view._replace(all_miss=False))] == [24, 12, 12, 0]
    wide, half = ({one.title: one.width for one in columns_for(180, missed_cells=cells)} for cells in (24, 12))
    names = ("machine", "where", "GPUs")
    assert sum(half[name] for name in names) == sum(wide[name] for name in names) + 12
    column = next(one for one in columns_for(132, missed_cells=12) if one.title == "misses by")
    costly = rows[0]._replace(cost_usd=Interval(50, 51, 52))
    assert column.render(costly, dear).plain.strip() == "$50.00 over"


def test_digits_of_ranks_do_not_touch() -> None:
    rows = sorted(FREE.plan.estimates[:3], key=lambda row: row.rank or 0)
    beside = [
        row._replace(rank=rank, time_s=Interval(s, s, s), cost_usd=Interval(usd, usd, usd))
        for row, rank, s, usd in zip(rows, (5, 8, 1), (3600.0, 3800.0, 36000.0), (10.0, 10.0, 1.0), strict=True)
    ]
    free = View(DARK, NOW, FREE.question.limits, LogAxis(3600, 400_000), None)
    plot = "\n".join(line[8:] for line in chart_text(beside, free, None, 60, 12).plain.split("\n")[:-1])
    assert sorted(glyph for glyph in plot if glyph.isdigit()) == ["1", "5"]
    assert "5·" in plot
    under_cursor = "\n".join(line[8:] for line in chart_text(beside, free, beside[1], 60, 12).plain.split("\n")[:-1])
    assert "·8" in under_cursor


def test_an_offer_is_cut_with_an_ellipsis_and_its_notes_have_the_lines_that_are_left() -> None:
    line = offer_lines(CannedCore().prices())[0]
    flagged = line._replace(offer=line.offer._replace(flags=tuple(MEANING)))
    for width, height in ((60, 4), (40, 6), (126, 4)):
        shown = offer_text(flagged, (), DARK, width, height).plain.split("\n")
        assert len(shown) == height
        assert max(map(len, shown)) <= width
        assert shown[-1].endswith("…")
    assert offer_text(line._replace(offer=line.offer._replace(flags=())), (), DARK, 126, 4).plain.endswith("no flags")


@pytest.mark.parametrize("width", [58, 68, 72, 78, 84, 85, 130])
def test_the_price_of_an_offer_is_never_cut(width: int) -> None:
    columns = fitting(width)
    assert 1 + sum(column.width + 1 for column in columns) <= width
    assert {"instance type", "GPUs", "region", "buy", "$/h"} <= {column.title for column in columns}
    assert next(column.width for column in columns if column.title == "$/h") == 7
    assert ("provider" in {column.title for column in columns}) == (width >= 62)


def test_what_misses_is_red_and_without_a_rank() -> None:
    laptop = next(row for row in LIMITED.plan.estimates if row.is_this_machine)
    by_title = {column.title: column.render(laptop, view_of()) for column in columns_for(102)}
    assert by_title["#"].plain.strip() == "·"
    assert f"bold {DARK.bad}" in {str(span.style) for span in by_title["time"].spans} | {str(by_title["time"].style)}


def test_the_answer_in_two_lines() -> None:
    first, second = answer_text(LIMITED, "", DARK, 120).plain.split("\n")
    assert first.startswith("Run it on desk (1×RTX4090, your own): ready Tue 08:00 for $6.82")
    assert first.endswith("takes 22h00, > 99 % sure to meet both limits")
    assert "If an hour is worth more than $0.44 to you: lab-a100 (your own), ready" in second


@pytest.mark.parametrize("width", [74, 100])
@pytest.mark.parametrize("name", ["p5.48xlarge", "NC40ads_H100_v5", "gpu_8x_a100"])
def test_the_answer_says_where_how_long_and_how_sure_at_every_width(name: str, width: int) -> None:
    row = next(row for row in LIMITED.plan.estimates if row.name == name)
    chosen = Recommendation(row.rank or 1, "Run it.", "", row)
    shown = LIMITED._replace(plan=LIMITED.plan._replace(recommendation=chosen))
    lines = answer_text(shown, "", DARK, width).plain.split("\n")
    assert all(len(line) <= width for line in lines)
    assert row.time_s is not None
    for part in (row.provider, row.region, format_duration(row.time_s.p50), " %"):
        assert part is not None
        assert part in lines[0]
    assert any(words in lines[0] for words in ("spot", "on demand", "o-d"))


@pytest.mark.parametrize(("usd", "words"), [(3700.0, "to be bought for $3,700"), (None, "to be bought")])
def test_a_machine_that_nobody_owns_is_to_be_bought(usd: float | None, words: str) -> None:
    row = LIMITED.plan.estimates[0]._replace(hypothetical=True, to_buy_usd=usd)
    shown = LIMITED._replace(plan=LIMITED.plan._replace(estimates=(row,)), alternative=None)
    assert f"Run it on *desk (1×RTX4090, {words}): ready" in answer_text(shown, "", DARK, 130).plain
    assert words in comparison_text([row], NOW, DARK, 60).plain
    buy = {width: next(one for one in columns_for(width) if one.title == "buy") for width in (102, 180)}
    assert [column.render(row, view_of()).plain.strip() for column in buy.values()] == ["buy", "to buy"]


def test_an_answer_that_does_not_exist_gives_the_planners_own_reasons() -> None:
    reason = "Nothing that may be recommended meets the limits; of what does, 3 owned by nobody yet."
    rows = tuple(row._replace(hypothetical=True, p_meets=0.99) for row in HOPELESS.plan.estimates[:3])
    shown = HOPELESS._replace(plan=HOPELESS.plan._replace(no_recommendation=reason, estimates=rows))
    for width in (60, 120):
        text = answer_text(shown, "", DARK, width).plain
        assert reason in " ".join(text.replace("/", " ").split())
        assert [line[1:4] for line in text.split("\n")[-2:]] == ["d  ", "b  "]
        assert text.count("\n") == 3


def test_an_answer_that_does_not_exist_says_by_how_much() -> None:
    text = answer_text(HOPELESS, "", DARK, 100).plain
    assert "Nothing is ready by Mon 11:00 for $1, 90 % sure" in text
    assert "The fastest machine needs 1h45; the cheapest costs $4.56." in text


def test_a_problem_stays_with_its_sentence() -> None:
    problem = "unknown model 'resnet5O'; did you mean resnet50, resnet50d or resnet50t? `gpuplanner models` lists them"
    text = answer_text(FREE, problem, DARK, 60).plain
    assert text.startswith("✗ unknown model 'resnet5O'")
    assert " ".join(text.split()) == f"✗ {problem}"
    assert all(len(line) <= 60 for line in text.split("\n"))
    assert answer_text(FREE, f"{problem} " * 5, DARK, 60).plain.count("\n") == 3
    assert "last answer" in answer_text(FREE, "short", DARK, 60).plain
    assert "f changes it" in answer_text(None, "short", DARK, 60).plain
    assert "ctrl+r" in answer_text(None, "short", DARK, 60, in_form=False).plain


@pytest.mark.parametrize("palette", [DARK, LIGHT])
@pytest.mark.parametrize(("width", "height"), [(30, 6), (51, 12), (100, 30)])
def test_the_chart_keeps_to_its_pane(palette: object, width: int, height: int) -> None:
    row = LIMITED.plan.estimates[0]
    drawn = chart_text(LIMITED.plan.estimates, view_of(), row, width, height)
    lines = drawn.split("\n")
    assert len(lines) == height
    assert all(line.cell_len <= width for line in lines)
    assert "1" in drawn.plain


def test_a_chart_of_nothing_says_so() -> None:
    assert "No row" in chart_text((), view_of(), None, 40, 10).plain


@pytest.mark.parametrize("height", [4, 8, 12, 20])
def test_why_keeps_to_its_pane(height: int) -> None:
    row = FREE.plan.estimates[0]
    lines = why_lines(row, None, DARK, 50, height)
    assert len(lines) <= height
    assert lines[0].plain.startswith("173 ms a step")


def test_why_says_what_is_not_known() -> None:
    lines = why_lines(FREE.plan.unranked[0], (), DARK, 50, 12)
    assert "a batch of 1 needs 9.1 GiB" in "\n".join(line.plain for line in lines)


def test_why_counts_what_has_no_room_and_minds_what_nobody_knows() -> None:
    row = FREE.plan.estimates[1]._replace(
        time_parts=(TimePart("training", 7000), TimePart("provisioning", 900), TimePart("data download", 800)),
        cost_parts=(CostPart("compute", 14.91, "a sample"), CostPart("egress", None, "")),
        flags=("cost_incomplete",),
    )

    def said(width: int) -> dict[str, str]:
        return {line.plain[:9].strip(): line.plain[9:].strip() for line in why_lines(row, (), DARK, width, 20)[3:]}

    assert said(60)["time"] == "1h57 train + 15m set up + 13m data"
    assert said(40)["time"] == "1h57 train + 2 more"
    assert said(60)["money"] == "– egress + $14.91 compute"
    assert said(60)["mind"] == "what egress costs is not known"
    assert caution_words(row._replace(flags=("cost_bounded",), hints=("one seller's ask",))) == "one seller's ask"
    assert caution_words(row._replace(hypothetical=True)) == "nobody owns it yet"
    assert caution_words(row._replace(flags=(), hints=("ask for the quota",))) == "ask for the quota"
    assert caution_words(FREE.plan.estimates[1]) == ""


def test_why_names_the_fastest_levers_that_have_room() -> None:
    row, levers = FREE.plan.estimates[1], CannedCore().levers(FREE, FREE.plan.estimates[1])

    def said(width: int, levers: Sequence[Lever]) -> str:
        return next(
            line.plain[9:].strip() for line in why_lines(row, levers, DARK, width, 20) if "levers" in line.plain
        )

    assert said(60, levers) == "torch.compile −9 %   2 more: Enter"
    assert said(30, levers) == "3 to try: Enter"
    assert said(60, ()) == "none"


def test_the_answer_in_full_tells_what_it_passes_over_and_what_to_mind() -> None:
    best = LIMITED.plan.estimates[0]._replace(hints=("a new account may run none",))
    chosen = Recommendation(3, "Run it on desk.", "2 need the code ported", best)
    plan = LIMITED.plan._replace(recommendation=chosen, tier="A workstation will do.")
    text = assumptions_text(LIMITED._replace(plan=plan), DARK).plain
    lines = [line.removeprefix("· ") for line in text.splitlines() if line]
    assert lines[:5] == [
        "Answer", "Run it on desk.", "Passed over: 2 need the code ported.", "Mind: a new account may run none.",
        "A workstation will do.",
    ]  # fmt: skip
    nothing = assumptions_text(HOPELESS, DARK).plain.splitlines()
    assert nothing[1] == "· Nothing meets the limits."
    assert nothing[3] == "Ways out: a key takes one, z takes it back"
    assert " ".join(nothing[4].split()) == "d deadline to Mon 12:15 then lab-a100 meets it, not the budget"


def test_clock_times_and_ages() -> None:
    assert moment(NOW + timedelta(hours=22), NOW) == "Tue 08:00"
    assert moment(NOW + timedelta(days=12), NOW) == "12 Dec"
    assert moment(NOW + timedelta(days=400), NOW) == "Jan 2028"
    assert moment(None, NOW) == day(None) == "–"
    assert [age(days) for days in (0, 1, 1500)] == ["today", "1 day", "1,500 days"]


def test_completions_go_on_from_what_was_typed() -> None:
    names = ("resnet50", "resnet101", "wide_resnet50", "vit")
    assert matching("resn", names) == ["resnet50", "resnet101", "wide_resnet50"]
    assert matching("resnet50", names) == matching("", names) == matching("zzz", names) == []


def test_offers_are_filtered_sorted_and_aged() -> None:
    lines = offer_lines(CannedCore().prices())
    assert [line.offer.price for line in chosen_lines(lines, "", "price", cpu_too=True)] == ["0.10", "25.70", "56.40"]
    assert [line.offer.region for line in chosen_lines(lines, "p5 WEST", "age", cpu_too=False)] == ["us-west-2"]
    assert dict(age_counts(lines))["1–3 days"] == 2
    assert [line.stale for line in lines] == [False, True, False, True]
    everything = chosen_lines(lines, "", "price", cpu_too=True, past_too=True)
    assert [line.offer.price for line in everything] == ["0.04", "0.10", "25.70", "56.40"]


def test_the_history_of_an_offer_is_drawn_from_what_refreshes_saw() -> None:
    prices = CannedCore().prices()
    seen = history_text(prices.offers[0], prices.changes, DARK).plain
    assert seen.startswith("7 prices since 2 Oct  ▁▁▁▁▁▁▁▁▂▂▂▂")
    assert seen.endswith("low $17.90  high $26.10")
    assert "no other price" in history_text(prices.offers[1], prices.changes, DARK).plain


def test_rows_side_by_side_mark_the_quickest_and_the_cheapest() -> None:
    rows = FREE.plan.estimates[:3]
    text = comparison_text(rows, NOW, DARK, 100)
    lines = {line.plain[:11].strip(): line for line in text.split("\n")}
    assert lines["machine"].plain.split() == ["machine", "this", "machine", "desk", "lab-a100"]
    quickest, cheapest = [_in_ink(lines[label], DARK.good) for label in ("time", "cost")]
    assert quickest == ["1h52"]
    assert cheapest == ["$4.56"]
    assert "1 more have no room" not in text.plain
    assert "2 more have no room" in comparison_text(rows, NOW, DARK, 30).plain


def _in_ink(line: Text, color: str) -> list[str]:
    return [line.plain[span.start : span.end].strip() for span in line.spans if span.style == color]


def test_the_machine_as_found_and_as_planned() -> None:
    found = detected_text(CannedCore().machine(), DARK, 60).plain
    assert "NVIDIA GeForce RTX 4090" in found
    assert "575.12" in found
    planned = plan_text(FREE, DARK, 60).plain
    assert "rank        1" in planned
    assert "lab-a100" in planned
    assert "not among the places" in plan_text(sample_plan({"model": "resnet50", "where": "cloud"}), DARK, 60).plain


def test_a_cost_that_has_no_room_for_cents_goes_without() -> None:
    column = next(one for one in columns_for(98) if one.title == "cost")
    row = FREE.plan.estimates[0]._replace(cost_usd=Interval(100, 179.32, 200))
    bounded = row._replace(flags=("cost_bounded",))
    assert [column.render(one, view_of()).plain for one in (row, bounded)] == ["$179.32 ", "  ≤$179 "]
    unknown = bounded._replace(flags=("cost_bounded", "cost_incomplete"))
    assert column.render(unknown, view_of()).plain == " ≤$179? "


@pytest.mark.parametrize("width", [40, 56, 58, 98, 130])
def test_operations_fit_their_pane(width: int) -> None:
    row = FREE.plan.estimates[0]
    explanation = CannedCore().explain(FREE, row)
    lines = OperationsPane().lines(row, explanation, DARK, width)
    assert max(line.cell_len for line in lines) <= max(width, 51)
    assert ("GFLOP" in lines[0].plain) == (width >= 58)
    assert lines[0].plain.endswith("binds")
