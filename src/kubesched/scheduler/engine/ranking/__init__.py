"""The scores of feasible nodes added up, in buckets, and the choice of one of the best."""
