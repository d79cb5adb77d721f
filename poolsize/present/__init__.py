"""An answer as people read it: text, plots, progress, notebook."""
