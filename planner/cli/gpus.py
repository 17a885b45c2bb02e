"""``gpuplanner gpus``: the accelerators that are known, searched and shown."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from planner.cli.listing import add_listing_arguments, containing, first, write_records, write_table
from planner.cli.options import add_size_arguments, add_training_arguments, said_of_training
from planner.cli.table import Column
from planner.errors import InputError, UnknownNameError
from planner.experiment.resolve import ExperimentRequest
from planner.hardware.accelerator import GIB, Accelerator
from planner.hardware.catalog import accelerators, resolve, resolve_each
from planner.units import UNKNOWN
from planner.values import amount, positive, up_to

_COLUMNS = (
    Column("key", width=24),
    Column("name", width=30, least=14),
    Column("arch.", width=13, drop=3),
    Column("GiB", "right"),
    Column("GB/s", "right"),
    Column("fp32", "right"),
    Column("tf32", "right", drop=1),
    Column("bf16", "right"),
    Column("fp16", "right"),
    Column("W", "right"),
    Column("stack", drop=2),
)
_WHAT = "accelerators; dense TFLOP/s, matrix rates with fp32 accumulation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_listing_arguments(parser, "accelerator")
    group = parser.add_argument_group("which card to buy")
    group.add_argument("--for", dest="model", metavar="MODEL", help="rank cards for sale by what they train of it")
    group.add_argument("--purchase-budget", type=amount(positive), metavar="USD", help="the most a card may cost")
    group.add_argument("--country", metavar="CODE", help="electricity price of a country: DE, US-NY (default EU)")
    group.add_argument(
        "--electricity-price", type=amount(up_to(100)), metavar="USD", help="per kWh, instead of a country's"
    )
    group.add_argument("--currency", metavar="EUR=0.92", help="prices in another currency, at your rate per USD")
    training = parser.add_argument_group("how MODEL is trained")
    add_size_arguments(training)
    add_training_arguments(training)


def run(arguments: argparse.Namespace) -> int:
    if arguments.model is not None:
        from planner.cli.cards import run_cards

        return run_cards(arguments)
    for flag, value in (("--purchase-budget", arguments.purchase_budget), ("--currency", arguments.currency)):
        if value is not None:
            raise InputError(f"{flag} wants to know what for: say --for MODEL, too")
    unsaid = ExperimentRequest("")
    if any(value != getattr(unsaid, field) for field, value in said_of_training(arguments).items()):
        raise InputError("how a model is trained matters to the cards for one: say --for MODEL, too")
    found, assumption = _found(arguments.name)
    shown = first(found, arguments.max_rows)
    if arguments.output in ("json", "csv"):
        write_records("gpus", [_record(device) for device in shown], arguments.output)
    else:
        write_table(_COLUMNS, [_cells(device) for device in shown], len(found), _WHAT, arguments.output)
        if len(shown) == 1 and shown[0].note:
            sys.stdout.write(f"note: {shown[0].note}\n")
    if assumption:
        sys.stderr.write(f"gpuplanner: {assumption}\n")
    return 0


def _found(words: list[str]) -> tuple[list[Accelerator], str | None]:
    """What the name resolves to, else all whose key, name or architecture contain the words."""
    missing = None
    if words:
        try:
            resolution = resolve(" ".join(words))
            others = [accelerators()[key] for key in resolution.alternatives if key in accelerators()]
            return [
                resolution.accelerator,
                *(other for other in others if other != resolution.accelerator),
            ], resolution.assumption
        except UnknownNameError as error:
            missing = error
    devices = list(accelerators().values())
    matching = containing(
        words, devices, [f"{d.key} {d.name} {d.architecture} {d.vendor} {d.form_factor}" for d in devices]
    )
    if not matching and len(words) > 1:
        matching = resolve_each(words)
    if not matching and missing is not None:
        raise missing
    return matching, None


def _cells(device: Accelerator) -> tuple[str, ...]:
    return (
        device.key,
        device.name,
        device.architecture,
        _in(device.memory_bytes, GIB),
        _in(device.bandwidth_bytes_per_s, 1e9),
        *(
            _in(rate, 1e12)
            for rate in (
                device.fp32_flops_per_s,
                device.tf32_flops_per_s,
                device.bf16_flops_per_s,
                device.fp16_flops_per_s,
            )
        ),
        _in(device.power_w, 1),
        device.stack,
    )


def _in(value: float | None, unit: float) -> str:
    """The value in the unit with at most one decimal below 100; unknown is '–'."""
    if value is None:
        return UNKNOWN
    amount = value / unit
    return f"{amount:,.0f}" if amount >= 100 or amount == int(amount) else f"{amount:.1f}"


def _record(device: Accelerator) -> dict[str, Any]:
    """Field by field; SI units, None where unknown."""
    return device._asdict()
