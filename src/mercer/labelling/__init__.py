"""Label sheets: write rows for a person to label, read them back, and join them to the pool.

A sheet is a table with one row per drawn row of the pool: its id, how often it was drawn, its
weight, a label to fill in, and columns for the person who labels. The record next to it, a
``.json`` file of the same name, stores the draws and a fingerprint of the pool, so that changes by
a spreadsheet to the order of rows, to numbers or to ids are detected or harmless.

::

    pool = LabelPool("pool.csv", ids="name")
    labeller = ImportanceLabeller(budget=200, random_state=0).fit(pool.source)
    write_sheet(labeller, pool, "to_label.csv")
    ...  # a person's work
    X, y, weight = join(pool, read_sheet("to_label.csv"))

:class:`LabellingSession` is the same with the person on a page in the browser, one row at a time.
"""

from mercer.labelling.active_learner import ActiveLearner
from mercer.labelling.label_book import LabelBook, TakenError
from mercer.labelling.label_learning import CurvePoint, LabelsNeeded, labels_needed
from mercer.labelling.label_pool import Fingerprint, LabelPool
from mercer.labelling.label_rounds import draw_again, write_sheet
from mercer.labelling.label_studio import ImportedLabels, label_studio_tasks, read_label_studio
from mercer.labelling.label_values import LabelTask
from mercer.labelling.labeller import ImportanceLabeller
from mercer.labelling.labelling_session import LabellingSession
from mercer.labelling.page.page_server import PageServer
from mercer.labelling.sheet import Draws, Sheet, sheet_files
from mercer.labelling.sheet_reading import Labelled, join, read_sheet

__all__ = [
    "ActiveLearner",
    "CurvePoint",
    "Draws",
    "Fingerprint",
    "ImportanceLabeller",
    "ImportedLabels",
    "LabelBook",
    "LabelPool",
    "LabelTask",
    "Labelled",
    "LabellingSession",
    "LabelsNeeded",
    "PageServer",
    "Sheet",
    "TakenError",
    "draw_again",
    "join",
    "label_studio_tasks",
    "labels_needed",
    "read_label_studio",
    "read_sheet",
    "sheet_files",
    "write_sheet",
]
