"""One pod against all nodes: which take it, and which is best. From scratch, or remembered.

`scratch.py` is the whole task as a plain loop: PreFilter, Filter, PreScore, Score, every plugin asked about every node.
Everything else here gives the same results without asking the same question twice:

    pod ──► Evaluator ──► EvaluationCache: which templates share answers? (TemplateSignature)
                              │
                              ▼
                          Evaluation, a pile of AnswerLayers:
                                                                         inputs
      Totals ──► Ranking     own        plugins without a signature   ◄── rows that changed (the node table's journals)
         ▲                   resources  plugins that see sums only    ◄── the plugins' external versions
         │ follows           nodes      plugins that see node, pods   ◄── the layer below
         └─────────────────────┘
                              │
                              ▼
                          FeasibleNodes: what the layers say, narrowed by what holds in this cycle only

An answer is kept with its inputs; when an input has changed, what depends on it is asked again, and nothing else:
*invalidate, update, read*, as in a build system. Templates share a layer if all its plugins see the same in them, so a
plugin that says little about itself costs only itself.

    evaluator.py        the interface: filter, rank, score
    feasible_nodes.py   which nodes take a pod, and why the others do not (row_statuses.py)
    scratch.py          the loop without memory
    plugin_calls.py     a profile's plugins, and the guarded calling of them
    nominations.py      nominated pods, in columns
    sharing/            template_signature, evaluation_cache, evaluation
    answers/            layer, filter_column, score_column, weighted_scores, resource_memo
    ranking/            totals, buckets, score_classes, ranking

How an answer is kept right, and what it costs: docs/design/0005-incremental-engine.md. Nothing here knows a plugin by
name, an extender, the queue or the API server; and nothing here changes the tables.
"""

from kubesched.scheduler.engine.evaluator import Evaluator
from kubesched.scheduler.engine.feasible_nodes import FeasibleNodes
from kubesched.scheduler.engine.plugin_calls import ProfilePlugins
from kubesched.scheduler.engine.ranking.ranking import Ranking
from kubesched.scheduler.engine.scratch import Scores
from kubesched.scheduler.engine.sharing.evaluation_cache import BYTES_FOR_EVALUATIONS

__all__ = ["BYTES_FOR_EVALUATIONS", "Evaluator", "FeasibleNodes", "ProfilePlugins", "Ranking", "Scores"]
