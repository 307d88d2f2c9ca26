"""What all experiments and the benchmarks share: a runner, records, tables, figures and timing."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
