"""Items: JSON values under a namespace and a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keeps_client.memory.base import Doing
from keeps_client.models import (
    DeleteItem,
    GetItem,
    Item,
    ItemResult,
    ListKeys,
    ListNamespaces,
    PutItem,
    SearchItems,
    SweepItems,
)
from keeps_client.models.items import BATCH_ITEMS, READ_ITEMS

ItemOperation = GetItem | PutItem | DeleteItem | SearchItems | ListNamespaces | ListKeys | SweepItems
ReadOperation = GetItem | SearchItems | ListNamespaces | ListKeys


class Items(Doing):
    """A store of JSON values, each under a namespace of labels and a key, that can be searched by meaning."""

    async def batch_items(
        self, operations: Sequence[ItemOperation | Mapping[str, Any]], *, omit_expired: bool = True
    ) -> list[ItemResult]:
        """Run operations in order, in one transaction and one round trip; return one result for each."""
        done = await self._do(BATCH_ITEMS, operations=list(operations), omit_expired=omit_expired)
        return done.results

    async def read_items(
        self, operations: Sequence[ReadOperation | Mapping[str, Any]], *, omit_expired: bool = True
    ) -> list[ItemResult]:
        """Run operations that change no item; needs only the role reader."""
        done = await self._do(READ_ITEMS, operations=list(operations), omit_expired=omit_expired)
        return done.results

    async def put_item(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        *,
        index: bool = True,
        texts: Mapping[str, str] | None = None,
        ttl_minutes: float | None = None,
    ) -> None:
        """Store a value, replacing the previous one; it is found by its `texts`, or else by the whole value."""
        await self.batch_items(
            [
                {
                    "op": "put",
                    "namespace": tuple(namespace),
                    "key": key,
                    "value": value,
                    "index": index,
                    "texts": texts,
                    "ttl_minutes": ttl_minutes,
                }
            ]
        )

    async def get_item(self, namespace: Sequence[str], key: str, *, refresh_ttl: bool = False) -> Item | None:
        """Return one item, or None."""
        one = {"op": "get", "namespace": tuple(namespace), "key": key, "refresh_ttl": refresh_ttl}
        return (await self.read_items([one]))[0].item

    async def delete_item(self, namespace: Sequence[str], key: str) -> None:
        """Delete an item immediately, also from the log; a missing one is no error."""
        await self.batch_items([{"op": "delete", "namespace": tuple(namespace), "key": key}])

    async def search_items(
        self,
        prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002  the word that stores use
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool = False,
    ) -> list[Item]:
        """Return the items in a namespace and below it: nearest in meaning with a query, else newest update first."""
        one = {
            "op": "search",
            "prefix": tuple(prefix),
            "query": query,
            "filter": filter,
            "limit": limit,
            "offset": offset,
            "refresh_ttl": refresh_ttl,
        }
        (result,) = await self.read_items([one])
        items = result.items
        while result.more and len(items) < limit:
            further = {**one, "limit": limit - len(items), "offset": offset + len(items)}
            (result,) = await self.read_items([further])
            items += result.items
        return items

    async def list_keys(
        self, prefix: Sequence[str] = (), *, after: tuple[Sequence[str], str] | None = None, limit: int = 100
    ) -> list[Item]:
        """Return the keys in a namespace and below it, in order, without the values, which are empty here.

        Args:
            prefix: The namespace; all of them if not given.
            after: Namespace and key of the last one of the previous page.
            limit: Maximum number, at most 1,000.
        """
        place = None if after is None else (tuple(after[0]), after[1])
        one = {"op": "keys", "prefix": tuple(prefix), "after": place, "limit": limit}
        return (await self.read_items([one]))[0].items

    async def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Return the namespaces that have items, in order. `*` matches any one label."""
        one = {
            "op": "namespaces",
            "prefix": tuple(prefix),
            "suffix": tuple(suffix),
            "max_depth": max_depth,
            "limit": limit,
            "offset": offset,
        }
        return (await self.read_items([one]))[0].namespaces
