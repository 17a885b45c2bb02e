"""Machine: what this machine is, what an hour on it costs, and what it makes of the question."""

from __future__ import annotations

import os
import shlex
import subprocess
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget

from planner.errors import PlannerError
from planner.plan.config import config_path
from planner.plan.plan import Estimate
from planner.plan.words import EVIDENCE_MARKS, EVIDENCE_WORDS, gpus_words, machine_name
from planner.profiler.detect import LocalMachine
from planner.tui.clock import moment
from planner.tui.commands import MACHINE, bindings, footer
from planner.tui.core import Ranked
from planner.tui.drawing import fact
from planner.tui.form_words import in_form
from planner.tui.measured import Stored
from planner.tui.screens.base import PlannerScreen
from planner.tui.screens.dialogs import TextDialog
from planner.tui.theme import Palette
from planner.tui.widgets.facts_pane import FactsPane
from planner.tui.widgets.measured_text import measured_text
from planner.tui.widgets.profile_pane import profile_text
from planner.units import GIB, UNKNOWN, format_duration, format_money, format_rate

_LABEL = 12
_ABOUT_FOUND = "What was found in this machine; under To know, what was assumed for want of it."
_ABOUT_PROFILE = """\
What a profile is doing, or what the last one measured: how much of its rate a warm machine keeps, and each probe with
its time, its rate and how far its quartiles lie around it; amber where that is far, as something else ran meanwhile.
Behind ✓ stand the rates that estimates for this machine use."""


@dataclass
class Found(Message):
    """The full look at this machine is done; ``measured`` says what a profile knows of it, '' without one.

    ``stored`` is that profile probe by probe.
    """

    local: LocalMachine
    measured: str
    stored: Stored | None


EXAMPLE = """\
[[machine]]
name = "lab"
place = "cluster"       # laptop, workstation or cluster
gpu = "A100 80GB"
count = 8               # per node
nodes = 1
purchase_usd = 120000   # or usd_per_hour
"""


def edit(path: Path, editor: str) -> None:
    """Run the editor on the configuration; a file that is not there yet begins with an example, as a comment."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"# {line}\n" for line in EXAMPLE.splitlines()), encoding="utf-8")
    subprocess.run([*shlex.split(editor), str(path)], check=False)


class MachineScreen(PlannerScreen):
    MODE = "machine"
    PANE_COMMANDS = MACHINE
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(MACHINE)]

    def __init__(self) -> None:
        super().__init__()
        self._local: LocalMachine | None = None
        self._measured = ""
        self._stored: Stored | None = None

    def compose_body(self) -> Iterator[Widget]:
        with Horizontal(id="body"):
            with Vertical(id="machine-left"):
                yield FactsPane("found", "Detected", _ABOUT_FOUND)
                yield FactsPane("hour", "In this plan", "The experiment on this machine, and what an hour of it costs.")
            yield FactsPane("profile", "Profile", _ABOUT_PROFILE)

    def on_mount(self) -> None:
        self.query_one("#found").focus()
        super().on_mount()
        self.action_look()

    def action_look(self) -> None:
        self._local = None
        self.refresh_content()
        self.planner.in_thread(self._look, "look")

    def profile_changed(self) -> None:
        self.planner.in_thread(self._look, "look")

    def _look(self) -> None:
        core, stored = self.planner.core, None
        try:
            words, stored = core.profile_words(), core.stored_profile()
        except PlannerError as error:
            words = str(error)
        self.post_message(Found(core.machine(), words, stored))

    def on_found(self, message: Found) -> None:
        self._local, self._measured, self._stored = message.local, message.measured, message.stored
        self.refresh_content()

    def action_profile(self) -> None:
        self.planner.profile_control.start()

    def action_stop_or_leave(self) -> None:
        if not self.planner.profile_control.stop():
            self.planner.action_go("plan")

    def action_edit_machines(self) -> None:
        """Open the configuration in the user's editor, then rank with what it says."""
        path = config_path()
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        try:
            if not editor:
                raise SuspendNotSupported
            with self.app.suspend():
                edit(path, editor)
        except (SuspendNotSupported, OSError) as error:
            reason = f"{error}\n\n" if str(error) else ""
            text = Text(f"{reason}Set EDITOR, or write into {path}:\n\n{EXAMPLE}", style=self.planner.palette.text)
            self.app.push_screen(TextDialog("Your own machines", text, "e"))
            return
        self.planner.core.prices_changed()
        self.planner.ask(self.planner.values)

    def show_profile(self) -> None:
        control, palette = self.planner.profile_control, self.planner.palette
        pane = self.query_one("#profile", FactsPane)
        pane.border_subtitle = "Esc stops" if control.busy else "p measure now · half a minute"
        words = self._measured or ("" if self._local is None else "Nothing was measured here yet.")
        row = self.planner.ranked.this_machine if self.planner.ranked is not None else None
        stored = None if control.busy else self._stored

        def write(width: int) -> Text:
            text = profile_text(control, row, words, palette, width)
            return text if stored is None else text.append("\n").append_text(measured_text(stored, palette, width))

        pane.show(write)

    def keys(self) -> Sequence[tuple[str, str, str]]:
        return footer(MACHINE)

    def question_words(self) -> tuple[Text, Text]:
        palette = self.planner.palette
        if self._local is None:
            return Text("looking at this machine …", style=palette.dim), Text()
        machine = self._local.machine()
        left = Text.assemble(("this machine", f"bold {palette.strong}"))
        words = "no GPU found" if machine.num_gpus == 0 else f"{machine.num_gpus:g}×{machine.accelerator.name}"
        return left.append(f" · {self._local.place} · {words}", style=palette.text), Text()

    def refresh_content(self) -> None:
        palette, ranked = self.planner.palette, self.planner.ranked
        self.paint_bars()
        local = self._local
        self.query_one("#found", FactsPane).show(lambda width: detected_text(local, palette, width))
        self.query_one("#hour", FactsPane).show(lambda width: plan_text(ranked, palette, width))
        self.show_profile()


