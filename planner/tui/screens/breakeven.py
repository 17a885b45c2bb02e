"""Buy or rent: machines one might buy against renting, over the months of a stated use."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import events, on
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from planner.errors import InputError, PlannerError
from planner.plan.breakeven import BreakEven
from planner.plan.buy_or_rent import DEFAULT_PURCHASES, Bought, BuyOrRent, Rent, Terms
from planner.plan.buying_words import MARKS, money_plot, months_words, verdict
from planner.tui.asked import command_line
from planner.tui.commands import Command, bindings, footer
from planner.tui.drawing import fitted
from planner.tui.screens.base import PlannerScreen
from planner.tui.screens.dialogs import TextDialog
from planner.tui.texts import command_text
from planner.tui.theme import Palette
from planner.tui.widgets.facts_pane import FactsPane
from planner.units import GIB, UNKNOWN, format_duration, format_money, format_rate

BUYING = (
    Command("Buy or rent", "back to the plan", "escape", "app.go('plan')", "Plan"),
    Command("Buy or rent", "less use a week", "left", "screen.use(-1)", "less"),
    Command("Buy or rent", "more use a week", "right", "screen.use(1)", "more h/week"),
    Command("Buy or rent", "the machine in the chart: the one before", "up", "screen.card(-1)"),
    Command("Buy or rent", "the machine in the chart: the next", "down", "screen.card(1)", "Next card"),
    Command("Buy or rent", "a shorter or longer horizon", "h", "screen.horizon", "Horizon"),
    Command("Buy or rent", "edit what might be bought", "f", "screen.form", "Cards"),
    Command("Buy or rent", "this question as a command line", "Y", "screen.buying_command"),
)
USES = (1, 2, 5, 10, 20, 30, 40, 50, 60, 72, 84, 100, 120, 140, 168)
"""Hours a week that the arrow keys go through."""

HORIZONS = (12.0, 24.0, 36.0, 60.0)
_WAIT_S = 0.3
_LABEL = 11
_WIDE = 92
HOURS_OF_A_WEEK = 168.0


@dataclass
class Compared(Message):
    """Buying is compared with renting under these terms."""

    terms: Terms
    found: BuyOrRent


@dataclass
class Incomparable(Message):
    """It cannot be compared as it stands, for this reason."""

    terms: Terms
    sentence: str


class BreakevenScreen(PlannerScreen):
    MODE = "buy"
    PANE_COMMANDS = BUYING
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(BUYING)]
    DEFAULT_CSS = """
    BreakevenScreen #buy-answer { height: 4; }
    BreakevenScreen #buy-form { height: 3; }
    BreakevenScreen #buy-form Input { border: none; height: 1; padding: 0 1; background: $panel; }
    BreakevenScreen #assumed { width: 30; height: 1fr; }
    BreakevenScreen #buy-right { width: 1fr; height: 1fr; }
    BreakevenScreen #money { height: 1fr; }
    BreakevenScreen #cards { height: 9; }
    BreakevenScreen.-w100 #assumed, BreakevenScreen.-w80 #assumed, BreakevenScreen.-narrow #assumed { display: none; }
    BreakevenScreen.-short #buy-form { display: none; }
    BreakevenScreen.-short #buy-form.-open { display: block; }
    BreakevenScreen.-short #cards { height: 7; }
    BreakevenScreen.-tiny #money { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._found: BuyOrRent | None = None
        self._problem = ""
        self._card = 0

    @property
    def terms(self) -> Terms:
        if self.planner.buying is None:
            self.planner.buying = Terms()
        return self.planner.buying

    def compose_body(self) -> Iterator[Widget]:
        with Horizontal(id="body"):
            yield FactsPane("assumed", "Assumptions")
            with Vertical(id="buy-right"):
                yield Static(id="buy-answer", classes="pane")
                with Vertical(id="buy-form", classes="pane"):
                    yield Input(id="buy-cards", compact=True)
                yield Static(id="money", classes="pane")
                yield FactsPane("cards", "Machines")

    def on_mount(self) -> None:
        self.query_one("#buy-answer").border_title = "Answer"
        self.query_one("#buy-form").border_title = "What might be bought"
        self.query_one("#money").border_title = "Money spent over time"
        self.query_one("#cards").border_subtitle = "host included"
        cards = self.query_one("#buy-cards", Input)
        cards.placeholder = ", ".join(DEFAULT_PURCHASES)
        if self.terms.purchases != DEFAULT_PURCHASES:
            with self.prevent(Input.Changed):
                cards.value = ", ".join(self.terms.purchases)
        self.query_one("#cards").focus()
        super().on_mount()
        self._ask()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.call_after_refresh(self.refresh_content)

    @on(Input.Changed, "#buy-cards")
    def _typed(self) -> None:
        names = tuple(name.strip() for name in self.query_one("#buy-cards", Input).value.split(",") if name.strip())
        self._change(self.terms._replace(purchases=names or DEFAULT_PURCHASES))

    @on(Input.Submitted)
    def _typed_enough(self) -> None:
        self.query_one("#buy-form").remove_class("-open")
        self.query_one("#cards").focus()

    def _change(self, terms: Terms) -> None:
        self.planner.buying = terms
        self.set_timer(_WAIT_S, lambda: self._ask() if terms == self.terms else None)

    def _ask(self) -> None:
        terms, values = self.terms, dict(self.planner.values)

        def work() -> None:
            try:
                found = self.planner.core.buy_or_rent(values, terms)
            except PlannerError as error:
                self.post_message(Incomparable(terms, str(error)))
                return
            self.post_message(Compared(terms, found))

        self.planner.in_thread(work, "buy")

    def on_compared(self, message: Compared) -> None:
        if message.terms == self.terms:
            self._found, self._problem = message.found, ""
            self.refresh_content()

    def on_incomparable(self, message: Incomparable) -> None:
        if message.terms == self.terms:
            self._problem = message.sentence
            self.refresh_content()

    def prices_changed(self) -> None:
        self._ask()

    def keys(self) -> Sequence[tuple[str, str, str]]:
        return footer(BUYING, ("Command",))

    def question_words(self) -> tuple[Text, Text]:
        palette, found = self.planner.palette, self._found
        if found is None:
            return Text("comparing buying with renting …", style=palette.dim), Text()
        model = self.planner.values.get("model", "")
        left = Text(model, style=f"bold {palette.strong}").append(" · the same work in every line", style=palette.dim)
        right = Text("use ", style=palette.dim).append(f"{found.runs_per_month:.3g} runs a month", style=palette.text)
        right.append("  horizon ", style=palette.dim).append(f"{found.terms.months:g} months", style=palette.text)
        return left, right

    def refresh_content(self) -> None:
        self.paint_bars()
        palette, found = self.planner.palette, self._found
        answer, money = self.query_one("#buy-answer", Static), self.query_one("#money", Static)
        if self._problem:
            answer.update(Text(self._problem, style=palette.bad))
            return
        if found is None:
            answer.update(Text("Comparing buying with renting …", style=palette.dim))
            return
        self._card = min(self._card, len(found.bought) - 1)
        answer.update(Text(verdict(found, format_money), style=f"bold {palette.strong}"))
        size = money.content_size
        money.update(plot_text(found, self._card, palette, size.width, size.height))
        money.border_subtitle = _rents_words(found.bought[self._card].against)
        cards = self.query_one("#cards", FactsPane)
        cards.show(cards_text(found, self._card, palette, cards.content_size.width))
        self.query_one("#assumed", FactsPane).show(assumed_text(found, self._card, palette))

    def action_use(self, step: int) -> None:
        """More or less use a week, on the scale of the arrow keys."""
        now = self.terms.hours_per_week
        others = [use for use in USES if (use - now) * step > 0]
        if others:
            use = float(min(others) if step > 0 else max(others))
            self._change(self.terms._replace(hours_per_week=use, runs_per_month=None))

    def action_card(self, step: int) -> None:
        if self._found is not None:
            self._card = (self._card + step) % len(self._found.bought)
            self.refresh_content()

    def action_horizon(self) -> None:
        longer = [months for months in HORIZONS if months > self.terms.months]
        self._change(self.terms._replace(months=longer[0] if longer else HORIZONS[0]))

    def action_form(self) -> None:
        self.query_one("#buy-form").add_class("-open")
        self.query_one("#buy-cards", Input).focus()

    def action_buying_command(self) -> None:
        try:
            words = shlex.split(command_line(self.planner.values))
        except InputError as error:
            self._problem = str(error)
            self.refresh_content()
            return
        line = shlex.join(["gpuplanner", "breakeven", *words[2:], *flags(self.terms)])
        self.app.copy_to_clipboard(line)
        text = command_text(line, True, self.planner.palette)
        self.app.push_screen(TextDialog("This question as a command line", text, "Y"))


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


