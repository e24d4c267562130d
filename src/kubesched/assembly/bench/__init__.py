"""Benchmarks in the workload format of Kubernetes' own scheduler_perf.

workload    test cases, workloads and operations as the files have them
templates   the objects that operations create, with the few template functions that the format knows
target      where objects go: the scheduler's core in this process, or an API server
operations  one function per opcode
runner      one workload from its first operation to its figures
results     figures as a table and as scheduler_perf's dataItems
"""
