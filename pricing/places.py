"""Bring a regional price to the zones known to sell the machine, so that no place is counted twice."""

from __future__ import annotations

from collections.abc import Iterable

from pricing.offer import Offer


def is_local_zone(offer: Offer) -> bool:
    """Whether the offer's zone is an outpost with prices of its own, which a regional price never describes.

    An ordinary AWS zone is written by its id (use1-az4); a local or wavelength zone has another part (use1-atl2-az1)
    or is written as a region of its own (us-east-1-bos-1).
    """
    if offer.provider != "aws" or offer.zone is None:
        return False
    region, dash, number = offer.zone.partition("-az")
    return not (dash and region.isalnum() and number.isdecimal())


def spread_regional_prices(offers: Iterable[Offer]) -> list[Offer]:
    """Replace a regional price by one a zone, where ordinary zones are known; the newer price of a zone wins.

    Of two prices of one day the first in ``offers`` wins.
    """
    rows = list(offers)
    zones = known_zones(rows)
    placed: dict[tuple[str, str, str, str | None, str], Offer] = {}
    for offer in rows:
        here = zones.get(offer[:3]) if offer.zone is None else None
        for zone in sorted(here) if here else [offer.zone]:
            candidate = offer._replace(zone=zone) if here else offer
            held = placed.setdefault(candidate[:5], candidate)
            if held.price_as_of < candidate.price_as_of:
                placed[candidate[:5]] = candidate
    return sorted(placed.values(), key=reading_order)


def known_zones(offers: Iterable[Offer]) -> dict[tuple[str, str, str], set[str]]:
    """The ordinary zones in which each (provider, instance type, region) has a price of its own."""
    zones: dict[tuple[str, str, str], set[str]] = {}
    for offer in offers:
        if offer.zone is not None and not is_local_zone(offer):
            zones.setdefault(offer[:3], set()).add(offer.zone)
    return zones


def reading_order(offer: Offer) -> tuple[str, str, str, str, str]:
    """Provider, instance type, region, zone, purchase: the order in which offers are stored and read."""
    return (offer.provider, offer.instance_type, offer.region, offer.zone or "", offer.purchase)
