"""Prices: every offer known, how old it is, where it comes from, and what is kept apart."""

from __future__ import annotations

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
from planner.plan.sentence import PURCHASE_WORDS
from planner.tui.clock import age, day
from planner.tui.commands import PRICES, bindings, footer
from planner.tui.core import Prices
from planner.tui.drawing import bar, fitted
from planner.tui.messages import SortAsked
from planner.tui.offers import SORTS, Line, age_counts, chosen_lines, flag_words, offer_lines
from planner.tui.screens.base import PlannerScreen
from planner.tui.widgets.facts_pane import FactsPane
from planner.tui.widgets.offers_table import OffersTable


@dataclass
class PricesRead(Message):
    """All prices are here."""

    prices: Prices
    lines: list[Line]


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
        self._problem = ""
        self._words, self._sort, self._cpu_too = "", SORTS[0], False

    def compose_body(self) -> Iterator[Widget]:
        with Horizontal(id="body"):
            with Vertical():
                with Vertical(id="offers-pane", classes="pane table-pane"):
                    yield OffersTable()
                    yield Input(placeholder="words", classes="filter", compact=True)
                yield Static(id="offer", classes="pane")
                yield Static(id="quarantine", classes="pane")
            with Vertical(id="prices-right"):
                yield FactsPane("sources", "Sources")
                yield Static(id="ages", classes="pane")

    def on_mount(self) -> None:
        titles = {"offers-pane": "Offers", "offer": "Offer", "quarantine": "Quarantine"}
        for pane, title in {**titles, "ages": "Ages"}.items():
            self.query_one(f"#{pane}").border_title = title
        self.query_one("#offer").border_subtitle = "follows the cursor"
        self.query_one(OffersTable).focus()
        super().on_mount()
        self.planner.in_thread(self._read, "prices")

    def _read(self) -> None:
        try:
            prices = self.planner.core.prices()
        except PlannerError as error:
            self.post_message(PricesMissing(str(error)))
            return
        self.post_message(PricesRead(prices, offer_lines(prices)))

    def on_prices_read(self, message: PricesRead) -> None:
        self._prices, self._all = message.prices, message.lines
        self.refresh_content()

    def on_prices_missing(self, message: PricesMissing) -> None:
        self._problem = message.sentence
        self.refresh_content()

    def keys(self) -> Sequence[tuple[str, str, str]]:
        return footer(PRICES, ("Command",))

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
        return left, Text(
            f"{old:,} older than prices of their kind stay true", style=palette.warn if old else palette.dim
        )

    def refresh_content(self) -> None:
        self.paint_bars()
        if self._prices is None:
            return
        palette = self.planner.palette
        shown = chosen_lines(self._all, self._words, self._sort, cpu_too=self._cpu_too)
        which = "all" if self._cpu_too else "with accelerators"
        pane = self.query_one("#offers-pane")
        pane.border_subtitle = f"{len(shown):,} of {len(self._all):,} · {which} · by {self._sort}"
        self.query_one(OffersTable).show(shown, self._sort, palette)
        self.query_one("#ages", Static).update(self._ages_text())
        self.query_one("#sources", FactsPane).show(self._sources_text(self._prices))
        self.query_one("#quarantine", Static).update(self._quarantine_text(self._prices))

    @on(OffersTable.Chosen)
    def _follow(self, event: OffersTable.Chosen) -> None:
        pane = self.query_one("#offer", Static)
        pane.border_title = event.line.offer.instance_type if event.line else "Offer"
        pane.update(self._offer_text(event.line))

    def _offer_text(self, line: Line | None) -> Text:
        palette = self.planner.palette
        if line is None:
            return Text("No offer contains these words.", style=palette.dim)
        offer, kind = line.offer, line.kind
        text = Text.assemble((f"{offer.price} USD/h", f"bold {palette.strong}"))
        bought = PURCHASE_WORDS.get(offer.purchase, offer.purchase)
        text.append(f" {bought}, {offer.zone or offer.region}", style=palette.text)
        facts = [f"{kind.vcpus:g} vCPUs" if kind.vcpus else "", f"{kind.memory_gib:g} GiB" if kind.memory_gib else ""]
        link = kind.link if kind.link != "none" else ""
        text.append(f"   {' · '.join(fact for fact in (*facts, kind.cpu, link) if fact)}\n", style=palette.dim)
        text.append(
            f"seen {day(offer.price_as_of)}, {age(line.days)} ago", style=palette.warn if line.stale else palette.text
        )
        text.append(f" in {offer.price_source}\n", style=palette.dim)
        unranked = [kind.unranked] if kind.unranked else []
        notes = [*unranked, *flag_words(offer)]
        return text.append("; ".join(notes) or "no flags", style=palette.warn if notes else palette.dim)

    def _ages_text(self) -> Text:
        palette = self.planner.palette
        counts = age_counts(self._all)
        most = max((count for _, count in counts), default=0) or 1
        lines = [
            Text(f"{name:<18}", style=palette.dim)
            .append(f"{count:>6,}  ", style=palette.text)
            .append_text(bar(count / most, 13, palette.good if index < 2 else palette.warn, palette.border))
            for index, (name, count) in enumerate(counts)
        ]
        return Text("\n").join([*lines, Text("An old spot price widens the interval.", style=palette.dim)])

    def _sources_text(self, prices: Prices) -> Text:
        palette = self.planner.palette
        lines = []
        for source in prices.sources:
            if not source.offers:
                continue
            seen = source.newest if source.newest == source.oldest else f"{source.oldest} to {source.newest}"
            lines.append(Text(fitted(source.name, 39), style=palette.text))
            lines.append(Text(f"  {source.offers:,} offers, seen {seen}", style=palette.dim))
        return Text("\n").join(lines)

    def _quarantine_text(self, prices: Prices) -> Text:
        """How many rows are kept apart, and for which reasons."""
        palette = self.planner.palette
        reasons: dict[str, list[str]] = {}
        for row in prices.quarantined:
            reasons.setdefault(row.reason, []).append(f"{row.offer.provider} {row.offer.instance_type}")
        text = Text(f"{len(prices.quarantined):,} rows kept apart, never ranked", style=palette.text)
        for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
            text.append(f"\n{len(names):>5} ", style=palette.strong).append(
                f"{fitted(reason, 50)}  ", style=palette.dim
            )
            text.append(fitted(names[0], 22), style=palette.faint)
        return text

    def action_filter(self) -> None:
        entry = self.query_one(".filter", Input)
        entry.add_class("-open")
        entry.focus()

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
