"""Recording a cluster: what happens in it becomes a trace. Reads only."""
