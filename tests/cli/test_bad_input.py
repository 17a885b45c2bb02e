"""Bad input: one clear sentence on stderr, exit 2 (3 when nothing fits), no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.plan.config import config_path
from tests.cli.conftest import Run

RESNET = ("estimate", "-m", "resnet50", "-e", "1")

# Arguments after `estimate -m resnet50 -e 1` or, where they start with a command, the whole line; what is said.
CASES = [
    # names
    (("estimate", "-m", "resnet5", "-e", "1"), "unknown model 'resnet5'; did you mean"),
    (("estimate", "-m", "", "-e", "1"), "unknown model ''"),
    (("estimate", "-m", "xgboost", "-e", "1"), "needs no GPU"),
    (("-d", "imagnet"), "did you mean imagenet"),
    (("--gpus", "RTX 9999"), "unknown accelerator 'RTX 9999'"),
    (("--gpus", "nope"), "unknown accelerator 'nope'; `gpuplanner gpus` lists them"),
    (("explain", "-m", "resnet50", "--on", "foo"), "`gpuplanner gpus` and `gpuplanner estimate -n 0` list them"),
    (("prices", "list", "--provider", "nope"), "unknown provider 'nope'; known are aws, azure"),
    (("prices", "foo"), "gpuplanner: ACTION: invalid choice: 'foo'"),
    (("ledger", "x"), "there is no place for 'x' (see gpuplanner ledger --help)"),
    (("profile", "--foo"), "unknown flag --foo (see gpuplanner profile --help)"),
    (("profile", "-b", "8"), "--batch-size is of a model's own steps: name the model with -m"),
    (("profile", "--quick", "--max-steps", "5"), "--max-steps is of a model's own steps: name the model with -m"),
    (("profile", "--input", "3x224x224"), "--input is of a model's own steps: name the model with -m"),
    (("--budget",), "gpuplanner: --budget: expected one argument (see gpuplanner estimate --help)"),
    (("--budget", "60€"), "--budget: 60 EUR is not in US dollars: say your rate with --currency EUR=RATE"),
    (("--gpus", "H100:0"), "from 1 to 1024"),
    (("--gpus", "H100:many"), "from 1 to 1024"),
    (("--gpus", ""), "cannot read the GPUs"),
    (("--gpus", "80GB..24GB"), "memory range"),
    (("--gpus", "hugeGB+"), "memory size"),
    (("--region", "us-esat-1"), "us-east-1 or"),
    (("--region", "mars-*"), "region 'mars-*'"),
    (("--region", " , "), "names separated by commas"),
    (("--where", "clod"), "did you mean cloud"),
    (("--where", "basement"), "unknown place or provider 'basement'"),
    (("--region", "mars-1"), "unknown region 'mars-1'; regions are written as their providers write them, or 'us-*'"),
    (("--country", "Germny"), "unknown country 'Germny'; did you mean DE?"),
    (("--country", "ZZ"), "unknown country 'ZZ'"),
    (("--country", ""), "unknown country ''"),
    (("--measured", "RTX 3090=1e30"), "above 0 and below 1e+12"),
    (("--precision", "bf61"), "did you mean bf16"),
    (("--precision", "int4"), "unknown precision 'int4'"),
    (("--optimizer", "adamm"), "did you mean adam"),
    (("estmate", "-m", "resnet50"), "did you mean estimate"),
    (("--epoch", "90"), "did you mean --epochs"),
    (("--colour",), "unknown flag --colour"),
    (("stray",), "no place for 'stray'"),
    # numbers
    (("estimate", "-m", "resnet50", "-e", "0"), "--epochs must be greater than 0"),
    (("estimate", "-m", "resnet50", "-e", "1e-9"), "--epochs 1e-09 of 1,281,167 samples is less than one sample"),
    (("estimate", "-m", "resnet50", "-e", "-5"), "--epochs must be greater than 0"),
    (("estimate", "-m", "resnet50", "-e", "nan"), "finite"),
    (("estimate", "-m", "resnet50", "-e", "inf"), "finite"),
    (("estimate", "-m", "resnet50", "-e", "1e12"), "at most 1,000,000"),
    (("estimate", "-m", "resnet50", "-e", "many"), "expected a number, not 'many'"),
    (("estimate", "-m", "resnet50", "-e"), "expected one argument"),
    (("-b", "0"), "--batch-size must be at least 1"),
    (("-b", "-8"), "--batch-size must be at least 1"),
    (("-b", "1.5"), "whole number"),
    (("-b", "99999999999"), "--batch-size must be at least 1 and at most"),
    (("--global-batch-size", "0"), "--global-batch-size must be at least 1"),
    (("--grad-accum-steps", "0"), "--grad-accum-steps must be at least 1"),
    (("--img-size", "0"), "--img-size must be at least 8"),
    (("--img-size", "33333"), "--img-size"),
    (("--zero", "4"), "--zero must be at least 0 and at most 3"),
    (("--lora-rank", "0"), "--lora-rank must be at least 1"),
    (("-j", "-1"), "--workers must be at least 0"),
    (("--resume-epoch", "-1"), "--resume-epoch must be at least 0"),
    (("--resume-epoch", "1"), "leaves nothing to train"),
    (("--samples", "0"), "greater than 0"),
    (("--samples", "-3"), "cannot read"),
    (("--num-nodes", "0"), "--num-nodes must be between 1 and"),
    (("--num-nodes", "1000000"), "--num-nodes must be between 1 and"),
    (("--max-price", "0"), "greater than 0"),
    (("--max-price", "free"), "expected a number"),
    (("--max-price-age", "-1"), "--max-price-age"),
    (("--budget", "-5"), "greater than 0"),
    (("--budget", "nan"), "finite"),
    (("--confidence", "90"), "between 0 and 1"),
    (("--hour-value", "-1"), "0 or a positive number"),
    (("--electricity-price", "-0.1"), "0 or a positive number"),
    (("-n", "-1"), "expected 0 (all)"),
    (("--deadline", "soon"), "cannot read the deadline"),
    (("--deadline", "2001-01-01"), "in the past"),
    (("--currency", "EUR"), "such as EUR=0.92"),
    (("--currency", "EUR=-1"), "such as EUR=0.92"),
    (("--currency", "usd=2"), "a dollar is one dollar"),
    (("-o", "yaml"), "invalid choice: 'yaml'"),
    (("--sort", "luck"), "invalid choice: 'luck'"),
    # contradictions
    (("--tokens", "1B"), "--epochs and --tokens contradict"),
    (("--steps", "100"), "--epochs and --steps contradict"),
    (("-d", "imagenet", "--samples", "5"), "--dataset and --samples contradict"),
    (("--spot", "--on-demand"), "not allowed with"),
    (("-b", "48", "--global-batch-size", "100"), "not a multiple"),
    (("estimate", "-m", "resnet50", "--tokens", "1B"), "token sequences"),
    (("estimate", "-m", "resnet50", "--resume-epoch", "5"), "--resume-epoch needs --epochs"),
    (("--seq-length", "128"), "seq"),
    (("estimate", "-e", "1"), "required: -m/--model"),
    (("gpus", "no such gpu"), "unknown accelerator"),
    (("models", "no-such-model-at-all"), "unknown model"),
    (("datasets", "no-such-data"), "unknown data set"),
]


@pytest.mark.parametrize(
    ("arguments", "sentence"), CASES, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_one_sentence_and_exit_2(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    whole_line = not arguments[0].startswith("-") and arguments[0] != "stray"
    result = run(*(arguments if whole_line else (*RESNET, *arguments)))
    assert result.code == 2
    assert result.out == ""
    assert sentence in result.err
    assert result.err.startswith("gpuplanner: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("command", ["estimate", "trace", "prices"])
def test_help_breaks_no_path_or_command_at_its_hyphens(run: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = [*run("--help").out.splitlines(), *run(command, "--help").out.splitlines()]
    assert [line for line in lines if line.endswith("-")] == []


def test_nothing_fits_is_exit_3_and_says_why(run: Run) -> None:
    result = run("estimate", "-m", "llama-3-70b", "--tokens", "1B", "--gpus", "T4:1", "--where", "cloud", "-b", "1")
    assert result.code == 3
    assert "Not ranked" in result.out


def test_limits_that_nothing_meets_are_exit_3_with_the_nearest_rows(run: Run) -> None:
    result = run(*RESNET, "--deadline", "60s", "-o", "json")
    assert result.code == 3
    assert result.record["recommendation"] is None
    assert len(result.record["estimates"]) == 20


def _command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The installed entry point in a process of its own; the environment is this one's with changes ('' unsets)."""
    env = {**os.environ, **environment}
    env = {name: value for name, value in env.items() if value != ""}
    code = "import sys; from planner.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=env, timeout=60, check=False
    )


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = "import sys; from planner.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *RESNET, "-o", "json", "-n", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


