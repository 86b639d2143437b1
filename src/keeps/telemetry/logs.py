"""JSON logs on stderr: one line an event, with ids and numbers, never contents or secrets.

structlog is imported when something is logged: with what it needs it takes a tenth of `from keeps import Keeps`.
"""

from __future__ import annotations

import logging
import sys
from functools import cache
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    import structlog

    from keeps.settings import LogLevel


def configure_logs(level: LogLevel) -> None:
    """Set up structlog, and send what libraries log through it, too."""
    import structlog

    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    handler.addFilter(_in_a_word)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(number, logging.WARNING))


def _in_a_word(record: logging.LogRecord) -> bool:
    """An error of Keeps says what to do. Of a start that failed with one, its last line is enough."""
    text = record.getMessage()
    last = text.rstrip().rpartition("\n")[2]
    if text.startswith("Traceback") and last.startswith("keeps_client.errors."):
        record.msg, record.args = last.partition(": ")[2], ()
    return True


class _ToStderr:
    """Whatever stderr is at the moment of writing."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def log() -> structlog.typing.FilteringBoundLogger:
    """The logger, configured by whoever runs the process."""
    import structlog

    return _configured() if structlog.is_configured() else _unconfigured()


@cache
def _configured() -> structlog.typing.FilteringBoundLogger:
    import structlog

    return structlog.get_logger("keeps")


@cache
def _unconfigured() -> structlog.typing.FilteringBoundLogger:
    """In a library, and in commands that print what they were asked for: warnings, on stderr, so that stdout is theirs
    alone."""
    import structlog

    return structlog.wrap_logger(
        structlog.WriteLogger(cast("TextIO", _ToStderr())),
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
    )
