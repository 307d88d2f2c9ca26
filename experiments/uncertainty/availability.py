"""Whether a method can be run here: its package is installed, and has what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature

from benchmarks import peers

import mercer


@dataclass(frozen=True)
class Needs:
    """A package; for mercer also an estimator and a parameter that older versions do not have."""

    package: str
    estimator: str = ""
    parameter: str = ""

    @property
    def version(self) -> str:
        """The package and its version."""
        return peers.Method(self.package, (), Needs).version

    @property
    def missing(self) -> str:
        """Why the method cannot be run here; empty if it can."""
        if find_spec(self.package) is None:
            return f"{self.package} is not installed: pip install mercer[experiments]"
        if self.estimator:
            known = signature(getattr(mercer, self.estimator)).parameters
            if self.parameter not in known:
                return f"this version of {self.estimator} has no parameter {self.parameter}"
        return ""