@pytest.mark.skipif(os.name != "posix", reason="closing a descriptor from the shell is POSIX")
def test_closed_standard_output() -> None:
    code = "import sys; from planner.cli.main import main; sys.exit(main(sys.argv[1:]))"
    line = f"exec {sys.executable} -c '{code}' estimate -m resnet50 -e 1 >&-"
    result = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert result.stderr == "gpuplanner: there is nowhere to write the answer: standard output is closed\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "arguments", ["estimate -m resnet50 -e 1", "", "--help", "estimate --help", "--version", "models"]
)
def test_a_full_disk_behind_standard_output(arguments: str) -> None:
    code = "import sys; from planner.cli.main import main; sys.exit(main(sys.argv[1:]))"
    line = f"exec {sys.executable} -c '{code}' {arguments} >/dev/full"
    result = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert "No space left" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_job_file_in_the_place_of_a_plan(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sky.yaml"
    path.write_text("resources:\n  accelerators: A100:8\n", encoding="utf-8")
    result = run("diff", str(path))
    assert result.code == 2
    assert "name the lock that export --lock LOCK.json wrote" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("arguments", ["--help", "estimate --help", "--version"])
def test_help_whose_reader_has_gone_is_quiet(arguments: str) -> None:
    code = "import sys, time; time.sleep(0.3); from planner.cli.main import main; sys.exit(main(sys.argv[1:]))"
    line = f"{{ {sys.executable} -c '{code}' {arguments}; echo $? >&2; }} | true"
    result = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr == "0\n"


@pytest.mark.parametrize(
    "text",
    ["[[machine]]\nname = 'x'\nplace = 'cluster'\ngpu = 'RTX 9999'\n", "country = 'ZZ'\n", "country = \n", "\x00"],
)
def test_a_malformed_configuration(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("GPUPLANNER_CONFIG", str(path))
    result = run(*RESNET)
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert path.read_text(encoding="utf-8") == text


def test_an_unreadable_configuration(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPLANNER_CONFIG", str(tmp_path))
    result = run(*RESNET)
    assert result.code == 2
    assert "cannot read the configuration" in result.err


def test_without_a_home() -> None:
    result = _command(*RESNET, HOME="", XDG_CACHE_HOME="", XDG_CONFIG_HOME="")
    assert result.returncode == 0
    assert result.stderr == ""


@pytest.mark.parametrize("kind", ["a file in its place", "read-only", "corrupt"])
def test_a_cache_directory_that_cannot_be_used(tmp_path: Path, kind: str) -> None:
    cache = tmp_path / "cache"
    if kind == "a file in its place":
        cache.write_text("not a directory")
    else:
        directory = cache / "gpuplanner"
        directory.mkdir(parents=True)
        if kind == "read-only":
            directory.chmod(0o500)
        else:
            assert _command(*RESNET, XDG_CACHE_HOME=str(cache)).returncode == 0
            for path in directory.iterdir():
                path.write_bytes(b"\xff{not json")
    result = _command(*RESNET, XDG_CACHE_HOME=str(cache))
    assert result.returncode == 0
    assert result.stderr == ""


def test_a_run_of_many_years_has_no_rank(run: Run) -> None:
    result = run("estimate", "-m", "resnet50", "-e", "1000000", "--where", "laptop")
    assert result.code in (0, 3)
    assert "more than a hundred years" in result.out


def test_a_terminal_that_is_not_utf8() -> None:
    code = "from planner.cli.main import run; run()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for output in ("table", "json", "markdown", "csv"):
        result = subprocess.run(
            [sys.executable, "-c", code, *RESNET, "-o", output, "-n", "3"],
            capture_output=True,
            env=environment,
            timeout=60,
            check=False,
        )
        assert result.returncode == 0
        assert result.stderr == b""
        result.stdout.decode("ascii")


@pytest.mark.parametrize("command", [("estimate", "-m", "resnet50"), ("gpus", "--for", "resnet50"), ("doctor",)])
def test_every_command_says_that_a_provider_is_none(run: Run, home: Path, command: tuple[str, ...]) -> None:
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text("[discounts]\nawss = 0.5\n", encoding="utf-8")
    result = run(*command)
    assert result.code == (1 if command == ("doctor",) else 2)
    assert "discounts.awss is no provider; did you mean aws?" in " ".join((result.out + result.err).split())


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a running program is set on POSIX only")
@pytest.mark.parametrize("zone", ["UTC-25", "UTC+30"])
def test_a_zone_that_no_clock_can_show(run: Run, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", zone)
        time.tzset()
        result = run(*RESNET)
    time.tzset()
    assert result.code == 2
    assert f"the time zone {zone} is a day or more off UTC" in result.err


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a running program is set on POSIX only")
@pytest.mark.parametrize(
    ("zone", "known"),
    [("Mars/Phobos", False), ("Mars", False), ("UTC", True), ("CET-1CEST", True), ("", True)],
)
def test_an_unknown_zone_is_utc_and_called_so(
    run: Run, monkeypatch: pytest.MonkeyPatch, zone: str, known: bool
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", zone)
        time.tzset()
        result = run(*RESNET)
    time.tzset()
    assert result.code == 0
    assert (f"the time zone {zone} is not known on this system: clock times are UTC" in result.err) is not known
    assert "Mars" not in result.out
    assert known or " UTC" in result.out
