"""``python -m tests.attacks --seconds 1200``: attack for as long as asked, and print the counts."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from tests.attacks.harness import run_for, table
from tests.attacks.kinds import ATTACKS


def main() -> int:
    """Run, print, and fail if anything was wrong or hung."""
    parser = ArgumentParser(prog="python -m tests.attacks")
    parser.add_argument("kinds", nargs="*", help=f"{', '.join(ATTACKS)}; default: all")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    unknown = [name for name in asked.kinds if name not in ATTACKS]
    if unknown:
        parser.error(f"unknown attack {unknown[0]!r}: choose from {', '.join(ATTACKS)}")
    chosen = {name: ATTACKS[name] for name in asked.kinds or ATTACKS}
    counts = run_for(chosen, asked.seconds, asked.seed)
    print(table(counts))
    return int(any(one.wrong or one.hung for one in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
