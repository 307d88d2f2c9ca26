"""Sizes, precision, memory and cost of a fit, decided before it starts."""

from mercer.engines.memory import bytes_of, human_bytes, parse_memory
from mercer.plan.moments_or_products import fit_seconds, plan_fit, product_plan
from mercer.plan.plan import FULL_ROWS, Plan, Sized, make_plan

__all__ = [
    "FULL_ROWS",
    "Plan",
    "Sized",
    "bytes_of",
    "fit_seconds",
    "human_bytes",
    "make_plan",
    "parse_memory",
    "plan_fit",
    "product_plan",
]
