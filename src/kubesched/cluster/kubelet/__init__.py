"""Simulated kubelets: every Node object of the cluster runs its pods, without containers.

`kubelets` is the one task that plays all of them; `pod_status` says what a kubelet would report. What does not belong
here: decisions about where and how many pods run. Those are the scheduler's and the controllers'.
"""
