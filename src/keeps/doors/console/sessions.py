"""The cookie of the console: a key or token that was entered once, sealed, for eight hours."""

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
"""Maximum characters of a sealed credential, since browsers limit the size of cookies."""


@dataclass(frozen=True, slots=True)
class Session:
    """The credential of a signed-in user, and the user it acts for, if it may act for any.

    Without KEEPS_AUTH there is no credential.
    """

    credential: str = ""
    tenant_id: str | None = None
    user_id: str | None = None
    until: float = 0.0
    session_id: str = ""

    def as_user(self, tenant_id: str | None, user_id: str | None) -> Session:
        return replace(self, tenant_id=tenant_id, user_id=user_id)

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers that a program would send."""
        headers = (
            (b"authorization", f"Bearer {self.credential}" if self.credential else None),
            (b"x-tenant-id", self.tenant_id),
            (b"x-user-id", self.user_id),
        )
        return [(name, value.encode()) for name, value in headers if value]


class Sessions:
    """Seals and opens sessions.

    `secrets` is KEEPS_SECRET_KEYS, so that any process of the installation opens what another has sealed; without them
    `own` is used, which ends with the server.
    """

    def __init__(self, secrets: Sequence[str], own: str) -> None:
        keys = [hmac.digest(each.encode(), b"keeps console session", "sha256") for each in secrets or (own,)]
        self._signed_out: OrderedDict[str, float] = OrderedDict()
        """Sessions that were ended here, until their cookies expire."""
        self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])

    def begin(self, credential: str) -> Session:
        return Session(credential, until=time.time() + HOURS * 3_600, session_id=token_urlsafe(16))

    def end(self, session: Session) -> None:
        """End a session, including copies of its cookie, in this process."""
        while self._signed_out and next(iter(self._signed_out.values())) < time.time():
            self._signed_out.popitem(last=False)
        self._signed_out[session.session_id] = session.until
        if len(self._signed_out) > MAX_SIGNED_OUT:
            self._signed_out.popitem(last=False)

    def seal(self, session: Session) -> str:
        return self._fernet.encrypt(json.dumps(asdict(session)).encode()).decode()

    def open(self, cookies: str) -> Session | None:
        """Return the session of a Cookie header; None if it is missing, expired or foreign.

        Several may come from somebody who may set cookies for this host: then none counts.

        It does not use `http.cookies`, which takes quadratic time to parse a quoted value (CVE-2024-7592), and which
        fails completely on one unreadable cookie of another application.
        """
        values = [
            value for name, _, value in (each.strip().partition("=") for each in cookies.split(";")) if name == COOKIE
        ]
        if len(values) != 1 or len(values[0]) > MAX_COOKIE:
            return None
        try:
            session = Session(**json.loads(self._fernet.decrypt(values[0])))
        except (InvalidToken, ValueError, TypeError):
            return None
        over = session.until <= time.time() or session.session_id in self._signed_out
        return None if over else session

    def cookie(self, session: Session | None, *, secure: bool) -> str:
        """Return a Set-Cookie header; None ends the session."""
        value, age = (self.seal(session), max(0, int(session.until - time.time()))) if session else ("", 0)
        return f"{COOKIE}={value}; Path=/ui; Max-Age={age}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
