"""The Kubernetes objects that scheduling reads, as slim frozen structs. No policy, no I/O."""
