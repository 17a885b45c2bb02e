"""Exported files: they obey the launchers' schemas, say what the row says, and start the processes they should."""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest, resolve_experiment
from planner.handoff.formats import FORMATS
from planner.handoff.launch import EDIT, Launch, launch, script_arguments
from planner.handoff.names import DSTACK_BACKENDS, SKYPILOT_CLOUDS
from planner.hardware.catalog import accelerators
from planner.hardware.tables import read_rows
from planner.plan.pick import Choice, pick
from planner.plan.planning import answer
from planner.plan.question import Question
from planner.plan.world import World
from tests.handoff.conftest import EXPERIMENT, NOW, Launched

SCHEMAS = Path(__file__).parent / "schemas"
CLOUD_ROWS = (
    "aws:p4d.24xlarge:on_demand",
    "aws:p5.48xlarge:spot",
    "aws:g6.xlarge",
    "gcp:a2-highgpu-1g:spot",
    "gcp:tpu-v5p-8",
    "azure:Standard_NC40ads_H100_v5",
    "lambda:gpu_1x_a10",
    "vast:1x-RTX_4090-32-65536",
    "aws:c7i.8xlarge",
)
ROWS = (*CLOUD_ROWS, "workstation", "cluster")


def _schema(launcher: str) -> Any:
    return json.loads((SCHEMAS / f"{launcher}.json").read_text(encoding="utf-8"))


@pytest.fixture(params=ROWS)
def row(request: pytest.FixtureRequest, launched: Launched) -> Launch:
    return launched(request.param)


@pytest.mark.parametrize("launcher", ["skypilot", "dstack"])
def test_a_task_obeys_the_launchers_schema(row: Launch, launcher: str) -> None:
    jsonschema.validate(yaml.safe_load(FORMATS[launcher](row)), _schema(launcher))


def test_the_schemas_refuse_a_misspelt_key(launched: Launched) -> None:
    for launcher in ("skypilot", "dstack"):
        task = yaml.safe_load(FORMATS[launcher](launched("aws:g6.xlarge")))
        task["resurces"] = {}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(task, _schema(launcher))


