"""What the scheduler knows and how that changes: the cache (what is where), the queue (what waits), nominated pods.

State machines without policy: no plugin is called but through what the queue was given (sort key, gate, hints), nothing
is decided, and nothing is written to the API server. The numbers themselves are in `columns`.
"""
