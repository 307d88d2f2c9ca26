"""ONNX graphs as formulas: values that add, multiply and take exponentials.

A :class:`Value` stands for a tensor of the graph, and its operators append nodes::

    rows = graph.input("X", np.float64, ["N", 3])
    graph.output("y", (rows @ weights).exp(), ["N", 1])

Arrays and numbers become constants of the graph, in the type of the value they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from mercer.contracts import Array

#: The operators are those of these versions, which runtimes know since the end of 2022.
OPSET, ML_OPSET, IR = 18, 3, 8
ML = "ai.onnx.ml"
#: Bytes that one file of a model can have: a limit of its format.
LARGEST_FILE = 2**31 - 2**20

Operand: TypeAlias = "Value | Array | float"
DType: TypeAlias = "np.dtype[Any]"


def import_onnx() -> Any:
    """Return the package onnx, or raise ImportError that says how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "writing ONNX needs the package onnx, which is not installed: try "
            "pip install 'mercer[serve]'"
        ) from error
    return onnx


class Graph:
    """Nodes, constants, inputs and outputs; the graph of a loop has those of its parent."""

    def __init__(self, parent: Graph | None = None) -> None:
        self.onnx = import_onnx()
        self.root: Graph = self if parent is None else parent.root
        self.reserved: set[str] = set()  # names that users see
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.bytes = 0
        self._known: dict[tuple[Any, ...] | None, str] = {}
        self._count = 0

    def name(self) -> str:
        """Return a name that nothing has."""
        root = self.root
        while True:
            root._count += 1
            name = f"v{root._count}"
            if name not in root.reserved:
                return name

    def input(
        self, name: str, dtype: Any, shape: Sequence[int | str], about: str = "", loop: bool = False
    ) -> Value:
        """Return an input; its first axis is the rows, as many as are given."""
        if not loop:
            self.root.reserved.add(name)
        self.inputs.append(self._info(name, np.dtype(dtype), shape, about))
        return Value(self, name, np.dtype(dtype))

    def output(self, name: str, value: Value, shape: Sequence[int | str], about: str = "") -> None:
        """Make a value an output of this name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(self._info(name, value.dtype, shape, about))

    def _info(self, name: str, dtype: DType, shape: Sequence[int | str], about: str) -> Any:
        helper, types = self.onnx.helper, self.onnx.TensorProto
        kind = types.STRING if dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(dtype)
        return helper.make_tensor_value_info(name, kind, list(shape), doc_string=about)

    def constant(self, array: Array) -> Value:
        """Return an array as a value; the same small array is stored once."""
        root, array = self.root, np.asarray(array)
        small = array.size <= 64 and array.dtype.kind != "O"
        key = (array.dtype.str, array.shape, array.tobytes()) if small else None
        name = root._known.get(key)
        if name is None:
            name = self.name()
            root.bytes += array.nbytes
            if root.bytes > LARGEST_FILE:
                raise ValueError(
                    f"an ONNX file holds at most 2 GB, and this model has more: its points and "
                    f"coefficients alone take {root.bytes / 1e9:.1f} GB. Fit it with fewer "
                    f"functions, such as basis=Landmarks(2000)"
                )
            root.constants[name] = self.onnx.numpy_helper.from_array(array, name)
            if key is not None:
                root._known[key] = name
        return Value(self, name, array.dtype)

    def node(
        self, op: str, *operands: Operand, dtype: Any = None, domain: str = "", **attributes: Any
    ) -> Value:
        """Append a node, and return its first output.

        Numbers become constants of the type of the first value; so does the output, unless
        ``dtype`` says otherwise.
        """
        first = next(operand for operand in operands if isinstance(operand, Value))
        names = []
        for operand in operands:
            if not isinstance(operand, Value):
                if not isinstance(operand, np.ndarray):
                    operand = np.array(operand, first.dtype)
                operand = self.constant(operand)
            names.append(operand.name)
        name = self.name()
        made = self.onnx.helper.make_node(op, names, [name], domain=domain, **attributes)
        self.nodes.append(made)
        return Value(self, name, np.dtype(first.dtype if dtype is None else dtype))

    def as_graph(self, name: str) -> Any:
        """Return the graph in the format of ONNX."""
        parts = (self.nodes, name, self.inputs, self.outputs, [*self.constants.values()])
        return self.onnx.helper.make_graph(*parts)


def in_tiles(
    rows: Value, columns: int, tile: int, outputs: int, body: Callable[[Value], Value]
) -> Value:
    """Return ``body(rows)``, of shape (N, outputs), computed for ``tile`` rows at a time.

    So memory does not grow with the rows, and what is computed stays in the cache. The last tile is
    filled up with rows of zeros, whose results are dropped.
    """
    graph = rows.graph
    inner = Graph(parent=graph)
    part = inner.input(graph.name(), rows.dtype, ["tile", columns], loop=True)
    found = body(part)
    inner.output(graph.name(), found, ["tile", outputs])

    count = graph.node("Shape", rows, dtype=np.int64, start=0, end=1)
    least = graph.node("Max", count, np.array([1]))  # a loop over no tile has no shape
    size = graph.node("Min", least, np.array([tile]))
    tiles = (least + size - 1) / size
    missing = tiles * size - count
    pads = concat(graph.constant(np.array([0, 0])), missing, graph.constant(np.array([0])), axis=0)
    padded = graph.node("Pad", rows, pads)
    shape = concat(tiles, size, graph.constant(np.array([columns])), axis=0)
    stacked = graph.node("Reshape", padded, shape)
    done = graph.node(
        "Scan", stacked, dtype=found.dtype, body=inner.as_graph("tile"), num_scan_inputs=1
    )
    flat = graph.node("Reshape", done, np.array([-1, outputs]))
    return graph.node("Slice", flat, np.array([0]), count)


def described(values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the name, type, shape and description of inputs or outputs of a graph."""
    onnx, found = import_onnx(), []
    for value in values:
        kind = value.type.tensor_type
        word = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        found.append(
            {
                "name": value.name,
                "type": "text" if word == np.dtype(object) else str(word),
                "shape": [axis.dim_param or axis.dim_value for axis in kind.shape.dim],
                "about": value.doc_string,
            }
        )
    return found


