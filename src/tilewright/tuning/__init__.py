"""Tuning: tasks, the loop of the paper's Algorithm 1, and what it tells those who watch."""
