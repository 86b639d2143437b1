"""The use of a model by requests."""

from __future__ import annotations

from dataclasses import dataclass

MOST_TOKENS = 1_000_000_000
"""Maximum number of tokens of one request that is believed of a server."""


@dataclass(slots=True)
class Spend:
    """Requests to a model: their number, those that failed, their tokens, and the time until their answers.

    Call it with the tokens of each answered request, and how many of them the model wrote.
    """

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __call__(self, tokens: object, completion_tokens: object = 0) -> None:
        """Count an answered request. A server may say anything: what is no number of tokens counts as 0."""
        written = min(_whole(completion_tokens), _whole(tokens))
        self.calls += 1
        self.prompt_tokens += _whole(tokens) - written
        self.completion_tokens += written

    def fail(self, requests: int = 1) -> None:
        """Count requests without an answer."""
        self.calls += requests
        self.failed += requests

    def reject(self) -> None:
        """Count the last answered request as failed, since its answer is of no use."""
        self.failed += 1

    def add(self, other: Spend) -> None:
        self.calls += other.calls
        self.failed += other.failed
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.seconds += other.seconds

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def _whole(value: object) -> int:
    return min(max(value, 0), MOST_TOKENS) if isinstance(value, int) else 0
