"""What was measured: trials and outcomes as values, kept in a database (`records.store`)."""

from tilewright.records.trial import Failed, Measured, Outcome, Trial

__all__ = ["Failed", "Measured", "Outcome", "Trial"]
