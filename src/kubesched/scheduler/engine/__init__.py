"""One pod against all nodes: filters and scores over columns, reuse of what did not change, the choice of a node.

    Evaluator          filter(pod) -> Fit, rank(fit) -> Ranking
      Lineup           the plugins, and the guarded calling of them
      Evaluations      finds what is kept for a pod's template, by its Standing: what each plugin looks at
        Family         answers of all plugins but those that see sums only, for templates alike to them
          ChangeTracker     which rows changed since the last time (from the table's journals)
          FilterColumns     a FilterColumn per plugin
          FamilyScores      a ScoreColumn per plugin, and the points of each row
        Kept           on top of its family: the answers of plugins that see sums, `fits`, and the Totals
          RowMemo           answers remembered by the sums of a node's resources
      Fit              the feasible nodes of this cycle, and why the others are not (RowStatuses)
      Ranking          their totals, and one of the best

How an answer is kept right is told in docs/design/0005-incremental-engine.md. Nothing here knows a plugin by name, an
extender, the queue or the API server; and nothing here changes the tables.
"""

from kubesched.scheduler.engine.evaluations import BYTES_FOR_EVALUATIONS
from kubesched.scheduler.engine.evaluator import Evaluator
from kubesched.scheduler.engine.fit import Fit
from kubesched.scheduler.engine.lineup import Lineup
from kubesched.scheduler.engine.ranking import Ranking
from kubesched.scheduler.engine.totals import Scores

__all__ = ["BYTES_FOR_EVALUATIONS", "Evaluator", "Fit", "Lineup", "Ranking", "Scores"]
