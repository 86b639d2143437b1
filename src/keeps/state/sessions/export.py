"""Export of sessions."""

from __future__ import annotations

from keeps.state.sessions import store
from keeps.store.db.session import Tx
from keeps.store.export import NO_TIME, Export, JsonRow, check_as_new, differ
from keeps_client.models import NewSession, Session


def _read_session(row: JsonRow) -> Session:
    check_as_new(NewSession, row)
    return Session.model_validate({**row, "plan_count": 0, "last_activity": row["last_interaction"]})


async def _session_differs(tx: Tx, session: Session) -> bool:
    names = NewSession.model_fields.keys() & Session.model_fields.keys()
    return differ(await store.get(tx, session.session_id), session, names)


EXPORTS = (
    Export(
        "session",
        store.QUERIES["export_sessions"],
        {"created_at": NO_TIME, "session_id": ""},
        _read_session,
        store.insert,
        _session_differs,
    ),
)
