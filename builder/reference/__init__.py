"""The independent Python of every quantity: plain arithmetic, one module for each line item of the workbook.

It proves the workbook, so it shares with it only the presets and the names of quantities: it never reads the templates.
What a choice means in bytes, and which choices the article covers, it states itself, keyed by the text of the choice.
"""

from builder.reference.decisions import decisions, outputs
from builder.reference.estimate import ESTIMATE_OUTPUTS, PUBLIC_OUTPUTS, estimate, quantity_names

__all__ = ["ESTIMATE_OUTPUTS", "PUBLIC_OUTPUTS", "decisions", "estimate", "outputs", "quantity_names"]
