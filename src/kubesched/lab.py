"""The public names of the laboratory: experiments, synthetic traces and tuned configurations.

docs/sweeps.md is the guide. The modules behind it (`kubesched.apps.sweep`) may change with any release.
"""

from kubesched.apps.sweep.experiment import sweep
from kubesched.apps.sweep.results import load_report
from kubesched.apps.sweep.spec import Experiment, Objective, Policy, Range, TraceSource, Tuning
from kubesched.apps.sweep.tuning import tune
from kubesched.reports.charts import chart
from kubesched.reports.sweep import SweepReport
from kubesched.reports.tuning import TuningReport
from kubesched.traces.generate import TraceSpec, generate, load_trace_spec

__all__ = [
    "Experiment",
    "Objective",
    "Policy",
    "Range",
    "SweepReport",
    "TraceSource",
    "TraceSpec",
    "Tuning",
    "TuningReport",
    "chart",
    "generate",
    "load_report",
    "load_trace_spec",
    "sweep",
    "tune",
]
