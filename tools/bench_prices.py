"""Measure the reading of prices: a large AWS file in its real shape, and opening the catalogue beside a store.

    python tools/bench_prices.py [--megabytes 300] [--min-speedup 2] [--max-growth-mib 40]

The file is synthetic: the columns of the real one, one plain row in about fifty. It is read through HTTP on this
machine, then by the sieve that a refresh uses and by a plain csv.reader in the same run. Exit 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from pricing.http import Http  # noqa: E402
from pricing.offer import Offer  # noqa: E402
from pricing.providers.aws_bulk import AwsBulk, BulkSieve  # noqa: E402
from pricing.published import open_catalog  # noqa: E402
from pricing.refresh import what_is_known  # noqa: E402
from pricing.sanity import PURCHASES  # noqa: E402
from pricing.store import Observation, open_store  # noqa: E402
from tests.pricing.conftest import NOW  # noqa: E402
from tests.pricing.payloads import RESERVED, bulk_file, bulk_row  # noqa: E402

CHUNK = 1 << 16


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--min-speedup", type=float, default=2.0)
    parser.add_argument("--max-growth-mib", type=float, default=40.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "offers/v1.0/aws/AmazonEC2/current/us-east-1/index.csv"
        path.parent.mkdir(parents=True)
        write_file(path, options.megabytes)
        ok = bench_http(Path(folder), options.max_growth_mib)
        ok &= bench_file(path, options.min_speedup, options.max_growth_mib)
        bench_catalog(Path(folder) / "prices.sqlite")
    return 0 if ok else 1


def write_file(path: Path, megabytes: int) -> None:
    """One row in about fifty is the plain price of a machine; the rest are what surrounds it."""
    machines = [name for provider, name in open_catalog().instance_types() if provider == "aws"]
    noise = [
        bulk_row(Operating_System=system, Tenancy=tenancy, CapacityStatus=capacity, MarketOption=market)
        for system in ("Windows", "RHEL", "SUSE", "Ubuntu Pro", "Linux")
        for tenancy in ("Dedicated", "Host", "Shared")
        for capacity in ("Used", "UnusedCapacityReservation", "AllocatedCapacityReservation")
        for market in ("OnDemand",)
    ]
    noise += [
        bulk_row(**RESERVED | {"LeaseContractLength": years, "PurchaseOption": option})
        for years in ("1yr", "3yr")
        for option in ("All Upfront", "Partial Upfront")
    ]
    noise.remove(bulk_row())
    block = "".join(noise)
    with path.open("wb") as file:
        file.write(bulk_file())
        number = 0
        while file.tell() < megabytes * 1_000_000:
            plain = bulk_row(Instance_Type=machines[number % len(machines)], PricePerUnit=f"{1 + number % 90}.25")
            file.write((block + plain).encode())
            number += 1


def chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def sift(path: Path) -> int:
    sieve, found = BulkSieve(), 0
    for chunk in chunks(path):
        found += sum(1 for _ in sieve.feed(chunk))
    return found + sum(1 for _ in sieve.close())


def bench_file(path: Path, least: float, most_mib: float) -> bool:
    sift(path)  # the file is in the page cache for both
    started = time.process_time()
    found = sift(path)
    sieve_s = time.process_time() - started
    started = time.process_time()
    with path.open(encoding="utf-8", newline="") as file:
        rows = sum(1 for _ in csv.reader(file))
    csv_s = time.process_time() - started
    tracemalloc.start()
    sift(path)
    peak_mib = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    speedup = csv_s / sieve_s
    print(
        f"{path.stat().st_size / 1e6:.0f} MB, {rows:,} lines, {found:,} plain: sieve {sieve_s:.2f} s CPU,"
        f" csv.reader {csv_s:.2f} s ({speedup:.1f}x), peak {peak_mib:.1f} MiB"
    )
    return speedup >= least and peak_mib <= most_mib


def bench_http(folder: Path, most_mib: float) -> bool:
    """The whole source over HTTP on this machine: what the process grows by is its peak, not only Python's objects."""
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: handler(*a, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    source = AwsBulk("us-east-1", what_is_known(open_catalog(), NOW), f"http://127.0.0.1:{server.server_address[1]}")

    async def read() -> int:
        async with Http() as http:
            await http.size(source.url)
            before = peak_mib()
            started = time.monotonic()
            found = [each async for each in source.read(http, lambda progress: None, "") if isinstance(each, Offer)]
            print(
                f"over HTTP: {len(found)} offers in {time.monotonic() - started:.2f} s,"
                f" process peak {peak_mib() - before:+.1f} MiB"
            )
            return peak_mib() - before <= most_mib

    try:
        return bool(asyncio.run(read()))
    finally:
        server.shutdown()


def peak_mib() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def bench_catalog(store: Path) -> None:
    offers = open_catalog().offers(PURCHASES)
    with open_store(store) as opened:
        opened.apply(Observation("bench", "aws", "us-east-1", "2026-11-30T00:00:00+00:00", offers), {})
        started = time.process_time()
        opened.publish(open_catalog())
        print(f"publish {len(offers):,} observed rows: {(time.process_time() - started) * 1e3:.0f} ms CPU")
    for name, path in (("snapshot", None), ("with a store", store)):
        times = []
        for _ in range(9):
            started = time.process_time()
            catalog = open_catalog(store=path)
            catalog.offers()
            catalog.instance_types()
            times.append(time.process_time() - started)
        print(f"open_catalog(), offers and machines, {name}: {sorted(times)[4] * 1e3:.1f} ms CPU (median of 9)")


if __name__ == "__main__":
    sys.exit(main())