def detected_text(local: LocalMachine | None, palette: Palette, width: int) -> Text:
    if local is None:
        return Text("Asking the driver and the system …", style=palette.dim)
    host, machine = local.host, local.machine()
    text = Text()
    for number, gpu in enumerate(local.gpus):
        _section(text, f"GPU {number}", palette)
        _facts(
            text,
            [
                ("name", gpu.name, ""),
                ("memory", UNKNOWN if gpu.memory_bytes is None else f"{gpu.memory_bytes / GIB:.2f} GiB", ""),
                ("limit", UNKNOWN if gpu.power_limit_w is None else f"{gpu.power_limit_w:.0f} W", ""),
                ("NVLink", "yes" if gpu.nvlink else "no", ""),
            ],
            palette,
            width,
        )
    if not local.gpus:
        _section(text, "GPU", palette)
        text.append("none found: it trains on its CPU\n", style=palette.dim)
    if local.driver_version:
        _facts(text, [("driver", local.driver_version, "")], palette, width)
    _section(text, "Host", palette)
    clock = UNKNOWN if host.cpu_clock_hz is None else f"{host.cpu_clock_hz / 1e9:.1f} GHz"
    memory = UNKNOWN if host.ram_bytes is None else f"{host.ram_bytes / GIB:.1f} GiB"
    known = machine.cpu.name if machine.cpu is not None else "one of no table"
    taken = f"taken as {known}" if known != host.cpu_name else ""
    _facts(
        text,
        [
            ("CPU", host.cpu_name or UNKNOWN, taken),
            ("cores", f"{host.physical_cores}", f"{host.vcpus:g} vCPUs"),
            ("clock", clock, ""),
            ("memory", memory, ""),
            ("place", local.place, f"a virtual machine of {host.cloud}" if host.cloud else ""),
        ],
        palette,
        width,
    )
    if local.notes:
        _section(text, "To know", palette)
        for note in local.notes:
            lines = textwrap.wrap(note, max(width - 2, 8))
            text.append("· " + "\n  ".join(lines) + "\n", style=palette.dim)
    text.rstrip()
    return text


def plan_text(ranked: Ranked | None, palette: Palette, width: int) -> Text:
    """What the plan says of this machine, and of the others that are one's own."""
    if ranked is None:
        return Text("Nothing is ranked yet.", style=palette.dim)
    row = ranked.this_machine
    text = Text()
    if row is None:
        text.append("This machine is not among the places asked for.\n", style=palette.dim)
    else:
        _section(text, "This experiment here", palette)
        _facts(text, _run_facts(ranked, row), palette, width)
        _section(text, "Price of an hour", palette)
        text.append(f"{format_money(row.usd_per_hour)} an hour\n", style=palette.text)
        for part in row.cost_parts:
            _facts(text, [(part.name, f"{format_money(part.usd)} the run", part.source)], palette, width)
    own = [one for one in ranked.plan.estimates if one.provider is None and not one.is_this_machine]
    described = [one for one in own if not one.hypothetical]
    _section(text, "Your other machines", palette)
    for one in described:
        _facts(text, [(machine_name(one), gpus_words(one), f"rank {one.rank}, {_time(one)}")], palette, width)
    if not described:
        text.append("none are described; e opens the file for them\n", style=palette.dim)
    return text


def _run_facts(ranked: Ranked, row: Estimate) -> list[tuple[str, str, str]]:
    if row.time_s is None:
        return [("", in_form(row.reason), "")]
    cost = row.cost_usd.p50 if row.cost_usd else None
    rate = format_rate(row.samples_per_s.p50 if row.samples_per_s else None)
    span = f"{format_duration(row.time_s.p10)} to {format_duration(row.time_s.p90)}"
    return [
        ("rank", f"{row.rank}", f"of {ranked.machines} machines"),
        ("time", _time(row), span),
        ("done by", moment(row.finish_at, ranked.plan.generated_at), ""),
        ("cost", format_money(cost), ""),
        ("samples/s", rate, f"bound by {row.bound_by}"),
        ("evidence", EVIDENCE_MARKS.get(row.evidence or "", UNKNOWN), EVIDENCE_WORDS.get(row.evidence or "", "")),
    ]


def _time(row: Estimate) -> str:
    return format_duration(row.time_s.p50 if row.time_s else None)


def _section(text: Text, title: str, palette: Palette) -> None:
    text.append(f"{chr(10) if text else ''}{title}\n", style=f"bold {palette.strong}")


def _facts(text: Text, facts: Iterable[tuple[str, str, str]], palette: Palette, width: int) -> None:
    """(label, value, note) each on a line, or on more where they are long."""
    for label, value, note in facts:
        text.append_text(fact(label, value, note, _LABEL, width, palette)).append("\n")
