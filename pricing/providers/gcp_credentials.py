"""Who asks Google Cloud for its prices: an API key, a user's default credentials, or a service account's key file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, cast

from pricing.errors import FeedError
from pricing.http import Http, parse_json
from pricing.providers.base import members, text_of

NO_KEY = (
    "GCP prices need an API key (GPUPLANNER_GCP_API_KEY or GOOGLE_API_KEY, with the Cloud Billing API enabled)"
    " or application default credentials (gcloud auth application-default login)"
)
NO_LIBRARY = "a service account's key file needs google-auth: pip install 'gpuplanner[gcp]'"

_USER = ("client_id", "client_secret", "refresh_token")
_ACCOUNT = ("client_email", "private_key")
_SCOPE = "https://www.googleapis.com/auth/cloud-billing.readonly"
# The audience is Google's, wherever a mirror or a test exchanges the assertion.
_AUDIENCE = "https://oauth2.googleapis.com/token"
_ASSERTION_LASTS_S = 3600

Signature = tuple[dict[str, str], dict[str, str]]


class GcpCredentials(Protocol):
    """What authorises a request; ``secrets`` must never be shown."""

    @property
    def secrets(self) -> tuple[str, ...]: ...

    async def sign(self, http: Http) -> Signature:
        """Query parameters and headers that authorise a request. Raises FeedError where no token is given."""
        ...


class ApiKey:
    """A key that goes with every request."""

    def __init__(self, key: str) -> None:
        self.secrets = (key,)

    async def sign(self, http: Http) -> Signature:
        return {"key": self.secrets[0]}, {}


class SignIn:
    """A form that is exchanged for a token when the first request needs it (RFC 6749, 7523)."""

    def __init__(self, form: Callable[[], Mapping[str, str]], secrets: tuple[str, ...], token_url: str) -> None:
        self._form = form
        self._secrets = secrets
        self._token_url = token_url
        self._token = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        return (*self._secrets, self._token)

    async def sign(self, http: Http) -> Signature:
        if not self._token:
            answer, _ = await http.json(self._token_url, form=dict(self._form()), credentials=True)
            self._token = text_of(members(answer, "GCP sign-in"), "access_token")
            if not self._token:
                raise FeedError("GCP sign-in: no access token was given")
        return {}, {"Authorization": f"Bearer {self._token}"}


def find_credentials(environment: Mapping[str, str], home: Path, token_url: str) -> GcpCredentials | None:
    """The key in the environment, else the application default credentials; None where there is neither.

    Raises FeedError where credentials are there that cannot be used.
    """
    key = environment.get("GPUPLANNER_GCP_API_KEY") or environment.get("GOOGLE_API_KEY") or ""
    if key.strip():
        return ApiKey(key.strip())
    stated = environment.get("GOOGLE_APPLICATION_CREDENTIALS", "")
    path = Path(stated) if stated else home / ".config" / "gcloud" / "application_default_credentials.json"
    try:
        record = members(parse_json(path.read_bytes(), "application default credentials"), "credentials")
    except OSError:
        return None
    kind = record.get("type")
    if kind == "authorized_user" and all(text_of(record, name) for name in _USER):
        return _user(record, token_url)
    if kind == "service_account" and all(text_of(record, name) for name in _ACCOUNT):
        return _service_account(record, token_url)
    raise FeedError(f"the application default credentials cannot be used, and no API key is set: {NO_KEY}")


def _user(record: Mapping[str, object], token_url: str) -> SignIn:
    form = {name: text_of(record, name) for name in _USER} | {"grant_type": "refresh_token"}
    return SignIn(lambda: form, (form["client_secret"], form["refresh_token"]), token_url)


def _service_account(record: Mapping[str, object], token_url: str) -> SignIn:
    """Signed on this machine. The address of the exchange is never taken from the file: a key goes to Google alone."""
    try:
        from google.auth import crypt, jwt
    except ImportError:
        raise FeedError(NO_LIBRARY) from None
    try:
        signer = crypt.RSASigner.from_service_account_info(dict(record))  # type: ignore[no-untyped-call]
    except ValueError:
        raise FeedError("the service account's key file holds no private key that can be read") from None

    def form() -> Mapping[str, str]:
        now = int(time.time())
        claims = {
            "iss": text_of(record, "client_email"),
            "scope": _SCOPE,
            "aud": _AUDIENCE,
            "iat": now,
            "exp": now + _ASSERTION_LASTS_S,
        }
        assertion = cast(bytes, jwt.encode(signer, claims)).decode()  # type: ignore[no-untyped-call]
        return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}

    return SignIn(form, (text_of(record, "private_key"), json.dumps(text_of(record, "private_key"))), token_url)
