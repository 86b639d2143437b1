"""Verify a log that `keeps events export` wrote, without Keeps: python verify_log.py LOG [ANCHORS]

It prints the first break and exits with 1 if events were changed, added, removed or reordered, or if the log lacks an
anchor of its tenant. It needs only Python 3.11, and holds one event at a time.
"""

import hashlib
import json
import struct
import sys
from datetime import datetime, timedelta
from uuid import UUID

BYTES, NUMBER, ID, TIME = 17, 20, 2950, 1184  # PostgreSQL's numbers of the types bytea, bigint, uuid and timestamptz
START = datetime.fromisoformat("2000-01-01T00:00:00+00:00")


def record_hash(*fields):
    """Hash values as PostgreSQL sends a record: their count; for each its type, its length (-1: none) and its bytes."""
    parts = [struct.pack(">i", len(fields))]
    for kind, value in fields:
        parts.append(struct.pack(">ii", kind, -1 if value is None else len(value)) + (value or b""))
    return hashlib.sha256(b"".join(parts)).digest().hex()


def text(value):
    return BYTES, value.encode() if isinstance(value, str) else value


def number(value):
    return NUMBER, struct.pack(">q", value)


def time(value):
    return TIME, struct.pack(">q", (datetime.fromisoformat(value) - START) // timedelta(microseconds=1))


def contents_hash(contents):
    names = ("subject", "user_id", "agent_id", "visibility", "traceparent", "data")
    return record_hash(text(bytes.fromhex(contents["salt"])), *(text(contents[name]) for name in names))


def event_hash(event):
    fixed = (text(event["tenant_id"]), number(event["sequence"]), (ID, UUID(event["event_id"]).bytes))
    what = (text(event["type"]), text(event["source"]), time(event["time"]), time(event["recorded_at"]))
    return record_hash(
        *fixed, *what, *(text(bytes.fromhex(event[name])) for name in ("contents_hash", "previous_hash"))
    )


def lines(path):
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def breaks(path, anchors):  # Yield the number and kind of each break.
    retired, tenant, position, previous, islands, removed = {"through": 0}, None, 0, None, hashlib.sha256(), {}
    for event in lines(path):  # Up to which event did retention remove some, and what did it keep of them?
        if event["type"] == "log.retired" and event["contents"]:
            retired = json.loads(event["contents"]["data"])
    for event in lines(path):
        tenant, n, contents, link = event["tenant_id"], event["sequence"], event["contents"], event["previous_hash"]
        chained = n > retired["through"]
        if n <= position or (chained and position and n != max(position, retired["through"]) + 1):
            yield n, "missing before it, or out of order"
        position = n
        if link is None:  # Older than the chain.
            if previous is not None:
                yield n, "outside the chain"
            continue
        start = link == record_hash(text(tenant), number(n - 1)) or n == retired["through"] + 1 > 1
        if chained and link != previous and not (previous is None and start):
            yield n, "not linked"
        own = event_hash(event)
        previous = own if chained else previous
        islands.update(b"" if chained else bytes.fromhex(own))
        if contents and event["redacted"]:
            removed[n] = contents_hash(contents)
        elif contents and contents_hash(contents) != event["contents_hash"]:
            yield n, "contents changed"
        elif contents and event["type"] == "log.redacted":
            for gone, left in json.loads(contents["data"])["events"].items():
                if removed.get(int(gone)) == left:
                    del removed[int(gone)]
        if any(anchor != own for anchor in anchors.pop((tenant, n), ())):
            yield n, "anchor differs"
    yield from ((n, "contents removed without a record") for n in removed)
    if retired.get("kept", islands.hexdigest()) != islands.hexdigest():
        yield retired["through"], "kept events differ"
    yield from ((n, "older than an anchor") for owner, n in anchors if owner == tenant and n > position)
    print(f"verified up to event {position}, whose hash is {previous}")


if __name__ == "__main__":
    wanted = {}
    for each in lines(sys.argv[2]) if len(sys.argv) > 2 else ():
        wanted.setdefault((each["tenant_id"], each["sequence"]), []).append(each["hash"])
    for broken, problem in breaks(sys.argv[1], wanted):
        sys.exit(f"event {broken}: {problem}")
