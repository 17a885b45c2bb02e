"""What the fit's tables rest on: figures that agree, rows that are one measurement, and how far effects scatter."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

from planner.throughput.evidence import EFFECT_KINDS, FAMILY_KINDS, family_line  # noqa: E402
from tools.fit.agreement import agree  # noqa: E402
from tools.fit.effects import (  # noqa: E402
    covariance,
    fitted_effects,
    network_tails,
    own_table,
    predict_offsets,
    solve_effects,
)
from tools.fit.job_errors import Open  # noqa: E402
from tools.fit.one_reference import Known  # noqa: E402
from tools.fit.pairs import compiled_pairs  # noqa: E402
from tools.fit.rows import contradicted, unfaithful  # noqa: E402
from tools.fit.variances import fit_variances  # noqa: E402

ROW = {"model": "resnet50", "source": "lambdal/lambda-tensorflow-benchmark", "framework_version": "tensorflow 2.2"}


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("share 0.4073, 9.4 %", "share 0.4074, 9.5 %", True),
        ("5.606e-06", "5.607e-06", True),
        ("18500.0", "18510.0", True),
        ("share 0.4073", "share 0.4173", False),
        ("9.4 %", "9.8 %", False),
        ("1,101 rows", "1,102 rows", False),
        ("5.606e-06", "5.606e-05", False),
        ("mean 9.4", "median 9.4", False),
        ("9.4", "9.4 9.4", False),
    ],
)
def test_figures_agree_up_to_rounding_noise(first: str, second: str, same: bool) -> None:
    assert agree(first, second) == same


@pytest.mark.parametrize(
    ("lowest", "highest", "faithful"), [("165", "1209", False), ("426", "646", True), ("", "", True)]
)
def test_a_median_of_two_networks_teaches_nothing(lowest: str, highest: str, faithful: bool) -> None:
    assert (unfaithful({**ROW, "metric_min": lowest, "metric_max": highest}) is None) == faithful


def test_a_rate_that_its_own_table_contradicts_teaches_nothing() -> None:
    """NVIDIA's table of EfficientNet-B4 on V100: 36 images/s on one GPU and 641 on eight; with 16 GB 83 and 616."""
    columns = ("source", "model", "gpu", "precision", "batch_per_gpu", "input", "framework_version", "variant")
    row = {**dict.fromkeys(columns, ""), "source": "NVIDIA/DeepLearningExamples", "model": "efficientnet-b4"}
    rates = {"V100 32GB": ("36", "641"), "V100 16GB": ("83", "616")}
    rows = [
        {**row, "gpu": gpu, "n_gpus": count, "metric_median": rate}
        for gpu, both in rates.items()
        for count, rate in zip(("1", "8"), both, strict=True)
    ]
    (run,) = contradicted(rows)
    assert run[columns.index("gpu")] == "V100 32GB"


def test_pairs_differ_in_their_compiler_only() -> None:
    row = {**ROW, "gpu": "RTX 2080 Ti", "n_gpus": "1", "batch_per_gpu": "64", "samples_per_s": "300"}
    rows = [
        {**row, "precision": precision, "variant": variant, "input": "224x224"}
        for precision in ("fp32", "fp16")
        for variant in ("synthetic", "XLAsynthetic")
    ]
    pairs = compiled_pairs(rows)["xla"]
    # XLA computes 2-byte convolutions channels last, which Turing's plain rows are not.
    assert [(plain.precision, plain.software.compiled, xla.software.compiled) for plain, xla in pairs] == [
        ("fp32", False, True)
    ]


class _Row:
    """Shares its network with the others of its group, and nothing else."""

    def __init__(self, group: int, position: int) -> None:
        self.effects = tuple((kind, f"{group if kind == 'network' else position}") for kind in EFFECT_KINDS)


class _SameSoftware(_Row):
    """Shares its software with all others."""

    def __init__(self, position: int) -> None:
        super().__init__(position, position)
        self.effects = tuple((kind, "all" if kind == "software" else name) for kind, name in self.effects)


def test_an_odd_network_is_left_out_of_what_all_share() -> None:
    """Of twenty networks in one software nineteen are off by 0.1 and one by 1.1: the next one is off by 0.1."""
    sd = dict.fromkeys(EFFECT_KINDS, 1e-6) | {"software": 0.2, "network": 0.1}
    rows = [_SameSoftware(position) for position in range(20)]
    residuals = np.array([1.1, *[0.1] * 19])
    tails = network_tails(rows, residuals, sd, 0.05)
    assert tails["0"] > 10
    assert max(tails[str(position)] for position in range(1, 20)) < 1.5
    solved = solve_effects(rows, residuals, sd, 0.05)
    (offset,) = predict_offsets(solved, rows, [_SameSoftware(99)], sd)
    assert offset == pytest.approx(0.1, abs=0.02)


