"""``python -m tests.attacks --seconds 1800``: attack for as long as given, and print the counts.

A log has the kind, seed and number of every attack. ``--numbers 17 18`` repeats the one with the
number 17, with ``--seed`` and the kind as in the log.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from tests.attacks.harness import LIMIT, run_for, table
from tests.attacks.kinds import ATTACKS


def main() -> int:
    """Run, print, and fail if anything was wrong or hung."""
    parser = ArgumentParser(prog="python -m tests.attacks")
    parser.add_argument("kinds", nargs="*", help=f"{', '.join(ATTACKS)}; default: all")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=0, help="try each at least so often")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--numbers", type=int, nargs=2, metavar=("FIRST", "END"))
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that are hung")
    parser.add_argument("--log", type=Path, help="a file that gets a line of JSON for each attack")
    asked = parser.parse_args()
    unknown = [name for name in asked.kinds if name not in ATTACKS]
    if unknown:
        parser.error(f"unknown attack {unknown[0]!r}: choose from {', '.join(ATTACKS)}")
    chosen = {name: ATTACKS[name] for name in asked.kinds or ATTACKS}
    numbers = range(*asked.numbers) if asked.numbers else None
    counts = run_for(
        chosen, asked.seconds, asked.seed, numbers, asked.limit, asked.log, asked.rounds
    )
    print(table(counts))
    return int(any(one.wrong or one.hung for one in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
