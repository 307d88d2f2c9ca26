"""Add the moments of all shards: the same fit as with all rows in one place."""

from __future__ import annotations

from dataclasses import replace

from mercer.combine.combination import Combination, refuse_local_basis
from mercer.growth import fit_growing
from mercer.request import Request
from mercer.result import Fit
from mercer.rows.rowset import RowSet


class ExactSum(Combination):
    """The exact solution for all rows, for any number of shards.

    .. math:: S = \\sum_j S_j, \\qquad t = \\sum_j t_j

    Moments are sums over rows, so those of the shards add up to those of all rows, and one solve
    remains. Each shard sends its moments once, M ((M + 1) / 2 + k + 2) numbers and a few more: S is
    symmetric, so it is sent as a triangle. For a solve by products a shard sends one vector per
    step instead. A fit in one place is the sum over one shard.
    """

    label = "exact sum of moments"
    alias = "sum"
    depends_on_shards = False

    def check_request(self, request: Request) -> None:
        """Raise ValueError for a local basis; the exact kernel can be solved by products."""
        asked = request.asked_basis()
        by_products = request.solver is not None and request.solver.needs == "products"
        if not (asked is not None and asked.dual and by_products):
            refuse_local_basis(self, request)

    def fit(self, rows: RowSet, request: Request) -> Fit:
        """Fit one model to the rows of all shards."""
        found = fit_growing(rows, request)
        if rows.one_place:
            return found
        by_products = "products" in found.plan.form
        label = "exact sum of products" if by_products else self.label
        return replace(found, combination=label)
