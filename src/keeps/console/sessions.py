"""The cookie of the console: a key or token that was pasted once, sealed, for eight hours."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from http.cookies import CookieError, SimpleCookie

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

COOKIE = "keeps_console"
HOURS = 8
MAX_CREDENTIAL = 2_500
"""Characters: sealed, it must fit a cookie, of which browsers take 4,096."""


@dataclass(frozen=True, slots=True)
class Session:
    """Who looks: by which credential, and for whom, where it may act for any user. Without KEEPS_AUTH there is no
    credential."""

    credential: str = ""
    tenant_id: str | None = None
    user_id: str | None = None
    until: float = 0.0

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
        self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])

    def begin(self, credential: str) -> Session:
        return Session(credential, until=time.time() + HOURS * 3_600)

    def seal(self, session: Session) -> str:
        return self._fernet.encrypt(json.dumps(asdict(session)).encode()).decode()

    def open(self, cookies: str) -> Session | None:
        """The session of a Cookie header; None where there is none, or it is over, or not ours."""
        try:
            found = SimpleCookie(cookies).get(COOKIE)
            if found is None:
                return None
            session = Session(**json.loads(self._fernet.decrypt(found.value)))
        except (CookieError, InvalidToken, ValueError, TypeError):
            return None
        return session if session.until > time.time() else None

    def cookie(self, session: Session | None, *, secure: bool) -> str:
        """A Set-Cookie header; None ends the session."""
        value, age = (self.seal(session), max(0, int(session.until - time.time()))) if session else ("", 0)
        return f"{COOKIE}={value}; Path=/ui; Max-Age={age}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
