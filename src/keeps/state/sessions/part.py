"""The part of sessions. Deleting one is in the part of conversations, which removes its notes."""

from __future__ import annotations

from keeps.part import Core, EndpointHandler, Part, serves
from keeps.state.sessions.export import EXPORTS
from keeps.state.sessions.service import SessionService
from keeps_client.models import sessions as api


def make(core: Core) -> None:
    core.add(SessionService(core.database, core.introducer, core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(SessionService)
    return (
        serves(api.CREATE_SESSION, lambda s, _, b: service.create(s, b)),
        serves(api.GET_SESSION, lambda s, p, _: service.get(s, p.session_id)),
        serves(api.UPDATE_SESSION, lambda s, p, b: service.update(s, p.session_id, b)),
        serves(api.LIST_SESSIONS, lambda s, p, _: service.page(s, p.ended, p.limit, p.cursor)),
    )


PART = Part("sessions", make, endpoints, exports=EXPORTS)
