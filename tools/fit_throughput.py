"""Fit the throughput model on measured rows: planner/data/{calibration.json,network_effects.jsonl}, docs/model.md.

    python tools/fit_throughput.py --shared DIR [--records FILE ...] [--check | --variances]

``--shared`` is the directory with ``data/throughput.csv.gz``; ``--records`` are workload records (JSON lines) named
'model@size' for timm rows at sizes the zoo lacks. The same inputs give the same bytes on one machine. ``--check`` fits
and compares instead of writing (exit 1 on a difference beyond rounding noise); ``--variances`` prints the standard
deviations of the effects that left-out residuals make most likely, for tools/fit/prior.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

# One thread: the matrices are small, threads only wait for each other, and sums come out the same on every machine.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from planner.throughput.calibration import CALIBRATION, Calibration, parse_calibration  # noqa: E402
from planner.throughput.evidence import NETWORK_EFFECTS  # noqa: E402
from tools.fit.agreement import agree  # noqa: E402
from tools.fit.compilation import fused_bytes_factor  # noqa: E402
from tools.fit.constants import fit_constants, problem_of, residuals  # noqa: E402
from tools.fit.effects import fitted_effects, general_table, own_table, solve_effects  # noqa: E402
from tools.fit.evaluation import Evaluation, evaluate, left_out_variances  # noqa: E402
from tools.fit.jobs import Job, read_jobs  # noqa: E402
from tools.fit.network import Sync, fit_network, read_syncs  # noqa: E402
from tools.fit.observations import Observation  # noqa: E402
from tools.fit.pairs import compiled_pairs, scaling_pairs  # noqa: E402
from tools.fit.parameters import load_prior  # noqa: E402
from tools.fit.report import with_error_tables  # noqa: E402
from tools.fit.rows import observe, read_records, read_table  # noqa: E402
from tools.fit.scaling import fit_collectives, plausible  # noqa: E402
from tools.fit.tables import with_constants  # noqa: E402

DOCUMENT = ROOT / "docs" / "model.md"


def main() -> int:
    options = _options()
    rows = read_table(options.shared / "data" / "throughput.csv.gz")
    prior = load_prior()
    calibration = parse_calibration(prior)
    observations, unused = observe(rows, read_records(options.records), calibration)
    print(f"{len(observations):,} observations, {len(unused):,} single-GPU rows unused")
    syncs = read_syncs(read_table(options.shared / "data" / "scaling.csv.gz"))
    fit = fit_all(observations, rows, syncs, calibration, prior)
    if options.variances:
        return _print_variances(observations, fit.jobs, calibration, prior)
    evaluation = evaluate(observations, fit.jobs, rows, syncs, parse_calibration(fit.table), prior)
    table = {**fit.table, "intervals": _intervals(prior["intervals"], evaluation)}
    outputs = {
        CALIBRATION: json.dumps(table, indent=1) + "\n",
        NETWORK_EFFECTS: _network_lines(fit.networks),
        DOCUMENT: with_error_tables(DOCUMENT.read_text(encoding="utf-8"), evaluation, len(observations)),
    }
    return _compare(outputs) if options.check else _write(outputs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, help="directory with data/throughput.csv.gz")
    parser.add_argument("--records", type=Path, nargs="*", default=[], help="records of timm models at other sizes")
    parser.add_argument("--check", action="store_true", help="compare with the shipped tables, write nothing")
    parser.add_argument("--variances", action="store_true", help="print the spread of the effects, write nothing")
    options = parser.parse_args()
    if not (options.shared / "data" / "throughput.csv.gz").exists():
        parser.error(f"{options.shared} has no data/throughput.csv.gz")
    return options


class Fit(NamedTuple):
    """The calibration table without intervals, the effects by network, and the jobs that had a part in them."""

    table: dict[str, Any]
    networks: dict[str, dict[str, Any]]
    jobs: list[Job]


def fit_all(
    observations: list[Observation],
    rows: list[dict[str, str]],
    syncs: list[Sync],
    calibration: Calibration,
    prior: dict[str, Any],
) -> Fit:
    """Constants, compilation, collectives, and then the effects of what they leave."""
    problem = problem_of(observations, calibration, prior)
    constants = fit_constants(problem)
    table = with_constants(prior, problem.parameters, constants)
    table["levels"] = dict(prior["levels"])
    for level, compiled in compiled_pairs(rows).items():
        fused = fused_bytes_factor(level, compiled, parse_calibration(table))
        table["levels"][level] = {**prior["levels"][level], "fused_bytes_factor": fused}
    pairs = plausible(scaling_pairs(rows))
    inside = fit_collectives(pairs, parse_calibration(table), prior["collectives"])
    table["collectives"] = fit_network(syncs, parse_calibration(table), inside)
    jobs = read_jobs(rows, parse_calibration(table))
    everything: list[Observation | Job] = [*observations, *jobs]
    left = np.concatenate([residuals(problem, constants), [job.residual for job in jobs]])
    sd = prior["offsets"]["prior_sd"]
    solved = solve_effects(everything, left, sd, prior["offsets"]["noise_sd"])
    effects = fitted_effects(solved, everything, sd)
    table["offsets"] = {**prior["offsets"], "effects": general_table(effects)}
    table["provenance"] = {
        **prior["provenance"],
        "fitted_by": "tools/fit_throughput.py",
        "observations": len(observations),
        "jobs": len(jobs),
        "scaling_pairs": len(pairs),
        "sync_times": len(syncs),
        "sources": sorted({o.groups["source"] for o in everything}),
    }
    return Fit(table, own_table(effects, everything, solved.tails), jobs)


def _print_variances(
    observations: list[Observation], jobs: list[Job], calibration: Calibration, prior: dict[str, Any]
) -> int:
    sd, noise_sd = left_out_variances(observations, jobs, calibration, prior)
    print(json.dumps({"prior_sd": sd, "noise_sd": noise_sd}, indent=1))
    return 0


def _intervals(prior: dict[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    doubts = {
        **prior["doubts"],
        "several_devices": evaluation.several_devices,
        "architecture_unmeasured": evaluation.unseen_architecture,
    }
    return {**evaluation.intervals, "doubts": doubts, "architectures": evaluation.architectures}


def _network_lines(networks: dict[str, dict[str, Any]]) -> str:
    """One line a network: its effects, as ``planner.throughput.evidence.network_effects`` reads them."""
    entries = ({"network": name, "effects": networks[name]} for name in sorted(networks))
    return "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)


def _write(outputs: dict[Path, str]) -> int:
    for path, text in outputs.items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}: {len(text):,} characters")
    return 0


def _compare(outputs: dict[Path, str]) -> int:
    different = [path for path, text in outputs.items() if not agree(path.read_text(encoding="utf-8"), text)]
    for path in different:
        print(f"{path.relative_to(ROOT)} is not what the fit gives", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    raise SystemExit(main())
