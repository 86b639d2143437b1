"""The pages of spaces: what members, curators and administrators see and do."""

from __future__ import annotations

import re
from html import unescape

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.access.keys import KeyService
from keeps_client.errors import NotFoundError
from keeps_client.models import NewKey
from tests.console.test_pages import browsing, text_of
from tests.serving import token


def forms(text: str) -> set[str]:
    return set(re.findall(r'action="(/ui/spaces[^"]*)"', text))


async def test_a_space_is_created_filled_archived_and_erased(secured_url: str, keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        _, text = await text_of(http, "GET", "/ui/spaces", {})
        assert "You are a member of no space." in text
        assert "several users or agents share" in text
        assert "/ui/spaces" in forms(text)
        async with http.post("/ui/spaces", data={"space_id": "bakery", "title": "The bakery"}) as answer:
            assert answer.url.path == "/ui/spaces/bakery"
            assert "The bakery" in await answer.text()
        assert (await text_of(http, "POST", "/ui/spaces", {"space_id": "bakery"}))[0] == 409
        assert (await text_of(http, "POST", "/ui/spaces", {"space_id": "a b"}))[0] == 422
        member = {"member_type": "user", "member_id": "walt", "role": "writer"}
        for form, status in (
            (member, 303),
            ({**member, "role": "reader", "until": "2999-01-01 12:00"}, 303),
            ({**member, "member_type": "agent", "member_id": "baker"}, 303),
            ({**member, "role": "owner"}, 422),
            ({**member, "member_id": ""}, 422),
            ({**member, "until": "2001-01-01"}, 422),
            ({**member, "member_id": "alice"}, 409),
        ):
            assert (await text_of(http, "POST", "/ui/spaces/bakery/members", form))[0] == status, form
        members = {each.member_id: each for each in (await alice.get_space("bakery")).member_list}
        assert {name: each.role for name, each in members.items()} == {
            "alice": "curator",
            "walt": "reader",
            "baker": "writer",
        }
        _, text = await text_of(http, "GET", "/ui/spaces/bakery", {})
        assert 'value="2999-01-01 12:00:00"' in text, "a change of the role keeps the end"
        assert "Nothing is stored in this space yet." in text
        assert (await text_of(http, "POST", "/ui/spaces/bakery/members/remove", member))[0] == 303
        assert (await text_of(http, "POST", "/ui/spaces/bakery/members/remove", member))[0] == 404
        await text_of(http, "POST", "/ui/spaces/bakery", {"title": "Bread"})
        await alice.remember("The oven needs repair.", space="bakery")
        for archived, shown in (("yes", "This space is archived"), ("no", "Archive: readable")):
            await text_of(http, "POST", "/ui/spaces/bakery", {"archived": archived})
            _, text = await text_of(http, "GET", "/ui/spaces/bakery", {})
            assert shown in text
            assert "Bread" in text
            assert "The oven needs repair." in text
        for again, problem in (("", False), ("Bakery", True)):
            status, text = await text_of(http, "POST", "/ui/spaces/bakery/erase", {"again": again})
            assert status == 200
            assert ("do not match" in text) == problem
            assert await alice.get_space("bakery")
        _, text = await text_of(http, "POST", "/ui/spaces/bakery/erase", {"again": "bakery"})
        assert "Erased" in text
        with pytest.raises(NotFoundError):
            await alice.get_space("bakery")


async def test_each_role_sees_what_it_may_do(secured_url: str, keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.create_space("bakery")
    await alice.set_space_member("bakery", "walt", "writer")
    await alice.set_space_member("bakery", "cara", "curator")
    manage = {
        "/ui/spaces/bakery",
        "/ui/spaces/bakery/members",
        "/ui/spaces/bakery/members/remove",
        "/ui/spaces/bakery/erase",
    }
    for user, role, expected in (
        ("cara", "writer", manage),
        ("cara", "reader", set[str]()),
        ("walt", "writer", {"/ui/spaces/bakery/members/remove"}),
        ("root", "admin", manage),
    ):
        async with browsing(secured_url, token(tenant, user, role)) as http:
            status, text = await text_of(http, "GET", "/ui/spaces/bakery", {})
            assert (status, forms(text)) == (200, expected), (user, role)
            _, text = await text_of(http, "GET", "/ui/spaces", {})
            assert ("bakery" in text) == (user != "root")
            _, text = await text_of(http, "GET", "/ui/spaces?all=1", {})
            assert "bakery" in text
    async with browsing(secured_url, token(tenant, "walt", "writer")) as http:
        for path, form in (
            ("", {"title": "Mine"}),
            ("/members", {"member_type": "user", "member_id": "walt", "role": "curator"}),
            ("/members/remove", {"member_type": "user", "member_id": "cara"}),
            ("/erase", {"again": "bakery"}),
        ):
            assert (await text_of(http, "POST", f"/ui/spaces/bakery{path}", form))[0] == 403, path
        form = {"member_type": "user", "member_id": "walt"}
        async with http.post("/ui/spaces/bakery/members/remove", data=form) as answer:
            assert answer.url.path == "/ui/spaces", "who has left sees the list"
        assert (await text_of(http, "GET", "/ui/spaces/bakery", {}))[0] == 404
        _, text = await text_of(http, "GET", "/ui/spaces?all=1", {})
        assert "bakery" not in text
    assert (await alice.get_space("bakery")).title is None


async def test_a_long_list_of_spaces_has_pages(
    secured_url: str, keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keeps.doors.console.pages.spaces.PAGE", 2)
    for name in ("a", "b..", "c", "d", "e"):
        await keeps.memory(Scope(tenant, "alice")).create_space(name)
    async with browsing(secured_url, token(tenant, "alice", "reader")) as http:
        seen: list[str] = []
        query: str | None = ""
        while query is not None:
            _, text = await text_of(http, "GET", f"/ui/spaces{query}", {})
            seen += re.findall(r'<td><a href="(/ui/spaces/[^"]+)"', text)
            found = re.search(r'rel="next" href="([^"]+)"', text)
            query = None if found is None else unescape(found[1])
    assert sorted(seen) == sorted(f"/ui/spaces/{name}" for name in ("a", "b..", "c", "d", "e"))


async def test_a_memory_says_who_can_read_it(secured_url: str, keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.create_space("bakery")
    await alice.set_space_member("bakery", "walt", "reader")
    admin = Scope(tenant, "root", roles=frozenset({"admin"}))
    await keeps.service(KeyService).make(admin, NewKey(name="a key for all", roles=("reader",)))
    inside = await alice.remember("The oven needs repair.", space="bakery")
    private = await alice.remember("I like rye bread.")
    shared = await alice.remember("We close at six.", visibility="tenant")

    async def rows(user: str, role: str, memory_id: object) -> list[str]:
        async with browsing(secured_url, token(tenant, user, role)) as http:
            _, text = await text_of(http, "GET", f"/ui/memories/{memory_id}", {})
        part = text.split("Who can read this</h2>")[1].split("</table>")[0]
        return [" | ".join(re.findall(r"<td>(.*?)</td>", row)[:3]) for row in part.split("<tr>")[2:]]

    assert await rows("walt", "reader", inside.memory_id) == [
        "user alice | member of the space bakery | curator",
        "user walt | member of the space bakery | reader",
    ]
    assert await rows("alice", "writer", private.memory_id) == ["user alice | the owner | "]
    assert await rows("walt", "writer", shared.memory_id) == [
        "user alice | the owner | ",
        "everyone in this tenant | shared with the tenant | ",
    ]
    assert "key a key for all | may act for any user of the tenant | " in await rows("alice", "admin", inside.memory_id)


async def test_a_memory_of_a_space_is_changed_by_writers_only(secured_url: str, keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.create_space("bakery")
    await alice.set_space_member("bakery", "walt", "reader")
    stored = await alice.remember("The oven needs repair.", space="bakery")
    path = f"/ui/memories/{stored.memory_id}"
    forms_sent = (("", {"content": "The oven works.", "tags": ""}), ("/forget", {}), ("/remove", {"sure": "1"}))
    async with browsing(secured_url, token(tenant, "walt", "writer")) as http:
        for action, form in forms_sent:
            assert (await text_of(http, "POST", path + action, form))[0] == 403, action
    async with browsing(secured_url, token(tenant, "sam", "writer")) as http:
        for action, form in forms_sent:
            assert (await text_of(http, "POST", path + action, form))[0] == 404, action
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        for action, form in (*forms_sent[:2], ("/restore", {})):
            assert (await text_of(http, "POST", path + action, form))[0] == 303, action
        _, text = await text_of(http, "GET", path, {})
        assert "The oven works." in text
        assert "by alice" in text
        assert 'name="visibility"' not in text
        assert (await text_of(http, "POST", path + "/remove", {"sure": "1"}))[0] == 303
    assert not (await alice.for_space("bakery").list()).items
