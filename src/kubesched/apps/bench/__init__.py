"""Benchmarks in the workload format of Kubernetes' own scheduler_perf.

workload     test cases and workloads as the files have them; opcodes: their operations, field by field
templates    the objects that files describe; manifests: those and other objects, made ready
target       where objects go; core_target: the scheduler in this process
operations   what each operation does; run_state: what they share; device_pool: devices for claims without a pod
runner       one workload from its first operation to its figures; worker: in a process of its own
collecting   what is measured, and when; stages: where the time of a pod goes
results      figures, and scheduler_perf's dataItems; plot: how the cost grows
"""
