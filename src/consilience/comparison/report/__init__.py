"""The report of a comparison: one self-contained page, built from stored results alone."""

from consilience.comparison.report.page import build_page, write_report

__all__ = ["build_page", "write_report"]
