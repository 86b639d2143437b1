"""Adapters to frameworks, where the framework is not there."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import keeps.integrations

ADAPTERS = [
    each.stem for each in Path(keeps.integrations.__path__[0]).glob("*.py") if each.stem not in ("__init__", "owners")
]


@pytest.mark.parametrize("name", ADAPTERS)
def test_without_its_framework_it_says_which_extra_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("google") is not None and find_spec("google.adk") is not None:
        pytest.skip("the frameworks are installed here")
    module = f"keeps.integrations.{name}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'keeps\[{name}\]'"):
        import_module(module)
