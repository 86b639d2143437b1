"""The cookie of the console: a key or token that was pasted once, sealed, for eight hours."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from secrets import token_urlsafe

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

COOKIE = "keeps_console"
HOURS = 8
MAX_CREDENTIAL = 2_500
MAX_SIGNED_OUT = 10_000
MAX_COOKIE = 4_096
"""Characters: sealed, a credential must fit a cookie, as browsers take them."""


@dataclass(frozen=True, slots=True)
class Session:
    """Who looks: by which credential, and for whom, where it may act for any user. Without KEEPS_AUTH there is no
    credential."""

    credential: str = ""
    tenant_id: str | None = None
    user_id: str | None = None
    until: float = 0.0
    session_id: str = ""

    def as_user(self, tenant_id: str | None, user_id: str | None) -> Session:
        return replace(self, tenant_id=tenant_id, user_id=user_id)

    def headers(self) -> list[tuple[bytes, bytes]]:
        """What a program would send."""
        said = (
            (b"authorization", f"Bearer {self.credential}" if self.credential else None),
            (b"x-tenant-id", self.tenant_id),
            (b"x-user-id", self.user_id),
        )
        return [(name, value.encode()) for name, value in said if value]


class Sessions:
    """Seals and opens. `secrets`: KEEPS_SECRET_KEYS, so that any process of the installation opens what another has
    sealed; without them `own`, which ends with the server."""

    def __init__(self, secrets: Sequence[str], own: str) -> None:
        keys = [hmac.digest(each.encode(), b"keeps console session", "sha256") for each in secrets or (own,)]
        self._signed_out: OrderedDict[str, float] = OrderedDict()
        """Sessions that were ended here, until their cookies would have ended."""
        self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])

    def begin(self, credential: str) -> Session:
        return Session(credential, until=time.time() + HOURS * 3_600, session_id=token_urlsafe(16))

    def end(self, session: Session) -> None:
        """Open a session's cookies no more, copies of them too: in this process."""
        while self._signed_out and next(iter(self._signed_out.values())) < time.time():
            self._signed_out.popitem(last=False)
        self._signed_out[session.session_id] = session.until
        if len(self._signed_out) > MAX_SIGNED_OUT:
            self._signed_out.popitem(last=False)

    def seal(self, session: Session) -> str:
        return self._fernet.encrypt(json.dumps(asdict(session)).encode()).decode()

    def open(self, cookies: str) -> Session | None:
        """The session of a Cookie header; None where there is none, or it is over, or not ours. Several may come from
        somebody who may set cookies for this host: then none counts.

        Not by `http.cookies`: what takes a quoted value apart there takes time by its square (CVE-2024-7592), and one
        cookie of another application that it cannot read hides all.
        """
        found = [
            value for name, _, value in (each.strip().partition("=") for each in cookies.split(";")) if name == COOKIE
        ]
        if len(found) != 1 or len(found[0]) > MAX_COOKIE:
            return None
        try:
            session = Session(**json.loads(self._fernet.decrypt(found[0])))
        except (InvalidToken, ValueError, TypeError):
            return None
        over = session.until <= time.time() or session.session_id in self._signed_out
        return None if over else session

    def cookie(self, session: Session | None, *, secure: bool) -> str:
        """A Set-Cookie header; None ends the session."""
        value, age = (self.seal(session), max(0, int(session.until - time.time()))) if session else ("", 0)
        return f"{COOKIE}={value}; Path=/ui; Max-Age={age}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
