"""Pack token vectors into few bytes, and compute the late-interaction score over them. Pure.

A token is 65 bytes: one byte of scale, then 128 dimensions of 4 bits, two to a byte. The scale byte is the largest
absolute value times 255; a nibble n stands for (n - 8) / 7 of it. Measured on LoCoMo and PrefEval, this loses nothing
against the 384 floats that the model returns.

MaxSim (Khattab and Zaharia, "ColBERT", SIGIR 2020): each token of the question is matched with its most similar token
in the memory; the similarities are averaged, each weighted by the rarity of its word.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keeps.models.embedder import Floats

DIMENSIONS = 128
HALF = DIMENSIONS // 2
TOKEN_BYTES = 1 + HALF
ALONE = 262_144
"""Maximum number of multiplications that OpenBLAS computes in the calling thread.

For more it uses threads on all processors, and waits for them if these are busy, for example with the database.
"""
UNPACKED = 8_192
"""Number of packed vectors that are unpacked at once, 4 MB."""


def pack_tokens(vectors: Floats) -> bytes:
    """Pack (n, 128) float vectors of at most unit length. Byte i holds dimension i low and dimension 64 + i high."""
    largest = np.abs(vectors).max(axis=1, initial=0.0) if len(vectors) else np.zeros(0, dtype=np.float32)
    scale = np.clip(np.ceil(largest * 255), 1, 255).astype(np.uint8)
    levels = np.rint(vectors / (scale[:, None].astype(np.float32) / 255) * 7).astype(np.int8) + 8
    nibbles = np.clip(levels, 1, 15).astype(np.uint8)
    packed = np.empty((len(vectors), TOKEN_BYTES), dtype=np.uint8)
    packed[:, 0] = scale
    packed[:, 1:] = nibbles[:, :HALF] | nibbles[:, HALF:] << 4
    return packed.tobytes()


def unpack_tokens(packed: bytes) -> Floats:
    """Return the vectors of `pack_tokens`, (n, 128), to within half a level."""
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(-1, TOKEN_BYTES)
    levels = np.concatenate((rows[:, 1:] & 15, rows[:, 1:] >> 4), axis=1).astype(np.float32) - 8
    return (levels * rows[:, :1] / (255 * 7)).astype(np.float32)


# All numbers are bounded; numpy's occasional warnings come from a flag that BLAS leaves set.
@np.errstate(all="ignore")
def similarities(query: Floats, rows: npt.NDArray[np.uint8]) -> Floats:
    """Return the cosine of each packed token vector with each of the question's, (n, m), for `query` (m, 128).

    `rows`: packed vectors, (n, TOKEN_BYTES).
    """
    cosines = np.empty((len(rows), len(query)), dtype=np.float32)
    # A byte is low + 16 high, so low · a + high · b is byte · a + high · (b - 16 a), which saves half of the unpacking.
    # Scale and offset are applied to the products, which are far fewer than the vectors' numbers.
    of_bytes, of_high = query[:, :HALF].T, (query[:, HALF:] - 16 * query[:, :HALF]).T
    for start in range(0, len(rows), UNPACKED):
        some = rows[start : start + UNPACKED, 1:]
        high = (some >> 4).astype(np.float32)
        cosines[start : start + UNPACKED] = products(some.astype(np.float32), of_bytes)
        cosines[start : start + UNPACKED] += products(high, of_high)
    cosines -= 8 * query.sum(axis=1)
    cosines *= rows[:, :1].astype(np.float32) / (255 * 7)
    return cosines


def products(left: Floats, right: Floats) -> Floats:
    """Return the matrix product, (n, m), computed in the calling thread."""
    products = np.empty((len(left), right.shape[1]), dtype=np.float32)
    at_once = max(1, ALONE // max(1, right.size))
    for start in range(0, len(left), at_once):
        np.matmul(left[start : start + at_once], right, out=products[start : start + at_once])
    return products


def nearest_words(query: Floats, packed: npt.NDArray[np.uint8], counts: npt.NDArray[np.int64]) -> Floats:
    """Return the cosine of the most similar token, for each memory and each token of the question: (memories, n).

    0 for a memory without tokens.
    `query`: (n, 128).
    `packed`: the packed token vectors of all memories, one after the other; `counts`: how many each memory has.
    """
    best = np.zeros((len(counts), len(query)), dtype=np.float32)
    filled = counts > 0
    if len(packed) and len(query):
        lengths = counts[filled]
        starts = np.cumsum(lengths) - lengths
        best[filled] = np.maximum.reduceat(similarities(query, packed), starts, axis=0)
    return best


def max_similarity(best: Floats, weights: Floats) -> npt.NDArray[np.float32]:
    """Return the MaxSim score of each memory: the weighted mean of `nearest_words`, about 0 to 1."""
    return (np.vecdot(best, weights) / max(float(weights.sum()), 1e-9)).astype(np.float32)
