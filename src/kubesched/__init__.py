"""kubesched: kube-scheduler in Python."""
