"""The configuration to paste, for each stack: one template a stack, in templates/."""
