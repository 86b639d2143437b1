"""ONNX Runtime as Keeps runs models in it: no network, no telemetry, threads that sleep."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keeps.ai.bert import Ids
from keeps.ai.embedder import Floats
from keeps_client.errors import NotConfiguredError

MOST_THREADS = 8
"""So many texts are read at once, where each is read alone."""


def open_onnx(weights: Path, graph: Path | None, threads: int) -> Callable[[Ids, Ids, Ids], Floats]:
    """What computes a model's main output from the numbers of word pieces, their mask, and which of two texts each is
    of. `graph`: one that computes with the numbers in `weights`, where they hold none that is to be used.

    Raises NotConfiguredError where the file cannot be read, or wants something else.
    """
    # Read at the import: without it, onnxruntime writes an id into the home and tells Microsoft what it runs.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = True
    # Threads that wait for work sleep: spinning, they take the processors from everybody else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.intra_op_num_threads = threads
    if graph is not None:
        # Where they really are: of a link, onnxruntime says that it leads out of the folder.
        folder = str(weights.resolve().parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    try:
        # As bytes, a graph looks for its numbers in the folder that was named, and not beside itself.
        given = str(weights) if graph is None else graph.read_bytes()
        session: Any = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise NotConfiguredError(f"{weights} cannot be read: {error}") from None
    wanted = {each.name for each in session.get_inputs()}
    outputs = session.get_outputs()
    output = next((each for each in outputs if len(each.shape) == 3), outputs[0]).name
    if unknown := wanted - {"input_ids", "attention_mask", "token_type_ids"}:
        raise NotConfiguredError(
            f"{weights} wants {', '.join(sorted(unknown))}, which no model of the BERT family does"
        )

    def run(ids: Ids, mask: Ids, types: Ids) -> Floats:
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return session.run([output], {name: feed[name] for name in wanted})[0]

    return run


def behind_others() -> None:
    """Let this thread run when nothing else wants to; where a thread cannot be told so, it goes on as it is."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def processors() -> int:
    """How many processors are ours, up to MOST_THREADS."""
    ours = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(ours, MOST_THREADS)
