"""The public AWS price list: one CSV file a region, hundreds of megabytes, no account needed.

The file lists every way to pay for every instance. Raw lines are sifted as bytes, and only the few that may be the
plain Linux price of a machine are parsed; the columns are found by name. Memory does not grow with the file.
"""

import csv
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import NamedTuple

from pricing import flags
from pricing.errors import FeedError
from pricing.http import Http
from pricing.offer import Offer, Quarantined
from pricing.providers.base import Found, Known, Mark, Note, Progress, Report, dearer, name_of, offer_or_refusal

PROVIDER = "aws"
SOURCE = "AWS price list"
PREAMBLE_LINES = 12
LONGEST_LINE = 1 << 16

_NEEDED = (
    "TermType",
    "Unit",
    "PricePerUnit",
    "Currency",
    "Product Family",
    "Instance Type",
    "Tenancy",
    "Operating System",
    "CapacityStatus",
    "Pre Installed S/W",
    "Region Code",
)
FAMILIES = ("Compute Instance", "Compute Instance (bare metal)")
_ACCELERATED = ("GPU instance", "Machine Learning ASIC Instances")


class Row(NamedTuple):
    """What one row of the price list, from the file or the API, says of a machine."""

    instance_type: str
    region_code: str
    location_type: str
    purchase: str
    price: str
    currency: str
    is_accelerated: bool


class AwsBulk:
    """On-demand and 1-year reserved prices of one region from its public file."""

    provider = PROVIDER
    feed = "aws price list"
    purchases = ("on_demand", "reserved")
    source = SOURCE
    is_whole = True

    def __init__(self, region: str, known: Known, base_url: str) -> None:
        self.region = region
        self.url = f"{base_url}/offers/v1.0/aws/AmazonEC2/current/{region}/index.csv"
        self._known = known

    def covers(self, offer: Offer) -> bool:
        return offer.region == self.region

    async def read(self, http: Http, report: Report, etag: str) -> AsyncIterator[Found]:
        """The rows that are prices, once the whole file has gone by."""
        rows = PriceListRows(self.region, self._known)
        async with http.stream(self.url, etag) as body:
            sieve, done = BulkSieve(), 0
            async for chunk in body.chunks:
                for row in sieve.feed(chunk):
                    rows.add(row)
                done += len(chunk)
                report(Progress(name_of(self), done, body.total, "bytes"))
            for row in sieve.close():
                rows.add(row)
        for found in rows.found():
            yield found
        yield Mark(body.etag)


