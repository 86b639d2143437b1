"""Start the background process and hand it a hook, read from standard input: python -m keeps.doors.cli.hook_delivery"""

from __future__ import annotations

import asyncio
import json
import sys

from keeps.doors.cli.hook_client import Hook, background_for, context_of, send

STORING_SECONDS = 600.0


def main() -> int:
    """Deliver the hook; return the exit code."""
    event, home, headers, payload = json.load(sys.stdin)
    hook = Hook(event, home, headers)
    background = background_for(hook)
    if background is None or not asyncio.run(background.start()):
        return 1
    door = background.connect()
    if door is None:
        return 1
    door.settimeout(STORING_SECONDS)
    with door:
        send(door, hook, payload)
        context_of(door)
    return 0


if __name__ == "__main__":
    sys.exit(main())
