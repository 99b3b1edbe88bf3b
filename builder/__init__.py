"""GPU sizing workbooks: builds, checks and proves them."""

__version__ = "0.5.0"
