"""The wrapper around a user's command: output and exit status intact, bounds kept, and no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and /proc are those of Unix")

GPUPLANNER = [sys.executable, "-c", "from planner.cli.main import run; run()", "profile"]
SLEEPER = """
import os, subprocess, sys, time
marker = sys.argv[1]
code = f"import time; {marker!r}; time.sleep(60)"
children = [subprocess.Popen([sys.executable, "-c", code], start_new_session=away) for away in (False, True)]
print("ready", flush=True)
"""


def left_behind(marker: str) -> list[str]:
    """Command lines of processes that carry the marker."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in line:
                found.append(line.decode(errors="replace"))
    return found


def wrapped(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*GPUPLANNER, *arguments], capture_output=True, timeout=60, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("status", [0, 3, 255])
def test_output_and_exit_status_are_the_commands_own(status: int) -> None:
    code = (
        f"import sys; sys.stdout.buffer.write(bytes(range(256)) * 300); sys.stderr.write('no\\n'); sys.exit({status})"
    )
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    watched = wrapped("--", sys.executable, "-c", code)
    assert watched.stdout == plain.stdout
    assert watched.returncode == plain.returncode == status
    assert watched.stderr.startswith(plain.stderr)


def test_a_command_killed_by_a_signal_ends_as_a_shell_says_it() -> None:
    watched = wrapped("--", sys.executable, "-c", "import os; os.kill(os.getpid(), 11)")
    assert watched.returncode == 128 + 11


def test_standard_input_goes_to_the_command() -> None:
    watched = wrapped("--", sys.executable, "-c", "import sys; print(sys.stdin.read()[::-1])", input=b"abc")
    assert watched.stdout == b"cba\n"


def test_no_such_command_is_one_sentence() -> None:
    watched = wrapped("--", "no-such-command-anywhere")
    assert watched.returncode == 2
    assert watched.stderr == b"gpuplanner: cannot run 'no-such-command-anywhere': No such file or directory\n"


def test_a_bound_in_steps_ends_it_well() -> None:
    code = (
        "import itertools, time\n"
        "for i in itertools.count(1): print('gpuplanner: step=%d' % i, flush=True); time.sleep(.01)"
    )
    watched = wrapped("--max-steps", "6", "-o", "json", "--", sys.executable, "-c", code)
    assert watched.returncode == 0
    assert b'"stopped": "steps"' in watched.stderr
    assert b"step=6" in watched.stdout


def test_a_bound_in_seconds_stops_a_command_that_does_not_listen() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
    begin = time.monotonic()
    watched = wrapped("--max-seconds", "1", "--", sys.executable, "-c", code)
    assert watched.returncode == 0
    assert watched.stdout == b"on\n"
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_process_behind(number: signal.Signals, tmp_path: Path) -> None:
    marker = f"left-{tmp_path.name}-{number.name}"
    code = f"{SLEEPER}\ntime.sleep(60)"
    process = subprocess.Popen(
        [*GPUPLANNER, "--", sys.executable, "-c", code, marker], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert left_behind(marker) == []


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_a_crash_of_the_command_leaves_no_process_behind(end: str, tmp_path: Path) -> None:
    marker = f"left-{tmp_path.name}-{len(end)}"
    watched = wrapped("--", sys.executable, "-c", f"{SLEEPER}\n{end}", marker)
    assert watched.stdout == b"ready\n"
    assert watched.returncode in (1, 137)
    assert left_behind(marker) == []


def test_a_reader_that_goes_away_ends_the_command() -> None:
    code = "while True: print('x' * 100)"
    process = subprocess.Popen([*GPUPLANNER, "--", sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=-1)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=30) != 0


def test_a_terminal_stays_a_terminal() -> None:
    import pty

    reader, writer = pty.openpty()
    code = "import sys; print(sys.stdout.isatty(), end='')"
    process = subprocess.Popen([*GPUPLANNER, "--", sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE)
    process.communicate(timeout=30)
    os.close(writer)
    assert os.read(reader, 100) == b"True"
    os.close(reader)
