"""Everything that a user sees: text, JSON, plots, report, notebook."""
