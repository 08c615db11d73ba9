"""The report: one HTML file that shows an estimate, its threshold and where both come from."""

from opengcn.report.page import write_report as write_report

__all__ = ["write_report"]