def plot_text(found: BuyOrRent, card: int, palette: Palette, width: int, height: int) -> Text:
    """The chart in ``width`` x ``height`` cells: what is bought in its place's colour, each rent in its own."""
    bought = found.bought[card]
    if bought.owning is None:
        return Text(f"{bought.purchase.name} cannot run it: {bought.problem}", style=palette.bad)
    if width < 40 or height < 7:
        return Text()
    lines = money_plot(found, format_money, width=width - 10, height=height - 3, index=card)
    own, rents = palette.places["workstation"], (palette.places["cloud"], palette.places["cluster"], palette.warn)
    styles = {"●": own, "·": own, "◆": f"bold {palette.warn}", **dict(zip(MARKS, rents, strict=True))}
    return Text("\n").join(_coloured(line, styles, palette) for line in lines)


def _coloured(line: str, styles: dict[str, str], palette: Palette) -> Text:
    label, axis, drawn = line.partition("┤")
    if not axis:
        return Text(line, style=palette.dim)
    text = Text(label + axis, style=palette.dim)
    for mark, run in groupby(drawn):
        text.append("".join(run), style=styles.get(mark, ""))
    return text


def _rents_words(against: Sequence[tuple[Rent, BreakEven]]) -> str:
    return " · ".join(f"{mark} {rent.label}" for mark, (rent, _) in zip(MARKS, against, strict=False))


