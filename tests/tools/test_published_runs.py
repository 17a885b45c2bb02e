"""Published runs: how rows are read, which count, and how the product's time is held against them."""

from __future__ import annotations

import csv
import gzip
import math
import subprocess
import sys
from pathlib import Path

import pytest

from planner.errors import InputError
from tools.published.mlperf_counts import TABLE, counts_of
from tools.published.page import on_one_host, page, score
from tools.published.prediction import Predicted, experiment_of, predict
from tools.published.reading import Amount, Run, Unread, read_amount, read_run, read_runs

REPOSITORY = Path(__file__).parents[2]

ROW = {
    "source": "MLPerf Training v0.7",
    "path_or_url": "github:mlcommons/training_results_v0.7/NVIDIA/results/dgxa100_ngc20.06_mxnet/resnet",
    "workload": "ResNet-50 v1.5 + ImageNet [resnet]",
    "epochs_or_tokens_or_steps": "epoch_num=41 (mean over runs at last eval; min 41, max 41)",
    "accelerator": "NVIDIA A100-SXM4-40GB (400W)", "n_accelerators": "8", "n_nodes": "1", "precision": "",
    "global_batch": "3264", "minutes": "39.7797", "notes": "submitter=NVIDIA",
}  # fmt: skip


def _row(**changes: str) -> dict[str, str]:
    return {**ROW, **changes}


def _predicted(**changes: str) -> Predicted:
    result = predict(read_run(_row(**changes)))
    assert isinstance(result, Predicted)
    return result


@pytest.mark.parametrize(
    ("changes", "amount"),
    [
        ({"epochs_or_tokens_or_steps": "90 epochs"}, Amount(epochs=90)),
        ({"epochs_or_tokens_or_steps": "epoch=61 (mean over runs at last eval)"}, Amount(epochs=62)),
        ({"epochs_or_tokens_or_steps": "epoch_num=40.2 (mean)"}, Amount(epochs=40.2)),
        ({"epochs_or_tokens_or_steps": "90000 iterations x 16 images (1x)"}, Amount(samples=1_440_000)),
        ({"epochs_or_tokens_or_steps": "25000 kimg (thousand real images)"}, Amount(samples=25_000_000)),
        (
            {"workload": "BERT-large + Wikipedia [bert]", "global_batch": "256",
             "epochs_or_tokens_or_steps": "epoch_num=11718 (mean)"},
            Amount(samples=2_999_808),
        ),
        (
            {"workload": "DLRM + Criteo 1TB [dlrm]", "epochs_or_tokens_or_steps": "epoch_num=1.75 (mean)"},
            Amount(epochs=0.75),
        ),
    ],
)  # fmt: skip
def test_amounts_are_read_as_their_source_counts(changes: dict[str, str], amount: Amount) -> None:
    assert read_amount(_row(**changes)) == amount


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs_or_tokens_or_steps": "until it converged"},
        {"workload": "DLRM + Criteo 1TB [dlrm]", "epochs_or_tokens_or_steps": "epoch_num=18"},
        {"workload": "MiniGo (RL) [minigo]"},
        {"accelerator": "NA", "n_accelerators": ""},
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(changes: dict[str, str]) -> None:
    with pytest.raises(InputError):
        read_run(_row(**changes))


RESULTS = "github:mlcommons/training_results_"


@pytest.mark.parametrize(
    ("path", "text", "amount"),
    [
        # the log's evaluations are numbered -1, 0 and 1
        ("v0.5/v0.5.0/nvidia/submission/results/dgx1_ngc18.11_pytorch/transformer", "epoch=1", 3 * 4590101),
        ("v0.7/NVIDIA/results/dgxa100_ngc20.06_pytorch/gnmt", "epoch_num=4", 4 * 3965952),
        ("v0.7/Google/results/tpu-v4-16-TF/gnmt", "epoch_num=6", 6 * 3442299),
    ],
)
def test_what_a_log_counts_otherwise_is_mended(path: str, text: str, amount: float) -> None:
    assert read_amount(_row(path_or_url=RESULTS + path, epochs_or_tokens_or_steps=text)) == Amount(samples=amount)


