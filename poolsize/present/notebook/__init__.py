"""What the notebooks show beside the plots."""
