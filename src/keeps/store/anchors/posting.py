"""Requests to URLs that an operator gives: public addresses only, no redirects, short answers."""

from __future__ import annotations

from collections.abc import Mapping

from keeps.base.addresses import host_of, is_public
from keeps_client.errors import UnavailableError, ValidationFailedError

TIMEOUT_SECONDS = 10.0
MOST_BYTES = 64 << 10
"""Maximum length of an answer."""


async def post(
    url: str, body: bytes, content_type: str, *, allow_private: bool, signature: Mapping[str, str] | None = None
) -> bytes:
    """Send a body, as to a webhook, and return the answer. `signature`: headers that sign it.

    Raises ValidationFailedError for an address that is not allowed, UnavailableError without an answer of status 2xx.
    """
    host = host_of(url)
    if host is None:
        raise ValidationFailedError("the URL must be http:// or https://, name a host, and contain no user or password")
    if not allow_private and is_public(host) is False:
        raise ValidationFailedError(
            f"{host} is not a public address; KEEPS_WEBHOOKS_ALLOW_PRIVATE=true allows it, if you run it"
        )
    import aiohttp

    from keeps.store.webhooks.resolving import PublicResolver

    connector = aiohttp.TCPConnector(resolver=None if allow_private else PublicResolver())
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    headers = {"Content-Type": content_type, "User-Agent": "Keeps", **(signature or {})}
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            answer = await response.content.read(MOST_BYTES + 1)
            while len(answer) <= MOST_BYTES and (more := await response.content.read(MOST_BYTES + 1)):
                answer += more
            status = response.status
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise UnavailableError(f"{host} does not answer ({type(error).__name__})") from None
    if not 200 <= status < 300:
        raise UnavailableError(f"{host} answers with HTTP {status}")
    if len(answer) > MOST_BYTES:
        raise UnavailableError(f"the answer of {host} is longer than {MOST_BYTES:,} bytes")
    return answer
