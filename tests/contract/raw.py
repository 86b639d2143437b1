"""A memory over bare HTTP: the routes, paths and names of the wire, without the transport of the SDK."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import aiohttp
from pydantic import BaseModel
from yarl import URL

from keeps_client._requests import Answer, error_of
from keeps_client.endpoint import AnswerT, Endpoint
from keeps_client.memory.admin import Admin
from keeps_client.memory.whole import Memory


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class RawMemory(Memory):
    """Sends what a method was given as JSON, its names in snake_case or camelCase."""

    def __init__(self, http: aiohttp.ClientSession, url: str, headers: Mapping[str, str], seed: int) -> None:
        self._http, self._url, self._headers = http, url, dict(headers)
        self._random = random.Random(seed)

    @property
    def admin(self) -> Admin:
        raise NotImplementedError

    def idempotent(self, key: str) -> Any:
        raise NotImplementedError

    def for_user(self, user_id: str) -> Any:
        raise NotImplementedError

    def for_space(self, space_id: str) -> Any:
        raise NotImplementedError

    async def export_space_lines(self, space_id: str) -> Any:
        raise NotImplementedError

    async def subscribe(self, **_: Any) -> Any:
        raise NotImplementedError
        yield

    async def _upload(self, *_: Any) -> Any:
        raise NotImplementedError

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        name = camel if self._random.random() < 0.5 else str
        whole = fields.pop("body", None)
        given = {key: value for key, value in fields.items() if value is not None or key == "value"}
        place = {key: quote(str(given.pop(key)), safe="") for key in endpoint.path_names}
        # A segment of periods alone is a step up, not a name, unless it is encoded.
        place = {key: text.replace(".", "%2E") if set(text) == {"."} else text for key, text in place.items()}
        of_query = set(endpoint.params.model_fields if endpoint.params else ())
        query = {name(key): _text(given.pop(key)) for key in list(given) if key in of_query}
        body = given if whole is None else whole
        sent = {name(key): value for key, value in body.items()} if isinstance(body, Mapping) else body
        content = None if endpoint.body is None else json.dumps(sent, default=_plain, ensure_ascii=False).encode()
        async with self._http.request(
            endpoint.verb,
            URL(self._url + endpoint.path.format(**place), encoded=True).update_query(query),
            data=content,
            headers=self._headers | {"Content-Type": "application/json"},
        ) as answer:
            read = await answer.read()
            if answer.status >= 400:
                raise error_of(Answer(answer.status, answer.headers, read))
            told = json.loads(read)
            if endpoint.bare:
                told = {"items": told, "next_cursor": answer.headers.get("X-Next-Cursor")}
            return endpoint.adapter.validate_python(told)


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)