def cards_text(found: BuyOrRent, card: int, palette: Palette, width: int) -> Text:
    """A line a machine, the chart's one marked; the columns that matter least go where the pane is narrow."""
    columns = [column for column in _columns(found.terms.months) if width >= _WIDE or not column.wide]
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
        late = (one.hours_per_week or 0.0) > HOURS_OF_A_WEEK
        lines.append(line.append(" too slow", style=palette.bad) if late else line)
    return Text("\n").join(lines)


class _Column(NamedTuple):
    """``wide``: only where there is room for all."""

    title: str
    width: int
    text: Callable[[Bought], str]
    wide: bool = False


def _columns(months: float) -> tuple[_Column, ...]:
    return (
        _Column("price", 9, lambda one: format_money(one.purchase.usd)),
        _Column("GB", 5, _memory, wide=True),
        _Column("samples/s", 11, lambda one: format_rate(one.samples_per_s.p50 if one.samples_per_s else None)),
        _Column("a run", 8, lambda one: format_duration(one.owning.run_s if one.owning else None)),
        _Column("electr.", 9, lambda one: format_money(one.owning.run_usd if one.owning else None), wide=True),
        _Column("pays", 10, lambda one: months_words(one.against[0][1].months)),
        _Column("resold", 10, lambda one: months_words(one.against[0][1].months_after_resale), wide=True),
        _Column(f"{months:g} mo", 10, lambda one: format_money(one.spent_usd)),
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
        ("use", f"{found.terms.hours_per_week:g} h/week"),
        ("runs", f"{found.runs_per_month:.3g} a month"),
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
            ("resale", format_money(owning.value_usd(found.terms.months))),
        ]
    for rent, even in one.against:
        rows += [("", ""), (f"rent, {rent.label}", ""), ("a run", format_money(rent.usd))]
        rows += [("takes", format_duration(rent.time_s)), ("pays from", months_words(even.months))]
        rows.append(("", rent.words))
    return Text("\n").join(
        Text(f"{name:<{_LABEL}}" if value else name, style=palette.dim).append(value, style=palette.text)
        for name, value in rows
    )
