"""Offsets by shrinkage: references move what shares an effect with them, by less than the raw ratio."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.hardware.catalog import accelerator
from planner.throughput.evidence import (
    Knowledge,
    Reference,
    run_of,
    shipped_knowledge,
    solve_symmetric,
    subject_of,
)
from tests.throughput.examples import A100, CPU, RTX3090, V100


def knowledge() -> Knowledge:
    """Shipped knowledge with every fitted effect forgotten: only prior variances are left."""
    shipped = shipped_knowledge()
    offsets = {**shipped.calibration.offsets, "effects": {}, "networks": {}}
    return shipped._replace(calibration=shipped.calibration._replace(offsets=offsets))


HERE = subject_of("resnet50", "pytorch", "half", RTX3090)
SAME_WORKLOAD = subject_of("resnet50", "pytorch", "half", A100)
SAME_GPU = subject_of("vgg16", "pytorch", "half", RTX3090)
STRANGER = subject_of("vgg16", "tensorflow", "half", V100)


def offset(known: Knowledge, subject: object) -> float:
    return known.correction(subject).log_offset  # type: ignore[arg-type]


def test_nothing_is_corrected_where_nothing_was_measured() -> None:
    assert offset(knowledge(), HERE) == 0.0
    assert knowledge().evidence(HERE) == "specs_only"


def test_a_reference_moves_related_subjects_by_less_than_itself() -> None:
    known = knowledge().with_references([Reference(HERE, 0.3)])
    assert 0.0 < offset(known, SAME_GPU) < offset(known, SAME_WORKLOAD) < offset(known, HERE) < 0.3
    assert offset(known, STRANGER) == 0.0


def test_a_run_that_was_measured_comes_again_as_it_was() -> None:
    """Runs of one batch on one machine differ by 2 %, other batches by 7 %; other frameworks share no loop."""
    known = knowledge().with_references([Reference(HERE, 0.3, run=run_of(256, 1))])
    again, other_batch = (known.correction(HERE, (), run_of(batch, 1)).log_offset for batch in (256, 128))
    assert 0.29 < again < 0.3
    assert 0.2 < other_batch < 0.29
    assert offset(known, STRANGER) == 0.0


def test_more_references_that_agree_are_believed_more() -> None:
    one = knowledge().with_references([Reference(HERE, 0.3)])
    three = knowledge().with_references([Reference(HERE, 0.3)] * 3)
    assert offset(one, HERE) < offset(three, HERE) < 0.3


def test_references_can_be_added_one_after_the_other() -> None:
    together = knowledge().with_references([Reference(HERE, 0.3), Reference(SAME_GPU, -0.1)])
    in_turn = knowledge().with_references([Reference(HERE, 0.3)]).with_references([Reference(SAME_GPU, -0.1)])
    assert offset(together, SAME_WORKLOAD) == pytest.approx(offset(in_turn, SAME_WORKLOAD))


def test_one_network_far_off_says_more_of_itself_than_of_the_machine() -> None:
    """Four networks of one loop on one GPU agree, a fifth is off by a factor of four: the GPU is as the four say."""
    networks = ("resnet50", "resnet18", "densenet121", "efficientnet_b0")
    agreeing = [Reference(subject_of(name, "pytorch", "half", RTX3090), 0.1) for name in networks]
    odd = Reference(subject_of("mask-rcnn-r50-fpn", "pytorch", "half", RTX3090), 1.4)
    four, five = knowledge().with_references(agreeing), knowledge().with_references([*agreeing, odd])
    assert offset(four, SAME_GPU) < offset(five, SAME_GPU) < offset(four, SAME_GPU) + 0.05
    on_another_gpu = subject_of("mask-rcnn-r50-fpn", "pytorch", "half", A100)
    assert offset(five, on_another_gpu) > 0.7


def test_a_reference_says_more_of_its_family_than_of_other_networks() -> None:
    """resnet50 measured on one GPU: resnet101, which nobody measured, moves more than VGG; two models of a user do not
    share a family."""
    related = subject_of("resnet101", "pytorch", "half", RTX3090, "resnet")
    known = knowledge().with_references([Reference(subject_of("resnet50", "pytorch", "half", RTX3090, "resnet"), 0.3)])
    assert offset(known, SAME_GPU) < offset(known, related) < 0.3
    mine = [subject_of(name, "pytorch", "half", RTX3090, "own") for name in ("a.py", "b.py")]
    assert mine[0].family != mine[1].family


@pytest.mark.parametrize("off", [-0.22, -0.51, -1.2])
def test_more_of_a_family_that_agree_move_the_next_one_further(off: float) -> None:
    """One, two, three ConvNeXts are off alike: the fourth, on another GPU, moves more with each."""
    names = ("convnext_tiny", "convnext_small", "convnext_large")
    seen = [Reference(subject_of(name, "pytorch", "half", RTX3090, "convnext"), off) for name in names]
    wanted = subject_of("convnext_base", "pytorch", "half", A100, "convnext")
    moved = [offset(knowledge().with_references(seen[:count]), wanted) / off for count in (1, 2, 3)]
    assert 0.3 < moved[0] < moved[1] < moved[2] < 1.0


def test_one_odd_member_of_a_family_moves_the_others_by_little() -> None:
    names = ("resnet18", "resnet34", "resnet50", "resnet152")
    agreeing = [Reference(subject_of(name, "pytorch", "half", RTX3090, "resnet"), 0.0) for name in names]
    odd = Reference(subject_of("resnet101", "pytorch", "half", RTX3090, "resnet"), 1.6)
    known = knowledge().with_references([*agreeing, odd])
    assert offset(known, subject_of("resnet200", "pytorch", "half", RTX3090, "resnet")) < 0.2
    assert offset(known, odd.subject) > 1.0


def test_measurements_of_an_odd_network_and_of_its_family_go_together() -> None:
    """VGG-11 has a tail in the shipped effects, VGG-16 has none: each alone, both in either order, many of both."""
    odd, plain = (subject_of(name, "pytorch", "half", RTX3090, "vgg") for name in ("vgg11", "vgg16"))
    references = [Reference(odd, 0.4), Reference(plain, 0.1), Reference(SAME_GPU, 0.2)]
    forth = shipped_knowledge().with_references(references)
    back = shipped_knowledge().with_references(references[::-1])
    for subject in (odd, plain, HERE):
        assert offset(forth, subject) == pytest.approx(offset(back, subject))
    many = shipped_knowledge().with_references([*references] * 4)
    assert offset(shipped_knowledge(), odd) < offset(many, odd) < offset(shipped_knowledge(), odd) + 0.4


def test_a_network_is_narrower_where_others_of_its_family_were_measured() -> None:
    """Transformer-XL: base and large were measured in PyTorch, no model of a user was."""
    related = subject_of("transformer-xl-huge", "pytorch", "half", A100, "transformer-xl")
    stranger = subject_of("mine.py", "pytorch", "half", A100, "own")
    shipped = shipped_knowledge()
    assert shipped.evidence(related) == shipped.evidence(stranger) == "same_architecture"
    near, far = shipped.correction(related), shipped.correction(stranger)
    assert near.high - near.low < far.high - far.low


def test_compiled_code_is_as_far_off_on_an_architecture_as_plain_code() -> None:
    plain, compiled = (subject_of("vgg16", lineage, "half", A100) for lineage in ("pytorch", "pytorch-compiled"))
    assert plain.software != compiled.software
    assert plain.software_architecture == compiled.software_architecture


def test_of_two_networks_that_differ_neither_is_taken_for_the_odd_one() -> None:
    known = knowledge().with_references([Reference(HERE, 0.8), Reference(SAME_GPU, 0.0)])
    assert [reference.tail for reference in known.references] == [1.0, 1.0]


def test_the_tiers_rise_with_what_was_measured() -> None:
    assert knowledge().with_references([Reference(HERE, 0.0, on_this_machine=True)]).evidence(HERE) == "measured_here"
    known = knowledge().with_references([Reference(HERE, 0.0)])
    assert known.evidence(HERE) == "measured_same_gpu"
    assert known.evidence(SAME_WORKLOAD) == "measured_other_gpu"
    assert known.evidence(subject_of("vgg16", "tensorflow", "half", RTX3090)) == "same_architecture"


def test_doubts_widen_and_unknown_flags_do_not() -> None:
    plain = knowledge().correction(HERE)
    doubtful = knowledge().correction(HERE, ("host_bound",))
    other = knowledge().correction(HERE, ("batch_assumed_by_nobody",))
    assert doubtful.high > plain.high
    assert (other.low, other.high) == (plain.low, plain.high)
    assert plain.low < 0 < plain.high


def test_half_and_single_precision_are_different_subjects() -> None:
    assert subject_of("resnet50", "pytorch", "tf32", A100).workload_precision != SAME_WORKLOAD.workload_precision
    assert subject_of("resnet50@288", "pytorch", "half", A100) == SAME_WORKLOAD
    assert subject_of("resnet50", "pytorch", "fp32", CPU).architecture == "cpu"


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6), st.floats(0.01, 2))
def test_the_solver_solves(values: list[float], ridge: float) -> None:
    matrix = [[a * b + (ridge if i == j else 0.0) for j, b in enumerate(values)] for i, a in enumerate(values)]
    solution = solve_symmetric(matrix, values)
    for row, wanted in zip(matrix, values, strict=True):
        assert sum(a * x for a, x in zip(row, solution, strict=True)) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("key", "lineage", "known"),
    [
        ("RTX3090", "pytorch", True),
        ("K80", "pytorch", False),
        ("GTX980", "pytorch", False),
        ("RTX5090", "pytorch", False),
        ("MI300X", "pytorch", False),  # an AMD card of 2019 is measured, which is no CDNA 3
        ("TPUv4", "jax", False),
        ("B200", "nemo-tuned", True),  # whole jobs of NeMo ran on Blackwell, nothing else did
        ("B200", "pytorch", False),
    ],
)
def test_an_architecture_is_known_where_somebody_measured_it(key: str, lineage: str, known: bool) -> None:
    device = accelerator(key)
    subject = subject_of("resnet50", lineage, "half", device)
    assert shipped_knowledge().knows_architecture(subject, device) is known


def test_a_measurement_of_ones_own_makes_its_architecture_known() -> None:
    own, sibling = accelerator("RTX5090"), accelerator("RTX5080")
    taught = shipped_knowledge().with_references([Reference(subject_of("vgg16", "pytorch", "half", own), 0.1)])
    assert taught.knows_architecture(subject_of("resnet50", "pytorch", "half", sibling), sibling)
    assert shipped_knowledge().knows_architecture(subject_of("resnet50", "pytorch", "fp32", CPU), CPU)
