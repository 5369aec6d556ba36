"""The dependability study: what is left of a fabric of rings after each failure.

A failed link or node takes every ring that it is on out of service (section 4.3 of the SCI paper,
which leaves the study for later). `plan` turns scenarios into one generated scenario with a point
for each failure, which is run as any other; `outcomes` reads the results.
"""

from isthmus.faults.outcome import CaseOutcome, Summary, outcomes, summaries
from isthmus.faults.plan import Case, Site, Study, plan

__all__ = ["Case", "CaseOutcome", "Site", "Study", "Summary", "outcomes", "plan", "summaries"]
