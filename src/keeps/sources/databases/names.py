"""Resolution of names in a statement: listed tables and columns, resolved as the engine would, or refused. Pure.

Two measures keep hidden data out of reach. Every name is resolved here against the list; and a table with hidden
columns is replaced by a subquery that selects the listed ones, so that if the engine resolves a name differently, it
still finds nothing else.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from keeps.sources.databases.dialects import DIALECTS
from keeps.sources.databases.rules import Dialect, RefusedSQLError, Table
from keeps.sources.databases.words import TABLE_FUNCTIONS

MOST_ROWS_MADE = 100_000
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(slots=True)
class Source:
    """The meaning of a name before a dot: a table, a subquery or a function, with its columns."""

    alias: str
    columns: list[str]
    schema: str | None = None


@dataclass(slots=True)
class Scope:
    sources: list[Source] = field(default_factory=list[Source])
    outputs: list[str] = field(default_factory=list[str])
    above: Scope | None = None


@dataclass(slots=True)
class Resolver:
    """Resolves one statement. `used` collects its tables."""

    tables: Sequence[Table]
    dialect: Dialect
    used: dict[str, None] = field(default_factory=dict[str, None])
    named: int = 0

    def query(self, node: exp.Expr, above: Scope | None, ctes: Mapping[str, Source]) -> list[str]:
        """Resolve a SELECT, a set operation or VALUES in place; return the names of its columns."""
        if isinstance(node, exp.Subquery):
            if node.args.get("with_") is not None:
                ctes = self._with(node.args["with_"], above, ctes)
            found = self.query(node.this, above, ctes)
            self._modified(node, Scope(outputs=found, above=above), ctes)
            return found
        if isinstance(node, exp.Values):
            self._expressions(node.expressions, Scope(above=above), ctes)
            first = node.expressions[0] if node.expressions else None
            return [f"column{number + 1}" for number in range(len(first.expressions) if first is not None else 0)]
        if not isinstance(node, exp.Select | exp.SetOperation):
            raise RefusedSQLError("statement", "only a SELECT is allowed")
        if node.args.get("with_") is not None:
            ctes = self._with(node.args["with_"], above, ctes)
        if isinstance(node, exp.SetOperation):
            outputs = self.query(node.this, above, ctes)
            self.query(node.expression, above, ctes)
            self._modified(node, Scope(outputs=outputs, above=above), ctes)
            return outputs
        return self._select(node, above, ctes)

    def _select(self, node: exp.Select, above: Scope | None, ctes: Mapping[str, Source]) -> list[str]:
        scope = Scope(above=above)
        if node.args.get("from_") is not None:
            self._source(node.args["from_"].this, scope, ctes)
        for join in node.args.get("joins") or ():
            self._join(join, scope, ctes)
        outputs: list[str] = []
        for output in node.expressions:
            stars = self._starred(output, scope)
            if stars is None:
                self._expressions([output], scope, ctes)
                outputs.append(self._called(output))
            else:
                outputs += stars
        scope.outputs = outputs
        self._modified(node, scope, ctes)
        return outputs

    def _with(self, node: exp.With, above: Scope | None, ctes: Mapping[str, Source]) -> Mapping[str, Source]:
        """Resolve common tables, each renamed to a name that no table has, so that out of scope it matches nothing."""
        in_scope = dict(ctes)
        for cte in node.expressions:
            name = self._fold(cte.args["alias"].this)
            self.named += 1
            named = [self._fold(column) for column in cte.args["alias"].columns]
            source = Source(f"keeps_{self.named}", named)
            if node.recursive and isinstance(cte.this, exp.SetOperation):
                first = self.query(cte.this.this.copy(), above, in_scope)
                source.columns = named + first[len(named) :]
                in_scope[name] = source
            found = self.query(cte.this, above, in_scope)
            source.columns = named + found[len(named) :]
            cte.args["alias"].set("this", exp.to_identifier(source.alias, quoted=True))
            cte.args["alias"].set("columns", [exp.to_identifier(column, quoted=True) for column in named])
            in_scope[name] = source
        return in_scope

    def _join(self, join: exp.Join, scope: Scope, ctes: Mapping[str, Source]) -> None:
        if join.args.get("method"):
            raise RefusedSQLError("join", "NATURAL and ASOF joins are not allowed; use ON or USING")
        # Also for a comma. SQLite never reorders a CROSS JOIN.
        if self.dialect == "sqlite" and join.args.get("kind") == "CROSS":
            join.set("kind", None)
            join.set("on", exp.true())
        before = list(scope.sources)
        self._source(join.this, scope, ctes)
        joined = scope.sources[len(before) :]
        for column in join.args.get("using") or ():
            name = self._fold(column.this if isinstance(column, exp.Column) else column)
            for side in (before, joined):
                if not any(self._column(source, name) for source in side):
                    raise self._no_column(name)
            self._rename(column, name)
        if join.args.get("on") is not None:
            self._expressions([join.args["on"]], scope, ctes)

    def _source(self, node: exp.Expr, scope: Scope, ctes: Mapping[str, Source]) -> None:
        """Resolve a table, subquery or function of FROM, with the joins in its brackets."""
        inner = node.this
        if isinstance(node, exp.Table) and not isinstance(inner, exp.Func):
            self._table(node, scope, ctes)
        elif isinstance(node, exp.Table | exp.Unnest):
            self._function(node, scope, ctes)
        elif isinstance(node, exp.Lateral) and isinstance(inner, exp.Func):  # LATERAL has no effect on a function.
            table = exp.Table(this=inner, alias=node.args.get("alias"), ordinality=node.args.get("ordinality"))
            node.replace(table)
            self._function(table, scope, ctes)
        elif isinstance(node, exp.Lateral):
            if not isinstance(inner, exp.Subquery):
                raise RefusedSQLError("source", "LATERAL needs a subquery")
            self._aliased(node, self.query(inner, Scope([*scope.sources], above=scope.above), ctes), scope)
        elif isinstance(node, exp.Subquery) and isinstance(inner, exp.Table):
            if node.args.get("alias") is not None:
                raise RefusedSQLError("source", "joined tables in parentheses cannot have an alias")
            self._source(inner, scope, ctes)
        elif isinstance(node, exp.Subquery | exp.Values):
            self._aliased(node, self.query(node, scope.above, ctes), scope)
        else:
            raise RefusedSQLError("source", "only tables, subqueries and a few functions are allowed in FROM")
        for join in node.args.get("joins") or ():
            self._join(join, scope, ctes)

    def _table(self, node: exp.Table, scope: Scope, ctes: Mapping[str, Source]) -> None:
        if not isinstance(node.this, exp.Identifier) or node.args.get("catalog") is not None:
            raise RefusedSQLError("table", "name a table directly or with its schema")
        name = self._fold(node.this)
        schema = node.args.get("db")
        alias = node.args.get("alias")
        if schema is None and name in ctes:
            held = ctes[name]
            node.set("this", exp.to_identifier(held.alias, quoted=True))
            self._named(node, name, held.columns, scope)
            return
        table = self._listed(name, None if schema is None else self._fold(schema))
        self.used[table.title] = None
        whole = exp.Table(
            this=exp.to_identifier(table.name, quoted=True),
            db=exp.to_identifier("main" if self.dialect == "sqlite" else table.schema, quoted=True),
        )
        spelled = self._fold(alias.this) if alias is not None and alias.this is not None else None
        named = exp.to_identifier(spelled or table.name, quoted=True)
        written: exp.Expr = whole
        if not table.whole:
            select = exp.Select(
                expressions=[exp.column(column, table=table.name, quoted=True) for column in table.columns],
            ).from_(whole)
            written = exp.Subquery(this=select)
        columns = list(table.columns)
        if alias is not None:
            renamed = [self._fold(column) for column in alias.columns]
            columns = renamed + columns[len(renamed) :]
            aliases = [exp.to_identifier(column, quoted=True) for column in renamed]
        else:
            aliases = []
        written.set("alias", exp.TableAlias(this=named, columns=aliases))
        for join in node.args.get("joins") or ():
            written.append("joins", join)
        node.set("joins", None)
        node.replace(written)
        schema = "main" if self.dialect == "sqlite" else table.schema
        scope.sources.append(Source(str(named.this), columns, None if spelled else schema))
        for join in written.args.get("joins") or ():
            self._join(join, scope, ctes)

    def _function(self, node: exp.Expr, scope: Scope, ctes: Mapping[str, Source]) -> None:
        function = node.this if isinstance(node, exp.Table) else node
        if node.args.get("db") is not None or node.args.get("catalog") is not None:
            raise RefusedSQLError("function", "name functions without a schema")
        name = _function_name(function)
        brought = TABLE_FUNCTIONS[self.dialect].get(name)
        if brought is None:
            raise RefusedSQLError("function", f"{name} is not allowed in FROM")
        arguments = node.expressions if isinstance(node, exp.Unnest) else list(function.iter_expressions())
        self._expressions(arguments, scope, ctes)
        alias = node.args.get("alias")
        called = self._fold(alias.this) if alias is not None and alias.this is not None else name
        columns = [self._fold(column) for column in alias.columns] if alias is not None else []
        outputs = columns or [called, *brought, "ordinality", name]
        if alias is not None:
            alias.set("this", exp.to_identifier(called, quoted=True))
            alias.set("columns", [exp.to_identifier(column, quoted=True) for column in columns])
        if name == "generate_series":  # The number of rows depends on the arguments.
            bare = node.copy()
            made = exp.Select(expressions=[exp.Star()]).from_(bare).limit(MOST_ROWS_MADE)
            alias = bare.args.get("alias")
            wrapped = exp.Subquery(this=made, alias=exp.TableAlias(this=exp.to_identifier(called, quoted=True)))
            if scope.sources:
                wrapped = exp.Lateral(this=exp.Subquery(this=made), alias=wrapped.args["alias"])
            node.replace(wrapped)
        scope.sources.append(Source(called, outputs))

    def _aliased(self, node: exp.Expr, outputs: list[str], scope: Scope) -> None:
        self._named(node, "", outputs, scope)

    def _named(self, node: exp.Expr, name: str, columns: Sequence[str], scope: Scope) -> None:
        """Register a subquery or common table under its alias, or `name`, with its columns as the alias names them."""
        alias = node.args.get("alias")
        called = self._fold(alias.this) if alias is not None and alias.this is not None else name
        renamed = [self._fold(each) for each in alias.columns] if alias is not None else []
        if called:
            columns_named = [exp.to_identifier(each, quoted=True) for each in renamed]
            node.set("alias", exp.TableAlias(this=exp.to_identifier(called, quoted=True), columns=columns_named))
        scope.sources.append(Source(called, renamed + list(columns)[len(renamed) :]))

    def _modified(self, node: exp.Expr, scope: Scope, ctes: Mapping[str, Source]) -> None:
        parts = (node.args.get(name) for name in ("where", "group", "having", "order", "limit", "offset"))
        self._expressions([each for each in parts if each is not None], scope, ctes)
        windows = node.args.get("windows") or []
        self._expressions(windows, scope, ctes)
        distinct = node.args.get("distinct")
        if isinstance(distinct, exp.Distinct):
            self._expressions([distinct], scope, ctes)

    def _expressions(self, nodes: Iterable[exp.Expr], scope: Scope, ctes: Mapping[str, Source]) -> None:
        """Resolve all names in these nodes and in the queries within them."""
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.Query):
                self.query(node, scope, ctes)
            elif isinstance(node, exp.Column):
                self._resolve(node, scope)
            elif isinstance(node, exp.Star):
                if not isinstance(node.parent, exp.Count):
                    raise RefusedSQLError("star", "* is allowed only in SELECT and in COUNT(*)")
            elif isinstance(node, exp.Window):
                named = node.args.get("alias")
                if isinstance(named, exp.Identifier):
                    self._rename(named, self._fold(named))
                if isinstance(node.this, exp.Identifier):
                    self._rename(node.this, self._fold(node.this))
                waiting += [each for each in node.iter_expressions() if not isinstance(each, exp.Identifier)]
            elif isinstance(node, exp.Alias):
                node.set("alias", exp.to_identifier(self._fold(node.args["alias"]), quoted=True))
                waiting.append(node.this)
            elif _function_name(node) == "generate_series":
                raise RefusedSQLError("function", "generate_series is allowed only in FROM")
            elif isinstance(node, exp.Kwarg) and isinstance(node.this, exp.Var):
                waiting.append(node.expression)
            elif isinstance(node, exp.Collate) and isinstance(node.expression, exp.Identifier | exp.Var):
                waiting.append(node.this)
            elif isinstance(node, exp.Identifier | exp.Dot):
                raise RefusedSQLError("name", f"{node.sql()!r} is not a column that you may query")
            else:
                waiting += node.iter_expressions()

    def _resolve(self, node: exp.Column, scope: Scope) -> None:
        if isinstance(node.this, exp.Star):
            raise RefusedSQLError("star", "* is allowed only in SELECT and in COUNT(*)")
        name = self._fold(node.this)
        if node.args.get("catalog") is not None:
            raise self._no_column(name)
        table, schema = node.args.get("table"), node.args.get("db")
        if table is not None:
            source = self._above(self._fold(table), None if schema is None else self._fold(schema), scope)
            column = None if source is None else self._column(source, name)
            if source is None or column is None:
                raise self._no_column(f"{table.name}.{node.name}")
            node.set("table", exp.to_identifier(source.alias, quoted=True))
            node.set("db", None)
            node.set("this", exp.to_identifier(column, quoted=True))
            return
        at: Scope | None = scope
        while at is not None:
            found = [column for source in at.sources if (column := self._column(source, name))]
            found += [each for each in at.outputs if self._same(each, name)]
            if found:
                node.set("this", exp.to_identifier(found[0], quoted=True))
                return
            at = at.above
        if self.dialect == "sqlite" and node.this.args.get("quoted"):  # SQLite would read it as a text.
            raise RefusedSQLError(
                "column",
                f"no column {node.name!r} that you may query; write text in single quotes: '{node.name[:40]}'",
            )
        raise self._no_column(node.name)

    def _starred(self, node: exp.Expr, scope: Scope) -> list[str] | None:
        """Return the columns that a star of SELECT stands for; None if it is not a star.

        The star is kept: the engine finds no other columns in the rewritten query.
        """
        if isinstance(node, exp.Star):
            if any(node.args.get(option) for option in ("except_", "replace", "rename", "ilike")):
                raise RefusedSQLError("star", "nothing may follow *")
            if not scope.sources:
                raise RefusedSQLError("star", "* needs a table in FROM")
            return [column for source in scope.sources for column in source.columns]
        if not (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            return None
        table, schema = node.args.get("table"), node.args.get("db")
        source = None
        if table is not None and node.args.get("catalog") is None:
            source = self._above(self._fold(table), None if schema is None else self._fold(schema), scope)
        if source is None:
            raise self._no_column(node.sql())
        node.set("table", exp.to_identifier(source.alias, quoted=True))
        node.set("db", None)
        return source.columns

    def _above(self, name: str, schema: str | None, scope: Scope) -> Source | None:
        at: Scope | None = scope
        while at is not None:
            for source in at.sources:
                same_schema = schema is None or (source.schema is not None and self._same(source.schema, schema))
                if source.alias and self._same(source.alias, name) and same_schema:
                    return source
            at = at.above
        return None

    def _listed(self, name: str, schema: str | None) -> Table:
        if self.dialect == "sqlite" and schema is not None and schema != "main":
            raise RefusedSQLError("table", f"no table {name!r} that you may query")
        fits = [
            table
            for table in self.tables
            if self._same(table.name, name)
            and (
                table.default
                if schema is None
                else self.dialect == "sqlite" or (table.schema is not None and self._same(table.schema, schema))
            )
        ]
        exact = [table for table in fits if table.name == name] or fits
        if len(exact) != 1:
            raise RefusedSQLError("table", f"no table {name!r} that you may query")
        return exact[0]

    def _column(self, source: Source, name: str) -> str | None:
        return next((each for each in source.columns if self._same(each, name)), None)

    def _called(self, node: exp.Expr) -> str:
        """Return the name of a column of SELECT."""
        if isinstance(node, exp.Alias):
            return str(node.args["alias"].this)
        if isinstance(node, exp.Column):
            return str(node.this.this)
        if self.dialect != "postgresql":
            return node.sql(dialect=DIALECTS[self.dialect])
        while isinstance(node, exp.Cast | exp.Window | exp.Filter | exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            return str(node.this.this)
        if isinstance(node, exp.Func):
            return _function_name(node)
        return "?column?"

    def _fold(self, node: exp.Expr) -> str:
        """Return a name as the engine reads it: PostgreSQL lowercases unquoted ASCII letters."""
        name = str(node.this)
        if self.dialect == "postgresql" and not node.args.get("quoted"):
            return name.translate(_LOWER)
        return name

    def _same(self, one: str, other: str) -> bool:
        return one == other or (self.dialect != "postgresql" and one.translate(_LOWER) == other.translate(_LOWER))

    def _rename(self, node: exp.Expr, name: str) -> None:
        target = node.this if isinstance(node, exp.Column) else node
        target.set("this", name)
        target.set("quoted", True)

    def _no_column(self, name: str) -> RefusedSQLError:
        return RefusedSQLError("column", f"no column {name!r} that you may query")


def _function_name(node: exp.Expr) -> str:
    if isinstance(node, exp.GenerateSeries | exp.ExplodingGenerateSeries):
        return "generate_series"
    if isinstance(node, exp.Anonymous):
        return node.name.translate(_LOWER)
    return node.sql_name().translate(_LOWER) if isinstance(node, exp.Func) else ""
