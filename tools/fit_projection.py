"""Makes src/keeps/models/data/all-MiniLM-L6-v2/projection.npz: 384 token dimensions to 128.

    python tools/fit_projection.py

The text it is fitted on is the model's own vocabulary and nothing else: every word piece of letters or digits, alone,
goes through the model; the projection is the first 128 right singular vectors of the (uncentred, unit-length) token
outputs. So it belongs to no data set, and anybody can make it again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from keeps.models.artifacts import DATA, find_model, read_tokenizer
from keeps.models.token_vectors import DIMENSIONS

TARGET = Path(__file__).parents[1] / "src" / "keeps" / "models" / DATA / "projection.npz"


def main() -> None:
    import onnxruntime

    vocabulary = json.loads(read_tokenizer())["model"]["vocab"]
    ids = sorted(number for piece, number in vocabulary.items() if re.fullmatch(r"[a-z]{2,}|[0-9]{1,4}", piece))
    session = onnxruntime.InferenceSession(str(find_model()), providers=["CPUExecutionProvider"])
    vectors = np.zeros((len(ids), 384), dtype=np.float64)
    for start in range(0, len(ids), 512):
        batch = np.array([[101, number, 102] for number in ids[start : start + 512]], dtype=np.int64)
        feed = {"input_ids": batch, "attention_mask": np.ones_like(batch), "token_type_ids": np.zeros_like(batch)}
        names = {each.name for each in session.get_inputs()}
        output = session.run(None, {name: value for name, value in feed.items() if name in names})[0][:, 1]
        vectors[start : start + 512] = output / np.linalg.norm(output, axis=1, keepdims=True)
    _, _, directions = np.linalg.svd(vectors, full_matrices=False)
    np.savez_compressed(TARGET, projection=directions[:DIMENSIONS].T.astype(np.float16))
    print(f"{TARGET}: fitted on {len(ids):,} word pieces")


if __name__ == "__main__":
    main()
