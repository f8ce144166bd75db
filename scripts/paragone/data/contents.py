"""Recognize, by their first bytes, files that are often found in place of data files."""

BYTES = 64  # from the beginning of a file, for `kind_of`
_KINDS = {
    b"version https://git-lfs": "a pointer of Git LFS: `git lfs pull` fetches the file",
    b"<!doctype html": "a web page: open it to see why there was nothing else to download",
    b"<html": "a web page: open it to see why there was nothing else to download",
    b"pk\x03\x04": "an Excel file or an archive (zip): unpack it, or save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save the table as CSV",
    b"\x28\xb5\x2f\xfd": "packed by Zstandard: unpack it",
    b"\x93numpy": "one array (.npy): name the folder that it is in as `path`",
}


def kind_of(begin: bytes) -> str:
    """What a file is that begins so, and the remedy; nothing for what is not known here."""
    begin = begin.lstrip().lower()
    return next((kind for first, kind in _KINDS.items() if begin.startswith(first)), "")
