"""Models in folders: what these hold, and how a sentence encoder is to be used, as its folder or its `keeps-model.toml`
says."""

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

from keeps.ai.artifacts import sha256_of
from keeps_client.errors import NotConfiguredError, ValidationFailedError

MOST_WINDOW = 254
"""Word pieces that are read at once: of more, the mean says less and less of each."""
_ONNX = ("onnx/model.onnx", "model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx", "onnx/model_int8.onnx")
_SAFE = "model.safetensors"
OWN_FILE = "keeps-model.toml"
_NAME = re.compile(r"[\w.@/-]{1,100}")
ONNX_FILES = ["*.json", "onnx/model.onnx*", "model.onnx*"]
HUB_FILES = [*ONNX_FILES, "model.safetensors", OWN_FILE]
BERTS = frozenset({"bert", "roberta", "xlm-roberta", "camembert"})
"""Whose safetensors Keeps reads by itself; others must be exported to ONNX."""
_PREFIXES = {
    "e5": ("query: ", "passage: "),
    "nomic-embed": ("search_query: ", "search_document: "),
    "bge-small-en": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-base-en": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-large-en": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed": ("Represent this sentence for searching relevant passages: ", ""),
}
"""What families of models want before a question and before a text, where their folder does not say it."""


@dataclass(frozen=True)
class Model:
    """A sentence encoder of the BERT family.

    `name`: for people · `weights`: an ONNX or safetensors file · `tokenizer`: its JSON · `window`: how many word pieces
    are read at once · `projection`: the file of the matrix that makes token vectors smaller, made where it is not there
    · `centred`: whether its vectors are taken without what all have in common
    · `scripts`: those that it knows, by Unicode's names; None: found out by its vocabulary · `graph`: an ONNX graph
    that computes with the numbers in `weights`, in whole numbers: then a text is read alone, since its inputs are
    rounded with those beside it
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
        """What its vectors are stored under: other weights, prefixes or pooling give vectors that do not compare."""
        how = (self.pooling, self.question_prefix, self.text_prefix, self.window, self.centred)
        # An ONNX file may keep its numbers in others beside it.
        files = [self.weights, *sorted(self.weights.parent.glob(f"{glob.escape(self.weights.name)}[._]*"))]
        words = hashlib.sha256(self.tokenizer.encode()).hexdigest()
        used = f"{[sha256_of(each) for each in files if each.is_file()]} {words} {how}"
        return f"{self.name}@{hashlib.sha256(used.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Files:
    """What a model's folder holds. `tokenizer`: its JSON · `config`: what it says of itself · `longest`: the most word
    pieces that it reads, with those at both ends"""

    name: str
    weights: Path
    tokenizer: str
    config: dict[str, Any]
    longest: int


def read_files(folder: Path, setting: str, *, safetensors: bool) -> Files:
    """The model in a folder, as the Hugging Face hub lays it out. `setting`: what names it.

    Raises NotConfiguredError that says what is missing.
    """
    if not folder.is_dir():
        raise NotConfiguredError(f"{setting} names {folder}, which is no folder")
    names = (*_ONNX, _SAFE) if safetensors else _ONNX
    weights = next((folder / each for each in names if (folder / each).is_file()), None)
    if weights is None:
        raise NotConfiguredError(f"{folder} holds no model: none of {', '.join(names)} is there")
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise NotConfiguredError(f"{folder} holds no tokenizer.json: save the model with its fast tokenizer")
    config = _json(folder / "config.json")
    return Files(_name_of(folder), weights, _text(tokenizer), config, _longest(folder, config))


def read_model(folder: Path, kept: Path) -> Model:
    """The sentence encoder in a folder, as sentence-transformers and the Hugging Face hub lay it out. `kept`: the
    folder for what is made once.

    Raises NotConfiguredError that says what is missing.
    """
    files = read_files(folder, "KEEPS_EMBEDDER", safetensors=True)
    if files.weights.name == _SAFE and files.config.get("model_type") not in BERTS:
        raise NotConfiguredError(
            f"{folder}: safetensors are read of {', '.join(sorted(BERTS))}, not of"
            f" {files.config.get('model_type')!r}; export it to ONNX: optimum-cli export onnx --model NAME FOLDER"
        )
    name = files.name
    question, text = next((said for family, said in _PREFIXES.items() if family in name.lower()), ("", ""))
    prompts = _texts(_json(folder / "config_sentence_transformers.json").get("prompts"))
    found = Model(
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
    found = _with_own_words(found, folder / OWN_FILE)
    return replace(found, projection=kept / f"{found.tag.replace('/', '--')}.npz")


def fetch_model(name: str, setting: str = "KEEPS_EMBEDDER", files: Sequence[str] = HUB_FILES) -> Path:
    """The folder of a model of the Hugging Face hub: from the cache, or fetched at the first use.

    Raises NotConfiguredError where huggingface_hub is not installed, or the hub cannot be reached and the model is not
    in the cache.
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
    """The name of a model: of its folder; of one in the hub's cache (models--OWNER--NAME/snapshots/…) that of the
    hub."""
    for part in reversed(folder.resolve().parts):
        if part.startswith("models--"):
            return part.removeprefix("models--").replace("--", "/")
    return re.sub(r"[^\w.@-]+", "-", folder.resolve().name)[:100] or "model"


def _longest(folder: Path, config: dict[str, Any]) -> int:
    """The most word pieces that a model reads, with those at both ends."""
    said = [
        _json(folder / "sentence_bert_config.json").get("max_seq_length"),
        _json(folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
    ]
    return max(16, int(min((each for each in said if isinstance(each, int | float) and 0 < each < inf), default=256)))


def _with_own_words(model: Model, path: Path) -> Model:
    """What `keeps-model.toml` says instead."""
    if not path.is_file():
        return model
    try:
        said = tomllib.loads(_text(path))
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
    for field, value in said.items():
        if field not in shapes or type(value) is not shapes[field]:
            raise ValidationFailedError(f"{path}: {field!r} is none of {', '.join(shapes)}, or of another type")
    if said.get("pooling", "mean") not in ("mean", "cls") or not 8 <= said.get("window", 8) <= 510:
        raise ValidationFailedError(f"{path}: pooling is mean or cls, window from 8 to 510")
    if not _NAME.fullmatch(said.get("name", model.name)):
        raise ValidationFailedError(f"{path}: a name has 1 to 100 letters, digits and signs of . _ @ / -")
    return replace(model, **said)


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found: Any = json.loads(_text(path))
    except ValueError as error:
        raise NotConfiguredError(f"{path} is damaged: {error}") from None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotConfiguredError(f"{path} cannot be read: {error}") from None


def _texts(said: object) -> dict[str, str]:
    """The texts by name of what should be a table of them."""
    table = cast("dict[object, object]", said) if isinstance(said, dict) else {}
    return {str(name): text for name, text in table.items() if isinstance(text, str)}
