"""KubeSchedulerConfiguration: model, loading, defaults, validation, feature gates, and the old Policy format."""
