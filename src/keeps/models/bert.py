"""Run BERT and similar models (RoBERTa, XLM-RoBERTa, CamemBERT) from safetensors, with numpy alone.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (2019); the names of the weights are those of
Hugging Face's transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keeps.models.embedder import Floats
from keeps_client.errors import NotConfiguredError

Ids = npt.NDArray[np.int64]


class Bert:
    """The encoder: takes word pieces, returns one vector for each."""

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self._weights = _read(path)
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        # RoBERTa's positions begin after its padding id.
        self._first = 0 if config.get("model_type") == "bert" else int(config.get("pad_token_id", 1)) + 1
        if config.get("hidden_act", "gelu") != "gelu":
            raise NotConfiguredError(
                f"{path}: {config.get('hidden_act')!r} is not supported, only gelu; export the model to ONNX"
            )

    def run(self, ids: Ids, mask: Ids) -> Floats:
        """Return the hidden states, (texts, pieces, dimensions).

        `ids`, `mask`: (texts, pieces); the mask is 1 where there is a piece.
        """
        weights = self._weights
        positions = self._first + np.arange(ids.shape[1])
        hidden = weights["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + weights["embeddings.position_embeddings.weight"][positions]
        hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._normalised(hidden, "embeddings.LayerNorm")
        unseen = np.where(mask[:, None, None, :] == 0, np.float32(-1e9), np.float32(0))
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            seen = self._linear(self._attended(hidden, name, unseen), f"{name}.attention.output.dense")
            hidden = self._normalised(hidden + seen, f"{name}.attention.output.LayerNorm")
            wide = _gelu(self._linear(hidden, f"{name}.intermediate.dense"))
            hidden = self._normalised(hidden + self._linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return hidden

    def _attended(self, hidden: Floats, name: str, unseen: Floats) -> Floats:
        texts, pieces, width = hidden.shape

        def heads(part: str) -> Floats:
            made = self._linear(hidden, f"{name}.attention.self.{part}")
            return made.reshape(texts, pieces, self._heads, -1).transpose(0, 2, 1, 3)

        query, key, value = (heads(part) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(query.shape[-1])) + unseen
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(0, 2, 1, 3).reshape(texts, pieces, width)

    def _linear(self, values: Floats, name: str) -> Floats:
        # A single product: numpy would compute one for each text.
        flat = values.reshape(-1, values.shape[-1]) @ self._weights[f"{name}.weight"].T
        return (flat + self._weights[f"{name}.bias"]).reshape(*values.shape[:-1], -1)

    def _normalised(self, values: Floats, name: str) -> Floats:
        values = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((values * values).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return values / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _read(path: Path) -> dict[str, Floats]:
    try:
        from safetensors.numpy import load_file
    except ImportError:
        raise NotConfiguredError(f"{path.name} needs the package safetensors: pip install 'keeps[hub]'") from None
    try:
        tensors = load_file(path)
    except Exception as error:
        raise NotConfiguredError(f"{path} cannot be read: {error}") from None
    prefix = next(
        (name.removesuffix("embeddings.word_embeddings.weight") for name in tensors if "word_emb" in name), ""
    )
    return {name.removeprefix(prefix): value.astype(np.float32) for name, value in tensors.items()}


def _gelu(values: Floats) -> Floats:
    """Return x · Φ(x), with erf by Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7."""
    scaled = np.abs(values) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * scaled)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(values) * (1 - series * np.exp(-scaled * scaled))
    return (values * 0.5 * (1 + erf)).astype(np.float32)
