"""`keeps`: joins the commands, and turns errors into messages and exit codes (0 fine, 1 failed, 2 usage)."""

from __future__ import annotations

import codecs
import io
import json
import os
import signal
import sys
from pathlib import Path

# Recall multiplies small matrices for many callers at once: threads of its own for each cost more than they bring.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Looking for plugins reads the metadata of all installed packages, and takes longer than many a command.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

import typer
from rich.markup import escape

from keeps.base.door import enter
from keeps.doors.cli.context import err
from keeps.doors.cli.lazy import LazyGroup
from keeps.doors.cli.listing import HELP
from keeps_client.errors import KeepsError, ValidationFailedError

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

app = typer.Typer(
    name="keeps",
    cls=LazyGroup,
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def common(
    show: bool = typer.Option(False, "--version", "-V", help="Print the version.", is_eager=True),
    config: Path | None = typer.Option(  # noqa: B008
        None, "--config", help="Settings file, instead of keeps.toml in the home.", envvar="KEEPS_CONFIG"
    ),
) -> None:
    if config is not None:
        os.environ["KEEPS_CONFIG"] = str(config)
    if show:
        from keeps import __version__

        print(f"keeps {__version__}")
        raise typer.Exit


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Return the text that a terminal's encoding lacks as JSON escapes, which have the same meaning in JSON."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _logs_json() -> bool:
    """Return whether this process writes a stream of JSON lines on stderr."""
    structlog = sys.modules.get("structlog")
    return structlog is not None and structlog.is_configured() and not err.is_terminal


def _failed(code: str, detail: str) -> None:
    if _logs_json():
        from keeps.base.telemetry.logs import log

        log().error("failed", code=code, reason=detail)
        return
    err.print(f"[bold red]{code}[/]: {escape(detail)}")


def _stopped() -> None:
    """Say that Ctrl-C ended the command."""
    if _logs_json():
        from keeps.base.telemetry.logs import log

        log().info("stopped")
    else:
        err.print("stopped")


def main() -> None:
    """Run the command in the arguments of the process."""
    codecs.register_error("keeps", _escaped)
    enter("cli")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(errors="keeps")
    try:
        if any(name.startswith("KEEPS_") and name.endswith("_FILE") for name in os.environ):
            from keeps.base.settings import read_secret_files

            read_secret_files(os.environ)
        app()
    except SystemExit as ended:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left that Ctrl-C could end
        if ended.code == INTERRUPTED:
            _stopped()
        raise
    except KeepsError as error:
        _failed(error.code, error.detail)
        sys.exit(2 if isinstance(error, ValidationFailedError) else 1)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if error.filename is None:
            raise
        _failed("failed", f"{error.filename}: {error.strerror}")
        sys.exit(1)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _stopped()
        sys.exit(INTERRUPTED)
