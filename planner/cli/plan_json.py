"""The plan for programs: JSON (schema_version 1, keys as in docs/json.md) and CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from planner.experiment.experiment import Experiment
from planner.plan.plan import CostPart, Estimate, Plan, Recommendation, SpotTerms
from planner.units import GIB, Interval

SCHEMA_VERSION = 1


def write_json(plan: Plan, out: TextIO, more: Mapping[str, Any]) -> None:
    """The plan's record, with what ``more`` was asked for."""
    import json

    json.dump({**plan_record(plan), **more}, out, indent=1, allow_nan=False)
    out.write("\n")


def write_csv(plan: Plan, out: TextIO) -> None:
    """One line an estimate, intervals as three columns, the bill and the time parts as 'name=value' lists."""
    import csv

    rows = [_flat(estimate_record(estimate)) for estimate in plan.estimates]
    columns = list(rows[0]) if rows else ["rank", "place", "name", "time_s_p50", "cost_usd_p50"]
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def plan_record(plan: Plan) -> dict[str, Any]:
    """The plan as docs/json.md describes it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "generated_at": plan.generated_at.isoformat(timespec="seconds"),
        "prices_as_of": plan.prices_as_of,
        "experiment": experiment_record(plan.experiment),
        "assumptions": list(plan.assumptions),
        "warnings": list(plan.warnings),
        "recommendation": _recommendation(plan.recommendation) if plan.recommendation else None,
        "tier": plan.tier or None,
        "nearest": list(plan.nearest),
        "ranked_count": plan.ranked_count,
        "unranked_count": plan.unranked_count,
        "estimates": [estimate_record(estimate) for estimate in plan.estimates],
        "unranked": [{**estimate_record(estimate), "reason": estimate.reason} for estimate in plan.unranked],
    }


def _recommendation(recommendation: Recommendation) -> dict[str, Any]:
    estimate = recommendation.estimate
    return {**recommendation._asdict(), "row": estimate.row, "estimate": estimate_record(estimate)}


def experiment_record(experiment: Experiment) -> dict[str, Any]:
    """The experiment as it was resolved; None where the machine decides, or nothing was asked for."""
    workload = experiment.workload
    return {
        "model": workload.name,
        "task": workload.task,
        "parameters": workload.parameters,
        "forward_flops_per_sample": workload.forward_flops_per_sample,
        "image_size": workload.image_size,
        "seq_length": workload.seq_length,
        "dataset": experiment.dataset.name if experiment.dataset else None,
        "samples_per_epoch": experiment.samples_per_epoch,
        "epochs": experiment.epochs,
        "resume_epoch": experiment.resume_epoch,
        "tries": experiment.tries,
        "pilot_epochs": experiment.pilot_epochs,
        "total_samples": experiment.total_samples,
        "total_tokens": experiment.total_samples * workload.seq_length if workload.seq_length else None,
        "precision": experiment.precision,
        "optimizer": experiment.optimizer,
        "batch_size_per_gpu": experiment.batch_size_per_gpu,
        "global_batch_size": experiment.global_batch_size,
        "grad_accum_steps": experiment.grad_accum_steps,
        "grad_checkpointing": experiment.grad_checkpointing,
        "zero_stage": experiment.zero_stage,
        "lora_rank": experiment.lora_rank,
        "four_bit_weights": experiment.four_bit_weights,
        "tensor_parallel": experiment.tensor_parallel,
        "pipeline_parallel": experiment.pipeline_parallel,
        "offload": experiment.offload,
        "channels_last": experiment.channels_last,
        "compile": experiment.compiled,
        "tuned": experiment.tuned,
        "workers": experiment.workers,
    }


def estimate_record(row: Estimate) -> dict[str, Any]:
    """A row of a plan, in the order of docs/json.md."""
    return {
        "rank": row.rank,
        "row": row.row,
        "place": row.place,
        "is_this_machine": row.is_this_machine,
        "hypothetical": row.hypothetical,
        "to_buy_usd": row.to_buy_usd,
        "name": row.name,
        "provider": row.provider,
        "instance_type": row.instance_type,
        "region": row.region,
        "zone": row.zone,
        "purchase": row.purchase,
        "accelerator": row.accelerator,
        "num_gpus": _number(row.num_gpus),
        "num_nodes": row.num_nodes,
        "stack": row.stack,
        "precision": row.precision,
        "fits": row.fits,
        "memory_gib": {"required": _gib(row.memory_required_bytes), "available": _gib(row.memory_available_bytes)},
        "batch_size_per_gpu": row.batch_size_per_gpu,
        "grad_accum_steps": row.grad_accum_steps,
        "global_batch_size": row.global_batch_size,
        "step_time_s": interval_record(row.step_time_s),
        "samples_per_s": interval_record(row.samples_per_s),
        "time_s": interval_record(row.time_s),
        "finish_at": row.finish_at.isoformat(timespec="seconds") if row.finish_at else None,
        "cost_usd": interval_record(row.cost_usd),
        "usd_per_hour": row.usd_per_hour,
        "cost_parts": [cost_part_record(part) for part in row.cost_parts],
        "time_parts": [part._asdict() for part in row.time_parts],
        "p_meets": row.p_meets,
        "on_front": row.on_front,
        "mfu": row.mfu,
        "bound_by": row.bound_by,
        "evidence": row.evidence,
        "flags": list(row.flags),
        "price_as_of": row.price_as_of,
        "price_source": row.price_source,
        "energy_kwh": row.energy_kwh,
        "co2_kg": row.co2_kg,
        "spot": _spot(row.spot) if row.spot else None,
        "hints": list(row.hints),
    }


def cost_part_record(part: CostPart) -> dict[str, Any]:
    """A line of a bill with what it was spent on."""
    return {**part._asdict(), "parts": [use._asdict() for use in part.parts]}


def _spot(terms: SpotTerms) -> dict[str, Any]:
    figures = {name: _told(value) for name, value in terms._asdict().items() if name != "per_hour"}
    return {"per_hour": interval_record(terms.per_hour), **figures}


def interval_record(value: Interval | None) -> dict[str, float | None]:
    """The three quantiles; None for what is not known, and for an end that nobody can tell."""
    if value is None:
        return {"p10": None, "p50": None, "p90": None}
    return {name: _told(quantile) for name, quantile in value._asdict().items()}


def _told(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def _gib(count: float | None) -> float | None:
    return None if count is None else count / GIB


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Nested values become ``key_sub`` columns; lists one cell. What only spot rows have is left to JSON."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if key == "spot":
            continue
        if isinstance(value, dict):
            flat.update({f"{key}_{name}": inner for name, inner in value.items()})
        elif isinstance(value, list):
            flat[key] = ";".join(_items(value))
        else:
            flat[key] = value
    return flat


def _items(values: list[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, dict):
            amount = value.get("usd", value.get("seconds"))
            yield f"{value['name']}={'' if amount is None else amount}"
        else:
            yield str(value)
