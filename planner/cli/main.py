"""The front door: find the command, run it, turn what goes wrong into one sentence and an exit code."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
import time
from collections.abc import Sequence
from itertools import takewhile

from planner.cli.commands import COMMANDS, build_parser
from planner.errors import InputError, PlannerError, UnknownNameError, near_misses

EXIT_INTERRUPTED = 130
_DAY_S = 86400
ROOT_FLAGS = ("-h", "--help", "--version", "--print-completion")


def run() -> None:
    """Entry point of the ``gpuplanner`` script."""
    # A command makes thousands of records and ends: looking among them for cycles takes a tenth of its time.
    gc.disable()
    _write_what_the_terminal_can()
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code: 0 ok, 1 failed, 2 wrong input, 3 nothing fits or meets the limits."""
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
    except PlannerError as error:
        _complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        _close_quietly()
        return 0
    except KeyboardInterrupt:
        _complain("interrupted")
        return EXIT_INTERRUPTED
    except OSError as error:
        if sys.stdout is None or sys.stdout.closed:
            return 1
        _complain(f"cannot go on: {error.strerror or error}")
        _close_quietly()
        return 1
    return code


def _dispatch(argv: Sequence[str]) -> int:
    if sys.stdout is None:
        raise PlannerError("there is nowhere to write the answer: standard output is closed")
    name = argv[0] if argv and not argv[0].startswith("-") else None
    if name is not None and name not in COMMANDS:
        raise UnknownNameError("command", name, near_misses(name, COMMANDS), f"known are {', '.join(COMMANDS)}")
    if name is None and argv and argv[0] not in ROOT_FLAGS and argv[0].partition("=")[0] not in ROOT_FLAGS:
        raise InputError(f"say first what to do: {', '.join(COMMANDS)} (gpuplanner --help)")
    if not argv and _on_a_terminal():
        _check_the_clock()
        return _open_app()
    parser = build_parser(name)
    if not argv:
        parser.print_help()
        return 0
    arguments = _parsed(parser, argv)
    if name == "profile" and "--" in argv and argv.index("--") == len(argv) - 1:  # argparse keeps no trace of it
        raise InputError("no command follows --: gpuplanner profile -- python train.py")
    if name is None:
        raise InputError(f"say what to do: {', '.join(COMMANDS)} (gpuplanner --help)")
    _check_the_clock()
    from planner.cli.amounts import in_dollars  # what --help does without

    return COMMANDS[name].load().run(in_dollars(arguments))


def _parsed(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """argparse ends the process after --help and --version: what they wrote must be out before that."""
    try:
        return parser.parse_args(argv)
    except SystemExit:
        sys.stdout.flush()
        raise


def _check_the_clock() -> None:
    """Clock times are answered in the system's zone, of which Python takes no offset of a day or more."""
    if abs(time.localtime().tm_gmtoff) >= _DAY_S:
        raise InputError(
            f"the time zone {os.environ.get('TZ', 'of this system')} is a day or more off UTC: set TZ to one such as "
            "Europe/Berlin"
        )
    _take_utc_for_an_unknown_zone()


def _take_utc_for_an_unknown_zone() -> None:
    """Of a zone it does not know ('Mars/Phobos'), the C library keeps UTC and calls it by the name's first letters."""
    said = os.environ.get("TZ", "").removeprefix(":")
    letters = "".join(takewhile(str.isalpha, said))
    is_a_name = letters and (said == letters or said.startswith(f"{letters}/"))
    if not is_a_name or letters in ("UTC", "GMT") or time.timezone or time.tzname != (letters, letters):
        return
    _complain(f"the time zone {said} is not known on this system: clock times are UTC")
    os.environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):  # not on Windows
        time.tzset()


def _write_what_the_terminal_can() -> None:
    """A terminal or pipe that is not UTF-8 shows '?' for what it lacks; it is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _on_a_terminal() -> bool:
    """Whether somebody sits in front of it: a script that calls the bare name gets the help instead."""
    streams = (sys.stdin, sys.stdout, sys.stderr)  # Textual draws on standard error
    return all(stream is not None and stream.isatty() for stream in streams) and os.environ.get("TERM") != "dumb"


def _open_app() -> int:
    """The app; it stays, and so its garbage must be collected again."""
    from planner.tui.app import PlannerApp

    gc.enable()
    app = PlannerApp()
    app.run()
    return app.return_code or 0


def _complain(message: str) -> None:
    if sys.stderr is not None:
        print(f"gpuplanner: {message}", file=sys.stderr)  # noqa: T201


def _close_quietly() -> None:
    """The reader has gone: keep the interpreter from complaining when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
