"""Who asks Google Cloud: the key, a user's default credentials, a service account's key file."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from pricing.errors import FeedError
from pricing.offer import Offer
from pricing.providers.base import Known
from pricing.providers.gcp import COMPUTE, OLDER_TPUS, GcpBilling
from pricing.providers.gcp_credentials import NO_KEY, NO_LIBRARY, find_credentials
from tests.pricing.loopback import Loopback, json_reply
from tests.pricing.payloads import a2_skus
from tests.pricing.reading import read

USER = {"type": "authorized_user", "client_id": "c", "client_secret": "s3cret", "refresh_token": "r3fresh"}


def serve(server: Loopback, answer: object) -> None:
    server.answers[f"/v1/services/{COMPUTE}/skus"] = lambda request: json_reply({"skus": a2_skus()})
    server.answers[f"/v1/services/{OLDER_TPUS}/skus"] = lambda request: json_reply({"skus": []})
    server.answers["/token"] = lambda request: json_reply(answer)


def kept(folder: Path, record: object) -> dict[str, str]:
    """The environment that names a file with ``record``."""
    path = folder / "adc.json"
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}


def test_the_key_comes_from_the_environment(tmp_path: Path) -> None:
    both = {"GPUPLANNER_GCP_API_KEY": "ours", "GOOGLE_API_KEY": "theirs"}
    for environment, key in ((both, "ours"), ({"GOOGLE_API_KEY": "theirs"}, "theirs")):
        found = find_credentials(environment, tmp_path, "")
        assert found is not None
        assert found.secrets == (key,)
    assert find_credentials({}, tmp_path, "") is None


def test_a_user_s_default_credentials_give_a_token(server: Loopback, known: Known, tmp_path: Path) -> None:
    place = tmp_path / ".config" / "gcloud"
    place.mkdir(parents=True)
    (place / "application_default_credentials.json").write_text(json.dumps(USER))
    found = find_credentials({}, tmp_path, f"{server.url}/token")
    assert found is not None
    serve(server, {"access_token": "t0ken"})
    assert any(isinstance(each, Offer) for each in read(GcpBilling((), known, server.url, found)))
    assert b"refresh_token=r3fresh" in server.requests[0].body
    assert {request.headers.get("Authorization") for request in server.requests[1:]} == {"Bearer t0ken"}
    assert server.count("/token") == 1
    assert {"s3cret", "r3fresh", "t0ken"} <= set(found.secrets)


def test_a_service_account_signs_for_itself(server: Loopback, known: Known, tmp_path: Path) -> None:
    """RFC 7523; the file's own address of the exchange is not followed."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    record = {
        "type": "service_account",
        "client_email": "planner@example.iam.gserviceaccount.com",
        "private_key": pem,
        "private_key_id": "abc",
        "token_uri": "https://thief.example/token",
    }
    found = find_credentials(kept(tmp_path, record), tmp_path, f"{server.url}/token")
    assert found is not None
    serve(server, {"access_token": "t0ken"})
    assert any(isinstance(each, Offer) for each in read(GcpBilling((), known, server.url, found)))
    form = parse_qs(server.requests[0].body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    head, claims, signature = form["assertion"][0].split(".")
    stated = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert stated["iss"] == "planner@example.iam.gserviceaccount.com"
    assert stated["aud"] == "https://oauth2.googleapis.com/token"
    assert stated["scope"] == "https://www.googleapis.com/auth/cloud-billing.readonly"
    assert stated["exp"] - stated["iat"] == 3600
    key.public_key().verify(
        base64.urlsafe_b64decode(signature + "=="), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    assert {pem, "t0ken"} <= set(found.secrets)


def test_a_service_account_without_the_library_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    record = {"type": "service_account", "client_email": "a@b", "private_key": "x"}
    with pytest.raises(FeedError) as raised:
        find_credentials(kept(tmp_path, record), tmp_path, "")
    assert str(raised.value) == NO_LIBRARY


def test_a_key_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    record = {"type": "service_account", "client_email": "a@b", "private_key": "-----BEGIN nothing"}
    with pytest.raises(FeedError, match="no private key") as raised:
        find_credentials(kept(tmp_path, record), tmp_path, "")
    assert "BEGIN" not in str(raised.value)


def test_sign_in_that_gives_no_token_is_one_sentence(server: Loopback, known: Known, tmp_path: Path) -> None:
    serve(server, {"error": "invalid_grant"})
    found = find_credentials(kept(tmp_path, USER), tmp_path, f"{server.url}/token")
    assert found is not None
    with pytest.raises(FeedError, match="no access token"):
        read(GcpBilling((), known, server.url, found))


@pytest.mark.parametrize("content", ["{}", '{"type": "service_account"}', '{"type": "external_account"}', "[]", "not"])
def test_other_credentials_are_one_sentence(tmp_path: Path, content: str) -> None:
    with pytest.raises(FeedError, match="credentials"):
        find_credentials(kept(tmp_path, content), tmp_path, "")
    assert "API key" in NO_KEY
