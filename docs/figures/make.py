"""Make the figures again: ``python docs/figures/make.py [name ...]``, all of them without names."""

from __future__ import annotations

import os
import sys
import time
from importlib import import_module

# One thread of BLAS: the same bits on any number of cores, and no waiting on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

FIGURES = (
    "overview",
    "architecture",
    "kernels",
    "alpha_path",
    "early_stopping",
    "landmarks",
    "orthogonalization",
    "federated",
    "metric",
    "landmark_complexity",
    "feature_complexity",
    "plan",
    "error_parts",
    "explanation",
    "partial_dependence",
    "rows_curve",
    "intervals",
    "linear",
    "home",
    "gallery",
    "label_page",
)


def main(names: list[str]) -> None:
    """Run the scripts, each of which writes a picture of its own name to ``_static``."""
    for name in names or FIGURES:
        if name not in FIGURES:
            raise SystemExit(f"unknown figure {name!r}: it must be one of {', '.join(FIGURES)}")
        start = time.perf_counter()
        import_module(name).main()
        print(f"  {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
