"""Which feeds a refresh reads, by what was asked and what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pricing.endpoints import Endpoints
from pricing.errors import FeedError, UnknownPlaceError
from pricing.providers import gpuhunt
from pricing.providers.base import Known, name_of
from pricing.sources import DEFAULT_AWS_REGIONS, Asked, Choice, choose

KEY = {"GPUPLANNER_GCP_API_KEY": "k"}


@pytest.fixture(autouse=True)
def _no_aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pricing.sources.boto3_clients", lambda: None)


def chosen(known: Known, asked: Asked, environment: dict[str, str] | None = None) -> Choice:
    return choose(asked, known, Endpoints(), environment or {}, Path("/nowhere"))


def names(choice: Choice) -> list[str]:
    return [name_of(source) for source in choice.sources]


def test_without_a_word_everything_that_needs_no_set_up(known: Known) -> None:
    choice = chosen(known, Asked())
    aws = [name for name in names(choice) if name.startswith("aws")]
    assert aws == [
        "aws spot advisor",
        "aws public spot prices",
        *(f"aws price list {region}" for region in DEFAULT_AWS_REGIONS),
    ]
    assert len([name for name in names(choice) if name.startswith("azure")]) > 50
    assert "gcp price list" not in names(choice)
    assert len(choice.notes) == 1
    assert choice.problems == {}


def test_a_key_adds_google(known: Known) -> None:
    choice = chosen(known, Asked(), KEY)
    assert "gcp price list" in names(choice)
    assert choice.notes == ()
    assert "k" in choice.secrets


def test_the_user_s_regions_are_aws_regions(known: Known) -> None:
    assert names(chosen(known, Asked(("aws",), (), ("eu-north-1",))))[-1] == "aws price list eu-north-1"


def test_regions_choose_the_providers_that_have_them(known: Known) -> None:
    assert names(chosen(known, Asked((), ("eastus",)), KEY)) == ["azure retail prices eastus"]
    both = names(chosen(known, Asked((), ("us-east1", "us-east-1")), KEY))
    assert both == ["aws spot advisor", "aws public spot prices", "aws price list us-east-1", "gcp price list"]


def test_a_region_that_is_new_is_taken_by_whom_it_looks_like(known: Known) -> None:
    assert names(chosen(known, Asked((), ("us-north-9",)), KEY))[-1] == "aws price list us-north-9"
    assert names(chosen(known, Asked((), ("us-north9",)), KEY)) == ["gcp price list"]
    assert names(chosen(known, Asked((), ("northus9",)), KEY)) == ["azure retail prices northus9"]
    slip = chosen(known, Asked((), ("eastsu",)), KEY)
    assert slip.notes == ("the region 'eastsu' has no price here yet; did you mean eastus?",)


def test_names_that_nobody_has_are_refused(known: Known) -> None:
    with pytest.raises(UnknownPlaceError, match="did you mean azure"):
        chosen(known, Asked(("azur",)))
    with pytest.raises(UnknownPlaceError, match="us-nowhere"):
        chosen(known, Asked((), ("us-nowhere*",)))


def test_what_was_asked_for_and_cannot_be_read_is_a_problem(
    known: Known, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "API key" in chosen(known, Asked(("gcp",))).problems["gcp"]
    (tmp_path / "adc.json").write_text("{}")
    broken = {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "adc.json")}
    assert "cannot be used" in chosen(known, Asked(), broken).problems["gcp"]

    def refuse() -> None:
        raise FeedError("AWS credentials cannot be used (ProfileNotFound)")

    monkeypatch.setattr("pricing.sources.boto3_clients", refuse)
    assert "ProfileNotFound" in chosen(known, Asked(("aws",))).problems["aws"]
    assert chosen(known, Asked(("aws",), credentials=False)).problems == {}


def test_credentials_read_by_query_and_by_zone(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pricing.sources.boto3_clients", lambda: lambda service, region: None)
    assert names(chosen(known, Asked(("aws",), ("us-east-1",)))) == [
        "aws spot advisor",
        "aws price query us-east-1",
        "aws spot price history us-east-1",
        "aws savings plans us-east-1",
        "aws instance types us-east-1",
    ]


def test_other_clouds_are_read_where_they_are_named(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpuhunt, "is_installed", lambda: True)
    assert names(chosen(known, Asked(("lambda", "vast")))) == ["lambda (gpuhunt)", "vast (gpuhunt)"]
    monkeypatch.setattr(gpuhunt, "is_installed", lambda: False)
    choice = chosen(known, Asked(("lambda",)))
    assert choice.problems == {"lambda": gpuhunt.ABSENT}
    assert choice.sources == ()
