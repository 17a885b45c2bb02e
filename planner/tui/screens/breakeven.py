"""Buy or rent: machines one might buy against renting, over the months of a stated use."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input

from planner.errors import UnknownNameError
from planner.plan.bought import HOURS_OF_A_WEEK, Bought
from planner.plan.buy_or_rent import DEFAULT_PURCHASES, BuyOrRent, Terms
from planner.plan.buying_words import months_words, verdict
from planner.plan.rents import runs_words
from planner.plan.words import bound_mark
from planner.tui.asked import Values
from planner.tui.commands import Command, bindings, footer
from planner.tui.drawing import fitted
from planner.tui.screens.asking import AskingScreen
from planner.tui.theme import Palette
from planner.tui.widgets.facts_pane import FactsPane
from planner.tui.widgets.money_pane import MoneyPane
from planner.units import GIB, UNKNOWN, format_duration, format_money, format_rate

BUYING = (
    Command("Buy or rent", "back to the plan", "escape", "app.go('plan')"),
    Command("Buy or rent", "more use a week", "right", "screen.use(1)", "h/week", "← →"),
    Command("Buy or rent", "less use a week", "left", "screen.use(-1)"),
    Command("Buy or rent", "the machine in the chart: the next", "down", "screen.card(1)", "Machine", "↑ ↓"),
    Command("Buy or rent", "the machine in the chart: the one before", "up", "screen.card(-1)"),
    Command("Buy or rent", "a shorter or longer horizon", "h", "screen.horizon", "Horizon"),
    Command("Buy or rent", "edit what might be bought", "f", "screen.form", "Form"),
    Command("Buy or rent", "this question as a command line, and copy it", "y", "screen.own_command", "Command"),
)
USES = (1, 2, 5, 10, 20, 30, 40, 50, 60, 72, 84, 100, 120, 140, 168)
"""Hours a week that the arrow keys go through."""

HORIZONS = (12.0, 24.0, 36.0, 60.0)
_ABOUT_ASSUMED = """\
What the comparison rests on: the work, the machine in the chart, and the rents it is held against.
Prices are listed ones, each with the day it was seen; hours a week, power and resale are assumptions."""
_ABOUT_CARDS = """\
A line a machine that might be bought: its price with the host, how long a run takes on it, from when on it has paid
against the cheapest rent, and what was spent by the horizon."""
_LABEL = 11
_WIDE = 92


class BreakevenScreen(AskingScreen[Terms, BuyOrRent]):
    MODE = "buy"
    COMMAND = "breakeven"
    PANE_COMMANDS = BUYING
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(BUYING)]
    DEFAULT_CSS = """
    BreakevenScreen #buy-form { height: 3; }
    BreakevenScreen #assumed { width: 30; height: 1fr; }
    BreakevenScreen #buy-right { width: 1fr; height: 1fr; }
    BreakevenScreen #money { height: 1fr; }
    BreakevenScreen #cards { height: 8; }
    BreakevenScreen.-w100 #assumed, BreakevenScreen.-w80 #assumed, BreakevenScreen.-narrow #assumed { display: none; }
    BreakevenScreen.-short #cards { height: 7; }
    BreakevenScreen.-tiny #money { display: none; }
    BreakevenScreen.-tiny #cards { height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._card = 0

    @property
    def question(self) -> Terms:
        if self.planner.buying is None:
            self.planner.buying = Terms()
        return self.planner.buying

    def keep(self, question: Terms) -> None:
        self.planner.buying = question

    def work_out(self, values: Values, question: Terms) -> BuyOrRent:
        try:
            return self.planner.core.buy_or_rent(values, question)
        except UnknownNameError as error:
            if error.suggestions:
                raise
            raise UnknownNameError(error.kind, error.name, hint=f"known are {', '.join(DEFAULT_PURCHASES)}") from error

    def flags(self) -> Sequence[str]:
        return flags(self.question)

    def compose_body(self) -> Iterator[Widget]:
        with Horizontal(id="body"):
            yield FactsPane("assumed", "Assumptions", _ABOUT_ASSUMED)
            with Vertical(id="buy-right"):
                yield self.answer_pane()
                with Vertical(id="buy-form", classes="pane own-form"):
                    yield Input(id="buy-cards", compact=True)
                yield MoneyPane()
                yield FactsPane("cards", "Machines", _ABOUT_CARDS)

    def on_mount(self) -> None:
        self.query_one("#buy-form").border_title = "What might be bought"
        self.query_one("#cards").border_subtitle = "host included"
        cards = self.query_one("#buy-cards", Input)
        cards.placeholder = ", ".join(DEFAULT_PURCHASES)
        if self.question.purchases != DEFAULT_PURCHASES:
            with self.prevent(Input.Changed):
                cards.value = ", ".join(self.question.purchases)
        self.query_one("#cards").focus()
        super().on_mount()

    @on(Input.Changed, "#buy-cards")
    def _typed(self) -> None:
        names = tuple(name.strip() for name in self.query_one("#buy-cards", Input).value.split(",") if name.strip())
        self.change(self.question._replace(purchases=names or DEFAULT_PURCHASES))

    @on(Input.Submitted)
    def _typed_enough(self) -> None:
        self.query_one("#buy-form").remove_class("-open")
        self.query_one("#cards").focus()

    def keys(self) -> Sequence[tuple[str, str, str]]:
        return footer(BUYING)

    def question_words(self) -> tuple[Text, Text]:
        palette, found = self.planner.palette, self.found
        if found is None:
            return Text("" if self.problem else "comparing buying with renting …", style=palette.dim), Text()
        model = self.planner.values.get("model", "")
        left = Text.assemble((model, f"bold {palette.strong}"), (" · the same work in every line", palette.dim))
        right = Text("use ", style=palette.dim).append(
            f"{runs_words(found.runs_per_month)} runs a month", style=palette.text
        )
        right.append("  horizon ", style=palette.dim).append(f"{found.terms.months:g} months", style=palette.text)
        return left, right

    def refresh_content(self) -> None:
        self.paint_bars()
        palette, found = self.planner.palette, self.found
        self.show_answer(None if found is None else answer_text(found, palette))
        if found is None:
            return
        self._card = min(self._card, len(found.bought) - 1)
        self.query_one(MoneyPane).show(found, self._card, palette)
        card = self._card
        self.query_one("#cards", FactsPane).show(lambda width: cards_text(found, card, palette, width))
        self.query_one("#assumed", FactsPane).show(lambda width: assumed_text(found, card, palette))

    def action_use(self, step: int) -> None:
        """More or less use a week, on the scale of the arrow keys."""
        now = self.question.hours_per_week
        others = [use for use in USES if (use - now) * step > 0]
        if others:
            use = float(min(others) if step > 0 else max(others))
            self.change(self.question._replace(hours_per_week=use, runs_per_month=None))

    def action_card(self, step: int) -> None:
        if self.found is not None:
            self._card = (self._card + step) % len(self.found.bought)
            self.refresh_content()

    def action_horizon(self) -> None:
        longer = [months for months in HORIZONS if months > self.question.months]
        self.change(self.question._replace(months=longer[0] if longer else HORIZONS[0]))

    def action_form(self) -> None:
        self.query_one("#buy-form").add_class("-open")
        self.query_one("#buy-cards", Input).focus()


