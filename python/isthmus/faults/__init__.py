"""The dependability study: the remaining performance of a fabric of rings after each failure.

A failed link or node takes all of its rings out of service (section 4.3 of the SCI paper, which
leaves the study to future work). `plan` generates one scenario with a point for each failure, which
is run like any other. `outcomes` evaluates the results.
"""

from isthmus.faults.outcome import CaseOutcome, Summary, outcomes, summaries
from isthmus.faults.plan import Case, Site, Study, plan

__all__ = ["Case", "CaseOutcome", "Site", "Study", "Summary", "outcomes", "plan", "summaries"]
