"""Visit the app as a new user does, in tmux with an empty home, and check that its command line says the same.

Usage: python tools/visit_app.py [--command gpuplanner] [--size 130x36] [--term xterm-256color] [--show]

Sets bert-large, bf16, a deadline of 24 hours and a budget of $100, reads the first row of the table, looks why, copies
the command line and runs it: its first row must be the same.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

SESSION = "gpuplanner-visit"
GIVE_UP_S = 60.0
ASKED = (("model", "bert-large"), ("precision", "bf16"), ("deadline", "24h"), ("budget", "100"))
FIRST_ROW = re.compile(r"│[▌ ]  1 (\S+(?: \S+)*)")


class Visit:
    """One terminal of ``columns`` by ``rows`` cells under a tmux server of its own."""

    def __init__(self, home: str, columns: int, rows: int, term: str) -> None:
        self._socket = os.path.join(home, "tmux.sock")
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR", "COLORTERM")},
            "HOME": home,
            "XDG_CACHE_HOME": f"{home}/cache",
            "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_DATA_HOME": f"{home}/data",
        }
        configuration = os.path.join(home, "tmux.conf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(f"set -g default-terminal {term}\nset -g set-clipboard on\nset -g escape-time 0\n")
        size = ("-x", str(columns), "-y", str(rows))
        self.tmux("-f", configuration, "new-session", "-d", "-s", SESSION, *size, "sh")

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-S", self._socket, *words]
        return subprocess.run(command, env=self._environment, check=True, capture_output=True, text=True).stdout

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tmux("send-keys", "-t", SESSION, key)
            time.sleep(0.05)

    def write(self, text: str) -> None:
        self.tmux("send-keys", "-t", SESSION, "-l", text)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", SESSION)

    def wait_for(self, *texts: str) -> str:
        """The screen once it shows all the texts."""
        started = time.monotonic()
        while time.monotonic() - started < GIVE_UP_S:
            shown = self.screen()
            if all(text in shown for text in texts):
                return shown
            time.sleep(0.1)
        raise TimeoutError(f"{texts} did not come in {GIVE_UP_S:g} s:\n{self.screen()}")

    def wait_until_gone(self, text: str) -> None:
        started = time.monotonic()
        while text in self.screen() and time.monotonic() - started < GIVE_UP_S:
            time.sleep(0.05)

    def run(self, words: list[str]) -> str:
        """What a command prints in the same home."""
        return subprocess.run(words, env=self._environment, check=True, capture_output=True, text=True).stdout

    def close(self) -> None:
        self.tmux("kill-server")


def visit(program: list[str], columns: int, rows: int, term: str, *, show: bool) -> tuple[str, str]:
    """The machine in the app's first row, and in the first row of the command line that it copied."""
    with tempfile.TemporaryDirectory() as home:
        terminal = Visit(home, columns, rows, term)
        try:
            terminal.write(shlex.join(program))
            terminal.press("Enter")
            terminal.wait_for("resnet50", "not ranked")
            terminal.press("f")
            for key, text in ASKED:
                _fill(terminal, key, text)
            terminal.press("Enter")
            shown = terminal.wait_for("bert-large ·", "· bf16", "$100", " %")
            print(f"answer: {_answer(shown)}")
            terminal.press("Enter")
            why = terminal.wait_for("Step by part")
            terminal.press("y")
            dialog = terminal.wait_for("The same question as a command line")
            line = terminal.tmux("show-buffer").strip()
            if show:
                print(shown, why, dialog, sep="\n")
            print(f"copied: {line}")
            table = terminal.run([*program, *shlex.split(line)[1:], "-o", "markdown", "-n", "1"])
            first = next(row for row in table.splitlines() if row.startswith("| 1 |"))
            return _first_row(shown), first.split("|")[2].strip()
        finally:
            terminal.close()


def _fill(terminal: Visit, key: str, text: str) -> None:
    """Go down to the field that F1 calls ``key``, and write into it."""
    for _ in range(40):
        terminal.press("F1")
        help_shown = terminal.wait_for("Esc closes")
        terminal.press("Escape")
        terminal.wait_until_gone("Esc closes")
        if f" {key}: " in help_shown:
            terminal.write(text)
            return
        terminal.press("Down")
    raise TimeoutError(f"there is no field {key!r}")


def _answer(screen: str) -> str:
    lines = screen.splitlines()
    at = next(index for index, line in enumerate(lines) if "─ Answer " in line)
    return lines[at + 1].split("│")[-2].strip()


def _first_row(screen: str) -> str:
    """The machine of the row with rank 1, as far as it has room."""
    found = FIRST_ROW.search(screen)
    if found is None:
        raise LookupError(f"no row has rank 1:\n{screen}")
    return found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", default="gpuplanner", help="how the program is called (gpuplanner)")
    parser.add_argument("--size", default="130x36", help="cells of the terminal (130x36)")
    parser.add_argument("--term", default="xterm-256color", help="TERM inside tmux (xterm-256color)")
    parser.add_argument("--show", action="store_true", help="print the screens")
    arguments = parser.parse_args()
    columns, rows = (int(count) for count in arguments.size.split("x"))
    program = shlex.split(arguments.command)
    in_app, in_command = visit(program, columns, rows, arguments.term, show=arguments.show)
    print(f"first row of the app: {in_app}; of its command line: {in_command}")
    if not in_command.startswith(in_app.partition("…")[0].strip()):
        sys.exit("they are not the same")


if __name__ == "__main__":
    main()
