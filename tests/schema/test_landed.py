"""A revision that users have run is never edited: their databases would lack what it says now."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest

LANDED = {
    "0001.sql": "291bf49dabf131f98ed9386697df1559de19aa6817c43c96dcb0a5491f2f62fc",
    "0002.sql": "3f24d09d6a86df301111761712d3df02d01f51998e6c89383d1d3cb3b7c7d0e9",
    "0003.sql": "b20c3c743854caaed5deb57c742682ee97e935f800cbb5ebdf202f77f8e7572a",
    "0004.sql": "d8e7e42077a932ddbdda4e21fc09c5dd60f5ff2897c64858ad2e9a7f11add831",
    "0005.sql": "7eb70a5c4f0b3699a87d7c7d100484cc79a69798126227cadf70598275a04301",
    "0006.sql": "765f7d38dd04156a4b89e35fe320fa144840b77832b6756738f6aef6a6c763d6",
    "0007.sql": "8f2da64d4128aa7c0720137a1881ff93125dd6915d7c962976bac1e2e425a19a",
    "0008.sql": "b2a087b2343fa0513b0e5fe215819cef2d8ee206cd5264ed43be9cd731f917fd",
    "0009.sql": "09a2b6f8eba82310698f756ddeed3186a3f0e56e40195edb4cf4a3cb07103860",
    "0010.sql": "9e6fdee1c5a098fd8a516f6f1e132a25ec0dc6faf61f0dafcac488b1113d4e9a",
    "0011.sql": "5a71312685e42ed759d9eb3f91cc830bf9f22499797c1796fba3849ee9eae1c9",
    "0012.sql": "75d08ce0e1185281190f9bff3c2abcde0583a5fafa66d54365374b916ebe7a1e",
    "0013.sql": "87b2bd5723cde0896dc1042fb2a8eea880b8db9c9e8f234a2699d91857f0eeb5",
    "0014.sql": "fb89e0643e800f6acf47a1c45903f2c811f4e5fbb454d41392b89bf3fcb7de48",
    "0015.sql": "1a6283269f2b793778e22afa2f2de45d6cba0a6ea3d8d20646409a675a4e9184",
    "0016.sql": "8f973f0d026938784d6bdcc83556f352944b0c2c5979bd46e8def432bd12d172",
}
"""What each revision says. Add a line when one lands on main; never change one."""


@pytest.mark.parametrize("name", LANDED)
def test_a_landed_revision_is_not_edited(name: str) -> None:
    said = files("keeps.schema").joinpath(name).read_bytes()
    assert hashlib.sha256(said).hexdigest() == LANDED[name], f"{name} has landed: write a new revision instead"
