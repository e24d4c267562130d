"""Logging and metrics: how the scheduler says what it does.

    logging       klog-like text or JSON; `log` is the process's logger
    metrics       every metric of the scheduler, as attributes of `SchedulerMetrics`
    health        checks, and the report on them
    instruments   counters, gauges and histograms cheap enough for each decision

What does not belong here: HTTP. Pages that show all this are in `serving`.
"""
