"""Token vectors, small enough to keep, and the late-interaction score over them. Pure.

A token is 65 bytes: one byte of scale, then 128 dimensions of 4 bits, two to a byte. The scale byte is the largest
absolute value times 255; a nibble n stands for (n - 8) / 7 of it. Measured on LoCoMo and PrefEval, this loses nothing
against the 384 floats that the model gives.

MaxSim (Khattab and Zaharia, "ColBERT", SIGIR 2020): each token of the question finds its most similar token in the
memory; the similarities are averaged, each weighted by how rare its word is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keeps.models.embedder import Floats

DIMENSIONS = 128
TOKEN_BYTES = 1 + DIMENSIONS // 2


def pack_tokens(vectors: Floats) -> bytes:
    """Pack (n, 128) float vectors of at most unit length."""
    largest = np.abs(vectors).max(axis=1, initial=0.0) if len(vectors) else np.zeros(0, dtype=np.float32)
    scale = np.clip(np.ceil(largest * 255), 1, 255).astype(np.uint8)
    levels = np.rint(vectors / (scale[:, None].astype(np.float32) / 255) * 7).astype(np.int8) + 8
    nibbles = np.clip(levels, 1, 15).astype(np.uint8)
    packed = np.empty((len(vectors), TOKEN_BYTES), dtype=np.uint8)
    packed[:, 0] = scale
    packed[:, 1:] = nibbles[:, 0::2] | nibbles[:, 1::2] << 4
    return packed.tobytes()


def unpack_tokens(packed: bytes) -> Floats:
    """The vectors of `pack_tokens`, (n, 128), to within half a level."""
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(-1, TOKEN_BYTES)
    vectors = _PAIRS[rows[:, 1:]].reshape(len(rows), DIMENSIONS)
    vectors *= (rows[:, 0].astype(np.float32) / (255 * 7))[:, None]
    return vectors


def max_similarity(query: Floats, weights: Floats, memories: Sequence[bytes]) -> npt.NDArray[np.float32]:
    """MaxSim of one question with many memories: a weighted mean of cosines, about 0 to 1; 0 for one without tokens.

    `query`: (n, 128) · `weights`: (n,) · `memories`: packed token vectors
    """
    scores = np.zeros(len(memories), dtype=np.float32)
    filled = [index for index, packed in enumerate(memories) if packed]
    if not filled or not len(query) or not weights.sum():
        return scores
    lengths = np.array([len(memories[index]) // TOKEN_BYTES for index in filled])
    similarities = unpack_tokens(b"".join(memories[index] for index in filled)) @ query.T
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    best = np.maximum.reduceat(similarities, starts, axis=0)
    scores[filled] = best @ weights / weights.sum()
    return scores


def _pairs() -> Floats:
    """For each byte, the two numbers that its nibbles stand for."""
    values = np.arange(256)
    return np.stack((values & 15, values >> 4), axis=1).astype(np.float32) - 8


_PAIRS = _pairs()
