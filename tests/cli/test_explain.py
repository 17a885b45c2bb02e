"""``explain``: the parts, the choice of the machine, and what is said when it does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.units import format_duration
from tests.cli.conftest import Run

RESNET = ("explain", "-m", "resnet50", "-e", "90")


def _record(run: Run, *arguments: str) -> Any:
    result = run(*RESNET, *arguments, "-o", "json")
    assert result.code == 0, result.err
    return result.record


def test_the_parts_add_up_and_every_key_is_there(run: Run) -> None:
    record = _record(run, "--on", "RTX 3090:1")
    keys = {"schema_version", "experiment", "machine", "step", "by_operation", "cpu_vs_gpu", "crossover_batch"}
    assert set(record) >= keys | {"sensitivity", "levers", "stages"}
    step = dict(record["step"])
    total = step.pop("total_s")
    assert sum(step.values()) == pytest.approx(total)
    assert {"class", "flops", "bytes", "seconds", "bound_by"} <= set(record["by_operation"][0])
    parts = [row["part"] for row in record["cpu_vs_gpu"]]
    assert parts == ["forward", "backward", "optimizer", "host", "input", "communication", "total"]
    assert record["crossover_batch"] >= 1


def test_a_wait_for_input_is_a_part_beside_how_long_loading_takes(run: Run) -> None:
    """p4d.24xlarge: 96 vCPUs load 2,048 images while eight A100s train ResNet-50 on them, nearly as quickly."""
    record = _record(run, "--on", "aws:p4d.24xlarge")
    step = record["step"]
    assert record["bound_by"] == "input"
    assert 0 < step["input_s"] < 0.1 * step["total_s"]
    (note,) = record["notes"]
    assert f"{step['total_s'] * 1000:,.1f} ms" in note
    assert f"all but {step['input_s'] * 1000:,.1f} ms" in note
    assert note in " ".join(run(*RESNET, "--on", "aws:p4d.24xlarge").out.split())


def test_a_measurement_above_the_peak_is_warned_of(run: Run) -> None:
    asked = ("--on", "RTX 3090", "--measured", "RTX 3090=9000")
    (text,) = _record(run, *asked)["warnings"]
    assert text.startswith("the measurement 'RTX 3090=9000' is ")
    assert f"Warning: {text}" in " ".join(run(*RESNET, *asked).out.split())
    assert _record(run, "--on", "RTX 3090", "--measured", "RTX 3090=900")["warnings"] == []


def test_what_a_run_costs_there_is_said_in_the_currency_asked_for(run: Run) -> None:
    record = _record(run, "--on", "aws:p4d.24xlarge@us-east-1:on-demand")
    assert record["cost_usd"]["p50"] > record["usd_per_hour"] > 0
    said = run(*RESNET, "--on", "aws:p4d.24xlarge@us-east-1:on-demand", "--currency", "EUR=0.5").out
    assert f"{record['cost_usd']['p50'] / 2:,.2f} EUR a run" in said
    assert f"{record['usd_per_hour'] / 2:,.2f} EUR an hour" in said
    assert "0.5 EUR a USD, your rate of" in said
    assert "$" not in said


def test_a_gpu_is_faster_where_the_work_is_parallel_and_says_why(run: Run) -> None:
    rows = {row["part"]: row for row in _record(run, "--on", "RTX 3090:1")["cpu_vs_gpu"]}
    assert rows["forward"]["speedup"] > 5
    assert rows["backward"]["speedup"] > 5
    assert "bandwidth" in rows["forward"]["why"]
    assert "CPU" in rows["input"]["why"]


@pytest.mark.parametrize(("batch", "code"), [("32", 0), ("64", 3)])
def test_eight_gpus_are_one_node_of_them_whether_it_fits_or_not(run: Run, batch: str, code: int) -> None:
    """A batch that fits on no H100 was explained on two nodes of eight, a cluster to buy."""
    asked = ("explain", "-m", "gpt2", "--tokens", "10B", "--precision", "bf16", "--on", "H100:8", "-o", "json")
    result = run(*asked, "-b", batch)
    assert result.code == code
    machine = result.record["machine"]
    assert (machine["num_gpus"], machine["num_nodes"]) == (8, 1)
    assert code == 0 or not machine["hypothetical"], "one that is to be had, where it does not fit anywhere"


def test_evidence_and_flags_are_those_of_the_estimate(run: Run) -> None:
    asked = ("-m", "resnet50", "-e", "90", "-o", "json")
    row = run("estimate", *asked, "--gpus", "MI300X:1", "-n", "1").record["estimates"][0]
    explained = run("explain", *asked, "--on", "MI300X:1").record
    assert (explained["evidence"], explained["flags"]) == (row["evidence"], row["flags"])
    assert "vendor_unmeasured" in explained["flags"]


def test_as_many_nodes_as_were_asked_for_are_explained(run: Run) -> None:
    machine = _record(run, "--on", "H100:8", "--num-nodes", "2", "--where", "cloud")["machine"]
    assert (machine["num_gpus"], machine["num_nodes"]) == (8, 2)


def test_more_of_a_specification_is_never_slower(run: Run) -> None:
    for on in ("RTX 3090:1", "aws:p4d.24xlarge", "H100:8"):
        for row in _record(run, "--on", on)["sensitivity"]:
            assert row["change"] == pytest.approx(0.1)
            assert row["time_change"] <= 1e-9


def test_the_machine_is_chosen_by_what_it_runs_on(run: Run) -> None:
    assert _record(run, "--on", "A100-40GB-SXM:8")["machine"]["accelerator"] == "A100-40GB-SXM"
    by_name = _record(run, "--on", "aws:p4d.24xlarge@us-east-1:on-demand")["machine"]
    assert (by_name["provider"], by_name["instance_type"]) == ("aws", "p4d.24xlarge")
    assert (by_name["region"], by_name["purchase"]) == ("us-east-1", "on_demand")
    assert _record(run)["machine"]["provider"] is not None
    alone = _record(run, "--on", "GTX 970:3")["machine"]
    assert (alone["accelerator"], alone["num_gpus"], alone["hypothetical"]) == ("GTX970", 3, True)


def test_a_row_is_chosen_by_its_number_among_machines_or_its_rank_among_offers(run: Run) -> None:
    plan = run("estimate", *RESNET[1:], "-o", "json", "-n", "0").record
    thirtieth = plan["estimates"][29]
    machine = _record(run, "--row", "30", "--group", "offer")["machine"]
    assert (machine["instance_type"], machine["region"]) == (thirtieth["instance_type"], thirtieth["region"])
    best = plan["recommendation"]
    assert best["row"] < best["rank"]
    for flags in (("--row", str(best["row"])), ("--row", str(best["rank"]), "--group", "offer")):
        assert _record(run, *flags)["machine"]["instance_type"] == best["estimate"]["instance_type"]
    numbers = [row["row"] for row in plan["estimates"] if row["row"] is not None]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_a_machine_is_found_by_the_name_that_the_table_prints(run: Run, home: Path) -> None:
    for name in ("dgx h100", "*DGX H100"):
        imagined = _record(run, "--on", name)["machine"]
        assert (imagined["name"], imagined["accelerator"], imagined["hypothetical"]) == ("DGX H100", "H100-SXM", True)
    missed = run(*RESNET, "--on", "DGX H10")
    assert (missed.code, "did you mean DGX H100" in missed.err) == (2, True)
    folder = home / ".config" / "gpuplanner"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        '[[machine]]\nname = "lab"\nplace = "cluster"\ngpu = "A100 80GB"\ncount = 8\npurchase_usd = 120000\n',
        encoding="utf-8",
    )
    own = _record(run, "--on", "lab")["machine"]
    assert (own["name"], own["num_gpus"], own["provider"], own["hypothetical"]) == ("lab", 8, None, False)
    assert own["accelerator"].startswith("A100")
    rented = _record(run, "--on", "NC24ads_A100_v4")["machine"]
    assert (rented["provider"], rented["instance_type"]) == ("azure", "Standard_NC24ads_A100_v4")


def test_an_accelerator_without_a_number_is_one_of_it(run: Run) -> None:
    for name in ("RTX 4090", "H100"):
        assert _record(run, "--on", name)["machine"]["num_gpus"] == 1
    eight = _record(run, "--on", "H100", "--gpus", "H100:8")["machine"]
    assert eight["num_gpus"] == 8


@pytest.mark.parametrize(
    "flags", [(), ("-b", "32", "--grad-accum-steps", "4"), ("--grad-ckpt",), ("--measured", "A100=900")]
)
def test_the_classes_of_operations_make_up_forward_and_backward(run: Run, flags: tuple[str, ...]) -> None:
    record = _record(run, "--on", "A100", *flags)
    parts = record["step"]
    total_s = sum(entry["seconds"] for entry in record["by_operation"])
    assert total_s == pytest.approx(parts["forward_s"] + parts["backward_s"])


def test_a_cpu_machine_is_taken_apart_without_a_cpu_beside_it(run: Run) -> None:
    record = _record(run, "--on", "aws:c5.12xlarge")
    assert record["cpu_vs_gpu"] == []
    assert record["crossover_batch"] is None
    assert record["by_operation"]


def test_what_does_not_fit_has_levers(run: Run) -> None:
    result = run("explain", "-m", "llama-3-8b", "--tokens", "1M", "--on", "T4:1", "-o", "json")
    assert result.code == 3
    assert result.record["fits"] is False
    assert result.record["reason"]
    assert result.record["step"] is None
    assert result.record["levers"]


@pytest.mark.parametrize("output", ["table", "markdown"])
def test_it_reads(run: Run, output: str) -> None:
    out = run(*RESNET, "--on", "RTX 3090:1", "-o", output).out
    for word in (
        "One step",
        "By operation class",
        "on the CPU",
        "10 % higher",
        "Levers",
        "Around training",
        "samples/s",
    ):
        assert word in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--on", "RTX 9999"), "unknown accelerator"),
        (("--on", "aws:p99.xlarge"), "'aws:p99.xlarge' is known here"),
        (("--on", "aws:p4d.24xlarge:rent"), "unknown purchase option 'rent'"),
        (("--row", "0"), "--row must be a row's number from 1 to"),
        (("--row", "1000000"), "--row must be a row's number from 1 to"),
        (("--row", "1", "--on", "T4"), "contradict each other"),
    ],
)
def test_bad_input(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    result = run(*RESNET, *arguments)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1


def test_nothing_left_to_explain_is_exit_3(run: Run) -> None:
    result = run(*RESNET, "--where", "cluster", "--gpus", "GTX 970:1")
    assert result.code == 3
    assert "nothing fits or is left to rank" in result.err


def test_limits_that_nothing_meets_are_named(run: Run) -> None:
    result = run(*RESNET, "--deadline", "1h", "--budget", "1")
    assert result.code == 3
    assert "Nothing meets the limits with a probability of 90%" in result.err
    assert "say which one with --on or --row" in result.err


def test_a_row_of_the_table_is_the_row_that_is_explained(run: Run) -> None:
    shown = run("estimate", *RESNET[1:], "-n", "3", "-o", "markdown").out
    number = next(line for line in shown.splitlines() if "RTX 4090 laptop" in line).split("|")[1].strip()
    assert "RTX 4090 laptop" in run(*RESNET, "--row", number).out


def test_a_place_names_its_best_machine(run: Run) -> None:
    assert _record(run, "--on", "this machine")["machine"]["name"] == "this machine"
    assert _record(run, "--on", "laptop")["machine"]["place"] == "laptop"


def test_a_machine_without_a_rank_says_so(run: Run) -> None:
    assert "Not ranked: " in run(*RESNET, "--on", "K80:1").out


def test_it_begins_with_what_the_run_takes_and_costs_and_where_it_is_had(run: Run) -> None:
    on = ("--on", "aws:p4de.24xlarge@eu-central-1:spot")
    record = _record(run, *on)
    rows = run("estimate", *RESNET[1:], "-o", "json", "-n", "0").record["estimates"]
    row = next(
        row
        for row in rows
        if (row["instance_type"], row["region"], row["purchase"]) == ("p4de.24xlarge", "eu-central-1", "spot")
    )
    for key in ("time_s", "cost_usd", "usd_per_hour", "price_as_of"):
        assert record[key] == row[key]
    assert (record["machine"]["region"], record["machine"]["purchase"]) == ("eu-central-1", "spot")
    name, figures = run(*RESNET, *on).out.splitlines()[1:3]
    assert "aws eu-central-1, spot" in name
    assert figures.startswith(f"{format_duration(row['time_s']['p50'])} ({format_duration(row['time_s']['p10'])}–")
    assert f"${row['cost_usd']['p50']:.2f} a run" in figures
    assert f"${row['usd_per_hour']:.2f} an hour" in figures


def test_a_lever_says_what_the_whole_run_would_take_and_cost(run: Run) -> None:
    on = ("--on", "aws:p4d.24xlarge@us-east-1:on-demand")
    record = _record(run, *on)
    lever = next(lever for lever in record["levers"] if lever["name"] == "gradient checkpointing")
    changed = run(*RESNET, *on, "--grad-ckpt", "-o", "json").record
    assert lever["time_s"] == changed["time_s"]
    assert lever["cost_usd"] == changed["cost_usd"]
    assert changed["time_s"]["p50"] > record["time_s"]["p50"]
    assert f"against {format_duration(record['time_s']['p50'])}" in run(*RESNET, *on).out


def test_a_levers_factors_are_those_of_the_times_and_costs_beside_them(run: Run) -> None:
    """'8-bit optimizer 46m x0.99' stood against 53m: the factor was a training sample's, the time the whole run's."""
    model = ("explain", "-m", "llama-3-8b", "--tokens", "100M", "--zero", "3")
    asked = (*model, "--on", "aws:p5.48xlarge@us-east-1:on-demand")
    record = run(*asked, "-o", "json").record
    levers = {lever["name"]: lever for lever in record["levers"]}
    for lever in levers.values():
        for factor, amount in (("time_factor", "time_s"), ("cost_factor", "cost_usd")):
            assert lever[factor] == pytest.approx(lever[amount]["p50"] / record[amount]["p50"])
    times = [lever["time_s"]["p50"] for lever in record["levers"]]
    assert times == sorted(times)
    less = run(*asked, "--optimizer", "adamw8bit", "-o", "json").record
    assert levers["8-bit optimizer"]["cost_usd"] == less["cost_usd"], (
        "its checkpoints are smaller, and so what they cost"
    )


def test_the_whole_run_is_shown_part_by_part(run: Run) -> None:
    asked = ("--on", "aws:p4d.24xlarge@us-east-1:on-demand")
    record = _record(run, *asked)
    assert sum(part["seconds"] for part in record["time_parts"]) == pytest.approx(record["time_s"]["p50"])
    assert sum(part["usd"] for part in record["cost_parts"]) == pytest.approx(record["cost_usd"]["p50"])
    said = run(*RESNET, *asked).out.split("The whole run\n")[1].split("\n\n")[0].splitlines()[1:]
    cells = {line.split("$")[0].rstrip(): float(line.split("$")[1]) for line in said}
    total = next(name for name in cells if name.startswith("total"))
    assert cells.pop(total) == pytest.approx(record["cost_usd"]["p50"])
    assert sum(cells.values()) == pytest.approx(record["cost_usd"]["p50"])
    assert any(name.startswith("training") for name in cells)
    assert "idle afterwards" in cells


def test_what_does_not_fit_says_how_much_is_missing_and_what_a_lever_would_take(run: Run) -> None:
    arguments = ("explain", "-m", "llama-3-8b", "--tokens", "1M", "--lora-rank", "16", "--on", "L4:1")
    record = run(*arguments, "-o", "json").record
    assert (record["fits"], record["time_s"], record["cost_usd"]) == (False, None, None)
    assert f"needs {record['memory_gib']['required']:.1f} GiB of {record['memory_gib']['available']:.1f} GiB" in (
        run(*arguments).out
    )
    lever = next(lever for lever in record["levers"] if lever["name"] == "gradient checkpointing")
    assert lever["time_s"]["p50"] > 0


def test_a_machine_that_nobody_rents_out_is_said_to_be_one(run: Run) -> None:
    said = run(*RESNET, "--on", "RTX 2080 Ti").out
    assert "neither rented out nor yours" in said
    assert "no price of it is known" in said
    record = _record(run, "--on", "RTX 2080 Ti")
    assert (record["cost_usd"], record["usd_per_hour"]) == (None, None)
    assert record["time_s"]["p50"] > 0


def test_a_notebook_that_is_no_longer_lent_gives_way_to_what_can_be_had(run: Run) -> None:
    """Kaggle's P100 was retired on 2026-09-15; GCP's are rented out, two at least at this test's prices."""
    machine = _record(run, "--on", "P100")["machine"]
    assert (machine["provider"], machine["accelerator"][:4]) == ("gcp", "P100")