def flags(terms: Terms) -> list[str]:
    """The command line's flags for what differs from its defaults."""
    usual, found = Terms(), []
    if terms.purchases != usual.purchases:
        found += ["--buy", ", ".join(terms.purchases)]
    if terms.hours_per_week != usual.hours_per_week:
        found += ["--hours-per-week", f"{terms.hours_per_week:g}"]
    if terms.months != usual.months:
        found += ["--months", f"{terms.months:g}"]
    return found


def answer_text(found: BuyOrRent, palette: Palette) -> Text:
    """The verdict, what to do in bold."""
    todo, colon, why = verdict(found, format_money).partition(": ")
    return Text.assemble((todo + colon, f"bold {palette.strong}"), (why, palette.text))


def cards_text(found: BuyOrRent, card: int, palette: Palette, width: int) -> Text:
    """A line a machine, the chart's one marked; the columns that matter least go where the pane is narrow."""
    hindrances = [_hindrance(one) for one in found.bought]
    room = width - max(map(len, hindrances), default=0)
    columns = [column for column in _columns(found.terms.months) if room >= column.from_width]
    head = "  " + f"{'machine':<16}" + "".join(f"{column.title:>{column.width}}" for column in columns)
    lines = [Text(head, style=palette.dim)]
    for index, one in enumerate(found.bought):
        style = f"bold {palette.strong}" if index == card else palette.text
        line = Text("▌ " if index == card else "  ", style=palette.accent)
        line.append(f"{fitted(one.purchase.name, 15):<16}", style=style)
        if one.problem:
            line.append(f"{format_money(one.purchase.usd):>9}", style=style).append("  does not fit", style=palette.bad)
        else:
            line.append("".join(f"{column.text(one):>{column.width}}" for column in columns), style=style)
        lines.append(line.append(hindrances[index], style=palette.bad))
    return Text("\n").join(lines)


