"""``interpose-report``: reports in JSON as text, SARIF and one HTML page, and compared (docs/reports.md)."""
