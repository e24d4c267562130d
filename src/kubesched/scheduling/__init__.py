"""The way of a pod: event handlers, the loop, the scheduling cycle and the binding cycle."""
