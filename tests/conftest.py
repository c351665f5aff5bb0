"""Settings for all tests. Hypothesis judges results, not the speed of the machine, so its deadline is off."""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
