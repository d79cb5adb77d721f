"""Tables and sliders of the notebooks."""
