"""Choices: a program asks its knobs, and a space is everything it may answer."""

from tilewright.space.config import Config
from tilewright.space.knobs import Knob, Knobs
from tilewright.space.space import Space

__all__ = ["Config", "Knob", "Knobs", "Space"]
