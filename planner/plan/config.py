"""The user's configuration file: own machines, electricity, how purchases are written off.

country = "DE"
electricity_usd_per_kwh = 0.30
hour_value_usd = 2
aws_regions = "us-east-1, eu-central-1"    # whose price files `prices refresh` reads
credit_value = 0.5      # what a dollar of a provider's credit is worth to you, where rows are ordered
idle_minutes = 10       # how long a rented machine is kept, and paid for, after the run

[ownership]
lifetime_years = 3
resale_share = 0.3
use_share = 0.5
cluster_pue = 1.56      # cooling and distribution of an own cluster's room

[discounts]             # share off the list price, by provider
aws = 0.1

[credits]               # USD that a provider has given you, spent before money is, once
gcp = 300

[this_machine]
power_w = 350           # at the wall, while training
purchase_usd = 2500

[[machine]]
name = "lab"
place = "cluster"       # laptop, workstation or cluster
gpu = "A100 80GB"
count = 8               # per node
nodes = 1
purchase_usd = 120000
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, near_misses
from planner.plan.electricity import UNKNOWN_SITE_PUE
from planner.plan.plan import PLACES, Place

OWN_PLACES: tuple[Place, ...] = PLACES[:3]

DEFAULT_IDLE_MINUTES = 10.0
"""A rented machine is given back ten minutes after the run (assumption)."""

DEFAULT_CREDIT_VALUE = 0.5
"""A dollar of credit is worth less than one of money: it buys at one provider, and until a day (assumption)."""


class OwnershipTerms(NamedTuple):
    """How a purchase is written off; the defaults are assumptions that every answer states."""

    lifetime_years: float = 3.0
    resale_share: float = 0.3
    use_share: float = 0.5
    cluster_pue: float = UNKNOWN_SITE_PUE


class ThisMachine(NamedTuple):
    """What only its owner knows of this machine."""

    power_w: float | None = None
    purchase_usd: float | None = None
    usd_per_hour: float | None = None


class OwnMachine(NamedTuple):
    """A machine the user described; ``power_w`` is wall power of one node while training."""

    name: str
    place: Place
    gpu: str
    num_gpus: int = 1
    num_nodes: int = 1
    link: str | None = None
    network: str | None = None
    cpu: str | None = None
    vcpus: float | None = None
    ram_gb: float | None = None
    power_w: float | None = None
    purchase_usd: float | None = None
    usd_per_hour: float | None = None


class Config(NamedTuple):
    """What the file says; every field has a default, so that no file is a valid configuration."""

    country: str | None = None
    electricity_usd_per_kwh: float | None = None
    hour_value_usd: float | None = None
    aws_regions: str | None = None
    idle_minutes: float = DEFAULT_IDLE_MINUTES
    credit_value: float = DEFAULT_CREDIT_VALUE
    ownership: OwnershipTerms = OwnershipTerms()
    discounts: Mapping[str, float] = {}
    credits_usd: Mapping[str, float] = {}
    this_machine: ThisMachine = ThisMachine()
    machines: tuple[OwnMachine, ...] = ()


def config_path() -> Path:
    """``$GPUPLANNER_CONFIG``, or ``gpuplanner/config.toml`` in the user's configuration directory."""
    override = os.environ.get("GPUPLANNER_CONFIG")
    if override:
        return Path(override)
    from platformdirs import user_config_path

    return user_config_path("gpuplanner", appauthor=False) / "config.toml"


def load_config(path: Path | None = None) -> Config:
    """The configuration in ``path`` (default: :func:`config_path`). No file is the default configuration.

    Raises InputError, with the file's name and what is wrong in it.
    """
    chosen = path or config_path()
    try:
        text = chosen.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        # A link that leads nowhere is a file that was meant to be read.
        if path is None and "GPUPLANNER_CONFIG" not in os.environ and not chosen.is_symlink():
            return Config()
        raise InputError(f"cannot read the configuration {chosen}: {_reason(error)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the configuration {chosen}: {_reason(error)}") from error
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the configuration {chosen} is not valid TOML: {error}") from error
    try:
        return _config(table)
    except InputError as error:
        raise InputError(f"in the configuration {chosen}: {error}") from error


def check_providers(config: Config, providers: Iterable[str]) -> None:
    """Raises InputError where a discount or a credit is of a provider that sells nothing here."""
    known = sorted(providers)
    for section, amounts in (("discounts", config.discounts), ("credits", config.credits_usd)):
        for name in amounts:
            if name not in known:
                near = near_misses(name, known)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                raise InputError(f"in the configuration {config_path()}: {section}.{name} is no provider; {hint}")


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8 text"


class _Field(NamedTuple):
    """How one key is read: a number within bounds (low excluded unless ``or_zero``), or a text."""

    low: float = 0.0
    high: float = 1e12
    or_zero: bool = False
    whole: bool = False
    text: bool = False


