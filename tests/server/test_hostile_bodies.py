"""Nothing that a caller sends holds the event loop: hostile text in every place of every route.

The routes, and what is asked of them, are those of the cross-tenant matrix, so a new route is asked here too. Which
step of the loop took how long, the watchdog of the tests says (tests/watchdog.py).
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from multidict import CIMultiDict
from yarl import URL

from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from tests.server.test_matrix import ROUTES
from tests.serving import serving, token
from tests.watchdog import unwatched

LENGTHS = (50_000, 10_000, 2_000, 255)
"""What is too long is refused, so each text is sent as long as it is taken."""
UNITS = (
    "a",
    "1",
    " ",
    "\n",
    "(",
    "- ",
    "# ",
    "[[",
    "](",
    "`",
    "```\n",
    "a.",
    "a b ",
    "https://",
    "@a",
    "I am ",
    "my name is A",
    "it is not ",
    "Anna and ",
    "2026-11-22 ",
    "3 days ago ",
    "\u0301",
    "我",
    "ﷺ",
    "\u3300",
    "🙂",
    "אב ",
    "ß",
    "\u202e",
    '{"a":',
    "'s ",
    "no, ",
    "&amp;",
    "a-",
    "/../",
    "1,",
    "%",
    "\\",
    "<!-- keeps:context ",
)
READ = ("content", "query", "text", "trigger_condition")
READING = ("/v1/memories", "/v1/recall", "/v1/context", "/v1/exchanges", "/v1/providers/markdown/append")
"""Routes that read text for its meaning."""
NUMBERED = {"memory_id", "document_id", "entity_id", "relation_id", "operation_id", "key_id", "webhook_id"}
"""Of the ids in addresses, those that are UUIDs; the others are names."""


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _leaves(each, (*path, index))
    elif isinstance(value, str):
        yield path


def _put(value: Any, path: tuple[Any, ...], text: Any) -> Any:
    if not path:
        return text
    head, *rest = path
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[head] = _put(value[head], tuple(rest), text)
    return changed


def _hostile(every: int, few: int) -> Iterator[tuple[str, str, list[tuple[dict[str, Any] | None, bytes | None]]]]:
    """Yield method, path, and parameters and body, the longest first: the next is sent where one is refused.

    Routes that read text get one of `every` units, others `few`.
    """
    turn = 0
    for name, (request, _, _) in ROUTES.items():
        method, path = name.split(" ")
        if path.endswith("/stream"):
            continue
        body, params = request.get("json"), request.get("params")
        for leaf in _leaves(params or {}):
            for unit in UNITS[turn % 7 :: 14 // few]:
                yield method, path, [({**(params or {}), leaf[-1]: (unit * size)[:size]}, None) for size in LENGTHS[1:]]
            turn += 1
        for leaf in _leaves(body or {}):
            chosen = [UNITS[(turn * few + n) % len(UNITS)] for n in range(few)]
            for unit in UNITS[turn % every :: every] if leaf[-1] in READ and path in READING else chosen:
                texts = [(unit * size)[:size] for size in LENGTHS]
                yield (
                    method,
                    path,
                    [(params, json.dumps(_put(body, leaf, text), ensure_ascii=False).encode()) for text in texts],
                )
            turn += 1
        if body is not None:
            deep = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
            many = json.dumps({f"field{n}": [n] * 5 for n in range(5_000)}).encode()
            large = json.dumps({**body, "metadata": {"a": "x" * 500_000}}).encode()
            bodies = (deep, b"[" * 100_000, many, b'"' + b"a" * 900_000 + b'"', large)
            for hostile in (bodies[turn % 5], bodies[(turn + 2) % 5])[:few]:
                yield method, path, [(params, hostile)]


def _address(path: str) -> str:
    given = dict.fromkeys(NUMBERED, "01a20000-0000-7000-8000-000000000000") | {"provider_id": "working"}
    return re.sub(r"{(\w+)}", lambda found: given.get(found[1], "alices"), path)


@pytest.mark.parametrize(("every", "few"), [(40, 1), pytest.param(4, 2, marks=pytest.mark.load)])
async def test_hostile_text_in_every_place_holds_nobody_up(secured_url: str, tenant: str, every: int, few: int) -> None:
    with unwatched():
        requests = list(_hostile(every, few))
    headers = {"Authorization": f"Bearer {token(tenant, 'mallory', 'admin')}", "Content-Type": "application/json"}
    statuses: Counter[int] = Counter()
    async with aiohttp.ClientSession(secured_url, headers=headers) as http:
        for method, path, attempts in requests:
            for params, body in attempts:
                async with http.request(
                    method, _address(path), params=params, data=body and io.BytesIO(body)
                ) as answer:
                    told = (await answer.read())[:300]
                assert answer.status < 500 or b"not_configured" in told, f"{method} {path}: {answer.status} {told!r}"
                statuses[answer.status] += 1
                if answer.status not in (413, 414, 422, 431):
                    break
    assert statuses[200] + statuses[201] > 40
    print(f"{len(requests)} requests: {statuses}")


NAMES = ("a name with spaces.", "🙂\u202e", "x" * 255, "x" * 300, "{=", "\0", "-1", "..", "a/b")
ALSO = {"post /v1/databases/{name}/query": [{"question": "How many?"}]}
"""Further bodies of a route: what it does with them is something else."""


async def test_no_name_in_an_address_breaks_a_route(secured_url: str, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {token(tenant, 'mallory', 'admin')}"}
    asked = 0
    async with aiohttp.ClientSession(secured_url, headers=headers) as http:
        for name, (request, _, _) in ROUTES.items():
            method, path = name.split(" ")
            bodies = [request.get("json"), *ALSO.get(name, [])]
            for text, body in product(NAMES, bodies) if "{" in path else ():
                where = URL(re.sub(r"{\w+}", lambda _, text=text: quote(text, safe=""), path), encoded=True)
                async with http.request(method, where, params=request.get("params"), json=body) as answer:
                    told = (await answer.read())[:300]
                assert answer.status < 500 or b"not_configured" in told, f"{name} of {text!r}: {answer.status} {told!r}"
                asked += 1
    assert asked >= 200


def _lists(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The lists of a body, and their first item."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _lists(each, (*path, name))
    elif isinstance(value, list) and value:
        yield path, value[0]


@pytest.mark.parametrize("many", [200, pytest.param(1_000, marks=pytest.mark.load)])
async def test_many_long_texts_and_one_of_many_signs_hold_nobody_up(
    app_url: str, tmp_path: Path, tenant: str, many: int
) -> None:
    """Wherever a list is taken; without a model, which has a thread of its own."""
    settings = Settings(home=tmp_path, database_url=app_url, embedder="none")
    asked = 0
    headers = {"X-Tenant-ID": tenant, "Content-Type": "application/json"}
    async with (
        await open_keeps(settings) as keeps,
        serving(keeps) as url,
        aiohttp.ClientSession(url, headers=headers) as http,
    ):
        for name, (request, _, _) in ROUTES.items():
            method, path = name.split(" ")
            for place, first in _lists(request.get("json") or {}):
                for count, text in ((many, "It rained on the harvest. " * 307), (1, "我喜欢喝乌龙茶" * 2_857)):
                    with unwatched():
                        leaf = next(_leaves(first), None)
                        item = first if leaf is None else _put(first, leaf, text)
                        numbered = [
                            _put(item, leaf, f"{n} {text}"[:8_000]) if leaf is not None and count > 1 else item
                            for n in range(count)
                        ]
                        body = json.dumps(_put(request["json"], place, numbered), ensure_ascii=False).encode()
                    ids = defaultdict(lambda: "alices")
                    async with http.request(method, path.format_map(ids), data=io.BytesIO(body)) as answer:
                        told = (await answer.read())[:200]
                    assert answer.status < 500, f"{name}: {answer.status} {told!r}"
                    asked += 1
    assert asked >= 8


async def test_a_body_of_many_parts_is_refused_and_holds_nobody_up(secured_url: str, tenant: str) -> None:
    with unwatched():
        many = b",".join([b"1"] * 90_000)
        too_many = b",".join([b"1"] * 400_000)
        names = b",".join(b'"%d":1' % number for number in range(45_000))
        lists = b",".join([b"[]"] * 2_700_000)
        bodies = {
            "wrong tags": ("/v1/recall", b'{"query":"x","tags":[' + many + b"]}", 422),
            "too many wrong tags": ("/v1/recall", b'{"query":"x","tags":[' + too_many + b"]}", 413),
            "wrong sections": ("/v1/context", b'{"query":"x","sections":[' + many + b"]}", 422),
            "tags": ("/v1/recall", json.dumps({"query": "x", "tags": ["a"] * 90_000}).encode(), 422),
            "unknown fields": ("/v1/recall", b'{"query":"x",' + names + b"}", 422),
            "a long path": (
                "/v1/recall",
                json.dumps({"query": "x", "filters": {"metadata" + ".a" * 100_000: {}}}).encode(),
                422,
            ),
            "a long list": ("/v1/recall", b'{"query":"x","filters":{"a":{"contains":[' + many + b"]}}}", 422),
            "a long question": ("/v1/recall", json.dumps({"query": "x" * (1 << 20)}).encode(), 413),
            "wrong memories": ("/v1/memories/batch", b'{"items":[' + many + b"]}", 422),
            "too many wrong memories": ("/v1/memories/batch", b'{"items":[' + too_many + b"]}", 413),
            "wrong messages": ("/v1/exchanges", b'{"session_id":"s","messages":[' + many + b"]}", 422),
            "wrong words of a memory": ("/v1/memories", b'{"content":"x","tags":[' + many + b"]}", 422),
            "unknown fields of a memory": ("/v1/memories", b'{"content":"x",' + names + b"}", 422),
            "names in metadata": ("/v1/memories", b'{"content":"x","metadata":{' + names + b"}}", 422),
            "lists in metadata": ("/v1/memories", b'{"content":"x","metadata":{"a":[' + lists + b"]}}", 413),
            "lists for mem0": ("/mem0/v3/memories/add", b'{"messages":[' + lists + b"]}", 413),
            "lists for Hindsight": ("/hindsight/v1/default/banks/alice/memories", b'{"items":[' + lists + b"]}", 413),
            "one line of lists": ("/v1/admin/import", b"[" + lists + b"]", 200),
        }
    headers = {"Authorization": f"Bearer {token(tenant, 'alice', 'admin')}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(secured_url, headers=headers) as http:
        for name, (path, body, status) in bodies.items():
            async with http.post(path, data=io.BytesIO(body)) as answer:
                told = await answer.text()
            assert (answer.status, len(told) < 100_000) == (status, True), (name, answer.status, told[:200])
        put = "/v1/memory/working/plan/key"
        async with http.put(put, data=io.BytesIO(b'{"value":[' + b",".join([b"[]"] * 200_000) + b"]}")) as answer:
            assert answer.status == 413, "whatever the method is"
        # Said twice, and differently: counted whatever it is said to be.
        twice = CIMultiDict([("Content-Type", "application/json"), ("Content-Type", "text/plain")])
        path, body, _ = bodies["lists in metadata"]
        async with http.post(path, data=io.BytesIO(body), headers=twice) as answer:
            assert answer.status == 422
