"""Export of sessions."""

from __future__ import annotations

from keeps.state.sessions import store
from keeps.store.export import NO_TIME, Export, JsonRow, check_as_new
from keeps_client.models import NewSession, Session


def _read_session(row: JsonRow) -> Session:
    check_as_new(NewSession, row)
    return Session.model_validate({**row, "plan_count": 0, "last_activity": row["last_interaction"]})


EXPORTS = (
    Export(
        "session",
        store.QUERIES["export_sessions"],
        {"created_at": NO_TIME, "session_id": ""},
        _read_session,
        store.insert,
    ),
)
