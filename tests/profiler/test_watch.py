"""The wrapper around a user's command: output and exit status intact, bounds kept, and no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.profiler.processes import adopt_orphans, descendants, end_orphans, start, stop
from planner.profiler.watch import Bounds, watch
from tests.profiler import trees

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


def test_what_is_watched(capfd: pytest.CaptureFixture[str]) -> None:
    gpus = trees.replayed("rtx3090x2")
    gpus.joules = 100.0
    code = (
        "import sys, time\n"
        "for i in range(1, 31): time.sleep(.01); print(f'gpuplanner: step={i} samples=32 wait_s=.001', flush=True)\n"
        "sys.exit(7)"
    )
    watched = watch([sys.executable, "-c", code], Bounds(), nvml=lambda: gpus)
    assert (watched.exit_status, watched.stopped) == (7, "")
    assert watched.summary.steps == 30
    assert watched.summary.step_time_s is not None
    assert 0.009 < watched.summary.step_time_s < 0.3
    assert watched.summary.samples_per_s == pytest.approx(32 / watched.summary.step_time_s, rel=0.9)
    assert watched.gpu_share == pytest.approx((0.03 + 0.98) / 2)
    assert watched.gpu_peak_bytes == pytest.approx(1.2e9 + 2.1e10)
    assert watched.energy_j == 0.0
    assert watched.cpu_s is not None
    assert watched.cpu_s > 0
    assert watched.peak_memory_bytes is not None
    assert watched.peak_memory_bytes > 1e6
    assert capfd.readouterr().out.count("gpuplanner: step=") == 30


@pytest.mark.parametrize(("bounds", "stopped"), [(Bounds(seconds=0.5), "time"), (Bounds(steps=3), "steps")])
def test_bounds(bounds: Bounds, stopped: str) -> None:
    code = "import time\nfor i in range(1, 999): time.sleep(.02); print(f'gpuplanner: step={i}', flush=True)"
    watched = watch([sys.executable, "-c", code], bounds, nvml=lambda: None)
    assert (watched.exit_status, watched.stopped) == (0, stopped)
    assert watched.energy_j is None
    assert watched.seconds < 20


def test_a_signal_that_arrives_while_watching() -> None:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    before = signal.getsignal(signal.SIGTERM)
    watched = watch([sys.executable, "-c", "import time; time.sleep(60)"], Bounds(), nvml=lambda: None)
    assert (watched.exit_status, watched.stopped) == (128 + 15, "signal")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_command_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="cannot run 'no-such-command'"):
        watch(["no-such-command"], Bounds(), nvml=lambda: None)


def test_processes_below_this_one_are_found_and_ended() -> None:
    adopt_orphans()
    code = "import subprocess, sys; subprocess.Popen(['sleep', '60'], start_new_session=True); print('x', flush=True)"
    process = start([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"x\n"  # a pipe closed on half a line would break the writer
    assert process.wait() == 0
    process.stdout.close()
    assert list(descendants(os.getpid())) != []
    end_orphans()
    assert list(descendants(os.getpid())) == []
    assert stop(process) == 0  # ended already


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
