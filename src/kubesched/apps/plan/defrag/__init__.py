"""The fewest moves that reach a goal, in an order that is legal at every moment.

goals          what is wanted: room for pods, empty nodes, constraints that hold
problem        the cluster as a packing problem: types of pods, nodes, and who may be where
solving        the fewest moves by a solver, with a bound; or the proof that none suffice
greedy         moves found without a solver
sequence       the moves one after the other, each decided by the scheduler, within budgets
plan           all of it: from a simulation and a goal to a plan
execution      a plan carried out on a cluster, step by step
"""
