"""DefaultPreemption: make room for a pod by evicting less important ones.

eligibility        may this pod preempt at all?
potential_victims  everybody who may be evicted, node by node, in the order of importance
budgets            whose eviction would break a disruption budget
dry_run            remove them all, see where the pod fits, then spare as many as possible
choice             the candidate that costs least
extenders          what extenders leave of the candidates
eviction           delete the victims, beside the scheduling of other pods
preemptor          for whom room is made: a pod or a pod group
victim_units       for a group: who is evicted as a whole
group_search       for a group: whom to evict, wherever they are
preemption         one pod's PostFilter, with the rules that other plugins may replace
plugin             the extension points
"""

from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.dry_run import Found
from kubesched.scheduler.plugins.default_preemption.plugin import DefaultPreemption
from kubesched.scheduler.plugins.default_preemption.preemption import Preemption

__all__ = ["Budgets", "DefaultPreemption", "Found", "Preemption"]
