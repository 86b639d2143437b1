"""Read models from folders: their files, and their settings in the folder or in `keeps-model.toml`."""

from __future__ import annotations

import glob
import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, Literal, cast

from keeps.models.artifacts import sha256_of
from keeps_client.errors import NotConfiguredError, ValidationFailedError

MOST_WINDOW = 254
"""Maximum number of word pieces in a window: in a longer one, the mean represents each piece less well."""
_ONNX = ("onnx/model.onnx", "model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx", "onnx/model_int8.onnx")
_SAFE = "model.safetensors"
OWN_FILE = "keeps-model.toml"
_NAME = re.compile(r"[\w.@/-]{1,100}")
ONNX_FILES = ["*.json", "onnx/model.onnx*", "model.onnx*"]
HUB_FILES = [*ONNX_FILES, "model.safetensors", OWN_FILE]
BERTS = frozenset({"bert", "roberta", "xlm-roberta", "camembert"})
"""Model types whose safetensors Keeps reads itself; others must be exported to ONNX."""
_PREFIXES = {
    "e5": ("query: ", "passage: "),
    "nomic-embed": ("search_query: ", "search_document: "),
    "bge-small-en": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-base-en": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-large-en": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed": ("Represent this sentence for searching relevant passages: ", ""),
}
"""Prefixes that model families expect before a question and before a text, unless their folder defines them."""


@dataclass(frozen=True)
class Model:
    """A sentence encoder of the BERT family.

    `name`: name for display.
    `weights`: an ONNX or safetensors file.
    `tokenizer`: the tokenizer's JSON.
    `window`: number of word pieces read at once.
    `projection`: file of the matrix that reduces token vectors, created if missing.
    `centred`: whether the component common to all vectors is subtracted.
    `scripts`: scripts that the model knows, by Unicode's names; None to detect them from the vocabulary.
    `graph`: an ONNX graph that computes with `weights` in integers; then each text is read alone, since inputs are
    rounded with those beside them.
    """

    name: str
    weights: Path
    tokenizer: str
    projection: Path
    pooling: Literal["mean", "cls"] = "mean"
    question_prefix: str = ""
    text_prefix: str = ""
    window: int = MOST_WINDOW
    tokens: bool = True
    centred: bool = True
    scripts: frozenset[str] | None = None
    config: dict[str, Any] | None = None
    graph: Path | None = None

    @cached_property
    def tag(self) -> str:
        """The tag of its vectors: other weights, prefixes or pooling give vectors that cannot be compared."""
        how = (self.pooling, self.question_prefix, self.text_prefix, self.window, self.centred)
        # An ONNX file may store its numbers in files beside it.
        files = [self.weights, *sorted(self.weights.parent.glob(f"{glob.escape(self.weights.name)}[._]*"))]
        words = hashlib.sha256(self.tokenizer.encode()).hexdigest()
        used = f"{[sha256_of(each) for each in files if each.is_file()]} {words} {how}"
        return f"{self.name}@{hashlib.sha256(used.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a model's folder.

    `tokenizer`: the tokenizer's JSON.
    `config`: the model's configuration.
    `longest`: maximum number of word pieces, including both ends.
    """

    name: str
    weights: Path
    tokenizer: str
    config: dict[str, Any]
    longest: int


def read_files(folder: Path, setting: str, *, safetensors: bool) -> Files:
    """Read the model in a folder, in the layout of the Hugging Face hub. `setting`: the setting that names it.

    Raises NotConfiguredError that states what is missing.
    """
    if not folder.is_dir():
        raise NotConfiguredError(f"{setting} names {folder}, which is not a folder")
    names = (*_ONNX, _SAFE) if safetensors else _ONNX
    weights = next((folder / name for name in names if (folder / name).is_file()), None)
    if weights is None:
        raise NotConfiguredError(f"{folder} contains no model: none of {', '.join(names)} exists")
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise NotConfiguredError(f"{folder} contains no tokenizer.json: save the model with its fast tokenizer")
    config = _json(folder / "config.json")
    return Files(_name_of(folder), weights, _text(tokenizer), config, _longest(folder, config))


def read_model(folder: Path, kept: Path) -> Model:
    """Read the sentence encoder in a folder, in the layout of sentence-transformers and the Hugging Face hub.

    `kept`: folder for files that are computed once.
    Raises NotConfiguredError that states what is missing.
    """
    files = read_files(folder, "KEEPS_EMBEDDER", safetensors=True)
    if files.weights.name == _SAFE and files.config.get("model_type") not in BERTS:
        raise NotConfiguredError(
            f"{folder}: safetensors are supported for {', '.join(sorted(BERTS))}, not for"
            f" {files.config.get('model_type')!r}; export it to ONNX: optimum-cli export onnx --model NAME FOLDER"
        )
    name = files.name
    question, text = next((said for family, said in _PREFIXES.items() if family in name.lower()), ("", ""))
    prompts = _texts(_json(folder / "config_sentence_transformers.json").get("prompts"))
    model = Model(
        name,
        files.weights,
        files.tokenizer,
        Path(),
        pooling="cls" if _json(folder / "1_Pooling/config.json").get("pooling_mode_cls_token") else "mean",
        question_prefix=prompts.get("query") or prompts.get("search_query") or question,
        text_prefix=prompts.get("passage") or prompts.get("document") or prompts.get("search_document") or text,
        window=min(MOST_WINDOW, files.longest - 2),
        config=files.config,
    )
    model = _with_own_words(model, folder / OWN_FILE)
    return replace(model, projection=kept / f"{model.tag.replace('/', '--')}.npz")


def fetch_model(name: str, setting: str = "KEEPS_EMBEDDER", files: Sequence[str] = HUB_FILES) -> Path:
    """Return the folder of a model of the Hugging Face hub: from the cache, or downloaded at the first use.

    Raises NotConfiguredError if huggingface_hub is not installed, or if the hub is unreachable and the model is not in
    the cache.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise NotConfiguredError(f"{setting}=hub:NAME needs huggingface_hub: pip install 'keeps[hub]'") from None
    last: Exception | None = None
    for local in (True, False):
        try:
            return Path(snapshot_download(name, allow_patterns=list(files), local_files_only=local))
        except (OSError, ValueError, RuntimeError) as error:
            last = error
    raise NotConfiguredError(
        f"the model {name} is not in the Hugging Face cache and could not be fetched ({type(last).__name__}); put its"
        f" files into a folder and set {setting}=onnx:FOLDER"
    )


