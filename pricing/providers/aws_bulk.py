"""The public AWS price list: one CSV file a region, hundreds of megabytes, no account needed.

The file lists every way to pay for every instance. Raw lines are sifted as bytes, and only the few that may be the
plain Linux price of a machine are parsed; the columns are found by name. Memory does not grow with the file.
"""

import csv
from collections.abc import AsyncIterator, Callable, Iterator
from operator import itemgetter
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

# The first ones must be there; older files lack some of the others.
_COLUMNS = (
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
    "OfferingClass",
    "MarketOption",
    "operation",
    "Location Type",
    "Instance Family",
)
_NEEDED = 11
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


class _Cells(NamedTuple):
    """The cells of a row that matter, in the order of ``_COLUMNS``."""

    term: str
    unit: str
    price: str
    currency: str
    family: str
    machine: str
    tenancy: str
    system: str
    capacity: str
    software: str
    region_code: str
    offering: str
    market: str
    operation: str
    location_type: str
    instance_family: str


class BulkSieve:
    """Bytes of the file in, rows of plain Linux machines out. Raises FeedError where it is no price list."""

    def __init__(self) -> None:
        self._tail = b""
        self._pick: Callable[[list[str]], tuple[str, ...]] | None = None
        self._width = 0
        self._seen = 0

    def feed(self, chunk: bytes) -> Iterator[Row]:
        block = self._tail + chunk if self._tail else chunk
        end = block.rfind(b"\n") + 1
        self._tail = block[end:]
        if len(self._tail) > LONGEST_LINE:
            raise FeedError(f"{SOURCE}: a line of more than {LONGEST_LINE >> 10} KiB")
        return self._sift(block, end)

    def close(self) -> Iterator[Row]:
        """The last line, where it has no end; it must be whole."""
        if self._tail:
            yield from self._sift(self._tail, len(self._tail))
        if self._pick is None:
            raise FeedError(f"{SOURCE}: no header line, so this is not the price list")
        if self._tail and len(_fields(self._tail)) < self._width:
            raise FeedError(f"{SOURCE}: the file ends in the middle of a line", again=True)

    def _sift(self, block: bytes, end: int) -> Iterator[Row]:
        """The rows in ``block[:end]``. Most lines are never looked at: the search goes from one Linux to the next."""
        start = self._after_header(block, end) if self._pick is None else 0
        at = block.find(b'"Linux"', start, end)
        while at >= 0:
            first = max(start, block.rfind(b"\n", start, at) + 1)
            last = block.find(b"\n", at, end)
            line = block[first : last if last >= 0 else end]
            if _may_be_plain(line):
                row = self._row(line)
                if row is not None:
                    yield row
            at = block.find(b'"Linux"', last, end) if last >= 0 else -1

    def _after_header(self, block: bytes, end: int) -> int:
        """Where the lines after the header begin; ``end`` where the header is still to come."""
        start = 0
        while start < end:
            stop = block.find(b"\n", start, end)
            stop = end if stop < 0 else stop
            line, start = block[start:stop], stop + 1
            self._seen += bool(line)
            if line.startswith(b'"SKU"'):
                self._find_columns(_fields(line))
                return start
            if self._seen > PREAMBLE_LINES:
                raise FeedError(f"{SOURCE}: no header line, so this is not the price list")
        return end

    def _find_columns(self, names: list[str]) -> None:
        """Remember where the columns are, by their names; those that are missing read as an empty cell."""
        missing = [name for name in _COLUMNS[:_NEEDED] if name not in names]
        if missing:
            raise FeedError(f"{SOURCE}: the column {missing[0]!r} is missing")
        self._width = len(names)
        places = {name: number for number, name in enumerate(names)}
        self._pick = itemgetter(*(places.get(name, self._width) for name in _COLUMNS))

    def _row(self, line: bytes) -> Row | None:
        """The row where it is the price of an hour of a plain Linux machine, None otherwise."""
        fields = _fields(line)
        if self._pick is None or len(fields) < self._width:
            return None
        cells = _Cells._make(self._pick([*fields[: self._width], ""]))
        plain = (
            cells.family in FAMILIES
            and cells.system == "Linux"
            and cells.capacity == "Used"
            and cells.software in ("NA", "")
            and cells.market in ("OnDemand", "")
            and not cells.operation.endswith(":CB")
            and is_shared(cells.tenancy, cells.machine)
            and cells.unit == "Hrs"
            and (cells.term == "OnDemand" or (cells.term == "Reserved" and cells.offering == "standard"))
        )
        if not plain or not cells.machine:
            return None
        return Row(
            instance_type=cells.machine,
            region_code=cells.region_code,
            location_type=cells.location_type,
            purchase="on_demand" if cells.term == "OnDemand" else "reserved",
            price=cells.price,
            currency=cells.currency,
            is_accelerated=is_accelerated(cells.instance_family),
        )


def _may_be_plain(line: bytes) -> bool:
    """What raw bytes tell of a Linux line: used capacity, shared (or bare metal), of reservations one kind."""
    return (
        b'"Used"' in line
        and (b'"Shared"' in line or b'.metal"' in line)
        and (b'"Reserved"' not in line or (b'"No Upfront"' in line and b'"1yr"' in line))
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
