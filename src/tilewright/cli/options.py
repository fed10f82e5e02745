"""The options that several commands have, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Network = Annotated[Path, typer.Argument(help="The network: an ONNX file, or a saved module.")]
Database = Annotated[
    str | None, typer.Option(help="Where trials are kept; tuning.db if it is there.")
]
Tolerance = Annotated[
    float,
    typer.Option(help="Error a layer may add to rounding, as a share of its largest result."),
]
Inputs = Annotated[
    Path | None,
    typer.Option(
        help="Arrays by name of input, as numpy.savez writes them, in place of random ones."
    ),
]
Shapes = Annotated[
    list[str] | None,
    typer.Option(help="An open input, or a named dimension: x=1x3x224x224, batch=1."),
]
