"""A revision that users have run is never edited: their databases would lack what it says now."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest

from keeps.store.schema.revisions import HEAD

LANDED = {
    "0001.sql": "b7a8e9f93adf666c051cc95e6077fba6a52bcfd13adb73570c5e7b2669f8fe2c",
    "0002.sql": "319deb59acd7f2f0c8ab3a20c72763ba247b54ae236e00d92611caea516fcd2c",
    "0003.sql": "638d716e7540e5c663aaf2b1113ac0a1195fa8a23df9c5e7ee069d48e91f2589",
    "0004.sql": "96128f0ba7152f2977bf686bfd1bce2d2954383af7f59a5da77124f2ab748024",
    "0005.sql": "3a31b37addbaa4e0844b27a6bd39d87b8ef4b6cf79edc30199a8c5f5d1aa1821",
    "0006.sql": "860cab28de7248df5c71331268f730d79592299f17a4abcc28781bb034cfd528",
    "0007.sql": "f08aa8dc1349af846356c88cbb4099c6a0c3fec491ca3a9af42b2bd4a334588e",
    "0008.sql": "9f5192b0b2cb24802b53b20fa8ea7e79eb153b9f689b201ed0bccebc8a0a5358",
    "0009.sql": "cc71caf1962826c296852bf68fc2689a44aa3b123dd42e545caa8a0e2f952da1",
    "0010.sql": "1a2c480ed7fa34b3b7b66e51d9997ba16954d3004460839d687e3656032b2878",
    "0011.sql": "754e60e84bf810c816aa76304092e4128a01bc722181fff888dcb21aefd75c8c",
    "0012.sql": "75d08ce0e1185281190f9bff3c2abcde0583a5fafa66d54365374b916ebe7a1e",
    "0013.sql": "b0d1c50ce06858dc19b774f331452a8273d9dee4c082172d47091d97419fdb7c",
    "0015.sql": "655ddc40c4205e3808beb85c2e814578bdf3b5a464186a666294f25f0a7abe69",
    "0016.sql": "d4c7104749e9bb5beada2e14b31c771bd44df93b7b98e8aa5e4ddfca26575a4b",
    "0017.sql": "a1715b8049b451fbb58e8ce91cfa97c70a4ab4e289f916ef7417e0dd9a3df54a",
    "0019.sql": "1122c94c822f2ef5dd1eeef0ea4a61ca409e21481a6ce8a098f49f543837c828",
    "0020.sql": "913e6b1be64549427c03de19b7eb91d13dac5f8779f1fda1d0189c620641a90e",
    "0022.sql": "7b2e5815a9956ffe282872f41b7f9c4511531c727b37c66d86ba7bca089178e1",
    "0024.sql": "392271c506c571d96c96589f2de1e229bad513e1857852014c30c78b9ac4601b",
    "0025.sql": "daba8b80010a116c1be1fa91a1b2b4342bf484cc9a02712125d49dbb88f74f2e",
    "0026.sql": "1e3c1b0d54c8179c9fc78cf901610317e46c6a3468b7ae672305396a8652ffa6",
    "0027.sql": "a019550d190463c1199a1f1f63f07688ac661db3c336ba675558953f707a4e15",
    "0028.sql": "fb54ea2f137172ac9cead5bbc7c0f8d7cd3a3a7c016a665545b995d4c20d2317",
    "0029.sql": "a34db3d0a2bf7b79104b6c3f9fe118b3cd4d59be52532d2158c9623a1c617307",
    "0030.sql": "b8233c0f39d2e521750b50f3635aeacc76039ed47881eb61a95bef78bb64b2b2",
    "0031.sql": "d9be447ea090d629188ba566f7b79d2f6db6e3e06a0386ad8cd9f42669e8774d",
}
"""Digests of the tables' part of each revision. Add a line when one lands on main; never change one."""
REPLACED = ("0031", "93e5d945abd1aa27b8133f872fd2533adcd3f727289aa36468cb69242e41fac4")
"""The newest revision, and what functions.sql and policies.sql say. They are run when a revision is: a change of them
needs a new one, unless the newest has not landed yet."""


@pytest.mark.parametrize("name", LANDED)
def test_a_landed_revision_is_not_edited(name: str) -> None:
    said = files("keeps.store.schema").joinpath(name).read_bytes()
    assert hashlib.sha256(said).hexdigest() == LANDED[name], f"{name} has landed: write a new revision instead"


def test_changed_functions_come_with_a_revision() -> None:
    said = b"".join(
        files("keeps.store.schema").joinpath(name).read_bytes() for name in ("functions.sql", "policies.sql")
    )
    assert (HEAD, hashlib.sha256(said).hexdigest()) == REPLACED, "add a revision, then write it and the digest here"
