"""What to compute: tensors, axes, stages and their scalar expressions; their meaning in NumPy."""
