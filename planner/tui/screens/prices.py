"""Prices: every offer known, how old it is, where it comes from, and what is kept apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from planner.errors import PlannerError
from planner.tui.clock import day
from planner.tui.commands import PRICES, bindings, footer
from planner.tui.core import Prices
from planner.tui.drawing import bar, fitted
from planner.tui.messages import SortAsked
from planner.tui.offers import SORTS, Line, age_counts, chosen_lines, offer_lines
from planner.tui.screens.base import PlannerScreen
from planner.tui.screens.dialogs import TextDialog
from planner.tui.texts import quarantine_text
from planner.tui.theme import Palette
from planner.tui.widgets.facts_pane import FactsPane
from planner.tui.widgets.filter_input import FilterInput
from planner.tui.widgets.offer_pane import offer_text
from planner.tui.widgets.offers_table import OffersTable
from planner.tui.widgets.refresh_pane import failures_of, failures_text, refresh_text, refresh_title
from planner.units import counted
from pricing.catalog import PriceSource

_BESIDE = 120
"""From this width on the refresh has its place beside the offers."""


@dataclass
class PricesRead(Message):
    """All prices are here."""

    prices: Prices
    lines: list[Line]
    ages: list[tuple[str, int]]


@dataclass
class PricesMissing(Message):
    """They cannot be read, for this reason."""

    sentence: str


class PricesScreen(PlannerScreen):
    MODE = "prices"
    PANE_COMMANDS = PRICES
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(PRICES)]

    def __init__(self) -> None:
        super().__init__()
        self._prices: Prices | None = None
        self._all: list[Line] = []
        self._ages: list[tuple[str, int]] = []
        self._problem = ""
        self._words, self._sort, self._cpu_too, self._past_too = "", SORTS[0], False, False

    def compose_body(self) -> Iterator[Widget]:
        with Horizontal(id="body"):
            with Vertical(id="prices-left"):
                with Vertical(id="offers-pane", classes="pane table-pane"):
                    yield OffersTable()
                    yield FilterInput()
                yield Static(id="offer", classes="pane")
                yield Static(id="quarantine", classes="pane")
            with Vertical(id="prices-right"):
                yield FactsPane(
                    "refresh",
                    "Refresh",
                    "What a refresh is doing, or when each provider was read last on this machine.",
                )
                yield FactsPane(
                    "failures", "Failures", "What the last refresh could not read, and why. Its older prices stay."
                )
                yield FactsPane("sources", "Sources", "Where the prices come from, and when they were seen there.")
                yield Static(id="ages", classes="pane")

    def on_mount(self) -> None:
        for pane, title in {
            "offers-pane": "Offers",
            "offer": "Offer",
            "quarantine": "Quarantine",
            "ages": "Ages",
        }.items():
            self.query_one(f"#{pane}").border_title = title
        self.query_one("#offer").border_subtitle = "follows the cursor"
        self.query_one("#quarantine").border_subtitle = "q all"
        self.query_one(OffersTable).focus()
        super().on_mount()
        self.prices_changed()

    def prices_changed(self) -> None:
        self.planner.in_thread(self._read, "prices")

    def _read(self) -> None:
        try:
            prices = self.planner.core.prices()
        except PlannerError as error:
            self.post_message(PricesMissing(str(error)))
            return
        lines = offer_lines(prices)
        self.post_message(PricesRead(prices, lines, age_counts(lines)))

    def on_prices_read(self, message: PricesRead) -> None:
        self._prices, self._all, self._ages, self._problem = message.prices, message.lines, message.ages, ""
        self.planner.refresh_control.failed_before = any(reading.problem for reading in message.prices.readings)
        self.refresh_content()

    def on_prices_missing(self, message: PricesMissing) -> None:
        self._problem = message.sentence
        self.refresh_content()

    def keys(self) -> Sequence[tuple[str, str, str]]:
        control = self.planner.refresh_control
        failed = self._failures() or (control.state is not None and control.state.problem)
        return footer(PRICES, ("Command", *(() if failed else ("Retry failed",))))

    def question_words(self) -> tuple[Text, Text]:
        palette = self.planner.palette
        if self._prices is None:
            return Text(
                self._problem or "reading every offer …", style=palette.bad if self._problem else palette.dim
            ), Text()
        providers = {line.offer.provider for line in self._all}
        regions = {(line.offer.provider, line.offer.region) for line in self._all}
        left = Text.assemble((f"{len(self._all):,} offers", f"bold {palette.strong}"))
        left.append(f" · {len(providers)} providers · {len(regions)} regions", style=palette.text)
        old = sum(line.stale for line in self._all)
        right = f"{old:,} of them old for their kind" if old else "all of them fresh for their kind"
        return left, Text(right, style=palette.warn if old else palette.dim)

    def refresh_content(self) -> None:
        self.paint_bars()
        for hatched in ("#offers", "#quarantine", "#ages"):
            self.query_one(hatched).set_class(self._prices is None, "empty")
        if self._prices is None:
            self._show_nothing()
            return
        palette = self.planner.palette
        shown = chosen_lines(self._all, self._words, self._sort, cpu_too=self._cpu_too, past_too=self._past_too)
        which = ("" if self._past_too else "current, ") + ("all machines" if self._cpu_too else "with accelerators")
        pane = self.query_one("#offers-pane")
        pane.border_subtitle = f"{len(shown):,} of {len(self._all):,} · {which} · by {self._sort}"
        self.query_one(OffersTable).show(shown, self._sort, palette)
        self.query_one("#ages", Static).update(self._ages_text())
        sources = self._prices.sources
        self.query_one("#sources", FactsPane).show(lambda width: _sources_text(sources, palette, width))
        self.query_one("#quarantine", Static).update(self._quarantine_text(self._prices))
        self.show_refresh()

    def _show_nothing(self) -> None:
        """No prices are there, or not yet."""
        palette = self.planner.palette
        text = Text("reading every offer …", style=palette.dim)
        if self._problem:
            text = Text.assemble(("✗ ", f"bold {palette.bad}"), (f"{self._problem}\n", palette.strong))
            text.append("r reads the providers' own prices", style=palette.dim)
        self.query_one("#offer", Static).update(text)
        self.show_refresh()

    def show_refresh(self) -> None:
        control, palette = self.planner.refresh_control, self.planner.palette
        readings = self._prices.readings if self._prices is not None else ()
        pane = self.query_one("#refresh", FactsPane)
        pane.border_title = refresh_title(control)
        pane.border_subtitle = "Esc stops" if control.busy or control.asks_bytes else "r refresh"
        pane.show(lambda width: refresh_text(control, readings, palette, width))
        failures = self._failures()
        shown = self.query_one("#failures", FactsPane)
        earlier = " of an earlier refresh" if control.state is None else ""
        shown.border_title = f"{counted(len(failures), 'failure')}{earlier}"
        shown.show(lambda width: failures_text(failures, palette))
        self.set_class(bool(failures), "-failed")
        ended = control.state is not None and not control.read
        self.set_class(control.busy or ended or control.asks_bytes > 0, "-refreshing")
        if self._covers and not control.busy:
            pane.border_subtitle = "r refresh · Esc closes"

    def _failures(self) -> list[tuple[str, str]]:
        control = self.planner.refresh_control
        if control.busy:
            return []
        return failures_of(control.state, self._prices.readings if self._prices is not None else ())

    @on(OffersTable.Chosen)
    def _follow(self, event: OffersTable.Chosen) -> None:
        pane = self.query_one("#offer", Static)
        offer = event.line.offer if event.line else None
        pane.border_title = f"{offer.instance_type} · {offer.zone or offer.region}" if offer else "Offer"
        self._show_offer(event.line)

    def _show_offer(self, line: Line | None) -> None:
        pane = self.query_one("#offer", Static)
        changes = self._prices.changes if self._prices is not None else ()
        width, height = pane.content_size
        pane.update(offer_text(line, changes, self.planner.palette, width, height))

    def _ages_text(self) -> Text:
        palette = self.planner.palette
        counts = self._ages
        most = max((count for _, count in counts), default=0) or 1
        lines = [
            Text(f"{name:<18}", style=palette.dim)
            .append(f"{count:>6,}  ", style=palette.text)
            .append_text(bar(count / most, 13, palette.good if index < 2 else palette.warn, palette.border))
            for index, (name, count) in enumerate(counts)
        ]
        return Text("\n").join([*lines, Text("An old spot price widens the interval.", style=palette.dim)])

    def _quarantine_text(self, prices: Prices) -> Text:
        """How many rows are kept apart, and for which reasons."""
        palette = self.planner.palette
        width = max(self.query_one("#quarantine").content_size.width, 40)
        text = Text(f"{counted(len(prices.quarantined), 'row')} kept apart, never ranked", style=palette.text)
        for reason, count in Counter(row.reason for row in prices.quarantined).most_common():
            text.append(f"\n{count:>5} ", style=palette.strong).append(fitted(reason, width - 6), style=palette.dim)
        return text

    def action_refresh(self) -> None:
        self.planner.refresh_control.start()

    def action_retry(self) -> None:
        control = self.planner.refresh_control
        if control.state is not None:
            control.retry()
        elif self._prices is not None:
            control.start(tuple({reading.provider for reading in self._prices.readings if reading.problem}))

    def action_stop_or_leave(self) -> None:
        control = self.planner.refresh_control
        asked = control.asks_bytes > 0
        if control.stop() or asked:
            self.planner.refresh_moved()
        elif self._covers:
            control.read = True
            self.planner.refresh_moved()
        elif not self.query_one(FilterInput).close(self.query_one(OffersTable)):
            self.planner.action_go("plan")

    @property
    def _covers(self) -> bool:
        """Whether the panes of a refresh that has ended stand in the place of others, as on a narrow screen."""
        return self.has_class("-refreshing") and self.app.size.width < _BESIDE

    def action_quarantine(self) -> None:
        if self._prices is not None:
            text = quarantine_text(self._prices, self.planner.palette)
            self.app.push_screen(TextDialog("Kept apart, never ranked", text, "q"))

    def action_past_too(self) -> None:
        self._past_too = not self._past_too
        self.refresh_content()

    def action_filter(self) -> None:
        self.query_one(FilterInput).open()

    @on(Input.Changed, ".filter")
    def _filtered(self, event: Input.Changed) -> None:
        self._words = event.value
        self.refresh_content()

    @on(Input.Submitted, ".filter")
    def _filter_kept(self) -> None:
        self.query_one(OffersTable).focus()

    def action_sort(self) -> None:
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        self.refresh_content()

    def action_cpu_too(self) -> None:
        self._cpu_too = not self._cpu_too
        self.refresh_content()

    @on(SortAsked)
    def _sort_clicked(self, event: SortAsked) -> None:
        self._sort = event.sort
        self.refresh_content()


def _sources_text(sources: Sequence[PriceSource], palette: Palette, width: int) -> Text:
    """Two lines a source that has offers: its name, and how many offers it gave, of which days."""
    lines = []
    for source in sources:
        if not source.offers:
            continue
        newest = day(source.newest)
        seen = newest if source.newest == source.oldest else f"{day(source.oldest)} to {newest}"
        lines.append(Text(fitted(source.name, width), style=palette.text))
        lines.append(Text(f"  {source.offers:,} offers, seen {seen}", style=palette.dim))
    return Text("\n").join(lines)
