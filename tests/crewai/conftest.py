"""CrewAI reports nothing to its maker, and writes its own files into a folder of the test."""

from __future__ import annotations

import os
import tempfile
import warnings

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}
os.environ |= {"CREWAI_STORAGE_DIR": tempfile.mkdtemp()}

with warnings.catch_warnings(action="ignore"):  # CrewAI's own, when it is imported
    import crewai

assert crewai