_TEXT = _Field(text=True)
_TOP = {
    "country": _TEXT,
    "electricity_usd_per_kwh": _Field(high=100, or_zero=True),
    "hour_value_usd": _Field(high=1e6, or_zero=True),
    "aws_regions": _TEXT,
    "idle_minutes": _Field(high=1e6, or_zero=True),
    "credit_value": _Field(high=1, or_zero=True),
}
_OWNERSHIP = {
    "lifetime_years": _Field(high=50),
    "resale_share": _Field(high=1, or_zero=True),
    "use_share": _Field(high=1),
    "cluster_pue": _Field(low=1, high=10, or_zero=True),
}
_DISCOUNT = _Field(high=0.99, or_zero=True)
_CREDIT = _Field(or_zero=True)
_THIS_MACHINE = {
    "power_w": _Field(high=1e6),
    "purchase_usd": _Field(or_zero=True),
    "usd_per_hour": _Field(or_zero=True, high=1e6),
}
_MACHINE = {
    "name": _TEXT,
    "place": _TEXT,
    "gpu": _TEXT,
    "count": _Field(high=1024, whole=True),
    "nodes": _Field(high=10000, whole=True),
    "link": _TEXT,
    "network": _TEXT,
    "cpu": _TEXT,
    "vcpus": _Field(high=10000),
    "ram_gb": _Field(high=1e6),
    "power_w": _Field(high=1e6),
    "purchase_usd": _Field(or_zero=True),
    "usd_per_hour": _Field(or_zero=True, high=1e6),
}


def _config(table: Mapping[str, Any]) -> Config:
    sections = {"ownership", "this_machine", "machine", "discounts", "credits"}
    _known(table, sections | set(_TOP), "")
    values = _read({key: value for key, value in table.items() if key not in sections}, _TOP, "")
    return Config(
        **values,
        ownership=OwnershipTerms(**_section(table, "ownership", _OWNERSHIP)),
        discounts=_by_provider(table, "discounts", _DISCOUNT),
        credits_usd=_by_provider(table, "credits", _CREDIT),
        this_machine=ThisMachine(**_section(table, "this_machine", _THIS_MACHINE)),
        machines=tuple(_own_machine(entry, number) for number, entry in enumerate(_machine_tables(table), start=1)),
    )


def _machine_tables(table: Mapping[str, Any]) -> list[Any]:
    entries = table.get("machine", [])
    if not isinstance(entries, list):
        raise InputError("machine must be written as [[machine]], once for each machine")
    return entries


def _section(table: Mapping[str, Any], name: str, fields: Mapping[str, _Field]) -> dict[str, Any]:
    section = table.get(name, {})
    if not isinstance(section, dict):
        raise InputError(f"{name} must be a table, written as [{name}]")
    return _read(section, fields, f"{name}.")


def _by_provider(table: Mapping[str, Any], name: str, field: _Field) -> dict[str, float]:
    """By the provider's name in lower case; :func:`check_providers` says whether it is one."""
    section = table.get(name, {})
    amounts = _section(table, name, dict.fromkeys(section if isinstance(section, dict) else (), field))
    return {provider.lower(): amount for provider, amount in amounts.items()}


def _own_machine(entry: Any, number: int) -> OwnMachine:
    where = f"machine {number}: "
    if not isinstance(entry, dict):
        raise InputError("machine must be written as [[machine]], once for each machine")
    values = _read(entry, _MACHINE, where)
    for required in ("name", "place", "gpu"):
        if required not in values:
            raise InputError(f"{where}{required} is missing")
    if values["place"] not in OWN_PLACES:
        raise InputError(
            f"{where}place must be {', '.join(OWN_PLACES[:-1])} or {OWN_PLACES[-1]}, not {values['place']!r}"
        )
    renamed = {"count": "num_gpus", "nodes": "num_nodes"}
    return OwnMachine(**{renamed.get(key, key): value for key, value in values.items()})


def _read(section: Mapping[str, Any], fields: Mapping[str, _Field], where: str) -> dict[str, Any]:
    _known(section, fields, where)
    return {key: _text_or_number(where + key, value, fields[key]) for key, value in section.items()}


def _known(section: Mapping[str, Any], fields: Mapping[str, object] | set[str], where: str) -> None:
    """Raises InputError for a key that is no setting, with the one that looks like it or all that there are."""
    for key in section:
        if key not in fields:
            near = near_misses(key, fields) or [name for name in sorted(fields) if key in name or name in key]
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(fields))}"
            raise InputError(f"{where}{key} is not a setting; {hint}")


def _text_or_number(name: str, value: Any, field: _Field) -> Any:
    if field.text:
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{name} must be a text in quotes")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or (field.whole and not isinstance(value, int)):
        raise InputError(f"{name} must be a {'whole number' if field.whole else 'number'}, not {value!r}")
    if not (field.low < value <= field.high or (field.or_zero and value == field.low)):
        bound = f"at least {field.low:g}" if field.or_zero else f"greater than {field.low:g}"
        raise InputError(f"{name} must be {bound} and at most {field.high:,g}, not {value}")
    return value
