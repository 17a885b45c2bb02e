"""``gpuplanner profile``: measure this machine; show and forget what was measured."""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from pathlib import Path

from planner.cli.profile_table import profile_lines
from planner.cli.progress import ProgressBars
from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.profiler.profile_file import clear_profile, read_document
from planner.profiler.session import FULL_S, HOST_S, QUICK_S, SUSTAINED_S, TRAINING_S, Wanted, open_session
from planner.profiler.this_machine import profile_path
from planner.values import positive, whole

EXIT_INTERRUPTED = 130
_STEPS = 15
_MOST_BATCH = 1 << 16
_EPILOG = """\
examples:
  gpuplanner profile --quick                   half a minute of micro-benchmarks
  gpuplanner profile --python ~/venv/bin/python --sustained
  gpuplanner profile -m resnet50 -b 32         real training steps of a model
  gpuplanner profile -- python train.py        your own command, watched
  gpuplanner profile show
  gpuplanner profile clear
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("words", nargs="*", metavar="show | clear | -- COMMAND", help="what is stored; or your command")
    parser.add_argument("--quick", action="store_true", help="at most 30 seconds")
    parser.add_argument(
        "--sustained", action="store_true", help="a minute more: what a warm machine keeps of its rates"
    )
    parser.add_argument("--max-seconds", type=positive, metavar="S", help="never longer than this")
    parser.add_argument("--python", metavar="PATH", help="the interpreter with your torch (the last one, then this)")
    parser.add_argument("--input", metavar="SHAPES", help="what your own model (-m file.py:function) takes: 3x224x224")
    parser.add_argument("-m", "--model", metavar="NAME", help="measure real training steps of this model")
    parser.add_argument(
        "-b", "--batch-size", type=whole, metavar="N", help="samples a step (8 on a CPU, else what fits)"
    )
    parser.add_argument("--precision", choices=("amp", "fp32", "bf16", "fp16"), default="amp", help="of -m (amp)")
    parser.add_argument(
        "--optimizer", choices=("sgd", "adam", "adamw", "rmsprop"), help="of -m (the model's usual one)"
    )
    parser.add_argument("--max-steps", type=whole, metavar="N", help="no more steps than this")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (table)")


def run(arguments: argparse.Namespace) -> int:
    path = _path()
    if arguments.quick and arguments.sustained:
        raise InputError("--quick and --sustained contradict each other")
    if arguments.words[:1] in (["show"], ["clear"]) and len(arguments.words) > 1:
        word, *more = arguments.words
        raise InputError(
            f"profile {word} takes nothing more, not {' '.join(more)!r}; name a command {word} by its path"
        )
    if arguments.words == ["show"]:
        return _show(path, arguments.output)
    if arguments.words == ["clear"]:
        forgotten = clear_profile(path)
        sys.stdout.write(f"{'forgot' if forgotten else 'there was no profile'} {path}\n")
        return 0
    if arguments.words:
        from planner.cli.profile_watch import run_watched

        return run_watched(arguments, path)
    if arguments.model is None:
        _refuse_what_is_of_a_model(arguments)
    return _measure(arguments, path)


def _refuse_what_is_of_a_model(arguments: argparse.Namespace) -> None:
    for flag in ("--batch-size", "--max-steps", "--input", "--optimizer"):
        if getattr(arguments, flag.removeprefix("--").replace("-", "_")) is not None:
            raise InputError(f"{flag} is of a model's own steps: name the model with -m")


def _path() -> Path:
    path = profile_path()
    if path is None:
        raise InputError("there is no home directory to keep a profile in")
    return path


def _measure(arguments: argparse.Namespace, path: Path) -> int:
    begin = time.monotonic()
    session = open_session(path)
    seconds = arguments.max_seconds or (QUICK_S if arguments.quick else FULL_S)
    python = arguments.python or session.python
    bars = ProgressBars()

    def progress(name: str, done: int, total: int | None) -> None:
        bars.update(name.partition(":")[0], done, total, "measurements" if arguments.model is None else "steps")

    kept = None
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop and keep what is measured, as on Ctrl-C
    try:
        if arguments.model is not None:
            session.train(_wanted(arguments), python, arguments.max_seconds or TRAINING_S, progress)
        else:
            both = arguments.sustained and arguments.max_seconds is not None
            measuring_s = max(0.5, (seconds / 2 if both else seconds) - HOST_S - (time.monotonic() - begin))
            kept = session.measure(python, quick=arguments.quick, seconds=measuring_s, progress=progress)
            session.measure_host(python, seconds - (time.monotonic() - begin), progress)
            if arguments.sustained:
                left_s = seconds - (time.monotonic() - begin) if both else math.inf
                session.sustain(python, SUSTAINED_S, progress, left_s)
    except KeyboardInterrupt:
        bars.close()
        sys.stderr.write(f"gpuplanner: interrupted after {time.monotonic() - begin:.0f} s; what was measured is kept\n")
        return EXIT_INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
    bars.close()
    if kept is not None:
        sys.stderr.write(f"gpuplanner: {kept}\n")
    return _show(path, arguments.output)


def _wanted(arguments: argparse.Namespace) -> Wanted:
    """The model by the zoo's name for it, with its usual optimizer and size. Raises UnknownNameError, InputError."""
    _check_sizes(arguments)
    if ":" in arguments.model:
        return _own(arguments)
    if arguments.input is not None:
        raise InputError("--input is for a model of your own (-m file.py:function)")
    experiment = resolve_experiment(ExperimentRequest(model=arguments.model, optimizer=arguments.optimizer))
    workload = experiment.workload
    return Wanted(
        model=workload.name,
        batch_size=arguments.batch_size,
        precision=arguments.precision,
        optimizer=experiment.optimizer,
        steps=arguments.max_steps or _STEPS,
        image_size=workload.image_size,
        seq_length=workload.seq_length,
    )


def _check_sizes(arguments: argparse.Namespace) -> None:
    if arguments.batch_size is not None and not 1 <= arguments.batch_size <= _MOST_BATCH:
        raise InputError(f"--batch-size must be between 1 and {_MOST_BATCH:,}, not {arguments.batch_size}")
    if arguments.max_steps is not None and arguments.max_steps < 1:
        raise InputError(f"--max-steps must be 1 or more, not {arguments.max_steps}")


def _own(arguments: argparse.Namespace) -> Wanted:
    """A model of the user's own, 'file.py:function'. Raises InputError where its inputs are not said."""
    from planner.workloads.own_trace import parse_inputs

    if arguments.input is None:
        raise InputError("say what the model takes, without the batch: --input 3x224x224, or --input 'ids:int64:128'")
    return Wanted(
        model=arguments.model,
        batch_size=arguments.batch_size,
        precision=arguments.precision,
        optimizer=arguments.optimizer or "sgd",
        steps=arguments.max_steps or _STEPS,
        inputs=tuple((row.name, row.dtype, tuple(row.shape)) for row in parse_inputs(arguments.input)),
    )


def _show(path: Path, output: str) -> int:
    if not path.is_file():
        raise InputError("nothing was measured on this machine yet: gpuplanner profile --quick")
    document = read_document(path)
    if output == "json":
        json.dump({**document, "path": str(path)}, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return 0
    sys.stdout.write("\n".join(profile_lines(document, path)) + "\n")
    return 0
