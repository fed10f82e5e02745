"""What was measured: trials and outcomes as values, kept in a database (`records.store`)."""

from tilewright.records.trial import Choice, Failed, Measured, Outcome, Trial

__all__ = ["Choice", "Failed", "Measured", "Outcome", "Trial"]
