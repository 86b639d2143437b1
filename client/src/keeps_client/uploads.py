"""Documents for upload: as a file that can be read again, and as an HTTP body."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast
from uuid import uuid4

from keeps_client._requests import Answer, Call, error_of
from keeps_client.errors import PayloadTooLargeError, ValidationFailedError
from keeps_client.models.documents import MAX_FILE_BYTES, DocumentReceipt, NewDocument
from keeps_client.validation import named

PATH = "/v1/documents"


@contextmanager
def opened(
    text: str | None, file: str | os.PathLike[str] | None, data: bytes | None, stream: BinaryIO | None, name: str | None
) -> Generator[tuple[str, BinaryIO]]:
    """Provide the name of a document and the document as an open file.

    Raises ValidationFailedError, PayloadTooLargeError.
    """
    if sum(each is not None for each in (text, file, data, stream)) != 1:
        raise ValidationFailedError("give a document as one of text, file, data or stream")
    if name:
        named("name", name, 255)
    if file is not None:
        path = Path(file)
        try:
            source = path.open("rb")
        except OSError as error:
            raise ValidationFailedError(f"{str(path)!r} cannot be read ({error.strerror})") from None
        with source:
            _check(os.fstat(source.fileno()).st_size, path.name)
            yield name or path.name, source
        return
    called = name or ("text.md" if text is not None else os.path.basename(str(getattr(stream, "name", "") or "")))
    with tempfile.TemporaryFile() as copy:
        if stream is not None:
            size = 0
            while part := stream.read(1 << 20):
                size += len(part)
                _check(size, called)
                copy.write(part)
        else:
            given = data if data is not None else (text or "").encode("utf-8", "surrogatepass")
            _check(len(given), called)
            copy.write(given)
        copy.seek(0)
        yield called, cast("BinaryIO", copy)


def upload_of(file: BinaryIO, name: str, new: NewDocument, media_type: str | None) -> Call:
    """Return a document as multipart/form-data."""
    boundary = uuid4().hex
    safe = name.replace("\\", "_").replace('"', "_").replace("\r", "_").replace("\n", "_")
    parts = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="document"\r\nContent-Type: application/json\r\n\r\n'
        f"{new.model_dump_json(exclude_unset=True)}\r\n--{boundary}\r\nContent-Disposition: form-data;"
        f' name="file"; filename="{safe}"\r\nContent-Type: {media_type or "application/octet-stream"}\r\n\r\n'
    )
    body = parts.encode() + file.read() + f"\r\n--{boundary}--\r\n".encode()
    return Call("POST", PATH, body, f"multipart/form-data; boundary={boundary}")


def receipt_of(answer: Answer) -> DocumentReceipt:
    """Return the receipt in a response. Raises the error that the server names."""
    if answer.status >= 400:
        raise error_of(answer)
    return DocumentReceipt.model_validate_json(answer.body)


def _check(size: int, name: str) -> None:
    if size > MAX_FILE_BYTES:
        raise PayloadTooLargeError(f"{name!r} has {size:,} bytes or more; the maximum is {MAX_FILE_BYTES:,}")


def whole_path(file: str | os.PathLike[str]) -> str:
    """Return a file's path as a source: the same from any working folder."""
    return Path(file).resolve().as_posix()
