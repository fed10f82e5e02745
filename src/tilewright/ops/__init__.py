"""Operators: what each computes, and a space of ways to compute it; one family a file."""
