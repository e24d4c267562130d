"""`kubesched run`: the scheduler as a client of a real API server. `lifecycle` is its way from start to exit."""
