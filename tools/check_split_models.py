"""Hold the rule for tensor and pipeline parallelism against published runs (tools/published/split_models.csv).

    python tools/check_split_models.py

Prints one line a run and the errors of tokens/s in %. Nothing of these runs was fitted. All run Megatron, whose
elementwise work is fused (--compile). A model without a name is a GPT of the stated dimensions with recomputed
activations; where its source gives FLOP/s it counts 96 B s l h^2 (1 + s/6h + V/16lh) of them a step (Narayanan et al.,
2021, equation 3). A micro batch that is not stated is 1 in a pipeline and else what fits.
"""

from __future__ import annotations

import csv
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
if str(REPOSITORY) not in sys.path:
    sys.path.insert(0, str(REPOSITORY))

from planner.experiment.experiment import Experiment  # noqa: E402
from planner.experiment.resolve import ExperimentRequest, resolve_experiment  # noqa: E402
from planner.hardware.machine import Machine  # noqa: E402
from planner.hardware.presets import machine_from_spec  # noqa: E402
from planner.throughput.step import StepModel  # noqa: E402
from planner.workloads.hf_config import workload_of_config  # noqa: E402

TABLE = REPOSITORY / "tools" / "published" / "split_models.csv"
# Selene: 8 A100 with NVSwitch and 8 HDR ports a node (Narayanan et al., 2021, section 5); the others' nodes are alike.
GPUS_PER_NODE = 8
NETWORKS = {"A100 SXM 40GB": "8x200 HDR", "A100 SXM 80GB": "8x200 HDR", "H100 SXM": "8x400 NDR", "GB200": "8x400 NDR"}


class Compared(NamedTuple):
    """A published run and the rule's answer, tokens/s of a GPU."""

    model: str
    gpu: str
    num_gpus: int
    published: float
    predicted: float
    inside: bool

    @property
    def error(self) -> float:
        return self.predicted / self.published - 1.0


def main() -> int:
    with TABLE.open(encoding="utf-8", newline="") as table:
        found = [compared(row) for row in csv.DictReader(table)]
    for run in found:
        name = f"{run.model:14s} {run.gpu:14s} {run.num_gpus:5d} GPUs"
        outside = "" if run.inside else ", outside P10-P90"
        print(
            f"{name}: {run.published:8,.1f} tokens/s/GPU, predicted {run.predicted:8,.1f} ({run.error:+.0%}){outside}"
        )
    errors = [abs(run.error) for run in found]
    inside = sum(run.inside for run in found)
    print(
        f"{len(found)} runs: mean {statistics.mean(errors):.1%}, median {statistics.median(errors):.1%}, "
        f"largest {max(errors):.1%}, {inside} inside P10-P90"
    )
    return 0


def compared(row: dict[str, str]) -> Compared:
    """The published rate beside the predicted one. Raises ValueError where the run is refused."""
    experiment, machine = experiment_of(row), machine_of(row)
    step = StepModel(experiment, framework="nemo", enforce_memory=False).estimate(machine)
    if step.samples_per_s is None:
        raise ValueError(f"{row['model']}: {step.reason}")
    published, length = published_rate(row), int(row["seq_length"])
    low, middle, high = (rate * length / machine.devices for rate in step.samples_per_s)
    return Compared(row["model"], row["gpu"], machine.devices, published, middle, low <= published <= high)


def experiment_of(row: dict[str, str]) -> Experiment:
    request = ExperimentRequest(
        model=row["model"] if not row["hidden"] else "gpt2",
        steps=1,
        seq_length=int(row["seq_length"]) if not row["hidden"] else None,
        precision=row["precision"],
        optimizer="adamw",
        global_batch_size=int(row["global_batch"]),
        batch_size_per_gpu=int(row["micro_batch"]) if row["micro_batch"] else None,
        zero_stage=1,
        tensor_parallel=int(row["tensor"]),
        pipeline_parallel=int(row["pipeline"]),
        grad_checkpointing=bool(row["hidden"]),
        compiled=True,
    )
    experiment = resolve_experiment(request)
    return experiment._replace(workload=workload_of_config(gpt(row), TABLE)) if row["hidden"] else experiment


def gpt(row: dict[str, str]) -> dict[str, object]:
    """The row's dimensions as a GPT-2 configuration."""
    return {
        "model_type": "gpt2",
        "n_embd": int(row["hidden"]),
        "n_layer": int(row["layers"]),
        "n_head": int(row["heads"]),
        "vocab_size": int(row["vocabulary"]),
        "n_positions": int(row["seq_length"]),
    }


def machine_of(row: dict[str, str]) -> Machine:
    gpus = int(row["num_gpus"])
    inside = min(gpus, GPUS_PER_NODE)
    network = NETWORKS[row["gpu"]] if gpus > inside else None
    return machine_from_spec("published", row["gpu"], inside, gpus // inside, network=network)


def published_rate(row: dict[str, str]) -> float:
    """Tokens/s of one GPU: as published, or from the step's time or FLOP/s."""
    if row["tokens_per_s_per_gpu"]:
        return float(row["tokens_per_s_per_gpu"])
    if row["step_s"]:
        return int(row["global_batch"]) * int(row["seq_length"]) / float(row["step_s"]) / int(row["num_gpus"])
    hidden, layers = int(row["hidden"]), int(row["layers"])
    length, vocabulary = int(row["seq_length"]), int(row["vocabulary"])
    share = 1.0 + length / (6.0 * hidden) + vocabulary / (16.0 * layers * hidden)
    return float(row["tflops_per_gpu"]) * 1e12 / (96.0 * layers * hidden**2 * share)


if __name__ == "__main__":
    sys.exit(main())