class BulkSieve:
    """Bytes of the file in, rows of plain Linux machines out. Raises FeedError where it is no price list."""

    def __init__(self) -> None:
        self._tail = b""
        self._columns: dict[str, int] = {}
        self._seen = 0

    def feed(self, chunk: bytes) -> Iterator[Row]:
        block = self._tail + chunk if self._tail else chunk
        end = block.rfind(b"\n") + 1
        self._tail = block[end:]
        if len(self._tail) > LONGEST_LINE:
            raise FeedError(f"{SOURCE}: a line of more than {LONGEST_LINE >> 10} KiB")
        return self._sift(block[:end].split(b"\n"))

    def close(self) -> Iterator[Row]:
        """The last line, where it has no end; it must be whole."""
        if self._tail:
            yield from self._sift([self._tail])
        if not self._columns:
            raise FeedError(f"{SOURCE}: no header line, so this is not the price list")
        if self._tail and len(_fields(self._tail)) < len(self._columns):
            raise FeedError(f"{SOURCE}: the file ends in the middle of a line", again=True)

    def _sift(self, lines: Iterable[bytes]) -> Iterator[Row]:
        if not self._columns:
            lines = self._after_header(iter(lines))
        # One list comprehension over raw bytes: most lines fall here, at a hundred nanoseconds each.
        likely = [
            line
            for line in lines
            if b'"Linux"' in line and b'"Used"' in line and (b'"Shared"' in line or b'.metal"' in line)
        ]
        for line in likely:
            if b'"Reserved"' in line and not (b'"No Upfront"' in line and b'"1yr"' in line):
                continue
            row = self._row(line)
            if row is not None:
                yield row

    def _after_header(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            self._seen += bool(line)
            if line.startswith(b'"SKU"'):
                self._columns = {name: number for number, name in enumerate(_fields(line))}
                missing = [name for name in _NEEDED if name not in self._columns]
                if missing:
                    raise FeedError(f"{SOURCE}: the column {missing[0]!r} is missing")
                break
            if self._seen > PREAMBLE_LINES:
                raise FeedError(f"{SOURCE}: no header line, so this is not the price list")
        return lines

    def _row(self, line: bytes) -> Row | None:
        """The row where it is the price of an hour of a plain Linux machine, None otherwise."""
        fields = _fields(line)
        if len(fields) < len(self._columns):
            return None
        get = {name: fields[number] for name, number in self._columns.items()}
        term = get["TermType"]
        plain = (
            get["Product Family"] in FAMILIES
            and get["Operating System"] == "Linux"
            and get["CapacityStatus"] == "Used"
            and get["Pre Installed S/W"] in ("NA", "")
            and get.get("MarketOption", "") in ("OnDemand", "")
            and not get.get("operation", "").endswith(":CB")
            and is_shared(get["Tenancy"], get["Instance Type"])
            and get["Unit"] == "Hrs"
            and (term == "OnDemand" or (term == "Reserved" and get.get("OfferingClass") == "standard"))
        )
        if not plain or not get["Instance Type"]:
            return None
        return Row(
            instance_type=get["Instance Type"],
            region_code=get["Region Code"],
            location_type=get.get("Location Type", ""),
            purchase="on_demand" if term == "OnDemand" else "reserved",
            price=get["PricePerUnit"],
            currency=get["Currency"],
            is_accelerated=is_accelerated(get.get("Instance Family")),
        )


def _fields(line: bytes) -> list[str]:
    """The fields of one line; none where it is no CSV."""
    try:
        return next(csv.reader([line.decode("utf-8", "replace")]), [])
    except csv.Error:
        return []


def is_accelerated(instance_family: str | None) -> bool:
    return instance_family in _ACCELERATED


def is_shared(tenancy: str, instance_type: str) -> bool:
    """Bare metal is sold as dedicated only."""
    return tenancy == "Shared" or (tenancy == "Dedicated" and ".metal" in instance_type)


class PriceListRows:
    """Rows of the price list of one region, reduced to one a machine, place and way to buy, whatever their order."""

    def __init__(self, region: str, known: Known) -> None:
        self._region = region
        self._known = known
        self._offers: dict[tuple[str | None, ...], Offer] = {}
        self._refused: dict[tuple[str | None, ...], Quarantined] = {}
        self._other_currency = 0

    def add(self, row: Row) -> None:
        """Take a row into account. Machines that nobody trains on and that are in no table are left out."""
        if not row.is_accelerated and not self._known.has_type(PROVIDER, row.instance_type):
            return
        place = self._place(row)
        if place is None:
            return
        if row.currency != "USD":
            self._other_currency += 1
            return
        marks = [flags.COMMITMENT_1_YEAR] if row.purchase == "reserved" else []
        if self._region.startswith("us-gov-"):
            marks.append(flags.GOVERNMENT_REGION)
        found = offer_or_refusal(
            PROVIDER, row.instance_type, place, row.purchase, row.price, self._known, SOURCE, marks
        )
        if isinstance(found, Quarantined):
            self._refused[found.offer[:5]] = found
        else:
            self._offers[found[:5]] = dearer(self._offers.get(found[:5]), found)

    def _place(self, row: Row) -> tuple[str, str | None] | None:
        """(region, None), or (region, local zone): a zone's code is its region's with more after it."""
        if row.region_code == self._region:
            return self._region, None
        is_zone = row.region_code.startswith(f"{self._region}-") and row.location_type == "AWS Local Zone"
        return (self._region, row.region_code) if is_zone else None

    def found(self) -> Iterator[Found]:
        yield from self._offers.values()
        yield from (row for key, row in self._refused.items() if key not in self._offers)
        if self._other_currency:
            yield Note(f"{self._other_currency} prices of {self._region} that are not in USD are left out")
