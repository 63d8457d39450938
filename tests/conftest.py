"""Settings of all tests: how many random examples, and no threads below ours."""

import os

from hypothesis import HealthCheck, settings

FULL = bool(int(os.environ.get("CONSILIENCE_TEST_ALL", "0")))

settings.register_profile(
    "consilience",
    deadline=None,  # the machines are shared; nothing here is a timing test
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=100 if FULL else 10,
)
settings.load_profile("consilience")