def _name_of(folder: Path) -> str:
    """Return the name of a model: that of its folder, or of the hub for a model in the hub's cache.

    The cache has folders such as models--OWNER--NAME/snapshots/….
    """
    for part in reversed(folder.resolve().parts):
        if part.startswith("models--"):
            return part.removeprefix("models--").replace("--", "/")
    return re.sub(r"[^\w.@-]+", "-", folder.resolve().name)[:100] or "model"


def _longest(folder: Path, config: dict[str, Any]) -> int:
    """Return the maximum number of word pieces that a model reads, including both ends."""
    limits = [
        _json(folder / "sentence_bert_config.json").get("max_seq_length"),
        _json(folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
    ]
    return max(16, int(min((each for each in limits if isinstance(each, int | float) and 0 < each < inf), default=256)))


def _with_own_words(model: Model, path: Path) -> Model:
    """Return the model with the settings of `keeps-model.toml`."""
    if not path.is_file():
        return model
    try:
        settings = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ValidationFailedError(f"{path} is not valid TOML: {error}") from None
    shapes: dict[str, type] = {
        "name": str,
        "pooling": str,
        "question_prefix": str,
        "text_prefix": str,
        "window": int,
        "tokens": bool,
        "centred": bool,
    }
    for field, value in settings.items():
        if field not in shapes or type(value) is not shapes[field]:
            raise ValidationFailedError(f"{path}: {field!r} is none of {', '.join(shapes)}, or of another type")
    if settings.get("pooling", "mean") not in ("mean", "cls") or not 8 <= settings.get("window", 8) <= 510:
        raise ValidationFailedError(f"{path}: pooling must be mean or cls, window from 8 to 510")
    if not _NAME.fullmatch(settings.get("name", model.name)):
        raise ValidationFailedError(f"{path}: a name has 1 to 100 letters, digits and signs of . _ @ / -")
    return replace(model, **settings)


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value: Any = json.loads(_text(path))
    except ValueError as error:
        raise NotConfiguredError(f"{path} is damaged: {error}") from None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotConfiguredError(f"{path} cannot be read: {error}") from None


def _texts(said: object) -> dict[str, str]:
    """Return the texts by name from a value that should be a table of texts."""
    table = cast("dict[object, object]", said) if isinstance(said, dict) else {}
    return {str(name): text for name, text in table.items() if isinstance(text, str)}
