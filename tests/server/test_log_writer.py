"""Logs are written only while they are read, so that a stuck reader holds up nobody."""

from __future__ import annotations

import os

from keeps.base.telemetry import logs


def test_stuck_reader_of_logs_holds_up_nobody() -> None:
    reading, writing = os.pipe()
    line = "x" * 99 + "\n"
    count = 2 * logs.MAX_WAITING_LINES
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        writer = logs.PatientWriter(stream)
        for _ in range(count):  # more than the pipe and the queue hold
            writer.write(line)
        read = b""
        while b"dropped" not in read:
            read += os.read(reading, 1 << 16)
            writer.write(line)
    os.close(reading)
    *whole, told = read.decode().splitlines(keepends=True)
    assert set(whole) == {line}
    assert logs.MAX_WAITING_LINES < len(whole) < count
    assert "log lines dropped" in told
