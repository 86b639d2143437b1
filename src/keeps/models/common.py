"""Remove the component that all vectors of a model share. Pure.

The vectors of many models all point in a similar direction: E5's have cosines from 0.7 to 1. After subtracting their
mean, dissimilar texts have a cosine near 0, and signs differ, which is what recall compares and ranks by (Mu and
Viswanath, "All-but-the-Top", ICLR 2018).
"""

from __future__ import annotations

import numpy as np

from keeps.models.embedder import Floats

COMMON = (
    "Where does she live?",
    "We moved last year because of my job.",
    "The meeting is on Friday at noon.",
    "Er trinkt morgens gern Tee.",
    "Wann fährt der Zug?",
    "Mi hermana tiene dos perros.",
    "¿Qué comida no le gusta?",
    "J'ai acheté une voiture rouge.",
    "Quand est ton anniversaire ?",
    "Ela trabalha num hospital.",
    "Non mangio carne.",
    "Мы смотрели новый фильм.",
    "我每天早上跑步。",
    "他最喜欢的颜色是什么？",
    "明日は会議があります。",
    "彼女はどこに住んでいますか。",
    "저는 음악을 좋아해요.",
    "أين يعمل أخوك؟",
    "أحب القهوة في الصباح.",
    "मेरी बहन दिल्ली में रहती है।",
    "आप क्या खाना पसंद करते हैं?",
    "Deploy the service to production.",
    "The test failed with a timeout.",
    "Thanks, that is great news!",
)
"""Typical statements and questions in several languages; the mean of their vectors is the common component."""


def unit(vector: Floats) -> Floats:
    return (vector / max(float(np.linalg.norm(vector)), 1e-9)).astype(np.float32)


def apart(vector: Floats, common: Floats) -> Floats:
    """Return a sentence vector without the common component, of length 1."""
    return unit(vector - common)