def test_a_batch_is_counted_in_sentence_pairs() -> None:
    """NVIDIA states tokens, of which a pair has about 30; Google rows into which eight pairs are packed."""
    row = _row(workload="Transformer-big + WMT17 EN-DE [transformer]", epochs_or_tokens_or_steps="epoch_num=3")
    nvidia = {**row, "path_or_url": f"{RESULTS}v0.7/NVIDIA/results/x/transformer", "global_batch": "110592"}
    google = {**row, "path_or_url": f"{RESULTS}v0.7/Google/results/x/transformer", "global_batch": "512"}
    assert read_run(nvidia).global_batch_size == 3686
    assert read_run(google).global_batch_size == 4150


def test_every_row_of_the_counts_names_a_log_and_says_what_it_shows() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    for row in rows:
        assert "result_0.txt" in row["log"] or "result_1.txt" in row["log"]
        assert row["what it shows"]
        assert counts_of(f"github:{row['rows'].replace('*', 'any')}") is not None


@pytest.mark.parametrize(("gpus", "size", "batch"), [(1, 256, 16), (8, 256, 64), (8, 512, 64), (2, 1024, 8)])
def test_stylegan_takes_the_batch_of_its_auto_configuration(gpus: int, size: int, batch: int) -> None:
    row = _row(
        source="StyleGAN2-ADA", workload=f"StyleGAN2-ADA {size}x{size} (--cfg=auto)", n_accelerators=str(gpus),
        global_batch="", epochs_or_tokens_or_steps="1000 kimg", path_or_url="github:NVlabs/stylegan2-ada-pytorch",
    )  # fmt: skip
    assert read_run(row).global_batch_size == batch


def test_vendors_are_tuned_and_the_clock_of_mlperf_covers_no_checkpoints() -> None:
    vendor, project = read_run(ROW), read_run(_row(source="detectron2 MODEL_ZOO"))
    assert (vendor.tuned, vendor.checkpoints) == (True, False)
    assert (project.tuned, project.checkpoints, project.precision) == (False, True, "fp32")
    assert experiment_of(vendor).global_batch_size == 3264


def test_names_count_cores_and_systems_name_generations() -> None:
    assert read_run(_row(accelerator="tpuv3-8")).machine.num_gpus == 4
    assert read_run(_row(accelerator="TPU", notes="system=tpu-v4-16-TF")).machine.accelerator.key == "TPUv4"


def test_the_residual_is_the_logarithm_of_the_ratio_of_times() -> None:
    one = _predicted()
    twice = _predicted(minutes="79.5594")
    assert one.log_error - twice.log_error == pytest.approx(math.log(2))


def test_scores_are_the_median_and_the_share_within_a_factor() -> None:
    base = _predicted()
    at_par = base._replace(run=base.run._replace(actual_s=base.time_s.p50))
    off = base._replace(run=base.run._replace(actual_s=base.time_s.p50 / 2))
    total = score([at_par, at_par, off])
    assert (total.runs, total.median) == (3, 0.0)
    assert total.within == pytest.approx(2 / 3)
    assert not total.meets
    assert score([at_par]).meets


def test_all_runs_count_and_slices_of_many_hosts_stand_apart() -> None:
    small, large = _predicted(), _predicted(accelerator="tpu-v3", n_accelerators="64")
    assert on_one_host([small, large]) == [small]
    text = page([small, large], [Unread("MLPerf", "MiniGo", "unknown model")])
    assert "- 2 runs" in text
    assert "without the TPU slices of more than sixteen chips: 1 runs" in text
    assert text.count("tpu-v3") == 1
    assert "unknown model" in text


def test_the_command_writes_what_it_checks(tmp_path: Path) -> None:
    rows = [ROW, _row(n_nodes="2"), _row(n_nodes="", n_accelerators="32"), _row(minutes=""), _row(workload="MiniGo")]
    table = tmp_path / "data" / "time_to_train.csv.gz"
    table.parent.mkdir()
    with gzip.open(table, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROW))
        writer.writeheader()
        writer.writerows(rows)
    read = list(read_runs(table))
    assert [type(each) for each in read] == [Run, Unread]
    command = [sys.executable, str(REPOSITORY / "tools" / "published_runs.py"), "--shared", str(tmp_path), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 1  # the shipped page lists other runs
    assert "published_runs.md" in checked.stderr
