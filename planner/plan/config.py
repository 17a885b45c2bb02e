"""The user's configuration file: own machines, electricity, how purchases are written off, discounts and credits.

docs/configuration.md has every key with its type, default and an example; ``SETTINGS`` is what it is held against.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, near_misses
from planner.plan.electricity import UNKNOWN_SITE_PUE
from planner.plan.plan import PLACES, Place

OWN_PLACES: tuple[Place, ...] = PLACES[:3]
THIS_MACHINE = "this machine"

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


def check_machines(config: Config, instance_types: Iterable[str]) -> None:
    """Raises InputError where one of the user's machines has the name of a machine that is rented out."""
    rented = {folded_name(name): name for name in instance_types}
    for machine in config.machines:
        other = rented.get(folded_name(machine.name))
        if other is not None:
            clash = f"the machine {machine.name!r} has the name of the rented {other}; give it one of its own"
            raise InputError(f"in the configuration {config_path()}: {clash}")


def folded_name(name: str) -> str:
    """A machine's name without the marks, the case and Azure's prefix that the table has or leaves away."""
    return name.strip().lstrip("*†").casefold().removeprefix("standard_")


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8 text"


class Setting(NamedTuple):
    """How one key is read: a number within bounds (low excluded unless ``or_low``), or a text."""

    low: float = 0.0
    high: float = 1e12
    or_low: bool = False
    whole: bool = False
    text: bool = False

    @property
    def kind(self) -> str:
        """'text', 'number, 0 to 100', 'number, above 0, to 50', 'whole number, 1 to 1,024'."""
        if self.text:
            return "text"
        if self.whole:
            return f"whole number, {self.low + (not self.or_low):,g} to {self.high:,.0f}"
        low = f"{self.low:,g}" if self.or_low else f"above {self.low:,g},"
        return f"number, {low} to {self.high:,.15g}"


_TEXT = Setting(text=True)
_TOP = {
    "country": _TEXT,
    "electricity_usd_per_kwh": Setting(high=100, or_low=True),
    "hour_value_usd": Setting(high=1e6, or_low=True),
    "aws_regions": _TEXT,
    "idle_minutes": Setting(high=1e6, or_low=True),
    "credit_value": Setting(high=1, or_low=True),
}
_OWNERSHIP = {
    "lifetime_years": Setting(high=50),
    "resale_share": Setting(high=1, or_low=True),
    "use_share": Setting(high=1),
    "cluster_pue": Setting(low=1, high=10, or_low=True),
}
_DISCOUNT = Setting(high=0.99, or_low=True)
_CREDIT = Setting(or_low=True)
_THIS_MACHINE = {
    "power_w": Setting(high=1e6),
    "purchase_usd": Setting(or_low=True),
    "usd_per_hour": Setting(or_low=True, high=1e6),
}
_MACHINE = {
    "name": _TEXT,
    "place": _TEXT,
    "gpu": _TEXT,
    "count": Setting(high=1024, whole=True),
    "nodes": Setting(high=10000, whole=True),
    "link": _TEXT,
    "network": _TEXT,
    "cpu": _TEXT,
    "vcpus": Setting(high=10000),
    "ram_gb": Setting(high=1e6),
    "power_w": Setting(high=1e6),
    "purchase_usd": Setting(or_low=True),
    "usd_per_hour": Setting(or_low=True, high=1e6),
}


REQUIRED_OF_A_MACHINE = ("name", "place", "gpu")
RENAMED_OF_A_MACHINE = {"count": "num_gpus", "nodes": "num_nodes"}
"""The file's words for what :class:`OwnMachine` calls otherwise."""

SETTINGS: Mapping[str, Mapping[str, Setting]] = {
    "": _TOP,
    "ownership": _OWNERSHIP,
    "discounts": {"a provider": _DISCOUNT},
    "credits": {"a provider": _CREDIT},
    "this_machine": _THIS_MACHINE,
    "machine": _MACHINE,
}
"""Every key of the file by its section; "" is the top."""


