"""Plain text: one memory for each paragraph, long ones divided at sentences. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keeps.sources.importing.records import NAMESPACE, Format, Record, Source, fitted, pieces


def records(source: Source) -> Iterator[Record]:
    for number, part in enumerate(pieces(source.text()), 1):
        yield Record(
            f"{source.name}#{number}",
            {
                "content": part,
                "content_type": "document",
                "namespace": NAMESPACE,
                "key": source.key(number),
                "source": fitted(source.path),
                "metadata": {"path": source.name},
            },
        )


FORMAT = Format(
    "text",
    "plain text",
    records,
    re.compile(r"\.txt$", re.IGNORECASE),
    lambda source: source.name.lower().endswith(".txt"),
)
