"""Every fault, in the order of the table."""

from __future__ import annotations

from scripts.fault_matrix.catalogue.calls import CALLS
from scripts.fault_matrix.catalogue.limits import LIMITS_AND_MEMORY
from scripts.fault_matrix.catalogue.processes import PROCESSES
from scripts.fault_matrix.catalogue.replies import REPLIES
from scripts.fault_matrix.catalogue.service import SERVICE
from scripts.fault_matrix.catalogue.tools import TOOLS

CATALOGUE = (*SERVICE, *REPLIES, *CALLS, *TOOLS, *LIMITS_AND_MEMORY, *PROCESSES)
