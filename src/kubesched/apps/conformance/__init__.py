"""Does this scheduler decide as another one did? Runs recorded cases and compares field by field.

recordings   the files: which cases there are, and which version decided them
cases        one case: a small cluster, decided again, and what differs
waiting      cases about the order of the queue, and about pods that wait for each other
"""

from kubesched.apps.conformance.cases import CaseResult, Difference, build_case, run_case
from kubesched.apps.conformance.recordings import Recording, recordings

__all__ = ["CaseResult", "Difference", "Recording", "build_case", "recordings", "run_case"]