def _config(table: Mapping[str, Any]) -> Config:
    sections = set(SETTINGS) - {""}
    _known(table, sections | set(_TOP), "")
    values = _read({key: value for key, value in table.items() if key not in sections}, _TOP, "")
    machines = tuple(_own_machine(entry, number) for number, entry in enumerate(_machine_tables(table), start=1))
    _told_apart(machines)
    return Config(
        **values,
        ownership=OwnershipTerms(**_section(table, "ownership", _OWNERSHIP)),
        discounts=_by_provider(table, "discounts", _DISCOUNT),
        credits_usd=_by_provider(table, "credits", _CREDIT),
        this_machine=ThisMachine(**_section(table, "this_machine", _THIS_MACHINE)),
        machines=machines,
    )


def _machine_tables(table: Mapping[str, Any]) -> list[Any]:
    entries = table.get("machine", [])
    if not isinstance(entries, list):
        raise InputError("machine must be written as [[machine]], once for each machine")
    return entries


def _told_apart(machines: Iterable[OwnMachine]) -> None:
    """Raises InputError where ``--on`` could not tell a machine by its name."""
    taken: dict[str, int] = {}
    for number, machine in enumerate(machines, start=1):
        name = folded_name(machine.name)
        if name == THIS_MACHINE:
            raise InputError(f"machine {number}: {machine.name!r} is the one you sit at, which [this_machine] is about")
        if name in OWN_PLACES and name != machine.place:
            raise InputError(f"machine {number}: {machine.name!r} is a place, and this machine's is {machine.place}")
        if name in taken:
            raise InputError(f"machine {number}: machine {taken[name]} is called {machine.name!r} already")
        taken[name] = number


def _section(table: Mapping[str, Any], name: str, fields: Mapping[str, Setting]) -> dict[str, Any]:
    section = table.get(name, {})
    if not isinstance(section, dict):
        raise InputError(f"{name} must be a table, written as [{name}]")
    return _read(section, fields, f"{name}.")


def _by_provider(table: Mapping[str, Any], name: str, field: Setting) -> dict[str, float]:
    """By the provider's name in lower case; :func:`check_providers` says whether it is one."""
    section = table.get(name, {})
    amounts = _section(table, name, dict.fromkeys(section if isinstance(section, dict) else (), field))
    return {provider.lower(): amount for provider, amount in amounts.items()}


def _own_machine(entry: Any, number: int) -> OwnMachine:
    where = f"machine {number}: "
    if not isinstance(entry, dict):
        raise InputError("machine must be written as [[machine]], once for each machine")
    values = _read(entry, _MACHINE, where)
    for required in REQUIRED_OF_A_MACHINE:
        if required not in values:
            raise InputError(f"{where}{required} is missing")
    if values["place"] not in OWN_PLACES:
        raise InputError(
            f"{where}place must be {', '.join(OWN_PLACES[:-1])} or {OWN_PLACES[-1]}, not {values['place']!r}"
        )
    return OwnMachine(**{RENAMED_OF_A_MACHINE.get(key, key): value for key, value in values.items()})


def _read(section: Mapping[str, Any], fields: Mapping[str, Setting], where: str) -> dict[str, Any]:
    _known(section, fields, where)
    return {key: _text_or_number(where + key, value, fields[key]) for key, value in section.items()}


def _known(section: Mapping[str, Any], fields: Mapping[str, object] | set[str], where: str) -> None:
    """Raises InputError for a key that is no setting, with the one that looks like it or all that there are."""
    for key in section:
        if key not in fields:
            near = near_misses(key, fields) or [name for name in sorted(fields) if key in name or name in key]
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(fields))}"
            raise InputError(f"{where}{key} is not a setting; {hint}")


def _text_or_number(name: str, value: Any, field: Setting) -> Any:
    if field.text:
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{name} must be a text in quotes")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or (field.whole and not isinstance(value, int)):
        raise InputError(f"{name} must be a {'whole number' if field.whole else 'number'}, not {value!r}")
    if not (field.low < value <= field.high or (field.or_low and value == field.low)):
        bound = f"at least {field.low:g}" if field.or_low else f"greater than {field.low:g}"
        raise InputError(f"{name} must be {bound} and at most {field.high:,g}, not {value}")
    return value
