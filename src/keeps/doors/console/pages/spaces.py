"""Spaces: the list, and one space with its members; create, change, archive and erase them."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.responses import Response

from keeps.base.clock import utc_now
from keeps.doors.console.mount import Call, read_moment
from keeps.doors.console.views import quoted
from keeps.memory.spaces.service import SpaceService
from keeps_client.models import SpaceDetail

PAGE = 100
NEWEST = 10
"""Number of memories on the page of a space."""
ROLES = {
    "reader": "reads the memories of the space",
    "writer": "also stores, changes and forgets them",
    "curator": "also erases them, and manages the space and its members",
}


async def spaces(call: Call) -> Response:
    """List the caller's spaces; for an administrator on request all spaces of the tenant."""
    after, all_of_tenant = call.asked("after"), bool(call.asked("all")) and call.may("admin")
    if all_of_tenant:
        listed = await call.keeps.service(SpaceService).of_tenant(call.scope, after, PAGE + 1)
    else:
        listed = await call.memory.list_spaces(after=after, limit=PAGE + 1)
    more = call.more(listed[PAGE - 1].space_id, "after") if len(listed) > PAGE else None
    return call.page("spaces.html", spaces=listed[:PAGE], more=more, all_of_tenant=all_of_tenant)


async def create(call: Call) -> Response:
    form = await call.form()
    made = await call.memory.create_space(_text(form, "space_id"), title=_text(form, "title") or None)
    return call.go(_address(made.space_id), "the space is created; add its members below")


async def space(call: Call) -> Response:
    space_id = call.given("space_id")
    shown = await call.memory.get_space(space_id)
    newest = await call.memory.for_space(space_id).list(limit=NEWEST) if shown.role is not None else None
    return call.page(
        "space.html",
        space=shown,
        manages=_manages(call, shown),
        newest=[] if newest is None else newest.items,
        roles=ROLES,
        now=utc_now(),
    )


async def change(call: Call) -> Response:
    """Change the title, archive the space, or open it again."""
    space_id, form = call.given("space_id"), await call.form()
    if form.get("archived"):
        archived = _text(form, "archived") == "yes"
        await call.memory.update_space(space_id, archived=archived)
        return call.go(_address(space_id), "the space is archived" if archived else "the space can be written again")
    await call.memory.update_space(space_id, title=_text(form, "title"))
    return call.go(_address(space_id), "the title is changed")


async def set_member(call: Call) -> Response:
    """Add a member, or change the role of one."""
    space_id, form = call.given("space_id"), await call.form()
    member = await call.memory.set_space_member(
        space_id,
        _text(form, "member_id"),
        _text(form, "role"),  # pyright: ignore[reportArgumentType]
        member_type=_text(form, "member_type"),  # pyright: ignore[reportArgumentType]
        expires_at=read_moment(_text(form, "until"), "until"),
    )
    return call.go(_address(space_id), f"{member.member_id} is a {member.role} of the space")


async def remove_member(call: Call) -> Response:
    space_id, form = call.given("space_id"), await call.form()
    member_type, member_id = _text(form, "member_type"), _text(form, "member_id")
    await call.memory.remove_space_member(
        space_id,
        member_id,
        member_type=member_type,  # pyright: ignore[reportArgumentType]
    )
    left = (member_type, member_id) == ("user", call.scope.user_id) and not call.may("admin")
    return call.go("/ui/spaces" if left else _address(space_id), f"{member_id} is no member of the space any more")


async def erase(call: Call) -> Response:
    """Erase a space permanently: its id is entered to confirm, then the data is counted."""
    space_id, form = call.given("space_id"), await call.form()
    again = _text(form, "again")
    if again != space_id:
        return call.page("erase_space.html", space=await call.memory.get_space(space_id), wrong=bool(again))
    return call.page("erased.html", done=await call.memory.erase_space(space_id), space_id=space_id)


def _text(form: FormData, name: str) -> str:
    return str(form.get(name, "")).strip()


def _address(space_id: str) -> str:
    return f"/ui/spaces/{quoted(space_id)}"


def _manages(call: Call, shown: SpaceDetail) -> bool:
    return call.may("admin") or (call.may("writer") and shown.role == "curator")


PAGES = {
    "GET /ui/spaces": spaces,
    "POST /ui/spaces": create,
    "GET /ui/spaces/{space_id}": space,
    "POST /ui/spaces/{space_id}": change,
    "POST /ui/spaces/{space_id}/members": set_member,
    "POST /ui/spaces/{space_id}/members/remove": remove_member,
    "POST /ui/spaces/{space_id}/erase": erase,
}
