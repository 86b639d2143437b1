"""Logs on stderr: one line per event, with ids and numbers, never contents or secrets. JSON unless it is a terminal.

structlog is imported when something is first logged: it accounts for a tenth of the import time of Keeps.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    import structlog

    from keeps.base.settings import LogLevel

MAX_WAITING_LINES = 10_000
PIECE_CHARACTERS = 1_000
"""At most 4,000 bytes, which a pipe that is ready for writing takes at once."""


class PatientWriter:
    """Writes lines to a stream only while it accepts them, so that a slow reader of the logs delays no request.

    Lines that are not accepted wait for the next one. Beyond MAX_WAITING_LINES (of PIECE_CHARACTERS) they are dropped
    and
    counted. Long lines are written in pieces.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._waiting: deque[str] = deque()
        self._dropped = 0
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        with self._lock:
            if len(self._waiting) < MAX_WAITING_LINES:
                self._waiting.extend(
                    text[start : start + PIECE_CHARACTERS] for start in range(0, len(text), PIECE_CHARACTERS)
                )
            else:
                self._dropped += 1
            while self._waiting and self._takes():
                self._stream.write(self._waiting.popleft())
                self._stream.flush()
            if self._dropped and self._takes():
                self._stream.write(f'{{"event": "log lines dropped", "count": {self._dropped}, "level": "warning"}}\n')
                self._stream.flush()
                self._dropped = 0
        return len(text)

    def flush(self) -> None:
        """Do nothing: each line is flushed."""

    def _takes(self) -> bool:
        """Return whether a line can be written without blocking. A pipe is ready while it has room for 4 KiB."""
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError):  # A stream in memory has no descriptor.
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        return bool(poll.poll(0))


def _renderer() -> structlog.typing.Processor:
    """Return what makes a line: prose for people at a terminal, JSON for anything else."""
    import structlog

    if not sys.stderr.isatty():
        return structlog.processors.JSONRenderer()
    # Values are quoted, so that none can move the cursor of the terminal.
    return structlog.dev.ConsoleRenderer(
        colors=not os.environ.get("NO_COLOR"),
        repr_native_str=True,
        exception_formatter=structlog.dev.plain_traceback,
    )


def configure_logs(level: LogLevel) -> None:
    """Set up structlog, and route the logs of libraries through it."""
    import structlog

    number = logging.getLevelNamesMapping()[level.upper()]
    writer = PatientWriter(sys.stderr)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, _renderer()],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", writer)),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(cast("TextIO", writer))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(),
            ],
        )
    )
    handler.addFilter(_in_a_word)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(number, logging.WARNING))


def _in_a_word(record: logging.LogRecord) -> bool:
    """Keep only the last line of a start that failed with an error of Keeps, which says what to do."""
    text = record.getMessage()
    last = text.rstrip().rpartition("\n")[2]
    if text.startswith("Traceback") and last.startswith("keeps_client.errors."):
        record.msg, record.args = last.partition(": ")[2], ()
    return True


class _ToStderr:
    """A stream that writes to the current `sys.stderr`."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def log() -> structlog.typing.FilteringBoundLogger:
    """Return the logger, as configured by the program."""
    import structlog

    return _configured() if structlog.is_configured() else _unconfigured()


@cache
def _configured() -> structlog.typing.FilteringBoundLogger:
    import structlog

    return structlog.get_logger("keeps")


@cache
def _unconfigured() -> structlog.typing.FilteringBoundLogger:
    """Log only warnings, to stderr, so that programs and commands have stdout for their own output."""
    import structlog

    return structlog.wrap_logger(
        structlog.WriteLogger(cast("TextIO", _ToStderr())),
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _renderer(),
        ],
    )
