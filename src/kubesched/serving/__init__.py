"""The scheduler's own HTTPS endpoints: health, metrics, configz, statusz, flagz, debug.

    server       binds the port, runs uvicorn in the scheduler's loop, keeps certificates and trust fresh
    tls          which certificate and which protocol versions; reloads changed files
    trust        which client certificates count: files, or the cluster's own configuration
    authentication, authorization      who asks, and whether they may; answers of the API server are cached
    app          the routes: health, metric_pages, zpages, debug

What does not belong here: what the pages show. It is handed in, as callbacks, by whoever serves (`apps/run`).
"""
