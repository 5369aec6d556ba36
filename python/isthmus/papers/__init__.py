"""Papers as data: their scenarios, their claims, and whether simulations reproduce them.

A paper is a folder ``papers/NAME/``:

``paper.toml``
    ``title``, ``authors``, ``year``, ``published``.
``scenarios/*.toml``
    One scenario per figure or table.
``expected.csv``
    One row per claim. Columns:

    =============  ==========================================================================
    ``id``         Name of the row; the same in the JSON output.
    ``where``      Position in the paper, ``Fig. 4`` or ``Table 2``.
    ``quantity``   The claimed quantity, in words.
    ``conditions`` The conditions of the claim, in words.
    ``expected``   A number (``3.3``), a range (``10-12.8``), or the claim itself in words.
    ``tolerance``  For a number and for `alike`: a name of ``tolerances.toml``; without such a file
                   ``3%``, an amount in the row's unit (``0.05``), or ``last digit``.
    ``unit``       Unit of the expected and the measured value, for display.
    ``rule``       ``within``: the measured value is within the tolerance of the expected one.
                   ``inside``: the measured value is in the expected range.
                   ``holds``: the claim that ``select`` states is true.
                   ``is``: the measured value as text equals the expected text.
                   ``none``: nothing: the paper's number is of something that the scenario does
                   not have; the note says why.
    ``scenario``   File name in ``scenarios/``, without ``.toml``; empty for ``balance``.
    ``set``        Changes to the scenario, ``key=value; key=value``.
    ``select``     The check, an expression in Python; see `isthmus.papers.checks`.
    ``at``         Axes that are fixed for all of the check, ``io_link=1; interarrival=0.156 ms``.
    ``under``      Another check of the same quantity, under another reading of the paper.
    ``note``       The reason, or the other reading; shown with the verdict.
    ``role``       Role of the row in the paper: ``prediction``, ``equation``, ``fitted``,
                   ``setting`` (compared with itself) or ``beyond`` (it has no number there).
    ``section``    Heading of the README section whose table contains the row.
    ``same_as``    Id of the row with the same claim, or from whose number this one follows.
    =============  ==========================================================================

    ``expected``, ``set``, ``at``, ``under`` and ``note`` may be empty. A verdict considers the
    whole interval: ``reproduced`` if all of it meets the rule, ``not reproduced`` if none of it
    does, else ``undecided``. It is ``differs by reading`` if the value of ``select`` does not meet
    the rule and the value of ``under`` does. A fitted row that meets its rule is called ``fitted``,
    a setting ``as set``. A row of the rule ``none`` is ``not comparable`` and not counted. The last
    three columns may be missing from a table; then all its rows are predictions.

``checks.py``
    Functions that checks call (`isthmus.papers.checks`); run with the paper.

``verdicts.json``
    The results of the last kept full run, from which the README's tables are written
    (`isthmus.papers.readme`).

``tolerances.toml``
    Classes of tolerance, each with its reason; see `isthmus.papers.tolerance`.

``figures.toml``
    Definitions of the figures; see `isthmus.papers.figures`.

Results are kept in ``OUT/NAME/SCENARIO-DIGEST/``, so that a second run reuses them.
"""

from isthmus.papers.folder import Paper, Row, find, papers, some_papers
from isthmus.papers.run import How, run_paper
from isthmus.papers.verdict import VERDICTS, Outcome

__all__ = [
    "VERDICTS",
    "How",
    "Outcome",
    "Paper",
    "Row",
    "find",
    "papers",
    "run_paper",
    "some_papers",
]