def _hindrance(one: Bought) -> str:
    return " too slow" if one.is_too_slow else " misses limits" if one.misses_limits else ""


class _Column(NamedTuple):
    """``from_width`` is the width of the pane from which on it is shown."""

    title: str
    width: int
    text: Callable[[Bought], str]
    from_width: int = 0


def _columns(months: float) -> tuple[_Column, ...]:
    return (
        _Column("price", 9, lambda one: format_money(one.purchase.usd)),
        _Column("GB", 5, _memory, 72),
        _Column("samples/s", 11, lambda one: format_rate(one.samples_per_s.p50 if one.samples_per_s else None), 67),
        _Column("takes", 8, lambda one: format_duration(one.owning.run_s if one.owning else None), 56),
        _Column("electr.", 9, lambda one: format_money(one.owning.run_usd if one.owning else None), _WIDE),
        _Column("pays from", 11, lambda one: months_words(one.against[0][1].months)),
        _Column("if resold", 11, lambda one: months_words(one.against[0][1].months_after_resale), 83),
        _Column(f"{months:g} mo", 10, lambda one: format_money(one.spent_usd), 48),
    )


def _memory(one: Bought) -> str:
    machine = one.purchase.machine
    if machine.accelerator.memory_bytes is None:
        return UNKNOWN
    return f"{machine.accelerator.memory_bytes * machine.num_gpus / GIB:.0f}"


def assumed_text(found: BuyOrRent, card: int, palette: Palette) -> Text:
    """What was taken, as far as it is of the machine in the chart."""
    one = found.bought[card]
    purchase, owning = one.purchase, one.owning
    rows: list[tuple[str, str]] = [
        *_work_words(found),
        ("runs", f"{runs_words(found.runs_per_month)} a month"),
        ("horizon", f"{found.terms.months:g} months"),
        ("current", f"{found.electricity.usd_per_kwh:g} $/kWh"),
        ("", ""),
        ("buy", purchase.name),
        ("cards", format_money(purchase.usd - purchase.host_usd)),
        ("host", format_money(purchase.host_usd)),
        ("seen", purchase.card.as_of or purchase.card.condition),
    ]
    if owning is not None and one.power_w is not None:
        rows += [
            ("power", f"{one.power_w / 1000:.2f} kW"),
            ("busy", f"{one.hours_per_week or 0:.0f} h/week"),
            *([("", f"a week has {HOURS_OF_A_WEEK:g}!")] if one.is_too_slow else []),
            ("resale", format_money(owning.value_usd(found.terms.months))),
        ]
    for rent, even in one.against:
        costs = f"{bound_mark(rent)}{format_money(rent.usd)} a run"
        rows += [("", ""), (f"rent, {rent.label}", ""), (rent.words, ""), ("costs", costs)]
        rows += [("takes", f"{format_duration(rent.time_s)} a run"), ("pays from", months_words(even.months))]
    return Text("\n").join(
        Text(f"{name:<{_LABEL}}" if value else name, style=palette.dim).append(
            value, style=palette.bad if value.endswith("!") else palette.text
        )
        for name, value in rows
    )


def _work_words(found: BuyOrRent) -> list[tuple[str, str]]:
    """The hours a week of the machine that they are said of, or nothing where the runs were said."""
    if found.terms.runs_per_month is not None:
        return []
    hours = found.terms.hours_per_week
    busy = (one for one in found.bought if one.hours_per_week is not None and math.isclose(one.hours_per_week, hours))
    first = next(busy, None)
    rows = [("work", f"{hours:g} h/week")]
    return rows if first is None else [*rows, ("   of", first.purchase.name)]
