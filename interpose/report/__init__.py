"""Reports of error-detecting tools: errors, suppressions, text and XML.

Data first, text second: a tool builds :class:`interpose.report.errors.Error` records; a sink prints them.
Nothing here knows a tool by name; tools hand in tables (``docs`` of each module name the rule they follow).
"""
