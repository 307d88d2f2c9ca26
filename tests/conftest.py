"""Settings for all tests: the slow-and-obvious code is importable, and no test draws its luck."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("same every time", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("same every time")
