"""JSON logs on stderr: one line an event, with ids and numbers, never contents or secrets."""

from __future__ import annotations

import logging
import sys
from typing import TextIO, cast

import structlog

from keeps.settings import LogLevel


def configure_logs(level: LogLevel) -> None:
    """Set up structlog, and send what libraries log through it, too."""
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
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(number, logging.WARNING))


_LOGGER = structlog.get_logger("keeps")


class _ToStderr:
    """Whatever stderr is at the moment of writing."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


_UNCONFIGURED = structlog.wrap_logger(
    structlog.WriteLogger(cast("TextIO", _ToStderr())),
    wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.JSONRenderer(),
    ],
)
"""In a library, and in commands that print what they were asked for: warnings, on stderr, so that stdout is theirs
alone."""


def log() -> structlog.typing.FilteringBoundLogger:
    """The logger, configured by whoever runs the process."""
    return _LOGGER if structlog.is_configured() else _UNCONFIGURED
