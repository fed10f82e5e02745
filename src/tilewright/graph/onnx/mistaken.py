"""What a file is that was taken for an ONNX model, by how it begins, and what to do then."""

from __future__ import annotations

from pathlib import Path

_READ = 256  # bytes
_BEGINNINGS = (
    (
        b"version https://git-lfs",
        "a pointer of Git LFS, which stands for the model until that is fetched",
        "Run git lfs pull in its checkout.",
    ),
    (
        b"PK\x03\x04",
        "a ZIP archive, as torch.save writes",
        "Unpack it, or export the module by torch.onnx.export.",
    ),
    (b"\x89HDF", "an HDF5 file, as Keras writes", "Convert it to ONNX."),
    (b"\x7fELF", "a program or a library", "Give the model that it was made from."),
    (b"<", "a web page, or another text of marks", "Download the model itself."),
)


def mistaken(path: Path) -> tuple[str, str] | None:
    """Return what a file is, and what to do; None if its beginning does not tell."""
    with path.open("rb") as file:
        head = file.read(_READ)
    if not head:
        return "an empty file", "Copy or export it again."
    for sign, what, remedy in _BEGINNINGS:
        if head.lstrip().startswith(sign):
            return what, remedy
    text = head.decode("utf-8", "ignore")
    if len(text.encode()) < len(head) - 3 or not text.replace("\n", " ").isprintable():
        return None  # at most one character is cut off
    return f"a text, which begins {text[:40]!r}", "Give the path of an ONNX model."
