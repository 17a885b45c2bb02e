"""The commands by name. Only the one that is asked for is imported."""

import argparse
import sys
from typing import Any, NamedTuple, NoReturn, Protocol, cast

from planner import __version__
from planner.errors import InputError, near_misses


class CommandModule(Protocol):
    """What a module under planner.cli that is a command provides."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


class Command(NamedTuple):
    """A command: its module under planner.cli, and the line of ``gpuplanner --help``."""

    module: str
    help: str

    def load(self) -> CommandModule:
        from importlib import import_module

        return cast(CommandModule, import_module(f"planner.cli.{self.module}"))


COMMANDS = {
    "estimate": Command("estimate", "where to train, how long it takes and what it costs"),
    "explain": Command("explain", "what the time on one machine is made of, and what would change it"),
    "gpus": Command("gpus", "list, search and show accelerators"),
    "models": Command("models", "list, search and show models"),
    "datasets": Command("datasets", "list, search and show data sets"),
    "trace": Command("trace", "run a PyTorch model of your own without a GPU and write what -m needs to plan it"),
    "prices": Command("prices", "list prices, refresh them from the providers, see what changed"),
    "scale": Command("scale", "how many GPUs are worth it, or separate experiments instead"),
    "breakeven": Command("breakeven", "buy a card or a box, or rent: from when on it pays"),
    "backtest": Command("backtest", "how wrong the estimates are against a file of measurements"),
    "sweep": Command("sweep", "many experiments over a pool of machines: when, until when, for how much"),
    "export": Command("export", "a file that launches the chosen row: SkyPilot, dstack, Slurm or bash"),
    "diff": Command("diff", "what moved between two plans, and whether the choice flips"),
    "profile": Command("profile", "measure this machine, a model on it, or your own training command"),
    "record": Command("record", "say what really happened to a recorded forecast"),
    "ledger": Command("ledger", "recorded forecasts: how far off they were, and how often inside their interval"),
    "serve": Command("serve", "the app in a browser on this machine"),
    "doctor": Command("doctor", "what is installed, found and missing, and how old the prices are"),
}

_EXAMPLES = """\
examples:
  gpuplanner estimate --model resnet50 --epochs 90
  gpuplanner estimate -m bert-large -d squad -e 2 --where cloud --spot
  gpuplanner estimate -m llama-3-8b --tokens 1B --gpus H100:8 -o json
  gpuplanner gpus 'RTX 4090'
"""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help whose paths and commands are not broken at their hyphens."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        import textwrap

        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False, break_long_words=False)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence with a suggestion, raised as InputError."""

    command: str | None = None
    """The command that the root has the arguments of: what is unknown to it, the root complains of."""

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            message = self._unknown(unknown.split()[0])
        program = self.prog if self.command is None else f"{self.prog} {self.command}"
        if not message.partition(":")[0].isupper():
            message = f"{message[0].lower()}{message[1:]}"
        raise InputError(f"{message} (see {program} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse says nothing of a write that fails; here it fails as any command's does."""
        if message:
            (file or sys.stderr).write(message)

    def _get_value(self, action: argparse.Action, arg_string: str) -> object:
        """A value's own complaint, with the flag it was given to."""
        try:
            return super()._get_value(action, arg_string)
        except InputError as error:
            flag = next((word for word in action.option_strings if word.startswith("--")), action.dest)
            raise InputError(f"{flag}: {error}") from error

    def _known_flags(self) -> set[str]:
        """The flags of this parser and, as the root is who finds unknown ones, of the command's."""
        known = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                known.update(*(parser._option_string_actions for parser in action.choices.values()))
        return known

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"there is no place for {word!r}"
        flag = word.partition("=")[0]
        near = near_misses(flag, self._known_flags(), 1)
        return f"unknown flag {flag}" + (f"; did you mean {near[0]}?" if near else "")


def build_parser(only: str | None) -> argparse.ArgumentParser:
    """The parser of the whole command line, which lists every command and has the arguments of ``only``."""
    root = Parser(
        prog="gpuplanner",
        description="Where should I run this training, how long will it take, and what will it cost?",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    root.command = only
    root.add_argument("--version", action="version", version=f"gpuplanner {__version__}")
    _add_completion_flag(root)
    subparsers = root.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=command.help,
            description=command.help[0].upper() + command.help[1:] + ".",
            formatter_class=HelpFormatter,
            allow_abbrev=False,
        )
        if name == only:
            command.load().add_arguments(subparser)
    return root


def full_parser() -> argparse.ArgumentParser:
    """The parser with every command's arguments, for shell completion."""
    root = build_parser(None)
    for action in root._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in COMMANDS.items():
                command.load().add_arguments(action.choices[name])
    return root


class _PrintCompletion(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option: object = None
    ) -> None:
        import shtab

        print(shtab.complete(full_parser(), shell=str(values)))  # noqa: T201
        parser.exit(0)


def _add_completion_flag(root: argparse.ArgumentParser) -> None:
    root.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=("bash", "zsh", "tcsh"),
        help='print a completion script: eval "$(gpuplanner --print-completion bash)"',
    )
