"""The part of transcripts and state of applications."""

from __future__ import annotations

from keeps.part import Core, EndpointHandler, Part, serves
from keeps.state.transcripts.export import EXPORTS
from keeps.state.transcripts.service import TranscriptService
from keeps_client.models import transcripts as api


def make(core: Core) -> None:
    core.add(TranscriptService(core.database, core.introducer, core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(TranscriptService)
    return (
        serves(api.CREATE_TRANSCRIPT, lambda s, p, b: service.create(s, p.app, b)),
        serves(api.LIST_TRANSCRIPTS, lambda s, p, _: service.page(s, p.app, p.limit, p.cursor)),
        serves(api.GET_TRANSCRIPT, lambda s, p, _: service.get(s, p)),
        serves(api.APPEND_TO_TRANSCRIPT, lambda s, p, b: service.append(s, p.app, p.transcript_id, b)),
        serves(api.REMOVE_LAST_ENTRY, lambda s, p, _: service.remove_last_entry(s, p.app, p.transcript_id)),
        serves(api.CLEAR_TRANSCRIPT, lambda s, p, _: service.clear(s, p.app, p.transcript_id)),
        serves(api.DELETE_TRANSCRIPT, lambda s, p, _: service.delete(s, p.app, p.transcript_id)),
        serves(api.GET_APP_STATE, lambda s, p, _: service.state(s, p.app)),
        serves(api.LIST_ALL_TRANSCRIPTS, lambda s, p, _: service.page_of_all(s, p.app, p.limit, p.cursor)),
    )


PART = Part("transcripts", make, endpoints, exports=EXPORTS)
