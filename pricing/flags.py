"""The marks a price row may carry and what each means to the reader. A flagged row is kept and shown."""

from __future__ import annotations

DATE_UNCERTAIN = "date_uncertain"
SPOT_ABOVE_ON_DEMAND = "spot_above_on_demand"
FAR_BELOW_MEDIAN = "far_below_median"
NOT_SOLD_ON_DEMAND = "not_sold_on_demand"
LOCAL_SSD_NOT_INCLUDED = "local_ssd_not_included"
COMPOSED = "composed"
SPOT_INDICATIVE = "spot_indicative"
MARKETPLACE_ASK = "marketplace_ask"
GOVERNMENT_REGION = "government_region"
COMMITMENT_1_YEAR = "commitment_1_year"
STALE = "stale"
NOT_SEEN = "not_seen"
AVAILABILITY_UNKNOWN = "availability_unknown"
CHEAPER_THAN_SMALLER = "cheaper_than_smaller"

MEANING: dict[str, str] = {
    DATE_UNCERTAIN: "the source gives no exact day; the date shown is the earliest it can be",
    SPOT_ABOVE_ON_DEMAND: "the spot price is above the on-demand price of the same place",
    FAR_BELOW_MEDIAN: "less than half of the median price of the same machine, bought the same way, over all regions; "
    "of spot in one or two regions, than half of what the provider's spot usually is of its price on demand",
    NOT_SOLD_ON_DEMAND: "a list price exists, but the provider does not sell this machine as plain on-demand",
    LOCAL_SSD_NOT_INCLUDED: "the price leaves out the local SSD that comes with the machine",
    COMPOSED: "the sum of a machine price and a GPU price, dated by the older of the two",
    SPOT_INDICATIVE: "the public spot price is indicative; what an account pays may differ",
    MARKETPLACE_ASK: "one seller's ask on a marketplace; it may be gone",
    GOVERNMENT_REGION: "open only to government customers and their suppliers",
    COMMITMENT_1_YEAR: "every hour of one year is paid, used or not",
    STALE: "older than prices of its kind stay true",
    NOT_SEEN: "not among the provider's prices when they were last read; the price is the last one known",
    AVAILABILITY_UNKNOWN: "a list price; whether such a machine can be had now is not known",
    CHEAPER_THAN_SMALLER: "cheaper than the same machine with fewer accelerators, in the same place",
}

# A row with one of these is shown without a rank: nobody can buy it at this price.
UNSOLD = frozenset({NOT_SOLD_ON_DEMAND})
