"""Test suites of real software, run natively and under a tool, compared test by test."""
