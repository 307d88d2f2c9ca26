"""Convert the ``engine`` parameter to an engine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mercer.contracts import Engine
from mercer.engines.threads import ThreadEngine


def as_engine(engine: Any) -> Engine:
    """Return an engine: threads for None, Dask for a client, a cluster or an address.

    >>> as_engine(None)
    ThreadEngine(workers=None)
    """
    if engine is None:
        return ThreadEngine()
    if hasattr(engine, "reduce") and hasattr(engine, "place"):
        return engine  # type: ignore[no-any-return]
    if isinstance(engine, str) and "://" not in engine:
        raise ValueError(
            f"engine must be None, a dask.distributed Client or the address of a scheduler such "
            f"as 'tcp://10.0.0.1:8786', got {engine!r}"
        )
    if not isinstance(engine, str) and not hasattr(engine, "scheduler_info"):
        raise TypeError(
            f"engine must be None, a dask.distributed Client, a cluster or the address of a "
            f"scheduler, got {type(engine).__name__}"
        )
    return dask_engine(engine)


def dask_engine(client: Any) -> Engine:
    """Return an engine on a cluster; Dask is imported only here."""
    try:
        module = import_module("mercer.engines.dask_engine")
    except ImportError as error:
        raise ImportError(
            f"a cluster requires Dask, which is not installed: try pip install 'mercer[dask]' "
            f"({error})"
        ) from error
    return module.DaskEngine(client)  # type: ignore[no-any-return]
