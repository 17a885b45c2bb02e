"""Whether a spot run's long tail outweighs what spot saves: then it is ranked, and never recommended.

A row is ranked by what it costs at the likely rate of interruptions. That rate is known to a factor of ten at best
(pricing/interruption.py), and where many nodes are one job, or a checkpoint takes long, its high end means that hardly
a segment of the work ends: the P90 is weeks, years or no end at all, at a P50 that looks like a bargain.
"""

from planner.plan.search import Row, Setting
from planner.units import Interval
from pricing.flags import FAR_BELOW_MEDIAN
from pricing.offer import Offer

MOST_TIMES_P50 = 10.0
"""Where the same machine has no price on demand: a spot run whose P90 is longer than ten times its P50 is no plan
(assumption)."""


def has_long_tail(setting: Setting, offer: Offer | None) -> bool:
    """Whether a spot run is expected to cost more than the same machine on demand, or may take ten times as long.

    The machine's hours are compared, at the mean of each run's time: on demand in the same region where it is sold
    there, else where it is cheapest.
    """
    if offer is None or offer.purchase != "spot":
        return False
    time_s = setting.time_s(offer)
    on_demand = _on_demand(setting, offer.region)
    if on_demand is None:
        return not time_s.p90 <= MOST_TIMES_P50 * time_s.p50
    return mean(time_s) * offer.usd_per_hour > mean(setting.time_s(on_demand)) * on_demand.usd_per_hour


def is_sound(row: Row) -> bool:
    """Whether its price and its time can be relied on: not far below other regions' price, and without a long tail."""
    offer = row.offer
    return offer is None or (FAR_BELOW_MEDIAN not in offer.flags and not has_long_tail(row.setting, offer))


def mean(interval: Interval) -> float:
    """The mean of a skewed quantity from its quantiles, by Swanson's rule (Hurst, Brown and Swanson 2000, AAPG Bulletin
    84:1883). Of a log-normal it is 3 % low where P90 is three times P50, a third low at ten times: it spares spot."""
    return 0.3 * interval.p10 + 0.4 * interval.p50 + 0.3 * interval.p90


def _on_demand(setting: Setting, region: str) -> Offer | None:
    offers = [offer for offer in setting.candidate.offers if offer is not None and offer.purchase == "on_demand"]
    here = [offer for offer in offers if offer.region == region]
    return min(here or offers, key=lambda offer: offer.usd_per_hour, default=None)
