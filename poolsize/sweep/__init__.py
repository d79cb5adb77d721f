"""What is measured next, by whatever can measure it, and what is told while it goes on."""
