"""Which feeds a refresh reads: what was asked for, and what needs no more than is there."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pricing.endpoints import Endpoints
from pricing.errors import FeedError, UnknownPlaceError, near_misses
from pricing.providers import gpuhunt
from pricing.providers.aws_api import AwsMachines, AwsPriceQuery, AwsSpotHistory, ClientFactory, boto3_clients
from pricing.providers.aws_bulk import AwsBulk
from pricing.providers.aws_savings import AwsSavingsPlans
from pricing.providers.aws_spot import AwsSpotAdvisor, AwsSpotPrice
from pricing.providers.azure import AzureRetail
from pricing.providers.base import Known, Source
from pricing.providers.gcp import GcpBilling
from pricing.providers.gcp_credentials import NO_KEY, GcpCredentials, find_credentials
from pricing.query import in_regions, parse_patterns

LIVE_PROVIDERS = ("aws", "gcp", "azure")
OTHER_PROVIDERS = tuple(gpuhunt.PROVIDERS)
DEFAULT_AWS_REGIONS = ("us-east-1", "us-west-2", "eu-west-1")
WILDCARDS = "*?["


class Choice(NamedTuple):
    """The sources to read; what was asked for and cannot be read, by provider; and what is left out unasked."""

    sources: tuple[Source, ...]
    problems: Mapping[str, str]
    notes: tuple[str, ...]
    secrets: tuple[str, ...]


class Asked(NamedTuple):
    """``providers`` asked for (nothing: AWS, Azure, and GCP where there is a key) and region patterns (nothing: all).

    ``aws_regions`` are the user's default ones; ``credentials`` False uses public feeds only. The providers behind
    gpuhunt are read where they are named, whole.
    """

    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    aws_regions: tuple[str, ...] = DEFAULT_AWS_REGIONS
    credentials: bool = True


def choose(asked: Asked, known: Known, where: Endpoints, environment: Mapping[str, str], home: Path) -> Choice:
    """The sources of the providers asked for. Raises UnknownPlaceError for a provider or region that nobody has."""
    known_names = (*LIVE_PROVIDERS, *OTHER_PROVIDERS)
    for name in asked.providers:
        if name not in known_names:
            raise UnknownPlaceError("provider", name, near_misses(name, known_names) or known_names)
    wanted = asked.providers or LIVE_PROVIDERS
    patterns = parse_patterns(",".join(asked.regions))
    sources: list[Source] = []
    problems: dict[str, str] = {}
    notes = _news(patterns, known)
    secrets: tuple[str, ...] = ()
    if "aws" in wanted:
        regions = _regions("aws", patterns, known) if patterns else asked.aws_regions
        sources += _aws(regions, asked, known, where, problems)
    if "azure" in wanted:
        sources += [AzureRetail(region, known, where.azure_retail) for region in _regions("azure", patterns, known)]
    if "gcp" in wanted:
        try:
            found = find_credentials(environment, home, where.gcp_token)
        except FeedError as error:
            found, problems["gcp"] = None, str(error)
        if found is not None:
            secrets = found.secrets
            sources += _gcp(patterns, known, where, found)
        elif "gcp" in asked.providers:
            problems.setdefault("gcp", NO_KEY)
        elif "gcp" not in problems:
            notes.append(f"left out: {NO_KEY}")
    sources += _others(wanted, known, problems)
    if patterns and not sources and not problems:
        raise UnknownPlaceError("region", ", ".join(patterns), near_misses(patterns[0], _all_regions(known)))
    return Choice(tuple(sources), problems, tuple(notes), secrets)


def _gcp(patterns: tuple[str, ...], known: Known, where: Endpoints, credentials: GcpCredentials) -> list[Source]:
    """The whole catalogue, unless no region asked for is one of Google's."""
    if patterns and not _regions("gcp", patterns, known):
        return []
    return [GcpBilling(patterns, known, where.gcp_billing, credentials)]


def _others(wanted: Sequence[str], known: Known, problems: dict[str, str]) -> list[Source]:
    """The providers behind gpuhunt that were named."""
    named = [name for name in wanted if name in OTHER_PROVIDERS]
    if named and not gpuhunt.is_installed():
        problems.update(dict.fromkeys(named, gpuhunt.ABSENT))
        return []
    return [gpuhunt.GpuHunt(name, known) for name in named]


def _aws(
    regions: Sequence[str], asked: Asked, known: Known, where: Endpoints, problems: dict[str, str]
) -> list[Source]:
    if not regions:
        return []
    clients: ClientFactory | None = None
    if asked.credentials:
        try:
            clients = boto3_clients()
        except FeedError as error:
            problems["aws"] = str(error)
    advisor = AwsSpotAdvisor(known, where.aws_spot_advisor)
    if clients is None:
        public = [AwsBulk(region, known, where.aws_bulk) for region in regions]
        only = tuple(regions) if asked.regions else None
        return [advisor, AwsSpotPrice(only, known, where.aws_spot_price), *public]
    queries = (AwsPriceQuery, AwsSpotHistory, AwsSavingsPlans, AwsMachines)
    return [advisor, *(query(region, known, clients) for region in regions for query in queries)]


def _regions(provider: str, patterns: tuple[str, ...], known: Known) -> list[str]:
    """The provider's known regions that fit; a name without wildcards is taken where it looks like the provider's."""
    there = sorted({region for name, _, region in known.places if name == provider})
    fitting = [region for region in there if not patterns or in_regions(region, None, patterns)]
    elsewhere = _all_regions(known)
    new = [
        name
        for name in patterns
        if not any(mark in name for mark in WILDCARDS) and name not in elsewhere and _looks_like(provider, name)
    ]
    return [*fitting, *new]


def _news(patterns: tuple[str, ...], known: Known) -> list[str]:
    """A sentence on each region that has no price here yet: new at the provider, or a slip of the pen."""
    there = _all_regions(known)
    news = []
    for name in patterns:
        if name not in there and not any(mark in name for mark in WILDCARDS):
            near = near_misses(name, there, 1)
            news.append(f"the region {name!r} has no price here yet" + (f"; did you mean {near[0]}?" if near else ""))
    return news


def _looks_like(provider: str, region: str) -> bool:
    """Whether an unknown region is written as the provider writes them: us-east-9, us-central9, centralus."""
    head, dash, tail = region.rpartition("-")
    if provider == "aws":
        return bool(dash) and tail.isdecimal() and "-" in head
    if provider == "gcp":
        return bool(dash) and tail[-1:].isdecimal() and not tail.isdecimal()
    return not dash and region.isalnum()


def _all_regions(known: Known) -> set[str]:
    return {region for _, _, region in known.places}
