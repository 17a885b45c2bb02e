"""Constants of Ethernet from sync times: found again from times that the formula made."""

from __future__ import annotations

import pytest

from planner.throughput.calibration import load_calibration
from planner.throughput.collectives import communicate

np = pytest.importorskip("numpy")

from tools.fit.network import SOURCE, Sync, fit_network, left_out_log_errors, read_syncs  # noqa: E402

CALIBRATION = load_calibration()


def profile(application: str, gpus: int, nodes: int, step_s: float, sync_s: float) -> dict[str, str]:
    return {
        "source": SOURCE,
        "model": f'network (app "{application}")',
        "accelerator": "T4 (AWS g4dn.12xlarge, 4/node)",
        "n_gpus": str(gpus),
        "n_nodes": str(nodes),
        "batch_per_gpu": "12",
        "throughput": str(step_s),
        "notes": f"sync_time={sync_s} s (gradient sync part)",
    }


def made_with(share: float, overlap: float) -> list[Sync]:
    constants = {**CALIBRATION.collectives, "tcp_flow_share": share, "overlap_share_tcp": overlap}
    changed = CALIBRATION._replace(collectives=constants)
    syncs = read_syncs(
        profile(name, 4 * nodes, nodes, 1.5, 0.5) for name in ("bert", "yolov3", "cifar10") for nodes in (2, 4, 8)
    )
    return [
        Sync(
            s.application,
            s.experiment,
            s.precision,
            s.machine,
            s.computing_s,
            communicate(s.experiment, s.precision, s.machine, s.computing_s, 1, changed).exposed_s,
        )
        for s in syncs
    ]


def test_a_profile_is_read_as_what_computed_and_what_its_gradients_took() -> None:
    (sync,) = read_syncs([profile("bert", 8, 2, 1.5, 0.5), profile("bert", 1, 1, 0.9, 0.01)])
    assert (sync.computing_s, sync.sync_s) == (1.0, 0.5)
    assert (sync.machine.num_gpus, sync.machine.num_nodes) == (4, 2)
    assert sync.machine.network is not None
    assert not sync.machine.network.rdma


def test_the_fit_finds_the_rate_that_made_the_times() -> None:
    found = fit_network(made_with(1.4, 0.1), CALIBRATION, CALIBRATION.collectives)
    assert (found["tcp_flow_share"], found["overlap_share_tcp"]) == (1.4, 0.1)


def test_left_out_applications_are_predicted_from_the_others() -> None:
    errors = left_out_log_errors(made_with(1.4, 0.1), CALIBRATION, CALIBRATION.collectives)
    assert sorted(errors) == ["bert", "cifar10", "yolov3"]
    assert all(abs(error) < 1e-9 for own in errors.values() for error in own)
