"""A small client of S3-compatible stores: put, get, head and delete one object, signed with AWS Signature Version 4.

Source of the signature: "Signature Calculations for the Authorization Header", Amazon S3 API reference.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

import aiohttp
from yarl import URL

from keeps_client.errors import UnavailableError, ValidationFailedError

CONNECT_SECONDS, READ_SECONDS = 10.0, 60.0
ATTEMPTS, PAUSE_SECONDS = 3, 0.5
PIECE = 1 << 20
MOST_BYTES = 5 * 10**9
"""Size limit of one request that stores an object."""
_EMPTY = hashlib.sha256(b"").hexdigest()
_TRIED_AGAIN = (500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class S3Bucket:
    """A bucket, or a folder in it, with the credentials for it."""

    address: str
    region: str
    key_id: str
    secret: str = field(repr=False)

    @staticmethod
    def of(address: str, key: str) -> S3Bucket:
        """Return the bucket of `s3://bucket/folder?region=…&endpoint=…` with the credentials `ID:SECRET`."""
        parts = urlsplit(address)
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        key_id, colon, secret = key.partition(":")
        unknown = options.keys() - {"region", "endpoint"}
        if not colon or not secret or unknown:
            raise ValidationFailedError(
                "KEEPS_FROZEN_STORE_KEY must be ACCESS_KEY_ID:SECRET"
                if not unknown
                else f"KEEPS_FROZEN_STORE has an unknown option: {', '.join(sorted(unknown))}"
            )
        region = options.get("region", "us-east-1")
        endpoint = options.get("endpoint")
        base = (
            f"{endpoint.rstrip('/')}/{parts.netloc}"
            if endpoint
            else f"https://{parts.netloc}.s3.{region}.amazonaws.com"
        )
        return S3Bucket(base + quote(unquote(parts.path)).rstrip("/"), region, key_id, secret)

    async def put(self, name: str, path: Path) -> None:
        """Store a file as an object."""
        size = (await asyncio.to_thread(path.stat)).st_size
        if size > MOST_BYTES:
            raise UnavailableError(
                f"the bundle has {size:,} bytes; an S3-compatible store takes {MOST_BYTES:,} at once"
            )
        digest = await asyncio.to_thread(_digest_of, path)
        async with self._request("PUT", name, digest, path):
            pass

    async def get(self, name: str, path: Path) -> None:
        """Read an object into a file. Raises UnavailableError if it does not exist."""
        async with self._request("GET", name) as answer:
            if answer.status == 404:
                raise UnavailableError(f"the bundle {name} is not in the bucket; bring it back from an earlier version")
            with path.open("wb") as file:
                async for piece in answer.content.iter_chunked(PIECE):
                    await asyncio.to_thread(file.write, piece)

    async def delete(self, name: str) -> None:
        """Delete an object, if it exists."""
        async with self._request("DELETE", name):
            pass

    async def has(self, name: str) -> bool:
        async with self._request("HEAD", name) as answer:
            return answer.status != 404

    @asynccontextmanager
    async def _request(
        self, method: str, name: str, digest: str = _EMPTY, body: Path | None = None
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Send a request; a failure of the network or of the server is tried again. Raises UnavailableError."""
        url = f"{self.address}/{quote(name)}"
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            for attempt in range(1, ATTEMPTS + 1):
                headers = signed(self, method, url, digest, datetime.now(UTC))
                file = None if body is None else body.open("rb")
                answered = False
                try:
                    async with http.request(method, URL(url, encoded=True), headers=headers, data=file) as answer:
                        if answer.status in _TRIED_AGAIN and attempt < ATTEMPTS:
                            await asyncio.sleep(PAUSE_SECONDS * attempt)
                            continue
                        if answer.status >= 300 and answer.status != 404:
                            raise UnavailableError(
                                f"the store of bundles answered {answer.status} to {method} {name}; check"
                                " KEEPS_FROZEN_STORE and its key"
                            )
                        if answer.status == 404 and method == "PUT":
                            raise UnavailableError("the bucket of KEEPS_FROZEN_STORE does not exist")
                        answered = True
                        yield answer
                        return
                except (aiohttp.ClientError, TimeoutError) as error:
                    if answered or attempt == ATTEMPTS:  # An answer that breaks off was given already.
                        raise UnavailableError(
                            f"the store of bundles cannot be reached ({type(error).__name__}); check KEEPS_FROZEN_STORE"
                        ) from None
                    await asyncio.sleep(PAUSE_SECONDS * attempt)
                finally:
                    if file is not None:
                        file.close()


def signed(bucket: S3Bucket, method: str, url: str, digest: str, now: datetime) -> Mapping[str, str]:
    """Return the headers of a request, with its signature. Pure."""
    parts = urlsplit(url)
    moment, day = f"{now:%Y%m%dT%H%M%SZ}", f"{now:%Y%m%d}"
    headers = {"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": moment}
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"{method}\n{parts.path}\n{parts.query}\n{lines}\n{names}\n{digest}"
    place = f"{day}/{bucket.region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{place}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{bucket.secret}".encode()
    for part in (day, bucket.region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"AWS4-HMAC-SHA256 Credential={bucket.key_id}/{place}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": credential}


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
