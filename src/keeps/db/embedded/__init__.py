"""A PostgreSQL server of our own, in a folder, shared by every process that opens it.

    async with EmbeddedPostgres.open(home) as server: server.app_url ...

binaries.py  which programs to run, and as which user
server.py    initdb, start, recover, stop: one data folder
lease.py     who uses the server; the last one out stops it
guard.py     stops the server when all who used it were killed
places.py    where the parts of a home are, and the passwords
home.py      the folder, opened and closed
"""

from keeps.db.embedded.home import EmbeddedPostgres, HomeReport, inspect_home

__all__ = ["EmbeddedPostgres", "HomeReport", "inspect_home"]
