"""What a rate and usage times need: the queueing models, and nothing else."""
