"""Public checks that a part of your own keeps what the library's parts promise.

Each ``check_*`` raises an AssertionError that says which property failed, with the numbers, and
what to try. Each runs a list of smaller checks, which a test can be parametrized with::

    @pytest.mark.parametrize("check", mercer.testing.KERNEL_CHECKS)
    def test_my_kernel(check):
        check(MyKernel(), None)

Nothing but the library's own dependencies is needed.
"""

from mercer.testing.basis_checks import BASIS_CHECKS, check_basis
from mercer.testing.combination_checks import COMBINATION_CHECKS, check_combination
from mercer.testing.engine_checks import ENGINE_CHECKS, check_engine
from mercer.testing.kernel_checks import KERNEL_CHECKS, check_kernel
from mercer.testing.parameter_checks import PARAMETER_CHECKS, check_parameter
from mercer.testing.solver_checks import SOLVER_CHECKS, SYSTEM_CHECKS, check_solver, check_system
from mercer.testing.source_checks import SOURCE_CHECKS, check_source

__all__ = [
    "BASIS_CHECKS",
    "COMBINATION_CHECKS",
    "ENGINE_CHECKS",
    "KERNEL_CHECKS",
    "PARAMETER_CHECKS",
    "SOLVER_CHECKS",
    "SOURCE_CHECKS",
    "SYSTEM_CHECKS",
    "check_basis",
    "check_combination",
    "check_engine",
    "check_kernel",
    "check_parameter",
    "check_solver",
    "check_source",
    "check_system",
]
