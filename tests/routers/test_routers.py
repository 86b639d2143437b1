import asyncio
import pytest
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.store.db.shards import sharding_key
from keeps.store.db.provision import prepare
from tests.conftest import admin, cloned
from tests.routers.router import Backend, Router, routing

@pytest.mark.parametrize("engine", ["pgdog", "spqr"])
async def test_x(server, shared, engine):
    import time
    a = await cloned(server)
    async with admin(server) as connection:
        await connection.execute(f"CREATE DATABASE {a}_b")
    t=time.time()
    await prepare(server.url("postgres", a + "_b"), {})
    print("prepare", time.time()-t)
    backends = {name: Backend(str(server.socket / ".s.PGSQL.5432"), db, server.password("keeps_app")) for name, db in (("a", a), ("b", a+"_b"))}
    async with routing(Router(engine, backends, lambda key: "ab"[int(key, 16) % 2])) as router:
        given = {"KEEPS_ROUTER": engine, "KEEPS_ROUTER_SHARDS": " ".join(f"{n}={server.url('keeps_app', b.database)}" for n, b in backends.items())}
        async with await open_keeps(load_settings(database_url=router.url, given=given), embedder=shared) as keeps:
            for n in range(8):
                memory = keeps.memory(Scope(f"t{n}", "alice"))
                await memory.remember("The harbour is grey.")
                assert (await memory.recall("harbour")).hits
                print(n, router.shards_of(sharding_key(f"t{n}")))
    print(router.refused)
