"""No pattern can be made slow: each is pumped with repeats derived from its own parts, and must stay linear.

What takes long is tried on a text of a quarter of the length: a linear pattern takes a quarter of the time there, a
quadratic one a sixteenth. So the machine's speed does not decide.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from re import _constants as constants  # pyright: ignore[reportAttributeAccessIssue]
from re import _parser as parser  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

import pytest

import keeps
import keeps_client
from keeps.base.text.cues import Cue

QUICK = 0.15
"""Seconds of processor time after which a text is looked at more closely."""
LENGTH = 15_000
_CATEGORIES = {
    constants.CATEGORY_SPACE: " \t\n",
    constants.CATEGORY_DIGIT: "17",
    constants.CATEGORY_WORD: "a1_",
    constants.CATEGORY_NOT_SPACE: "a!",
    constants.CATEGORY_NOT_DIGIT: "a ",
    constants.CATEGORY_NOT_WORD: " !",
}


class _Slow(Exception):
    pass


def _module_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every pattern that a module of both packages holds, however deep in its values."""
    for package in (keeps, keeps_client):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if any(part in module.name for part in ("providers.mem0", "keeps.integrations.")):
                continue  # what needs a package that is not here; its literal patterns are read all the same
            loaded = importlib.import_module(module.name)
            for name, value in vars(loaded).items():
                for pattern in _within(value, 3):
                    yield f"{module.name}.{name}", pattern


def _within(value: object, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, Cue):
        yield from value.patterns
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _within(each, depth - 1)
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from _within(each, depth - 1)


def _literal_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every literal pattern that a function hands to `re`."""
    for package in (keeps, keeps_client):
        for file in Path(package.__path__[0]).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if re.search(r"\bre\.\w+\(", text) else ():
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and isinstance(node.func.value, ast.Name)
                    and node.func.value.id == "re"
                    and node.args
                    and isinstance(node.args[0], ast.Constant)
                    and isinstance(node.args[0].value, str)
                ):
                    flags = re.IGNORECASE if "IGNORECASE" in ast.unparse(node) else re.NOFLAG
                    yield f"{file.name}:{node.lineno}", re.compile(node.args[0].value, flags)


def _patterns() -> dict[str, re.Pattern[str]]:
    found: dict[tuple[str, int], tuple[str, re.Pattern[str]]] = {}
    for place, pattern in (*_module_patterns(), *_literal_patterns()):
        found.setdefault((pattern.pattern, pattern.flags), (place, pattern))
    return {f"{place} {position}": pattern for position, (place, pattern) in enumerate(found.values())}


def _samples(tree: Any, depth: int = 0) -> list[str]:
    """A few texts that a parsed part matches."""
    texts = [""]
    for code, argument in tree:
        options = _samples_of(code, argument, depth)
        texts = [one + other for one, other in product(texts, options)][:8]
    return texts


def _samples_of(code: Any, argument: Any, depth: int) -> list[str]:
    match code:
        case constants.LITERAL:
            return [chr(argument)]
        case constants.NOT_LITERAL:
            return ["a" if chr(argument) != "a" else "b", " "]
        case constants.ANY:
            return ["a", " "]
        case constants.IN:
            return _of_class(argument)
        case constants.BRANCH:
            return [text for branch in argument[1] for text in _samples(branch, depth + 1)[:2]][:12]
        case constants.SUBPATTERN:
            return _samples(argument[3], depth + 1)
        case constants.ATOMIC_GROUP:
            return _samples(argument, depth + 1)
        case constants.MAX_REPEAT | constants.MIN_REPEAT | constants.POSSESSIVE_REPEAT:
            low, _, body = argument
            return [text * max(1, min(low, 3)) for text in _samples(body, depth + 1)[:4]]
        case _:
            return [""]


def _of_class(items: Any) -> list[str]:
    if items and items[0][0] is constants.NEGATE:
        excluded = set("".join(_of_class(items[1:])))
        return [each for each in "a 1!\n\t.-" if each not in excluded][:4] or ["\u2603"]
    found: list[str] = []
    for code, argument in items:
        if code is constants.LITERAL:
            found.append(chr(argument))
        elif code is constants.RANGE:
            found.append(chr(argument[0]))
        elif code is constants.CATEGORY:
            found.extend(_CATEGORIES[argument])
    return found[:8]


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """For each repeat without a small bound: a text that leads to it, and one that it repeats."""
    for code, argument in tree:
        if code in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT):
            _, high, body = argument
            if high is constants.MAXREPEAT or high > 20:
                for text in _samples(body)[:8]:
                    yield before, text
                    yield "", text
            yield from _repeats(body, before)
        elif code is constants.SUBPATTERN:
            yield from _repeats(argument[3], before)
        elif code is constants.ATOMIC_GROUP:
            yield from _repeats(argument, before)
        elif code is constants.BRANCH:
            for branch in argument[1]:
                yield from _repeats(branch, before)
        before += _samples_of(code, argument, 0)[0]


def _alphabet(tree: Any) -> set[str]:
    letters: set[str] = set()
    for text in _samples(tree):
        letters |= set(text)
    for code, argument in tree:
        if code in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT):
            letters |= _alphabet(argument[2])
        elif code is constants.SUBPATTERN:
            letters |= _alphabet(argument[3])
        elif code is constants.BRANCH:
            for branch in argument[1]:
                letters |= _alphabet(branch)
    return letters


def pumped(pattern: re.Pattern[str], thorough: bool) -> Iterator[tuple[str, str, str]]:
    """Yield hostile texts for a pattern, each as a beginning, a part to repeat, and an end."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE | re.UNICODE)
    suffixes, most_letters = (("", "\x00", "!x"), 7) if thorough else (("\x00",), 2)
    seen: set[tuple[str, str]] = set()
    for before, body in (*_repeats(tree, ""), *(("", text) for text in _samples(tree))):
        if body and (before, body) not in seen:
            seen.add((before, body))
            for after in suffixes:
                yield before, body, after
            if before:
                yield "", before, ""
    letters = sorted(_alphabet(tree) & set(" \t\n.,-_'\"<>=:;!?()[]{}#*@/\\|&a1A")) or ["a"]
    for one, other in product(letters[:most_letters], [*letters[:most_letters], "", "\u3042"]):
        yield "", one + other, "\x00"


