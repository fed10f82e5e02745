"""The experiments of the paper, and what they are run on."""
