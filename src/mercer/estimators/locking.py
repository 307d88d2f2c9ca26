"""One change of an estimator at a time: threads that add rows wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Self_ = TypeVar("Self_")
Found = TypeVar("Found")
Args = ParamSpec("Args")

# Locks are not part of an estimator's state: copies and pickles have none until they need one.
_LOCKS: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_GUARD = threading.Lock()


def lock_of(estimator: Any) -> threading.RLock:
    """Return the lock of an estimator, made when first asked for.

    >>> from sklearn.base import BaseEstimator, clone
    >>> model = BaseEstimator()
    >>> lock_of(model) is lock_of(model), lock_of(model) is lock_of(clone(model))
    (True, False)
    """
    with _GUARD:
        return _LOCKS.setdefault(estimator, threading.RLock())


def one_at_a_time(
    method: Callable[Concatenate[Self_, Args], Found],
) -> Callable[Concatenate[Self_, Args], Found]:
    """Let other threads wait while a method changes an estimator."""

    @wraps(method)
    def locked(self: Self_, /, *args: Args.args, **kwargs: Args.kwargs) -> Found:
        with lock_of(self):
            return method(self, *args, **kwargs)

    return locked
