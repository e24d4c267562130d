"""The cluster in columns: node table, pod table, pod templates, counts of pods, and views of it all.

Data only, no policy: nothing here knows a plugin, a queue or an API server. The way to read it:

    PodTemplate    what scheduling reads of a pod; pods with an equal spec share one
    NodeTable      one row per node, one array per fact (allocatable, labels, taints, ...)
    PodTable       one row per placed pod: its node's row, its template, its priority
    TermsInUse     the affinity terms that placed pods carry
    PodCount       how many placed pods satisfy a predicate, per node and per topology domain, kept up to date
    NodeView       the rows that a plugin is asked about, optionally as if some pods were added or removed
"""

from kubesched.scheduler.columns.affinity_terms import AffinityTerm, CarriedTerm, TermKind
from kubesched.scheduler.columns.cluster import ClusterTables
from kubesched.scheduler.columns.journal import EVERYTHING, FEW_ROWS, Everything, Follower, Journal, either
from kubesched.scheduler.columns.label_column import LabelColumn
from kubesched.scheduler.columns.node_table import NodeTable
from kubesched.scheduler.columns.node_view import NodeView
from kubesched.scheduler.columns.pod_counts import PodCount, PodCounts
from kubesched.scheduler.columns.pod_table import PodTable
from kubesched.scheduler.columns.pod_template import PodInfo, PodTemplate, PodTemplates
from kubesched.scheduler.columns.row_changes import RowFollower
from kubesched.scheduler.columns.terms_in_use import TermsInUse
from kubesched.scheduler.columns.types import ABSENT, Booleans, Counts, Floats, Ids, Integers, Positions, Rows
from kubesched.scheduler.columns.what_if import WhatIf

__all__ = [
    "ABSENT",
    "EVERYTHING",
    "FEW_ROWS",
    "AffinityTerm",
    "Booleans",
    "CarriedTerm",
    "ClusterTables",
    "Counts",
    "Everything",
    "Floats",
    "Follower",
    "Ids",
    "Integers",
    "Journal",
    "LabelColumn",
    "NodeTable",
    "NodeView",
    "PodCount",
    "PodCounts",
    "PodInfo",
    "PodTable",
    "PodTemplate",
    "PodTemplates",
    "Positions",
    "RowFollower",
    "Rows",
    "TermKind",
    "TermsInUse",
    "WhatIf",
    "either",
]
