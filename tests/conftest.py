"""Settings of all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples in every run, and a busy machine is no error: benchmarks measure time, tests do not.
settings.register_profile("kubesched", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kubesched")