class _SameFamily(_Row):
    """Shares its family with all others."""

    def __init__(self, position: int) -> None:
        super().__init__(position, position)
        self.effects = tuple((kind, "resnet|x" if kind == "family" else name) for kind, name in self.effects)


FAMILY_SD = dict.fromkeys(EFFECT_KINDS, 1e-6) | {"family": 0.2, "network": 0.05}


def test_a_family_tells_of_its_next_network_and_an_odd_member_has_more_of_it() -> None:
    """Two of a family are off by 0.2, so is the next; the shipped table says so under the family's name."""
    rows = [_SameFamily(position) for position in range(2)]
    solved = solve_effects(rows, np.array([0.2, 0.2]), FAMILY_SD, 0.05)
    (offset,) = predict_offsets(solved, rows, [_SameFamily(99)], FAMILY_SD)
    assert 0.15 < offset < 0.2
    table = own_table(fitted_effects(solved, rows, FAMILY_SD), rows, {"0": 1.0, "1": 4.0})
    mean, remaining = table[family_line("resnet|x")]["family"]["resnet|x"]
    assert mean == pytest.approx(offset, abs=1e-3)
    assert 0.0 < remaining < 0.2
    assert "family" not in table["0"]
    assert table["1"]["family"]["resnet|x"] == pytest.approx([2.0 * mean, 2.0 * remaining], abs=2e-3)


def test_what_two_networks_of_a_family_share_grows_with_the_root_of_both_tails() -> None:
    rows = [_SameFamily(position) for position in range(2)]
    family = {kind: FAMILY_SD[kind] for kind in FAMILY_KINDS}
    plain, odd = covariance(rows, rows, family), covariance(rows, rows, family, {"0": 9.0, "1": 1.0})
    assert odd[0, 1] == odd[1, 0] == pytest.approx(3.0 * plain[0, 1])
    assert odd[0, 0] == pytest.approx(9.0 * plain[0, 0])


def test_one_job_moves_another_by_what_they_share() -> None:
    """Of two variances of 0.04 the jobs share 0.03, noise is 0.02: half of what one is off by moves the other."""
    shared = np.array([[0.04, 0.03], [0.03, 0.04]])
    names = np.array(["a", "b"]), np.array(["H100", "H100"])
    jobs = Open(np.array([0.2, 0.3]), shared, 0.02, *names)
    assert jobs.pairs().tolist() == [[False, True], [True, False]]
    left = jobs.knowing(np.array([1]))
    assert left.residuals[0] == pytest.approx(0.2 - 0.5 * 0.3)
    assert left.covariance[0, 0] == pytest.approx(0.04 - 0.03**2 / 0.06)


def test_a_row_is_predicted_from_one_of_its_network_and_from_all_other_rows() -> None:
    """As if the other rows of the network had never been known: solved anew without them."""
    rows = [_SameFamily(0), _Row(7, 1), _Row(7, 2), _Row(7, 3)]
    wanted, residuals = _Row(7, 4), np.array([0.1, 0.3, 0.2, 0.4])
    sd = FAMILY_SD | {"network": 0.1, "software": 0.1}
    left = Known(rows, residuals, sd, 0.05).with_one_of(wanted, 0.25, np.array([1, 2, 3]))
    for position, alone in zip((1, 2, 3), left, strict=True):
        known = [rows[0], rows[position]]
        among = covariance(known, known, sd) + 0.05**2 * np.eye(2)
        expected = covariance([wanted], known, sd)[0] @ np.linalg.solve(among, residuals[[0, position]])
        assert alone == pytest.approx(0.25 - expected)


def test_scatter_is_found_where_it_is() -> None:
    generator = np.random.default_rng(7)
    rows = [_Row(group, 8 * group + member) for group in range(40) for member in range(8)]
    shared = np.repeat(generator.normal(0.0, 0.12, 40), 8)
    start = {kind: 0.05 if kind == "network" else 1e-6 for kind in EFFECT_KINDS}
    sd, noise_sd = fit_variances(rows, shared + generator.normal(0.0, 0.05, 320), start, 0.1)
    assert sd["network"] == pytest.approx(0.12, abs=0.03)
    alone = sum(value**2 for kind, value in sd.items() if kind != "network") + noise_sd**2
    assert alone**0.5 == pytest.approx(0.05, abs=0.01)
