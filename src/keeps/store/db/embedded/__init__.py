"""An embedded PostgreSQL server in a folder, shared by every process that opens it.

async with EmbeddedPostgres.open(home) as server: server.app_url ...

binaries.py  the programs to run, and the user to run them as
server.py    initdb, start, recover, stop: one data folder
lease.py     leases of the server's users; the last one out stops it
guard.py     stops the server when all its users were killed
places.py    the folders of a home, and its passwords
home.py      the folder, opened and closed
"""

from keeps.store.db.embedded.home import EmbeddedPostgres, HomeReport, inspect_home

__all__ = ["EmbeddedPostgres", "HomeReport", "inspect_home"]
