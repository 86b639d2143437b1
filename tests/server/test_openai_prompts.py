"""Contexts are inserted into requests of any form, and change nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keeps.base.settings import load_settings
from keeps.integrations.openai_proxy.answers import MAX_LINE_BYTES, Answer, EventReader
from keeps.integrations.openai_proxy.prompts import Api, read_prompt
from keeps_client.errors import ValidationFailedError

STABLE, VOLATILE = "«stable»\n", "«volatile»"
TEXTS = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool", "other"])
PARTS = st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXTS) | VALUES, max_size=3)
MESSAGES = st.lists(
    st.builds(
        lambda role, content, more: {**more, "role": role, "content": content},
        ROLES,
        TEXTS | PARTS | st.none(),
        st.dictionaries(TEXTS, VALUES, max_size=2),
    ),
    max_size=5,
)


def without(value: Any) -> Any:
    """A value without what the proxy inserted."""
    if isinstance(value, str):
        for added in (STABLE + "\n\n" + VOLATILE, STABLE, VOLATILE):
            value = value.removesuffix(f"\n\n{added}").removeprefix(f"{added}\n\n")
        return "" if value in (STABLE, VOLATILE) else value
    if isinstance(value, list):
        parts = [part for part in value if not _is_added(part)]
        return [without(part) for part in parts]
    if isinstance(value, dict):
        return {name: without(member) for name, member in value.items()}
    return value


def _is_added(part: Any) -> bool:
    """Return whether a part was inserted, or may have been: instructions without text hold the context afterwards."""
    if not isinstance(part, dict):
        return False
    is_empty = part.get("role") in ("system", "developer") and part.get("content") == ""
    return is_empty or part.get("text") in (STABLE, VOLATILE) or part.get("content") == STABLE


@given(MESSAGES, st.dictionaries(st.sampled_from("abc"), VALUES), st.sampled_from([None, 1]))
@example([{"role": "system", "content": ""}, {"role": "user", "content": None}], {}, None)
def test_only_the_context_is_added(messages: list[Any], more: dict[str, Any], indent: int | None) -> None:
    body = {**more, "messages": messages}
    prompt = read_prompt("chat/completions", json.dumps(body, indent=indent).encode())
    if prompt.last_user is None:
        return
    added = json.loads(prompt.with_context(STABLE, VOLATILE))
    assert without(added) == without(body)
    assert STABLE in json.dumps(added, ensure_ascii=False).replace("\\n", "\n")


@given(MESSAGES | TEXTS, st.sampled_from([{}, {"store": False}]), st.sampled_from([{}, {"instructions": "Be kind."}]))
def test_only_the_context_is_added_to_responses(said: Any, store: Any, instructions: Any) -> None:
    body = {**store, **instructions, "input": said}
    prompt = read_prompt("responses", json.dumps(body).encode())
    if prompt.last_user is None:
        return
    added = json.loads(prompt.with_context(STABLE, VOLATILE))
    if not instructions and added.get("instructions", "").startswith(STABLE):
        del added["instructions"]
    assert without(added) == without(body)


@given(st.binary(max_size=40) | st.text(alphabet='{}[]":, a1', max_size=40).map(str.encode))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    for api in ("chat/completions", "responses"):
        try:
            prompt = read_prompt(api, body)
        except ValidationFailedError:
            continue
        assert isinstance(json.loads(body), dict)
        assert prompt.with_context("", "") == body


def test_deep_body_is_refused() -> None:
    with pytest.raises(ValidationFailedError):
        read_prompt("chat/completions", b'{"messages":' + b"[" * 100_000)


def stream(api: Api, pieces: list[bytes], most: int = 1_000) -> Answer:
    answer = Answer(api, most)
    reader = EventReader(answer)
    for piece in pieces:
        reader.see(piece)
    return answer


def chunk(text: str, index: int = 0) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": index, "delta": {"content": text}}]}).encode() + b"\r\n\r\n"


@given(st.lists(TEXTS, max_size=5), st.integers(1, 9))
def test_pieces_of_a_stream_may_end_anywhere(texts: list[str], size: int) -> None:
    whole = b": a comment\n" + b"".join(map(chunk, texts)) + chunk("other", 1) + b"data: [DONE]\n\n"
    answer = stream("chat/completions", [whole[at : at + size] for at in range(0, len(whole), size)])
    assert answer.text == "".join(texts).replace("\x00", "\ufffd").strip()
    assert answer.is_complete


def test_long_line_is_skipped_and_the_next_is_read() -> None:
    long = b"data: " + b"x" * (2 * MAX_LINE_BYTES)
    pieces = [long[at : at + 10_000] for at in range(0, len(long), 10_000)]
    assert stream("chat/completions", [*pieces, b"\n", chunk("yes")]).text == "yes"


def test_text_of_an_answer_is_bounded() -> None:
    assert stream("chat/completions", [chunk("abc"), chunk("def"), chunk("ghi")], most=5).text == "abcde"


def test_answers_of_another_form_have_no_text() -> None:
    for body in (b"", b"[]", b'{"choices":{}}', b'{"choices":[1]}', b'{"output":[1,{"content":2}]}', b"\xff"):
        for api in ("chat/completions", "responses"):
            answer = Answer(api, 100)
            answer.read(body)
            answer.read_event(body)
            assert (answer.text, answer.new_ids()) == ("", [])


def test_address_and_key_of_the_provider_are_checked(tmp_path: Any) -> None:
    for url in ("ftp://host/v1", "https://user:pw@host/v1", "https://host/v1?x=1", "host"):
        with pytest.raises(ValidationFailedError, match="KEEPS_OPENAI_UPSTREAM"):
            load_settings({"KEEPS_OPENAI_UPSTREAM": url}, home=tmp_path)
    (tmp_path / "keeps.toml").write_text('openai_upstream = "https://elsewhere.example/v1"\n')
    with pytest.raises(ValidationFailedError, match="set both in one place"):
        load_settings({"KEEPS_OPENAI_API_KEY": "secret"}, home=tmp_path)
    (tmp_path / "key").write_text("secret\n")
    given_file = {"KEEPS_OPENAI_UPSTREAM": "https://host/v1/", "KEEPS_OPENAI_API_KEY_FILE": str(tmp_path / "key")}
    (tmp_path / "keeps.toml").unlink()
    settings = load_settings(given_file, home=tmp_path)
    assert (settings.openai_upstream, settings.openai_api_key) == ("https://host/v1", "secret")
    assert "secret" not in repr(settings)
