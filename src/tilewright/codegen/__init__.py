"""From loop nests to object code: one package a family of machines."""