def test_a_split_model_says_what_it_waits_for_and_counts_one_device(run: Run) -> None:
    """13 billion parameters in two stages of four GPUs: the stages wait for each other 1 of 16 + 1 times."""
    asked = ("explain", "-m", "llama-2-13b", "--tokens", "10M", "--precision", "bf16", "--grad-ckpt", "--on", "H100:8")
    split = ("--tensor-parallel", "4", "--pipeline-parallel", "2", "--zero", "1", "-b", "1", "--grad-accum-steps", "16")
    record = run(*asked, *split, "-o", "json").record
    assert record["notes"] == ["2 pipeline stages wait 6% of 16 micro steps for each other"]
    assert (record["experiment"]["tensor_parallel"], record["experiment"]["pipeline_parallel"]) == (4, 2)
    computing = record["step"]["forward_s"] + record["step"]["backward_s"]
    assert sum(row["seconds"] for row in record["by_operation"]) == pytest.approx(computing)
    # 6 FLOPs a parameter and token, of 16 sequences of 4,096 tokens, an eighth of them on each GPU.
    flops = sum(row["flops"] for row in record["by_operation"])
    assert flops == pytest.approx(6 * 13e9 * 4096 * 16 / 8, rel=0.15)
    said = run(*asked, *split).out
    assert "1 a device x 16 passes x 1 x 8 devices" in said
    assert "2 pipeline stages wait 6%" in said


def test_an_unranked_machine_is_warned_of_as_a_ranked_one(run: Run) -> None:
    """Nothing was measured on Kepler; much was on Turing."""
    said = "nothing was measured on the architecture of"
    assert any(said in text for text in _record(run, "--on", "K80")["warnings"])
    assert not any(said in text for text in _record(run, "--on", "RTX 2080 Ti")["warnings"])
