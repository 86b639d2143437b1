"""The console script: answers `keeps --help` and `keeps --version` without loading the commands,
and a plain `keeps recall` or `keeps hook` without loading its models."""

from __future__ import annotations

import os
import sys

from keeps.doors.cli.listing import first_page

FIRST_PAGE, VERSION = ((), ("-h",), ("--help",), ("help",)), (("-V",), ("--version",), ("version",))
QUICK = ("recall", "hook")


def main() -> None:
    """Run the console script."""
    arguments = tuple(sys.argv[1:])
    if "_KEEPS_COMPLETE" in os.environ:
        run_command()
    elif arguments in FIRST_PAGE:
        print(first_page(bold=sys.stdout.isatty()))
        sys.exit(0 if arguments else 2)
    elif arguments in VERSION:
        from keeps import __version__

        print(f"keeps {__version__}")
    elif arguments[0] not in QUICK or not answered(*arguments):
        run_command()


def answered(command: str, *arguments: str) -> bool:
    """Return whether the background process answered a plain recall or hook."""
    try:
        if command == "hook":
            from keeps.doors.cli.hook_client import run

            return run(arguments)
        from keeps.doors.cli.quick import recall

        return recall(arguments)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)


def run_command() -> None:
    """Run the command in the arguments of the process."""
    from keeps.doors.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
