"""The configuration file: read when it is right, one clear sentence when it is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.plan.config import Config, OwnMachine, check_machines, check_providers, config_path, load_config

GOOD = """
country = "DE"
electricity_usd_per_kwh = 0.30

[ownership]
resale_share = 0.0
use_share = 1

[this_machine]
power_w = 350

[[machine]]
name = "lab"
place = "cluster"
gpu = "A100 80GB"
count = 8
purchase_usd = 120000
"""

_LAB = "[[machine]]\nname = 'lab'\nplace = 'cluster'\ngpu = 'T4'\n"


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_no_file_is_the_default(home: Path) -> None:
    assert load_config() == Config()
    assert config_path().is_relative_to(home)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    config = load_config(_write(tmp_path, GOOD))
    assert config.country == "DE"
    assert config.ownership.resale_share == 0
    assert config.ownership.use_share == 1
    assert config.ownership.lifetime_years == 3
    assert config.this_machine.power_w == 350
    assert config.machines == (OwnMachine("lab", "cluster", "A100 80GB", num_gpus=8, purchase_usd=120000),)


def test_the_environment_names_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPLANNER_CONFIG", str(_write(tmp_path, 'country = "US-NY"')))
    assert load_config().country == "US-NY"
    monkeypatch.setenv("GPUPLANNER_CONFIG", str(tmp_path / "nowhere.toml"))
    with pytest.raises(InputError, match=r"cannot read the configuration .*nowhere\.toml"):
        load_config()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("country = ", "not valid TOML"),
        ("country = 3", "country must be a text"),
        ('county = "DE"', "county is not a setting; did you mean country"),
        ("electricity_usd_per_kwh = -1", "electricity_usd_per_kwh must be at least 0"),
        ("electricity_usd_per_kwh = nan", "must be at least 0"),
        ('electricity_usd_per_kwh = "cheap"', "must be a number"),
        ("ownership = 3", "written as [ownership]"),
        ("[ownership]\nlifetime_years = 0", "ownership.lifetime_years must be greater than 0"),
        ("[ownership]\nuse_share = 2", "ownership.use_share must be greater than 0 and at most 1"),
        ("[machine]\nname = 'x'", "written as [[machine]]"),
        ("machine = [3]", "written as [[machine]]"),
        ("[ownership]\nyears = 3", "ownership.years is not a setting; did you mean lifetime_years?"),
        ("[this_machine]\ncolour = 3", "not a setting; known are power_w, purchase_usd, usd_per_hour"),
        ("[[machine]]\nname = 'x'", "machine 1: place is missing"),
        ("[[machine]]\nname = 'x'\nplace = 'cellar'\ngpu = 'T4'", "place must be laptop, workstation or cluster"),
        ("[[machine]]\nname = 'x'\nplace = 'cluster'\ngpu = 'T4'\ncount = 1.5", "count must be a whole number"),
        ("[[machine]]\nname = 'x'\nplace = 'cluster'\ngpu = 'T4'\ncount = true", "count must be a whole number"),
        ("[[machine]]\nname = 'x'\nplace = 'cluster'\ngpu = 'T4'\nprice = 3", "machine 1: price is not a setting"),
        (_LAB + _LAB.replace("lab", "*LAB "), "machine 2: machine 1 is called '*LAB ' already"),
        (_LAB.replace("lab", "This machine"), "machine 1: 'This machine' is the one you sit at"),
        (_LAB.replace("lab", "laptop"), "machine 1: 'laptop' is a place, and this machine's is cluster"),
    ],
)
def test_what_is_wrong_is_said_with_the_files_name(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config(_write(tmp_path, text))
    assert complaint in str(caught.value)
    assert "config.toml" in str(caught.value)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        load_config(path)


def test_a_directory_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the configuration"):
        load_config(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="links need no rights on POSIX only")
@pytest.mark.parametrize("target", ["config.toml", "nowhere.toml"])
def test_a_link_that_leads_nowhere_is_not_taken_for_no_file(home: Path, target: str) -> None:
    path = config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.parent / target)
    with pytest.raises(InputError, match=r"cannot read the configuration .*config\.toml"):
        load_config()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[discounts]\nawss = 0.5", "discounts.awss is no provider; did you mean aws?"),
        ("[credits]\nmybank = 5", "credits.mybank is no provider; known are aws, gcp"),
    ],
)
def test_discounts_and_credits_are_of_providers_that_sell_something(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        check_providers(load_config(_write(tmp_path, text)), ["gcp", "aws"])
    check_providers(load_config(_write(tmp_path, "[discounts]\nAWS = 0.1\n[credits]\ngcp = 3")), ["gcp", "aws"])


def test_an_own_machine_has_a_name_that_none_is_rented_under(tmp_path: Path) -> None:
    rented = ("p5.48xlarge", "Standard_NC24ads_A100_v4")
    for name in ("P5.48xlarge", "nc24ads_a100_v4"):
        with pytest.raises(InputError, match=f"the machine '{name}' has the name of the rented"):
            check_machines(load_config(_write(tmp_path, _LAB.replace("lab", name))), rented)
    check_machines(load_config(_write(tmp_path, _LAB + _LAB.replace("lab", "cluster"))), rented)


@pytest.mark.skipif(os.name != "posix", reason="HOME is what names the directory on POSIX only")
def test_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    assert config_path().name == "config.toml"
