"""Quality and speed, measured from a checkout: python -m benchmarks COMMAND."""

from __future__ import annotations

import sys

from keeps.doors.cli.main import main

sys.argv.insert(1, "bench")
main()
