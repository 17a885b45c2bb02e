"""``gpuplanner doctor``: what is installed, found and missing, where the files are and how old the prices are."""

from __future__ import annotations

import argparse
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date
from importlib import metadata
from typing import Literal

from planner import __version__
from planner.cli.listing import write_json_record
from planner.cli.table import styled, terminal_width, use_color, wrapped
from planner.errors import InputError, PlannerError
from planner.hardware.catalog import accelerators
from planner.plan.config import check_machines, check_providers, config_path, load_config
from planner.profiler.detect import quick_look
from planner.profiler.full_look import full_look
from planner.profiler.local_facts import GpuDetail
from planner.profiler.this_machine import cache_directory, find_this_machine, store_path
from planner.units import counted, format_bytes
from planner.workloads.catalog import model_index
from planner.workloads.datasets import datasets
from pricing.age import SPOT_STALE_AFTER_DAYS, STALE_AFTER_DAYS, age_days, is_stale
from pricing.errors import PricingError
from pricing.published import open_catalog
from pricing.sanity import PURCHASES

_REQUIRED = ("textual", "boto3", "pydantic", "httpx", "stamina", "platformdirs", "shtab")
_OPTIONAL = {
    "torch": "measuring this machine with real training steps, tracing your own models",
    "gpuhunt": "live prices of Lambda, RunPod, Vast.ai and others (pip install 'gpuplanner[clouds]')",
    "google-auth": "GCP prices with a service account's key file (pip install 'gpuplanner[gcp]')",
}
_LABEL_WIDTH = 13
Status = Literal["ok", "FAIL", "old", "-"]
Finding = tuple[Status, str, str]
"""(status, what, text); '-' is for what is merely absent."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (table)")
    parser.epilog = "exit status: 0 when everything needed is there, 1 when something is missing or cannot be read"


def run(arguments: argparse.Namespace) -> int:
    color = use_color()
    findings = []
    for status, label, text in _findings():
        findings.append({"status": status, "what": label, "text": text})
        if arguments.output == "table":
            head = f"{styled(f'{status:4}', 'plain' if status == 'ok' else 'warn', color)} {label:{_LABEL_WIDTH}} "
            sys.stdout.write(head + _hanging(text, 6 + _LABEL_WIDTH) + "\n")
    healthy = all(row["status"] != "FAIL" for row in findings)
    if arguments.output == "json":
        write_json_record({"healthy": healthy, "findings": findings})
    return 0 if healthy else PlannerError.exit_code


def _hanging(text: str, indent: int) -> str:
    """Lines as wide as the terminal beside what stands left of them; a path stays in one piece."""
    lines = wrapped(text, max(24, terminal_width() - indent))
    return f"\n{' ' * indent}".join(lines)


def _findings() -> Iterator[Finding]:
    yield (
        "ok",
        "gpuplanner",
        f"{__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}",
    )
    for package in _REQUIRED:
        version = _version(package)
        yield "ok" if version else "FAIL", package, version or "not installed: run pip install gpuplanner again"
    for package, purpose in _OPTIONAL.items():
        version = _version(package)
        yield "ok" if version else "-", package, version or f"not installed; needed only for {purpose}"
    yield from _machine()
    yield _config()
    yield from _prices()
    yield from _granted()
    yield (
        "ok",
        "tables",
        f"{len(accelerators())} accelerators, {len(model_index())} models, {len(datasets())} data sets",
    )


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _machine() -> Iterator[Finding]:
    local = find_this_machine()
    machine = local.machine
    device = (
        f"{machine.num_gpus:g} x {machine.accelerator.name}" if machine.num_gpus else "no GPU found, trains on the CPU"
    )
    cpu = machine.cpu.name if machine.cpu else "unknown CPU"
    yield "ok", "this machine", f"{local.place}: {device}"
    yield "ok", "", f"{cpu}, {machine.vcpus:g} vCPUs, {format_bytes(machine.ram_bytes)} of memory"
    looked = quick_look(cache_directory(), wait_s=None)
    full = full_look(looked)
    for note in (*local.notes, *full.sentences):
        yield "-", "", note
    for number, detail in enumerate(full.details):
        yield "ok", "", f"GPU {number}: {_gpu_words(detail)}"
    if full.disk:
        yield "ok", "", f"disk: {full.disk}"
    directory = cache_directory()
    yield "-", "cache", f"{directory}" if directory else "no directory for it: nothing is cached"


def _gpu_words(detail: GpuDetail) -> str:
    """What the driver says besides name and memory; what it does not say is left out."""
    words = []
    if detail.clock_hz is not None:
        words.append(f"{detail.clock_hz / 1e6:.0f} MHz")
    if detail.compute_capability is not None:
        words.append("compute capability {}.{}".format(*detail.compute_capability))
    if detail.pcie_generation is not None and detail.pcie_width is not None:
        words.append(f"PCIe {detail.pcie_generation} x{detail.pcie_width}")
    if detail.links:
        words.append(f"{detail.links} NVLinks")
    if detail.ecc is not None:
        words.append(f"ECC {'on' if detail.ecc else 'off'}")
    return ", ".join(words) or "the driver says no more"


def _config() -> Finding:
    path = config_path()
    try:
        config = load_config()
    except InputError as error:
        return "FAIL", "config", str(error)
    found = counted(len(config.machines), "own machine") if path.is_file() else "none, the defaults hold"
    return "ok", "config", f"{path} ({found})"


def _granted() -> Iterator[Finding]:
    """What of the configuration does not go with the prices. What else is wrong with either file has been said."""
    try:
        config, catalog = load_config(), open_catalog(store=store_path())
        providers, types = catalog.providers(), catalog.instance_types()
    except (InputError, PricingError):
        return
    try:
        check_providers(config, providers)
        check_machines(config, (name for _, name in types))
    except InputError as error:
        yield "FAIL", "config", str(error)


def _prices() -> Iterator[Finding]:
    try:
        catalog = open_catalog(store=store_path())
        sources = catalog.sources()
        offers = catalog.offers(PURCHASES)
    except PricingError as error:
        yield "FAIL", "prices", str(error)
        return
    today = date.today()
    old = Counter(offer.price_source for offer in offers if is_stale(offer.purchase, offer.price_as_of, today))
    yield "ok", "prices", f"{sum(source.offers for source in sources):,} offers in {catalog.path}"
    for notice in catalog.notices:
        yield "FAIL", "", notice
    for source in sources:
        if source.offers:
            age = f"{source.oldest} to {source.newest}, newest {counted(age_days(source.newest, today), 'day')} old"
            count = f", {old[source.name]:,} old" if 0 < old[source.name] < source.offers else ""
            status: Status = "old" if old[source.name] else "ok"
            yield status, "", f"{source.offers:>6,}  {source.name}: {age}{count}"
    if old:
        limits = f"spot after {SPOT_STALE_AFTER_DAYS} days, others after {STALE_AFTER_DAYS}"
        yield "old", "", f"{old.total():,} prices are old ({limits}): gpuplanner prices refresh"
