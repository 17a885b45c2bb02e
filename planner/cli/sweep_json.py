"""A sweep for programs: JSON (schema_version 1) and CSV, one line an experiment."""

from __future__ import annotations

import csv
import json
from typing import Any, TextIO

from planner.cli.plan_json import SCHEMA_VERSION, experiment_record
from planner.plan.sweep import Track
from planner.plan.sweep_options import Sooner
from planner.plan.swept import Swept


def write_json(swept: Swept, out: TextIO) -> None:
    json.dump(_record(swept), out, indent=1, allow_nan=False)
    out.write("\n")


def write_csv(swept: Swept, out: TextIO) -> None:
    rows = _experiments(swept)
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _record(swept: Swept) -> dict[str, Any]:
    plan = swept.plan
    return {
        "schema_version": SCHEMA_VERSION,
        "generated_at": swept.started_at.isoformat(timespec="seconds"),
        "prices_as_of": swept.prices_as_of,
        "experiment": experiment_record(swept.experiment),
        "assumptions": list(swept.assumptions),
        "warnings": list(swept.warnings),
        "makespan_s": plan.makespan_s._asdict(),
        "lower_bound_s": plan.bound_s,
        "finish_at": plan.finish_at.isoformat(timespec="seconds"),
        "cost_usd": plan.cost_usd._asdict(),
        "cost_complete": plan.complete,
        "cost_at_most": plan.at_most,
        "cost_parts": [
            *({"name": track.machine.name, "usd": track.cost_usd} for track in plan.tracks if track.used),
            *({"name": part.name, "usd": part.usd} for part in plan.credits),
        ],
        "p_meets": plan.p_meets,
        "fastest": plan.fastest._asdict() if plan.fastest else None,
        "idle_machine_s": plan.idle_s,
        "feedback": plan.feedback._asdict(),
        "day_sooner": _sooner(swept.day_sooner),
        "next_sooner": _sooner(swept.next_sooner),
        "machines": [_machine(track) for track in plan.tracks],
        "experiments": _experiments(swept),
        "pools": [option._asdict() for option in swept.options],
    }


def _sooner(sooner: Sooner | None) -> dict[str, Any] | None:
    return None if sooner is None else {**sooner._asdict(), "usd_per_hour": sooner.usd_per_hour}


def _machine(track: Track) -> dict[str, Any]:
    candidate, offer = track.machine.candidate, track.machine.offer
    machine = candidate.machine
    return {
        "name": track.machine.name,
        "place": candidate.place,
        "is_this_machine": candidate.is_this_machine,
        "hypothetical": candidate.hypothetical,
        "provider": candidate.provider,
        "instance_type": candidate.instance_type,
        "region": offer.region if offer else None,
        "zone": offer.zone if offer else None,
        "purchase": candidate.purchase(offer),
        "accelerator": machine.accelerator.key,
        "num_gpus": machine.num_gpus,
        "num_nodes": machine.num_nodes,
        "usd_per_hour": candidate.usd_per_hour(offer),
        "price_as_of": offer.price_as_of if offer else candidate.tariff.price_as_of,
        "used": track.used,
        "setup_s": track.head_s if track.used else None,
        "end_s": track.end_s._asdict() if track.used else None,
        "experiments": [placed.experiment for placed in track.placed],
        "cost_usd": track.cost_usd,
        "cost_parts": [part._asdict() for part in track.cost_parts],
    }


def _experiments(swept: Swept) -> list[dict[str, Any]]:
    """In the order of the grid; ``index`` counts from 0, as a machine's ``experiments`` do."""
    rows = [
        {
            "index": placed.experiment,
            "name": swept.plan.labels[placed.experiment],
            "machine": track.machine.name,
            "start_s": placed.start_s,
            "end_s": placed.end_s,
        }
        for track in swept.plan.tracks
        for placed in track.placed
    ]
    return sorted(rows, key=lambda row: int(str(row["index"])))
