"""How feeds are fetched: bounded in time and size, tried again where that helps, never with a secret in a message.

A request is tried again on a broken or silent connection and on the answers 429, 500, 502, 503 and 504, after a wait
with jitter or the one the server asks for. A redirect to another host is followed only without credentials. A body is
whole or an error: a connection that ends before Content-Length is one. httpx and stamina load inside the functions.
"""

import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urljoin, urlsplit

from pricing.errors import FeedError, OfflineError
from pricing.redact import RedactingFilter, redact

if TYPE_CHECKING:
    import httpx

_BUSY = frozenset({429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LOGGERS = ("httpx",)
_T = TypeVar("_T")


class Limits(NamedTuple):
    """Seconds, tries and bytes a feed may take; a body slower than ``least_bytes_per_s`` after a grace is given up."""

    connect_s: float = 10.0
    silence_s: float = 30.0
    grace_s: float = 60.0
    least_bytes_per_s: float = 4096.0
    tries: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    document_bytes: int = 64 << 20
    stream_bytes: int = 4 << 30
    redirects: int = 5


class NotModified(Exception):  # noqa: N818 - an answer, not an error
    """The provider's file is the one that was read last time."""


class Body(NamedTuple):
    """An answer that is read as it comes: bytes in all where the server says so, and its mark (ETag) or ''."""

    total: int | None
    etag: str
    chunks: AsyncIterator[bytes]


class _Busy(Exception):  # noqa: N818 - a state of the server, seldom an error
    """A try that failed in a way that another may not; ``wait_s`` is what the server asked for."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        self.wait_s = wait_s
        super().__init__(message)


class Http:
    """One client for all feeds. ``secrets`` never appear in what it raises or what its libraries log."""

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        secrets: Sequence[str] = (),
        transport: "httpx.AsyncBaseTransport | None" = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.secrets = tuple(secret for secret in secrets if secret)
        self._transport = transport
        self._clock = clock

    async def __aenter__(self) -> "Http":
        import httpx

        limits = self.limits
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(limits.silence_s, connect=limits.connect_s),
            limits=httpx.Limits(max_connections=16, max_keepalive_connections=8),
            headers={"User-Agent": "gpuplanner"},
            transport=self._transport,
        )
        logging.getLogger("stamina").addHandler(logging.NullHandler())  # a try that is made again is no warning
        self._filter = RedactingFilter(self.secrets)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._filter)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self._filter)

    async def json(
        self,
        url: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        credentials: bool = False,
        etag: str = "",
        form: Mapping[str, str] | None = None,
    ) -> tuple[Any, str]:
        """A JSON document and its ETag. Raises FeedError, or NotModified where ``etag`` still holds."""
        content, mark = await self.document(url, params, headers, credentials=credentials, etag=etag, form=form)
        return parse_json(content, self._name(url)), mark

    async def document(
        self,
        url: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        credentials: bool = False,
        etag: str = "",
        form: Mapping[str, str] | None = None,
    ) -> tuple[bytes, str]:
        """A whole document of bounded size and its ETag, tried again where that may help."""
        request = _Request(url, dict(params or {}), dict(headers or {}), credentials, etag, form)

        async def whole() -> tuple[bytes, str]:
            async with self._answer(request) as response:
                return b"".join([chunk async for chunk in self._chunks(response, self.limits.document_bytes)]), (
                    response.headers.get("etag", "")
                )

        return await self._patiently(whole, url)

    @asynccontextmanager
    async def stream(self, url: str, etag: str = "") -> AsyncIterator[Body]:
        """A large body chunk by chunk. The start is tried again; a body that breaks off is FeedError with ``again``."""
        request = _Request(url, {}, {}, False, etag, None)

        async def start() -> "httpx.Response":
            return await stack.enter_async_context(self._answer(request))

        async with AsyncExitStack() as stack:
            response = await self._patiently(start, url)
            length = response.headers.get("content-length", "")
            coded = response.headers.get("content-encoding", "identity") != "identity"
            total = int(length) if length.isdecimal() and not coded else None
            yield Body(total, response.headers.get("etag", ""), self._whole_chunks(response, url))

    async def size(self, url: str) -> int | None:
        """Bytes of the file at ``url`` as the server states them; None where it does not. Raises OfflineError."""
        try:
            response = await self._client.request("HEAD", url)
        except Exception as error:
            if _is_offline(error):
                raise OfflineError(self._no_network(url)) from None
            return None
        length = response.headers.get("content-length", "")
        return int(length) if response.status_code == 200 and length.isdecimal() else None

    async def _whole_chunks(self, response: "httpx.Response", url: str) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._chunks(response, self.limits.stream_bytes):
                yield chunk
        except _Busy as error:
            raise FeedError(self._say(url, str(error)), again=True) from None

    async def _patiently(self, attempt: Callable[[], Awaitable[_T]], url: str) -> _T:
        """What ``attempt`` returns, tried again while it raises _Busy."""
        import stamina

        def when(error: Exception) -> bool | float:
            if not isinstance(error, _Busy):
                return False
            return True if error.wait_s is None else error.wait_s

        limits = self.limits
        tries = stamina.retry_context(
            on=when,
            attempts=limits.tries,
            timeout=None,
            wait_initial=limits.first_wait_s,
            wait_max=limits.longest_wait_s,
            wait_jitter=limits.first_wait_s,
        )
        try:
            async for number in tries:
                with number:
                    return await attempt()
        except _Busy as error:
            raise FeedError(self._say(url, f"{error} ({limits.tries} tries)")) from None
        raise AssertionError("stamina neither returned nor raised")

    @asynccontextmanager
    async def _answer(self, request: "_Request") -> "AsyncIterator[httpx.Response]":
        """The answer to the request, after redirects. Raises _Busy, FeedError, OfflineError or NotModified."""
        import httpx

        url, params = request.url, request.params
        for _ in range(self.limits.redirects + 1):
            try:
                built = self._client.build_request(
                    "POST" if request.form is not None else "GET",
                    url,
                    params=params or None,
                    headers=request.all_headers(),
                    data=request.form,
                )
                response = await self._client.send(built, stream=True)
            except (httpx.TransportError, httpx.InvalidURL, UnicodeError, OSError) as error:
                self._raise_for(error, url)
            try:
                target = response.headers.get("location", "")
                if response.status_code in _REDIRECTS and target:
                    url, params = self._next_address(request, url, target), {}
                    continue
                self._check_status(response, url)
                yield response
                return
            finally:
                with suppress(Exception):
                    await response.aclose()
        raise FeedError(self._say(url, f"more than {self.limits.redirects} redirects"))

    def _next_address(self, request: "_Request", url: str, target: str) -> str:
        there = urljoin(url, target)
        here, away = urlsplit(url), urlsplit(there)
        if away.scheme not in ("https", here.scheme) or (
            request.credentials and (here.scheme, here.netloc) != (away.scheme, away.netloc)
        ):
            raise FeedError(self._say(url, f"redirects to {away.hostname}, which is not followed"))
        return there

    def _check_status(self, response: "httpx.Response", url: str) -> None:
        status = response.status_code
        if status == 304:
            raise NotModified
        if status in _BUSY:
            wait_s = _retry_after_s(response.headers.get("retry-after", ""))
            if wait_s is not None and wait_s > self.limits.longest_wait_s:
                raise FeedError(self._say(url, f"answers {status} and asks to wait {wait_s:.0f} s"))
            raise _Busy(f"answers {status}", wait_s)
        if status in (401, 403):
            raise FeedError(self._say(url, f"answers {status}: not allowed"), status=status)
        if status != 200:
            raise FeedError(self._say(url, f"answers {status}"), status=status)

    async def _chunks(self, response: "httpx.Response", most: int) -> AsyncIterator[bytes]:
        """The decoded body; raises _Busy where it breaks off or dwindles, FeedError where it is too large."""
        import httpx

        started, done, limits = self._clock(), 0, self.limits
        try:
            async for chunk in response.aiter_bytes():
                done += len(chunk)
                if done > most:
                    raise FeedError(self._say(str(response.url), f"is larger than {most >> 20} MiB"))
                elapsed = self._clock() - started
                if elapsed > limits.grace_s and done < (elapsed - limits.grace_s) * limits.least_bytes_per_s:
                    raise FeedError(self._say(str(response.url), f"sends too slowly ({done} bytes in {elapsed:.0f} s)"))
                yield chunk
        except httpx.DecodingError:
            raise FeedError(self._say(str(response.url), "is not compressed as it says")) from None
        except httpx.ReadTimeout:
            raise _Busy(f"fell silent for {limits.silence_s:g} s") from None
        except httpx.TransportError:
            raise _Busy(f"broke off after {done} bytes") from None

    def _raise_for(self, error: Exception, url: str) -> None:
        import httpx

        if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | UnicodeError):
            raise FeedError(self._say(url, "is not an address that can be fetched")) from None
        if _is_offline(error):
            raise OfflineError(self._no_network(url)) from None
        if isinstance(error, httpx.TimeoutException):
            raise _Busy("gives no answer in time") from None
        if "CERTIFICATE" in str(error).upper():
            raise FeedError(self._say(url, "has a certificate that cannot be trusted")) from None
        raise _Busy(f"cannot be reached ({type(error).__name__})") from None

    def _say(self, url: str, what: str) -> str:
        return redact(f"{self._name(url)}: {what}", self.secrets)

    def _no_network(self, url: str) -> str:
        """Of the host alone: it is as true of everything else there."""
        return redact(f"there is no network to {urlsplit(url).hostname}", self.secrets)

    def _name(self, url: str) -> str:
        """The address without its query, which may hold a key."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return "a malformed address"
        return redact(f"{parts.hostname or url}{parts.path}", self.secrets)


class _Request(NamedTuple):
    url: str
    params: dict[str, str]
    headers: dict[str, str]
    credentials: bool
    etag: str
    form: Mapping[str, str] | None

    def all_headers(self) -> dict[str, str]:
        return self.headers | ({"If-None-Match": self.etag} if self.etag else {})


def parse_json(content: bytes, name: str) -> Any:
    """The document in ``content``. Raises FeedError where it is not JSON, or nested beyond reason."""
    try:
        return json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise FeedError(f"{name}: the answer is not JSON ({type(error).__name__})") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _retry_after_s(text: str) -> float | None:
    """Seconds of a Retry-After header, given as a number or as a date; None where it says neither."""
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    if text.strip().isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _is_offline(error: BaseException | None) -> bool:
    """Whether somewhere down the chain a name was not found or no route was there."""
    import errno

    while error is not None:
        if isinstance(error, socket.gaierror):
            return True
        if isinstance(error, OSError) and error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN):
            return True
        error = error.__cause__ or error.__context__
    return False
