"""A write is read from top to bottom: a loop of attempts, a block with the transaction, and its result."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import TypeIs

import keeps

SOURCES = {
    str(path.relative_to(Path(keeps.__file__).parent)): ast.parse(path.read_text())
    for path in sorted(Path(keeps.__file__).parent.rglob("*.py"))
}
MAX_CLOSURES = 10
"""Functions inside others that take a transaction, in the whole of keeps."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_few_closures_take_a_transaction() -> None:
    found = [f"{name}:{closure.lineno}" for name, tree in SOURCES.items() for closure in closures_over_tx(tree)]
    assert len(found) <= MAX_CLOSURES, found


def test_writes_end_at_the_end_of_their_block() -> None:
    """A `return` inside the block of an attempt would skip the next one."""
    problems = [f"{name}: {problem}" for name, tree in SOURCES.items() for problem in problems_of(tree)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("async for a in database.writing(s):\n  async with a as tx:\n   x = await f(tx)", None),
        ("async for a in database.writing(s):\n  async with a as tx:\n   for y in z:\n    break", None),
        ("async for a in database.writing(s):\n  async with a as tx:\n   return await f(tx)", "leaves"),
        ("while True:\n  async for a in database.writing(s):\n   async with a as tx:\n    break", "leaves"),
        ("async for a in database.writing(s):\n  async with a as tx:\n   for y in z:\n    return 1", "leaves"),
        ("async for a in database.writing(s):\n  await f(a)", "one block"),
        ("async for a in database.writing(s):\n  async with a as tx:\n   pass\n  await f(a)", "one block"),
        ("await f(database.writing(s))", "loop"),
        ("w = database.writing(s, A)", "loop"),
        ("w = database.writing(s, A)\n async for a in w:\n  async with a as tx:\n   w.result = 1", None),
        ("w = database.writing(s, A)\n async for a in w:\n  async with a as tx:\n   await f(tx)", "result"),
        ("async for a in database.writing(s, A):\n  async with a as tx:\n   await f(tx)", "result"),
    ],
)
def test_each_fault_of_a_write_is_found(body: str, problem: str | None) -> None:
    found = list(problems_of(ast.parse(f"async def f():\n {body}")))
    assert [problem in each for each in found] == [True] if problem else found == []


def closures_over_tx(tree: ast.AST, *, inner: bool = False) -> Iterator[ast.Lambda | Function]:
    """Yield lambdas, and functions inside functions, that have a parameter `tx`."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Lambda | Function) and (inner or isinstance(child, ast.Lambda)) and takes_tx(child):
            yield child
        yield from closures_over_tx(child, inner=inner or isinstance(child, Function))


def takes_tx(function: ast.Lambda | Function) -> bool:
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return bool({"tx", "_tx"} & {*names})


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def problems_of(tree: ast.AST) -> Iterator[str]:
    for function in functions(tree):
        nodes = list(inside(function))
        names = {
            target.id: node.value
            for node in nodes
            if isinstance(node, ast.Assign) and is_write(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        loops = [
            (loop, names.get(loop.iter.id) if isinstance(loop.iter, ast.Name) else loop.iter)
            for loop in nodes
            if isinstance(loop, ast.AsyncFor)
        ]
        used = [write for _, write in loops]
        for node in nodes:
            if is_write(node) and node not in used:
                yield f"line {node.lineno}: a write is the iterator of a loop, by itself or as a name"
        for loop, write in loops:
            if is_write(write):
                yield from problems_of_loop(loop, write)


def problems_of_loop(loop: ast.AsyncFor, write: ast.Call) -> Iterator[str]:
    block = loop.body[0]
    if len(loop.body) != 1 or not isinstance(block, ast.AsyncWith) or len(block.items) != 1:
        yield f"line {loop.lineno}: the loop of a write has one block, `async with attempt as tx`"
        return
    for node in leaving(block):
        yield f"line {node.lineno}: leaves the block of an attempt before its end"
    sets = any(
        isinstance(node, ast.Attribute) and node.attr == "result" and isinstance(node.ctx, ast.Store)
        for node in inside(block)
    )
    if len(write.args) > 1 and not sets:
        yield f"line {loop.lineno}: a write with an answer sets `result`"


def is_write(node: ast.AST | None) -> TypeIs[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "writing"
        and ast.unparse(node.func.value).endswith(("database", "introducer"))
    )


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a node, without the functions defined in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.Lambda | Function):
            yield from inside(child)


def leaving(node: ast.AST, *, in_loop: bool = False) -> Iterator[ast.stmt]:
    """Yield the statements that leave a block, but not those that leave a loop inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return) or (isinstance(child, ast.Break | ast.Continue) and not in_loop):
            yield child
        elif not isinstance(child, ast.Lambda | Function):
            yield from leaving(child, in_loop=in_loop or isinstance(child, ast.For | ast.AsyncFor | ast.While))
