"""How accelerator names are read: noise words dropped, memory size and form factor told apart from the model.

One reader serves the catalogue's look-ups and the builder of its alias table, so both see a name the same way.
"""

from typing import NamedTuple

_NOISE = frozenset(
    {
        *("nvidia", "amd", "intel", "apple", "google", "aws", "habana", "geforce", "tesla", "radeon", "instinct"),
        *("gpu", "graphics", "card", "accelerator", "device", "generation", "design", "with", "edition", "series"),
        *("the", "tensor", "core", "cores", "superchip", "blackwell", "plus", "h", "ac", "mps", "vws"),
        *("hbm2", "hbm2e", "hbm3e"),
    }
)
_FORM_WORDS = {
    "sxm": "sxm",
    "sxm2": "sxm2",
    "sxm3": "sxm3",
    "sxm4": "sxm4",
    "sxm5": "sxm5",
    "sxm6": "sxm6",
    "pcie": "pcie",
    "pci": "pcie",
    "nvl": "nvl",
    "oam": "oam",
    "laptop": "laptop",
    "mobile": "laptop",
    "notebook": "laptop",
    "maxq": "maxq",
    "server": "server",
    "workstation": "workstation",
    "ws": "workstation",
    "mig": "mig",
    "mega": "sxm",
    "hbm3": "sxm",
}
_MEMORY_UNITS = ("gib", "gb", "g")
_PUNCTUATION = {ord(character): " " for character in "-_/,:()[]\"'@™®."}


class NameParts(NamedTuple):
    """A name taken apart: ``model`` words, the forms it states ('sxm4', 'laptop', '40c') and its memory in GiB."""

    model: tuple[str, ...]
    forms: frozenset[str]
    memory_gib: float | None

    @property
    def core(self) -> str:
        """The model words run together: 'rtx3090', 'a100', 'm3max'."""
        return "".join(self.model)


def read_name(name: str) -> NameParts:
    """Take a driver's, cloud's or person's name of an accelerator apart; never fails."""
    words = name.casefold().translate(_PUNCTUATION).replace("max q", "maxq").split()
    if "mig" in words:
        words = words[: words.index("mig") + 1]
    model: list[str] = []
    forms: set[str] = set()
    memory_gib: float | None = None
    for position, word in enumerate(words):
        following = words[position + 1] if position + 1 < len(words) else ""
        size = _memory_gib(word.replace("q", "g") if word.endswith("q") else word)  # 'A10-24Q': a virtual GPU's 24 GB
        if size is not None:
            memory_gib = size
        elif word.isdecimal() and following in _MEMORY_UNITS:
            memory_gib = float(word)
        elif word.isdecimal() and following in ("core", "cores"):
            forms.add(f"{word}c")
        elif len(word) > 1 and word[:-1].isdecimal() and word[-1] == "c":
            forms.add(word)
        elif word in _FORM_WORDS:
            forms.add(_FORM_WORDS[word])
        elif word not in _NOISE and word not in _MEMORY_UNITS:
            model.append(word)
    return NameParts(tuple(model), frozenset(forms), memory_gib)


def split_form(core: str) -> tuple[str, str] | None:
    """('h100', 'nvl') for 'h100nvl': a form factor written without a gap; None where there is none."""
    for word, form in _FORM_WORDS.items():
        if core.endswith(word) and len(core) > len(word):
            return core[: -len(word)], form
    return None


def _memory_gib(word: str) -> float | None:
    for unit in _MEMORY_UNITS:
        digits = word.removesuffix(unit)
        if digits != word and digits.isdecimal():
            return float(digits)
    return None