def kept_wide(value: Value) -> Value:
    """Return the same values, of one column, for a product with a matrix.

    onnxruntime fuses such a product with a scalar factor before it, and holds the factor in float32
    even if all else is in float64. A comparison in between, that changes nothing, prevents it;
    where values are many, factors are part of the coefficients instead.
    """
    return value.at_least(-np.finfo(np.float64).max)


def concat(*values: Value, axis: int = 1) -> Value:
    """Return values side by side."""
    return values[0].graph.node("Concat", *values, axis=axis) if len(values) > 1 else values[0]


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a graph, by its name."""

    graph: Graph
    name: str
    dtype: DType

    def __add__(self, other: Operand) -> Value:
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.graph.node("Sub", self, other)

    def __mul__(self, other: Operand) -> Value:
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.graph.node("Div", self, other)

    def __matmul__(self, other: Operand) -> Value:
        return self.graph.node("MatMul", self, other)

    def __neg__(self) -> Value:
        return self.graph.node("Neg", self)

    def __le__(self, other: Operand) -> Value:
        return self.graph.node("LessOrEqual", self, other, dtype=bool)

    def __gt__(self, other: Operand) -> Value:
        return self.graph.node("Greater", self, other, dtype=bool)

    def exp(self) -> Value:
        """Return exponentials."""
        return self.graph.node("Exp", self)

    def sqrt(self) -> Value:
        """Return square roots."""
        return self.graph.node("Sqrt", self)

    def at_most(self, most: float) -> Value:
        """Return the lesser of the values and a number."""
        return self.graph.node("Min", self, most)

    def at_least(self, least: float) -> Value:
        """Return the greater of the values and a number."""
        return self.graph.node("Max", self, least)

    def sum(self, axis: int = 1, keep: bool = True) -> Value:
        """Return sums over an axis, which stays unless it is dropped."""
        return self.graph.node("ReduceSum", self, np.array([axis]), keepdims=int(keep))

    def cast(self, dtype: DTypeLike) -> Value:
        """Return the values as another type."""
        if self.dtype == np.dtype(dtype):
            return self
        kind = self.graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.graph.node("Cast", self, dtype=dtype, to=kind)

    def where(self, yes: Operand, no: Operand) -> Value:
        """Return ``yes`` where this is true, else ``no``; one of them is a value."""
        dtype = (yes if isinstance(yes, Value) else no).dtype  # type: ignore[union-attr]
        parts = [
            part if isinstance(part, Value) else self.graph.constant(np.asarray(part, dtype))
            for part in (yes, no)
        ]
        return self.graph.node("Where", self, *parts, dtype=dtype)

    def is_nan(self) -> Value:
        """Return which values are NaN."""
        return self.graph.node("IsNaN", self, dtype=bool)

    def columns(self, indices: Array) -> Value:
        """Return some columns."""
        return self.graph.node("Gather", self, np.asarray(indices, np.int64), axis=1)

    def squeezed(self) -> Value:
        """Return the values without their second axis, which has length 1."""
        return self.graph.node("Squeeze", self, np.array([1]))

    def expanded(self, axis: int) -> Value:
        """Return the values with one more axis, of length 1."""
        return self.graph.node("Unsqueeze", self, np.array([axis]))

    def chosen_from(self, table: Array) -> Value:
        """Return ``table[i]`` for integers i."""
        found = self.graph.constant(table)
        return self.graph.node("Gather", found, self, axis=0)
