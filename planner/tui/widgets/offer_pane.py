"""One offer in full: its price, where it comes from, what it has cost before, and what its flags mean."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.text import Text

from planner.plan.words import purchase_words
from planner.tui.clock import age, day
from planner.tui.drawing import sparkline
from planner.tui.offers import Line, flag_words
from planner.tui.theme import Palette
from planner.units import format_money
from pricing.offer import Offer
from pricing.store import Change

_PLOT = 32


def offer_text(line: Line | None, changes: Sequence[Change], palette: Palette, width: int, height: int) -> Text:
    """Lines of ``width`` cells, the last of them the notes in what ``height`` leaves, each cut with an ellipsis.

    ``changes`` are all that are known, the newest first.
    """
    if line is None:
        return Text("No offer contains these words.", style=palette.dim)
    offer, kind = line.offer, line.kind
    text = Text.assemble((f"{offer.price} USD/h", f"bold {palette.strong}"))
    bought = purchase_words(offer.purchase, hypothetical=False)
    text.append(f" {bought}, {offer.zone or offer.region}", style=palette.text)
    facts = [f"{kind.vcpus:g} vCPUs" if kind.vcpus else "", f"{kind.memory_gib:g} GiB" if kind.memory_gib else ""]
    link = kind.link if kind.link != "none" else ""
    text.append(f"   {' · '.join(fact for fact in (*facts, kind.cpu, link) if fact)}\n", style=palette.dim)
    text.append_text(history_text(offer, changes, palette)).append("\n")
    seen = f"seen {day(offer.price_as_of)}, {age(line.days)}{' ago' if line.days > 0 else ''}"
    text.append(seen, style=palette.warn if line.stale else palette.text)
    text.append(f" in {offer.price_source}", style=palette.dim)
    lines = text.split("\n")
    for one in lines:
        one.truncate(width, overflow="ellipsis")
    notes = [*([kind.unranked] if kind.unranked else []), *flag_words(offer)]
    words = textwrap.wrap(
        "; ".join(notes) or "no flags", max(width, 1), max_lines=max(height - len(lines), 1), placeholder=" …"
    )
    return Text("\n").join([*lines, Text("\n".join(words), style=palette.warn if notes else palette.dim)])


def history_text(offer: Offer, changes: Sequence[Change], palette: Palette) -> Text:
    """'8 prices since 2 Oct  ▂▃▅▇  low $17.90  high $26.10': what refreshes have seen of the offer."""
    own = [one for one in reversed(changes) if one[1:6] == offer[:5]]
    prices = [float(one.old_price) for one in own[:1] if one.old_price] + [float(one.new_price) for one in own]
    if len(prices) < 2:
        return Text("no other price of it was ever seen on this machine", style=palette.faint)
    text = Text(f"{len(prices)} prices since {day(own[0].at[:10])}  ", style=palette.dim)
    text.append(sparkline(prices, _PLOT), style=palette.places["cloud"])
    text.append("  low ", style=palette.dim).append(format_money(min(prices)), style=palette.text)
    return text.append("  high ", style=palette.dim).append(format_money(max(prices)), style=palette.text)
