"""From the advisor's monthly shares and measured traces to events per hour."""

from __future__ import annotations

import math

import pytest

from pricing.catalog import Catalog
from pricing.interruption import Interruptions, Measured

AWS = Measured(0.2, 0.4, 0.9, "2023-08-27", "traces of GPU machines")
GCP = Measured(0.0, 0.02, 0.05, "2023-08-27", "traces of CPU machines")


@pytest.fixture
def interruptions() -> Interruptions:
    steps = {("here", "calm"): 0, ("here", "busy"): 4, ("there", "busy"): 3, ("far", "busy"): 3, ("here", "mid"): 2}
    return Interruptions(steps, "2025-07-28", {"aws": AWS, "gcp": GCP})


def test_a_share_becomes_a_rate_over_the_hours_an_instance_ran(interruptions: Interruptions) -> None:
    found = interruptions.of("aws", "mid", "here")
    assert found.low_per_hour == pytest.approx(-math.log(0.9) / 730)
    assert found.per_hour == pytest.approx(-math.log(1 - 0.125) / math.sqrt(730))
    assert found.high_per_hour == pytest.approx(-math.log(0.85))
    assert (found.as_of, found.source) == ("2025-07-28", "AWS Spot Instance Advisor")


def test_the_open_step_ends_at_what_was_measured(interruptions: Interruptions) -> None:
    found = interruptions.of("aws", "busy", "here")
    assert found.high_per_hour == AWS.high_per_hour
    assert found.per_hour == pytest.approx(math.sqrt(found.low_per_hour * found.high_per_hour))


def test_another_region_takes_the_middle_of_the_known_ones(interruptions: Interruptions) -> None:
    found = interruptions.of("aws", "busy", "nowhere")
    assert found.per_hour == interruptions.of("aws", "busy", "there").per_hour
    assert "other regions" in found.source


def test_a_machine_nobody_rated_takes_the_middle_of_all_with_a_wide_interval(interruptions: Interruptions) -> None:
    found = interruptions.of("aws", "new", "here")
    assert (found.low_per_hour, found.high_per_hour) == (0.0, AWS.high_per_hour)
    assert found.per_hour == interruptions.of("aws", "busy", "there").per_hour
    assert "no figures" not in found.source


def test_a_provider_without_figures_says_so(interruptions: Interruptions) -> None:
    assert interruptions.of("azure", "any", "here").source.startswith("no figures of azure")
    measured = interruptions.of("gcp", "any", "here")
    assert (measured.per_hour, measured.high_per_hour) == (GCP.per_hour, AWS.high_per_hour)
    assert "measured on AWS" in measured.source


def test_figures_that_cannot_be_right_are_refused() -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.4"):
        Interruptions({("here", "odd"): 5}, "2025-07-28", {"aws": AWS})
    with pytest.raises(LookupError):
        Interruptions({}, "2025-07-28", {"aws": AWS})
    with pytest.raises(LookupError):
        Interruptions({("here", "calm"): 0}, "2025-07-28", {})


def test_shipped_rates_are_ordered_and_a_busier_step_is_a_higher_rate(catalog: Catalog) -> None:
    shipped = catalog.interruptions()
    for offer in catalog.offers(["spot"]):
        found = shipped.of(offer.provider, offer.instance_type, offer.region)
        assert 0 <= found.low_per_hour < found.per_hour < found.high_per_hour
        assert found.as_of
    calm, busy = shipped.of("aws", "g4dn.12xlarge", "af-south-1"), shipped.of("aws", "p5.48xlarge", "us-east-1")
    assert calm.per_hour < busy.per_hour / 10
