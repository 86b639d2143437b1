"""Run ONNX models with settings for Keeps: no network, no telemetry, threads that sleep."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keeps.models.bert import Ids
from keeps.models.embedder import Floats
from keeps_client.errors import NotConfiguredError

MOST_THREADS = 8
"""Maximum number of threads, and of texts read at the same time if each is read alone."""


def open_onnx(weights: Path, graph: Path | None, threads: int) -> Callable[[Ids, Ids, Ids], Floats]:
    """Return the function that computes a model's main output.

    It takes word-piece ids, their mask, and the number of the text (of two) that each belongs to.
    `graph`: a graph that computes with the numbers in `weights`, if the graph in `weights` is not to be used.

    Raises NotConfiguredError if the file cannot be read or needs other inputs.
    """
    # Must be set before the import: otherwise onnxruntime writes an id into the home folder and reports to Microsoft.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = True
    # Waiting threads must sleep: spinning would take the processors from everything else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.intra_op_num_threads = threads
    if graph is not None:
        # Resolve links: onnxruntime rejects a link as leading out of the folder.
        folder = str(weights.resolve().parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    try:
        # A graph given as bytes looks for its numbers in the named folder, not beside itself.
        source = str(weights) if graph is None else graph.read_bytes()
        session: Any = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise NotConfiguredError(f"{weights} cannot be read: {error}") from None
    wanted = {node.name for node in session.get_inputs()}
    outputs = session.get_outputs()
    output = next((node for node in outputs if len(node.shape) == 3), outputs[0]).name
    if unknown := wanted - {"input_ids", "attention_mask", "token_type_ids"}:
        raise NotConfiguredError(
            f"{weights} needs the inputs {', '.join(sorted(unknown))}, which BERT-style models do not have"
        )

    def run(ids: Ids, mask: Ids, types: Ids) -> Floats:
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return session.run([output], {name: feed[name] for name in wanted})[0]

    return run


def behind_others() -> None:
    """Lower the priority of this thread; without effect on systems that do not support it."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def processors() -> int:
    """Return the number of processors available, at most MOST_THREADS."""
    ours = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(ours, MOST_THREADS)
