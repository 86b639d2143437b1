"""Tags and namespaces in every script, and the rule in words where one is refused."""

from __future__ import annotations

from typing import Any

import pytest

from keeps_client.errors import ValidationFailedError

TAGS = ["machine learning", "Gemüse", "日本語", "#food", "c++", "a, b", "पानी", "👩‍🚀", "it's", "עברית", "Ελλάδα"]
NAMESPACES = ["Gemüse", "日本語/ノート", "पानी", "notes.2026:a/b-c_d", "Ελλάδα"]


@pytest.mark.parametrize("tag", TAGS)
async def test_tag_of_any_script_is_found(memory: Any, tag: str) -> None:
    receipt = await memory.remember("Dinner is at eight.", tags=[f" {tag} ", "other"])
    assert receipt.memory.tags == (tag, "other")
    await memory.remember("Nothing else.", tags=["other"])
    for filters in ({"tags": {"contains": tag}}, {"tags": {"in": [tag]}}, {"tags": {"eq": [tag, "other"]}}):
        assert [each.content for each in (await memory.list(filters=filters)).items] == ["Dinner is at eight."]
    assert [hit.memory.content for hit in (await memory.recall("dinner", tags=[tag])).hits] == ["Dinner is at eight."]
    changed = await memory.update(receipt.memory_id, tags=[tag])
    assert changed.memory.tags == (tag,)


@pytest.mark.parametrize("namespace", NAMESPACES)
async def test_namespace_of_any_script_is_found(memory: Any, namespace: str) -> None:
    await memory.remember("Dinner is at eight.", namespace=namespace, key="dinner")
    assert (await memory.find(namespace, "dinner")).namespace == namespace
    assert (await memory.remember("Dinner is at nine.", namespace=namespace, key="dinner")).status == "updated"
    assert len((await memory.list(filters={"namespace": {"eq": namespace}})).items) == 1
    assert len((await memory.recall("dinner", namespace=namespace)).hits) == 1
    read = await memory.read_entry("postgres", f"{namespace}/dinner")
    assert read.value == "Dinner is at nine."
    assert (await memory.forget(namespace=namespace, key="dinner")).status == "forgotten"


async def test_composed_and_decomposed_names_are_equal(memory: Any) -> None:
    await memory.remember("One.", namespace="Zoë", key="k", tags=["café"])
    assert (await memory.remember("Two.", namespace="Zoe\u0308", key="k", tags=["cafe\u0301"])).status == "updated"
    assert (await memory.find("Zoe\u0308", "k")).tags == ("café",)
    filters = {"AND": [{"namespace": {"in": ["Zoe\u0308"]}}, {"tags": {"contains": "cafe\u0301"}}]}
    assert len((await memory.list(filters=filters)).items) == 1


@pytest.mark.parametrize("tag", ["", "  ", "a\nb", "a\u2028b", "a\tb", "\x7f", "x" * 101])
async def test_invalid_tag_error_states_the_rule(memory: Any, tag: str) -> None:
    with pytest.raises(ValidationFailedError, match="a tag is a text of 1 to 100 characters"):
        await memory.remember("Dinner.", tags=[tag])
    with pytest.raises(ValidationFailedError, match="a tag is a text of 1 to 100 characters"):
        await memory.recall("Dinner.", tags=[tag])


@pytest.mark.parametrize("namespace", ["", "a b", "a\n", "#x", "👩‍🚀", "x" * 101])
async def test_invalid_namespace_error_states_the_rule(memory: Any, namespace: str) -> None:
    with pytest.raises(ValidationFailedError, match="letters, digits and marks of any script"):
        await memory.remember("Dinner.", namespace=namespace, key="k")


@pytest.mark.parametrize("kind", ["", "a b", "日本", "x" * 101, "a\n"])
async def test_invalid_content_type_error_states_the_rule(memory: Any, kind: str) -> None:
    with pytest.raises(ValidationFailedError, match="letters A to Z and a to z") as refused:
        await memory.remember("Dinner.", content_type=kind)
    assert "pattern" not in refused.value.detail