@pytest.mark.parametrize("launcher", ["slurm", "bash"])
def test_a_script_is_valid_shell(row: Launch, launcher: str, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text(FORMATS[launcher](row), encoding="utf-8")
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_every_format_marks_what_the_user_must_fill_in(row: Launch) -> None:
    for write in FORMATS.values():
        assert EDIT in write(row)


def test_a_spot_task_of_skypilot_recovers(launched: Launched) -> None:
    task = yaml.safe_load(FORMATS["skypilot"](launched("aws:p5.48xlarge:spot")))
    assert task["resources"]["use_spot"] is True
    assert task["resources"]["job_recovery"]["strategy"] == "FAILOVER"
    assert task["resources"]["accelerators"] == "H100:8"
    assert task["resources"]["infra"].startswith("aws/")
    assert task["resources"]["autostop"]["down"] is True
    assert task["num_nodes"] == 1


def test_an_on_demand_task_of_skypilot_asks_for_no_spot(launched: Launched) -> None:
    resources = yaml.safe_load(FORMATS["skypilot"](launched("aws:p4d.24xlarge:on_demand")))["resources"]
    assert resources["use_spot"] is False
    assert "job_recovery" not in resources


def test_the_disk_holds_system_data_and_checkpoints(launched: Launched) -> None:
    """50 GB of system, ImageNet's 148 GB, two checkpoints of 25.6 M parameters x 8 bytes: 199 GB."""
    row = launched("aws:p4d.24xlarge")
    assert row.disk_gb == 199
    assert yaml.safe_load(FORMATS["skypilot"](row))["resources"]["disk_size"] == 199
    assert yaml.safe_load(FORMATS["dstack"](row))["resources"]["disk"] == "199GB.."


def test_the_run_is_stopped_at_the_p90_rounded_up_to_ten_minutes(row: Launch) -> None:
    assert row.estimate.time_s is not None
    p90 = row.estimate.time_s.p90
    assert row.limit_s < p90 + 600
    assert row.is_spot or p90 <= row.limit_s
    assert row.limit_s % 600 == 0
    starter = "env PJRT_DEVICE=TPU python3" if row.estimate.stack == "xla" else "torchrun"
    assert f"timeout --signal=TERM {row.limit_s // 60}m {starter} " in FORMATS["skypilot"](row)
    assert yaml.safe_load(FORMATS["dstack"](row))["max_duration"] == f"{row.limit_s // 60}m"


def test_a_start_of_a_spot_run_is_limited_by_what_it_takes_undisturbed(world: World) -> None:
    """An interrupted run is started again, and its limit with it: the P90 with interruptions may have no end."""
    experiment = resolve_experiment(ExperimentRequest("llama-2-7b", tokens=2e12, zero_stage=1, grad_checkpointing=True))
    asked = Question(gpus="A100-80GB:8", num_nodes=128, purchases=("spot",), where=("azure",))
    answered = answer(experiment, asked, world, NOW)
    row = launch(experiment, pick(answered, world.providers(), None, 1), NOW)
    assert row.estimate.time_s is not None
    assert row.estimate.time_s.p90 == math.inf
    assert 11 * 86400 < row.limit_s < 18 * 86400, "13 days on demand"
    assert re.search(r"\(P10-P90 from 1[0-3]d", FORMATS["bash"](row)), "about as long as on demand"


def test_two_nodes_are_asked_for_and_find_each_other(launched: Launched) -> None:
    row = launched("aws:p4d.24xlarge", num_nodes=2)
    skypilot, dstack = (yaml.safe_load(FORMATS[name](row)) for name in ("skypilot", "dstack"))
    assert skypilot["num_nodes"] == dstack["nodes"] == 2
    assert "--node-rank $SKYPILOT_NODE_RANK --nproc-per-node 8" in skypilot["run"]
    assert "--node-rank $DSTACK_NODE_RANK --nproc-per-node 8" in dstack["commands"][-1]
    assert "#SBATCH --nodes=2\n" in FORMATS["slurm"](row)
    assert '--rdzv-endpoint "$MASTER:29500"' in FORMATS["slurm"](row)


def test_dstack_tells_memory_variants_apart(launched: Launched) -> None:
    assert yaml.safe_load(FORMATS["dstack"](launched("aws:p4d.24xlarge")))["resources"]["gpu"] == "A100:40GB:8"


def test_a_tpu_slice_is_named_as_a_whole(launched: Launched) -> None:
    row = launched("gcp:tpu-v5p-8")
    assert yaml.safe_load(FORMATS["skypilot"](row))["resources"]["accelerators"] == "tpu-v5p-8:1"
    assert yaml.safe_load(FORMATS["dstack"](row))["resources"]["gpu"] == "v5p-8"
    assert "must be ported" in FORMATS["bash"](row)
    assert "--worker=all" not in FORMATS["bash"](row), "four chips are one host"


def test_a_tpu_slice_of_several_hosts_is_started_on_all_of_them(launched: Launched) -> None:
    """torch_xla starts the processes of a host; torchrun on one host would train on half of the slice."""
    row = launched("gcp:tpu-v4-16")
    assert row.has_several_hosts
    script = FORMATS["bash"](row)
    assert "--worker=all" in script
    assert "torchrun" not in script
    with pytest.raises(InputError, match="TPUs of one host"):
        FORMATS["dstack"](row)


def test_a_cloud_that_the_launcher_cannot_rent_from_is_refused_in_one_sentence(launched: Launched) -> None:
    with pytest.raises(InputError, match="SkyPilot cannot rent from"):
        FORMATS["skypilot"](launched("jarvislabs:1xA5000"))


def test_dstack_refuses_a_share_of_a_gpu(launched: Launched) -> None:
    with pytest.raises(InputError, match="share of one"):
        FORMATS["dstack"](launched("aws:g6f.xlarge"))


def test_a_notebook_is_not_exported(world: World) -> None:
    ranking = answer(EXPERIMENT, Question(where=("kaggle",)), world, NOW).ranking
    row = next(row for row in ranking.rows if row.setting.candidate.free_tier is not None)
    with pytest.raises(InputError, match="opened by hand"):
        launch(EXPERIMENT, Choice(row.setting.candidate, row), NOW)


def test_slurm_writes_days_hours_and_minutes(launched: Launched) -> None:
    row = launched("aws:p4d.24xlarge")._replace(limit_s=2 * 86400 + 3 * 3600 + 600)
    assert "#SBATCH --time=2-03:10:00\n" in FORMATS["slurm"](row)


def test_the_script_starts_one_process_a_gpu_with_the_experiments_arguments(launched: Launched, tmp_path: Path) -> None:
    """Run with a torchrun that only says how it was called."""
    row = launched("aws:p4d.24xlarge")
    script, stub = tmp_path / "train.sh", tmp_path / "torchrun"
    script.write_text(FORMATS["bash"](row), encoding="utf-8")
    stub.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    stub.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    said = subprocess.run(["bash", str(script)], check=True, capture_output=True, text=True, env={"PATH": path}).stdout
    assert said.startswith("--standalone --nproc-per-node 8 train.py --model resnet50 --epochs 90 --batch-size 256")


def test_a_script_for_several_nodes_asks_which_one_it_is_on(launched: Launched, tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(FORMATS["bash"](launched("aws:p4d.24xlarge", num_nodes=2)), encoding="utf-8")
    result = subprocess.run(["bash", str(script)], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    assert result.returncode != 0
    assert "NODE_RANK" in result.stderr


def test_job_names_are_what_every_launcher_takes(launched: Launched) -> None:
    row = launched("aws:g6.xlarge")
    for model, name in (("hf/Bert_Base", "hf-bert-base"), ("3d-unet", "run-3d-unet"), ("x" * 60, "x" * 40)):
        workload = row.experiment.workload._replace(name=model)
        assert row._replace(experiment=row.experiment._replace(workload=workload)).name == name


def test_launcher_names_are_of_known_accelerators_and_unique() -> None:
    keys = [line["key"] for line in read_rows("launcher_names.csv")]
    assert len(keys) == len(set(keys))
    assert set(keys) <= set(accelerators())


def test_clouds_are_those_of_the_stored_schemas() -> None:
    skypilot = json.dumps(_schema("skypilot"))
    assert all(f"{cloud}" in skypilot for cloud in SKYPILOT_CLOUDS.values())
    assert set(DSTACK_BACKENDS.values()) <= set(_schema("dstack")["$defs"]["BackendType"]["enum"])


def test_the_arguments_say_all_that_the_plan_rests_on(world: World) -> None:
    request = ExperimentRequest(
        "llama-3-8b", tokens=1e9, seq_length=4096, zero_stage=3, grad_checkpointing=True, compiled=True, workers=7
    )
    words = _arguments(request, world, "H100:8")
    assert words[:4] == ["--model", "llama-3-8b", "--tokens", "1000000000"]
    assert {"--zero 3", "--seq-length 4096", "--workers 7"} <= {" ".join(pair) for pair in pairwise(words)}
    assert {"--grad-ckpt", "--compile"} <= set(words)
    assert "--epochs" not in words

    adapters = ExperimentRequest("llama-3-8b", steps=500, lora_rank=16, four_bit_weights=True)
    words = _arguments(adapters, world, "H100:8")
    assert words[2:4] == ["--steps", "500"]
    assert words[words.index("--lora-rank") + 1] == "16"
    assert "--load-in-4bit" in words

    images = ExperimentRequest(
        "resnet50", epochs=90.5, resume_epoch=30, samples=12_345, image_size=160, channels_last=True
    )
    words = _arguments(images, world, "H100:8")
    assert words[2:8] == ["--epochs", "90.5", "--samples", "12345", "--resume-epoch", "30"]
    assert words[words.index("--img-size") + 1] == "160"
    assert "--channels-last" in words
    assert _arguments(ExperimentRequest("resnet50", dataset="cifar10", epochs=1), world, "H100:8")[4:6] == [
        "--dataset",
        "cifar10",
    ]


def test_what_is_no_argument_stands_in_the_heading(world: World) -> None:
    row = _launch(ExperimentRequest("resnet50", epochs=90, tuned=True, tries=3, pilot_epochs=5), world, "H100:8")
    for written in FORMATS.values():
        assert "# Expected of a vendor's tuned training script (--tuned).\n" in written(row)
        assert "(--tries 3 --pilot-epochs 5)" in written(row)


def _launch(request: ExperimentRequest, world: World, on: str) -> Launch:
    experiment = resolve_experiment(request)
    answered = answer(experiment, Question(where=("cluster",), gpus=on, max_price_age_days=10_000), world, NOW)
    return launch(experiment, pick(answered, world.providers(), on, None), NOW)


def _arguments(request: ExperimentRequest, world: World, on: str) -> list[str]:
    return shlex.split(script_arguments(_launch(request, world, on)))
