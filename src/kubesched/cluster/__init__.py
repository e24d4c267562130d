"""The embedded cluster: API server, simulated nodes, workload controllers. It never imports the client."""
