"""What must hold for every row of the shipped snapshot, and for its readable twin."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
from typing import get_args

import pytest

from planner.hardware.interconnect import LinkKind
from pricing import sanity
from pricing.catalog import PACKAGED, Catalog
from pricing.offer import InstanceType, Offer

Types = dict[tuple[str, str], InstanceType]

ROOT = Path(__file__).resolve().parents[2]
# Devices that are in no accelerator table because nothing can be trained on them.
NOT_IN_THE_TABLE = {"Qualcomm-AI100", "FPGA", "Xilinx-U30"}


def table(name: str) -> list[dict[str, str]]:
    with (ROOT / "planner" / "data" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_no_row_breaks_an_invariant(catalog: Catalog, types: Types) -> None:
    everything = catalog.offers(sanity.PURCHASES)
    assert sanity.breaches(everything, types, date(2026, 11, 30)) == []


def test_there_are_enough_rows(offers: list[Offer]) -> None:
    assert len({offer[:5] for offer in offers}) == len(offers) >= 7000


def test_rows_are_stored_in_reading_order(offers: list[Offer]) -> None:
    order = [(o.provider, o.instance_type, o.region, o.zone or "", o.purchase) for o in offers]
    assert order == sorted(order)


def test_every_offer_is_of_a_known_machine_and_source(catalog: Catalog, offers: list[Offer], types: Types) -> None:
    assert {offer[:2] for offer in offers} <= set(types)
    assert {offer.price_source for offer in offers} <= {source.name for source in catalog.sources()}


def test_every_accelerator_is_in_the_planners_table_or_unranked(types: Types) -> None:
    known = {row["key"]: float(row["memory_gib"]) for row in table("accelerators.csv") if row["memory_gib"]}
    problems = [problem for machine in types.values() for problem in sanity.machine_problems(machine, known)]
    assert problems == []
    unknown = {machine.accelerator for machine in types.values() if machine.accelerator} - set(known)
    assert unknown == NOT_IN_THE_TABLE
    assert all(machine.unranked for machine in types.values() if machine.accelerator in NOT_IN_THE_TABLE)


def test_a_machine_whose_accelerator_cannot_train_is_unranked(types: Types) -> None:
    cannot_train = {row["key"] for row in table("accelerators.csv") if row["trains"] == "no"}
    ranked = [m.instance_type for m in types.values() if m.accelerator in cannot_train and not m.unranked]
    assert ranked == []


def test_every_cpu_and_link_is_in_the_planners_tables(types: Types) -> None:
    cpus = {row["key"] for row in table("cpus.csv")}
    assert {machine.cpu for machine in types.values()} - {""} <= cpus
    assert {machine.link for machine in types.values()} <= set(get_args(LinkKind))
    assert {machine.link for machine in types.values() if machine.num_gpus <= 1} == {"none"}


def test_every_machine_names_its_source(types: Types) -> None:
    assert [machine.instance_type for machine in types.values() if not machine.source] == []


def test_no_quarantined_price_is_offered(catalog: Catalog, offers: list[Offer]) -> None:
    kept_apart = catalog.quarantined()
    assert kept_apart
    assert all(row.reason for row in kept_apart)
    assert not {row.offer for row in kept_apart} & set(offers)


def test_the_readable_table_says_what_the_snapshot_says(types: Types) -> None:
    with (PACKAGED.parent / "instance_types.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(InstanceType._fields)
    assert [(row["provider"], row["instance_type"]) for row in rows] == list(types)
    for row in rows:
        machine = types[row["provider"], row["instance_type"]]
        assert row["accelerator"] == machine.accelerator
        assert float(row["num_gpus"]) == pytest.approx(machine.num_gpus, rel=1e-5)
        assert (row["vcpus"] == "") == (machine.vcpus is None)
        assert row["unranked"] == machine.unranked


def test_the_snapshot_is_small() -> None:
    assert PACKAGED.stat().st_size < 2_000_000
