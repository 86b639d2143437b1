"""Files of backups: what goes in comes out, and nothing else is taken for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keeps.operate.backups.sealing import PIECE, new_key, read_key, reading, writing
from keeps_client.errors import ValidationFailedError

KEY = bytes(range(32))


def roundtrip(content: bytes, key: bytes | None) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with writing(path, key) as file:
            file.write(content)
        with reading(path, key) as file:
            return file.read()


@settings(max_examples=40)
@given(st.binary(max_size=5_000), st.sampled_from([None, KEY]))
def test_what_goes_in_comes_out(content: bytes, key: bytes | None) -> None:
    assert roundtrip(content, key) == content


@pytest.mark.parametrize("size", [0, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_also_over_pieces(size: int, tmp_path: Path) -> None:
    import random

    content = random.Random(size).randbytes(size)  # does not compress, so that there are pieces
    assert roundtrip(content, KEY) == content


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    import random

    path = tmp_path / "sealed"
    with writing(path, KEY) as file:
        file.write(random.Random(1).randbytes(3 * PIECE))
    return path


def changed(path: Path, content: bytes, key: bytes = KEY) -> None:
    path.write_bytes(content)
    with pytest.raises(ValidationFailedError), reading(path, key) as file:
        file.read()


def test_what_was_changed_cut_or_reordered_is_refused(sealed: Path) -> None:
    whole = sealed.read_bytes()
    head = whole.index(b"\n") + 1 + 32
    pieces = [whole[head + place : head + place + PIECE + 16] for place in range(0, len(whole) - head, PIECE + 16)]
    assert len(pieces) >= 3
    changed(sealed, whole[:-1])
    changed(sealed, whole[:head] + b"".join(pieces[:-1]))
    changed(sealed, whole[:head] + b"".join([pieces[1], pieces[0], *pieces[2:]]))
    changed(sealed, whole[:head] + b"".join([*pieces, pieces[-1]]))
    for place in (0, 20, head + 5, len(whole) // 2, len(whole) - 1):
        changed(sealed, whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    changed(sealed, whole, bytes(32))
    changed(sealed, b"")
    changed(sealed, whole[:head])
    sealed.write_bytes(whole)
    with pytest.raises(ValidationFailedError, match="renamed"), reading(sealed, KEY, "another name") as file:
        file.read()


def test_without_a_key_what_was_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    with writing(path, None) as file:
        file.write(bytes(100_000))
    whole = path.read_bytes()
    for cut in (whole[:-9], b""):
        path.write_bytes(cut)
        with pytest.raises(ValidationFailedError), reading(path, None) as file:
            file.read()


def test_a_file_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(RuntimeError), writing(path, KEY) as file:
        file.write(b"half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_key_is_made_once_and_read_by_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with pytest.raises(ValidationFailedError, match="No such file"):
        read_key(path)
    assert new_key(path) == read_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ValidationFailedError):
        new_key(path)
    for wrong in ("", "xyz", "00" * 31):
        path.write_text(wrong)
        with pytest.raises(ValidationFailedError):
            read_key(path)
