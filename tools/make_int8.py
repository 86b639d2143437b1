"""Write the graph that computes all-MiniLM-L6-v2 in whole numbers: python tools/make_int8.py [--check]

The package that carries the model has 8-bit weights, but a graph that makes 32-bit numbers of them first. This one
multiplies the same weights as they are, by inputs that are brought to 8 bits for each text (DynamicQuantizeLinear,
MatMulInteger). It holds no weights: it says where in the file of the package each of them begins.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, external_data_helper, helper

from keeps.models.artifacts import DATA, INT8_GRAPH, INT8_WEIGHTS, find_model, sha256_of

GRAPH = Path(__file__).parents[1] / "src" / "keeps" / "models" / DATA / INT8_GRAPH
SMALL = 1_000
"""Bytes of what is kept in the graph."""


def made(path: Path) -> bytes:
    model: Any = onnx.load(path)
    graph = model.graph
    weights = {each.name: each for each in graph.initializer}
    by_output = {name: node for node in graph.node for name in node.output}
    nodes: list[Any] = []
    replaced: set[int] = set()
    brought: set[str] = set()
    for node in graph.node:
        found = _weights_of(node, by_output, weights)
        if found is None:
            nodes.append(node)
            continue
        scaled, cast, whole, scale = found
        replaced |= {id(scaled), id(cast)}
        (output,) = node.output
        if node.op_type == "Gather":
            # The rows that are asked for, and not all of them, become 32-bit numbers.
            nodes += [
                helper.make_node("Gather", [whole, node.input[1]], [f"{output}_whole"]),
                helper.make_node("Cast", [f"{output}_whole"], [f"{output}_float"], to=TensorProto.FLOAT),
                helper.make_node("Gather", [scale, node.input[1]], [f"{output}_scale"]),
                helper.make_node("Mul", [f"{output}_float", f"{output}_scale"], [output]),
            ]
            continue
        given = node.input[0]
        if given not in brought:
            brought.add(given)
            outputs = [f"{given}_whole", f"{given}_scale", f"{given}_zero"]
            nodes.append(helper.make_node("DynamicQuantizeLinear", [given], outputs))
        nodes += [
            helper.make_node("MatMulInteger", [f"{given}_whole", whole, f"{given}_zero"], [f"{output}_whole"]),
            helper.make_node("Cast", [f"{output}_whole"], [f"{output}_float"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{given}_scale", scale], [f"{output}_scale"]),
            helper.make_node("Mul", [f"{output}_float", f"{output}_scale"], [output]),
        ]
    del graph.node[:]
    graph.node.extend(node for node in nodes if id(node) not in replaced)
    del graph.value_info[:]
    onnx.checker.check_model(model)
    _leave_weights_behind(graph, path)
    return model.SerializeToString(deterministic=True)


def _weights_of(node: Any, by_output: dict[str, Any], weights: dict[str, Any]) -> tuple[Any, Any, str, str] | None:
    """Return the nodes that converted a node's weights to 32-bit numbers, the weights, and their scale."""
    place = {"MatMul": 1, "Gather": 0}.get(node.op_type)
    scaled = None if place is None else by_output.get(node.input[place])
    cast = None if scaled is None or scaled.op_type != "Mul" else by_output.get(scaled.input[0])
    if cast is None or cast.op_type != "Cast" or cast.input[0] not in weights:
        return None
    if node.op_type == "Gather" and list(weights[scaled.input[1]].dims)[1:] != [1]:
        return None
    return scaled, cast, cast.input[0], scaled.input[1]


def _leave_weights_behind(graph: Any, path: Path) -> None:
    """Weights stay where they are; the graph says at which byte."""
    data = path.read_bytes()
    for each in graph.initializer:
        raw = each.raw_data
        if len(raw) < SMALL:
            continue
        if (offset := data.find(raw)) < 0:
            raise SystemExit(f"{path} does not hold {each.name} as it is")
        external_data_helper.set_external_data(each, path.name, offset, len(raw))
        each.ClearField("raw_data")


def main() -> int:
    path = find_model()
    if sha256_of(path) != INT8_WEIGHTS:
        raise SystemExit(f"{path} is not the file that the graph is for")
    graph = made(path)
    if "--check" not in sys.argv:
        GRAPH.write_bytes(graph)
    elif not GRAPH.is_file() or GRAPH.read_bytes() != graph:
        print(f"{GRAPH} is stale; run python tools/make_int8.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
