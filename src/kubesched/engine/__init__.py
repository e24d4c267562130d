"""One pod against all nodes: filters and scores over columns, reuse of what did not change, the choice of a node.

    Evaluator        filter(pod) -> Fit, rank(fit) -> Ranking; holds one `Kept` per pod template
      Lineup         the plugins, and the guarded calling of them
      Kept           all answers for one template, brought up to date before they are used
        ChangeTracker   which rows changed since the last time (from the table's journals)
        KeptFilters     a FilterColumn per plugin, and `fits`, their sum
        KeptScores      a ScoreColumn per plugin, the points of each row, and the totals in RowTotals
        RowMemo         answers remembered by the sums of a node's resources
        Relatives       columns that a new template can take from another one (Inherited)
      Fit            the feasible nodes of this cycle, and why the others are not (RowStatuses)
      Ranking        their totals, and one of the best

How an answer is kept right is told in docs/design/0005-incremental-engine.md. Nothing here knows a plugin by name, an
extender, the queue or the API server; and nothing here changes the tables.
"""

from kubesched.engine.evaluator import Evaluator
from kubesched.engine.fit import Fit
from kubesched.engine.lineup import Lineup
from kubesched.engine.ranking import Ranking

__all__ = ["Evaluator", "Fit", "Lineup", "Ranking"]
