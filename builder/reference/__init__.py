"""The independent Python of every quantity: plain arithmetic, one module for each line item of the workbooks.

It proves the workbooks, so it shares with them only the presets and the names of quantities: it never reads the templates.
What a choice means in bytes, and which choices the article covers, it states itself, keyed by the text of the choice.
"""

from builder.reference.books import decisions, estimate, estimate_outputs, outputs, public_outputs, quantity_names

__all__ = ["decisions", "estimate", "estimate_outputs", "outputs", "public_outputs", "quantity_names"]
