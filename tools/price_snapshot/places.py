"""Bring a regional price to the zones known to sell the machine, so that no place is counted twice."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pricing.offer import Offer

# An availability zone's id (use1-az4), as against a local or wavelength zone (use1-atl2-az1, us-east-1-bos-1).
_AWS_ZONE = re.compile(r"[a-z]+\d+-az\d+")


def is_local_zone(offer: Offer) -> bool:
    """Whether the offer's zone is an outpost with prices of its own, which a regional price never describes."""
    return offer.provider == "aws" and offer.zone is not None and _AWS_ZONE.fullmatch(offer.zone) is None


def spread_regional_prices(offers: Iterable[Offer]) -> list[Offer]:
    """Replace a regional price by one a zone, where ordinary zones are known; the newer price of a zone wins."""
    rows = list(offers)
    zones = _known_zones(rows)
    placed: dict[tuple[str, str, str, str | None, str], Offer] = {}
    for offer in rows:
        here = zones.get(offer[:3]) if offer.zone is None else None
        for zone in sorted(here) if here else [offer.zone]:
            candidate = offer._replace(zone=zone)
            held = placed.setdefault(candidate[:5], candidate)
            if held.price_as_of < candidate.price_as_of:
                placed[candidate[:5]] = candidate
    return sorted(placed.values(), key=reading_order)


def _known_zones(offers: Iterable[Offer]) -> dict[tuple[str, str, str], set[str]]:
    zones: dict[tuple[str, str, str], set[str]] = {}
    for offer in offers:
        if offer.zone is not None and not is_local_zone(offer):
            zones.setdefault(offer[:3], set()).add(offer.zone)
    return zones


def reading_order(offer: Offer) -> tuple[str, str, str, str, str]:
    """Provider, instance type, region, zone, purchase: the order in which offers are stored and read."""
    return (offer.provider, offer.instance_type, offer.region, offer.zone or "", offer.purchase)
