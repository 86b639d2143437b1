"""Transcripts: conversations word for word, as frameworks store them, with their state."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import readable
from keeps.state.transcripts.service import TranscriptService

APPS, PAGE, ENTRIES = 100, 50, 100


async def transcripts(call: Call) -> Response:
    """List the apps that have transcripts."""
    apps = await call.keeps.service(TranscriptService).apps(call.scope, call.asked("after"), APPS + 1)
    more = call.more(apps[APPS - 1], "after") if len(apps) > APPS else None
    return call.page("transcripts.html", apps=apps[:APPS], more=more)


async def of_app(call: Call) -> Response:
    app = call.given("app")
    page = await call.memory.list_transcripts(app, limit=PAGE, cursor=call.asked("cursor") or None)
    return call.page("transcripts_of_app.html", app=app, items=page.items, more=call.more(page.next_cursor))


async def transcript(call: Call) -> Response:
    stored = await call.memory.get_transcript(
        call.given("app"), call.given("transcript_id"), after=call.number("after") or 0, limit=ENTRIES
    )
    following = None if stored.next_after is None else str(stored.next_after)
    states = {
        "State of the transcript": stored.state,
        "State of the user in this app": stored.user_state,
        "State of the app for all users": stored.shared_state,
    }
    return call.page(
        "transcript.html",
        transcript=stored,
        states=await asyncio.to_thread(
            lambda: [(name, readable(state, 20_000)) for name, state in states.items() if state]
        ),
        texts=await asyncio.to_thread(lambda: [readable(entry.entry, 2_000) for entry in stored.entries]),
        more=call.more(following, "after"),
    )


PAGES = {
    "GET /ui/transcripts": transcripts,
    "GET /ui/transcripts/{app}": of_app,
    "GET /ui/transcripts/{app}/{transcript_id}": transcript,
}
