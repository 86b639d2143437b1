"""The cells of tenants, as the configuration of a sharding router."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from keeps.store.db.shards import DISTRIBUTION

_COLUMN = "keeps_sharding_key"
"""A column that no table has, so that PgDog routes by the key of the transaction and by nothing in a statement."""
_LOWEST = "0" * 64
_KEYS_A_LINE = 1_000


@dataclass(frozen=True, slots=True)
class Placements:
    """The cell of each tenant.

    `cells`: all names, `main` first. `keys`: the cell by sharding key. `new`: the cell of new tenants.
    """

    cells: Sequence[str]
    keys: Mapping[str, str]
    new: str


def for_pgdog(placements: Placements) -> str:
    """Return the tables of `pgdog.toml` that map keys to shards: shard 0 is the first of KEEPS_ROUTER_SHARDS."""
    lines = [_order(placements, "#"), "[[sharded_tables]]", *_pgdog_column(), 'data_type = "varchar"', ""]
    for shard, cell in enumerate(placements.cells):
        keys = sorted(key for key, held_by in placements.keys.items() if held_by == cell)
        for start in range(0, len(keys), _KEYS_A_LINE):
            values = ", ".join(f'"{key}"' for key in keys[start : start + _KEYS_A_LINE])
            lines += ["[[sharded_mappings]]", *_pgdog_column(), 'kind = "list"', f"values = [{values}]"]
            lines += [f"shard = {shard}", ""]
    lines += ["[[sharded_mappings]]", *_pgdog_column(), 'kind = "default"']
    return "\n".join([*lines, f"shard = {placements.cells.index(placements.new)}", ""])


def _pgdog_column() -> list[str]:
    return ['database = "keeps"', f'column = "{_COLUMN}"']


def for_spqr(placements: Placements) -> str:
    """Return the statements for SPQR's console that map ranges of keys to shards, which have the names of the cells.

    A new tenant falls in the range of the key before its own.
    """
    lines = [_order(placements, "--"), f"CREATE DISTRIBUTION {DISTRIBUTION} COLUMN TYPES varchar;"]
    bounds: list[tuple[str, str]] = []
    for key in sorted(placements.keys):
        cell = placements.keys[key]
        if not bounds or bounds[-1][1] != cell:
            bounds.append((key if bounds else _LOWEST, cell))
    for number, (bound, cell) in enumerate(bounds or [(_LOWEST, placements.new)]):
        lines.append(f"CREATE KEY RANGE keeps{number} FROM '{bound}' ROUTE TO {cell} FOR DISTRIBUTION {DISTRIBUTION};")
    return "\n".join([*lines, ""])


def _order(placements: Placements, comment: str) -> str:
    return f"{comment} KEEPS_ROUTER_SHARDS in this order: {' '.join(placements.cells)}"


FORMATS: Mapping[str, Callable[[Placements], str]] = {"pgdog": for_pgdog, "spqr": for_spqr}
