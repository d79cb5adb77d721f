"""A run and its answer as one page, HTML or Markdown."""