def _stop(_signal: int, _frame: object) -> None:
    raise _Slow


def _seconds(pattern: re.Pattern[str], text: str, most: float) -> float:
    """Seconds of processor time that a pattern takes on a text; `most` where it would take longer."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        pattern.search(text)
        pattern.sub("", text)
        pattern.fullmatch(text)
    except _Slow:
        return most
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return min(time.process_time() - began, most)


def check(pattern: re.Pattern[str], *, thorough: bool = True) -> str | None:
    """Return the beginning of a text on which the pattern is slow; None where there is none."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        for start, body, end in pumped(pattern, thorough):
            texts = [start + body * (length // len(body)) + end for length in (LENGTH, LENGTH // 4)]
            if _seconds(pattern, texts[0], QUICK) == QUICK:
                quarter = _seconds(pattern, texts[1], QUICK)
                most = max(8 * quarter, QUICK)
                if quarter == QUICK or _seconds(pattern, texts[0], most) == most:
                    return texts[0][:60]
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return None


PATTERNS = _patterns()


def test_the_guard_finds_patterns_that_are_slow() -> None:
    assert check(re.compile(r"^\W*(?:(?:ha(?:ha)+|hi)\W*)+$")) is not None
    assert check(re.compile(r"\s*;\s*")) is not None
    assert check(re.compile(r"<!-- a.*?-->", re.DOTALL)) is not None
    assert check(re.compile(r"(?<!\s)\s+;")) is None


def test_the_guard_sees_patterns_in_modules_values_and_functions() -> None:
    places = " ".join(PATTERNS)
    assert len(PATTERNS) > 80
    assert "keeps.base.text.importance._CUES" in places
    assert "keeps.memory.recall.updates._VALUES" in places
    assert re.search(r"\w+\.py:\d+", places)


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.load)])
@pytest.mark.parametrize("place", PATTERNS)
def test_a_pattern_stays_linear_on_whatever_is_sent(place: str, thorough: bool) -> None:
    pattern = PATTERNS[place]
    slow = check(pattern, thorough=thorough)
    assert slow is None, (
        f"{place}: {pattern.pattern!r} takes too long on {slow!r}…; anchor it, or name what may not repeat"
    )
