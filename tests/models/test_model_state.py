"""Every field that a model file may hold is checked: by its type, or as its class declares it."""

from dataclasses import fields, is_dataclass

import pytest
from sklearn.base import BaseEstimator

from mercer.bases import BASES, BasisTransformer
from mercer.contracts import Solution
from mercer.kernels import KERNELS, Kernel
from mercer.models.loading import SOLUTION
from mercer.models.model_classes import REGISTRY
from mercer.plan import Plan
from mercer.result import Fit
from mercer.solvers import SolverPath
from mercer.storage.registry import FIELD_TYPES
from mercer.storage.state import ChecksItself, State, declared

#: Types of values that have no parts, which the registry checks before it makes an object.
PLAIN = {"int", "float", "float | None", "str", "bool", "Precision", "Status"}
#: What the reader makes itself: a solution in whitened coordinates is not stored.
NOT_STORED = {Solution: {"value"}, Fit: set()}

CLASSES = [REGISTRY.find(name) for name in REGISTRY.names]
RECORDS = [kind for kind in CLASSES if is_dataclass(kind)] + [Fit, Plan, Solution, SolverPath]


def unchecked(kind, extra=()):
    """Return the fields of a data class that are neither plain nor declared."""
    known = {**declared(kind), **dict.fromkeys(extra)}
    found = {field.name for field in fields(kind) if str(field.type) not in PLAIN}
    return found - set(known) - NOT_STORED.get(kind, set())


def test_types_of_plain_values_are_checked():
    assert set(FIELD_TYPES) >= PLAIN


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_no_field_of_a_record_is_unchecked(kind):
    assert not unchecked(kind, SOLUTION if kind is Solution else ())


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_what_is_declared_is_a_field(kind):
    assert set(declared(kind)) <= {field.name for field in fields(kind)}
    assert isinstance(vars(kind).get("state", State()), State)


def test_a_new_field_would_be_noticed(monkeypatch):
    state = State({name: field for name, field in Fit.state.items() if name != "intercept"})
    monkeypatch.setattr(Fit, "state", state)
    assert unchecked(Fit) == {"intercept"}


@pytest.mark.parametrize("kind", BASES.values())
def test_all_state_of_a_basis_is_declared(kind):
    assert issubclass(kind, BasisTransformer)
    assert None not in declared(kind).values()


def test_other_classes_have_parameters_only():
    """Those of a kernel are checked by a trial, all others as parameters of an estimator."""
    others = [kind for kind in CLASSES if not is_dataclass(kind)]
    with_parameters = [kind for kind in others if issubclass(kind, BaseEstimator)]
    assert {kind.__name__ for kind in others} - {kind.__name__ for kind in with_parameters} == {
        "DateFormat",
        "Status",
    }  # enumerations: members are looked up
    assert all(
        issubclass(kind, ChecksItself) for kind in with_parameters if issubclass(kind, Kernel)
    )
    assert set(KERNELS.values()) <= set(with_parameters)
