"""One pod against all nodes: filters and scores over columns, reuse of what did not change, host selection."""

from kubesched.engine.evaluator import Evaluator
from kubesched.engine.fit import Fit, Ranking
from kubesched.engine.lineup import Lineup

__all__ = ["Evaluator", "Fit", "Lineup", "Ranking"]
