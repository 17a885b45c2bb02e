"""The alias table: each way a model is named -> the accelerators it may mean, the likeliest first."""

from __future__ import annotations

from pathlib import Path

from hardware_tables.specifications import Row, read_table
from planner.hardware.names import NameParts, read_name

HERE = Path(__file__).resolve().parent
COLUMNS = ("name", "forms", "keys")
DRIVER_COLUMNS = ("name", "key")
# Prefixes people leave out when they type a consumer card's name: "4090", "1080 ti", "7900 xtx".
OMITTED_PREFIXES = ("rtx", "gtx", "rx", "arc")
FORM_FACTORS = {
    "laptop": "laptop",
    "laptop Max-Q": "laptop maxq",
    "datacentre-PCIe": "pcie",  # but NVL cards, which are PCIe cards too, are called NVL
    "SXM": "sxm",
    "OAM": "oam",
}
# The module generation people write for "SXM"; V100 came as SXM2 and SXM3.
SXM_GENERATION = {"Pascal": "sxm2", "Ampere": "sxm4", "Hopper": "sxm5", "Blackwell": "sxm6"}


def build(shared: Path) -> list[Row]:
    """Rows (core name, its forms by key, keys in order of likelihood), sorted by name."""
    gathered = read_table(shared / "data" / "accelerators.csv")
    forms = {row["key"]: _forms(row) for row in gathered}
    known = set(forms)
    keys_by_name: dict[str, list[str]] = {}
    for judged in read_table(HERE / "aliases.csv"):
        keys_by_name.setdefault(read_name(judged["name"]).core, []).extend(judged["keys"].split())
    for row in gathered:
        for name in _names(row):
            if name in known and name != row["key"]:
                continue  # a cloud that sells the SUPER under the plain card's name
            core = read_name(name).core
            for spelling in (core, *_short_spellings(core)):
                keys_by_name.setdefault(spelling, []).append(row["key"])
    rows = []
    for name in sorted(keys_by_name):
        keys = list(dict.fromkeys(keys_by_name[name]))
        rows.append({"name": name, "keys": " ".join(keys), "forms": "|".join(forms[key] for key in keys)})
    return rows


def build_driver_names(shared: Path) -> list[Row]:
    """Names as the driver writes them that belong to one part only: they leave no doubt."""
    gathered = read_table(shared / "data" / "accelerators.csv")
    names = [row["nvml_name"].casefold() for row in gathered]
    return [
        {"name": row["nvml_name"], "key": row["key"]}
        for row in gathered
        if row["nvml_name"] and row["vendor"] == "NVIDIA" and names.count(row["nvml_name"].casefold()) == 1
    ]


def _names(row: Row) -> list[str]:
    clouds = [entry.split("(")[0].strip() for entry in row["cloud_names"].split("|")]
    names = [row["key"], row["marketing_name"].split("(")[0], row["nvml_name"], *clouds]
    return [name for name in names if name and not any(mark in name for mark in "*:?") and name != "ovh"]


def _short_spellings(core: str) -> list[str]:
    return [core.removeprefix(prefix) for prefix in OMITTED_PREFIXES if core.startswith(prefix)]


def _forms(row: Row) -> str:
    """The form words a name of this part may carry, e.g. 'sxm sxm4'; laptop parts only answer when one is said."""
    words = FORM_FACTORS.get(row["form_factor"], "").split()
    said: NameParts = read_name(f"{row['key']} {row['marketing_name']} {row['nvml_name']}")
    words += sorted(said.forms - set(words))
    if "nvl" in words:
        words.remove("pcie")
    if row["form_factor"] == "SXM" and row["architecture"] in SXM_GENERATION:
        words.append(SXM_GENERATION[row["architecture"]])
    return " ".join(dict.fromkeys(words))
