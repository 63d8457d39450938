"""The report of a comparison: one self-contained page, made from the store alone."""

from consilience.report.page import build_page, write_report

__all__ = ["build_page", "write_report"]
