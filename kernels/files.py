"""Files that are whole at any moment: a reader finds the old or the new content, never a part."""

import contextlib
import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such lock, and no GPU that Triton runs on.
    fcntl = None


def check_folder(folder: Path) -> None:
    """Raise ValueError if no file can be written in a folder, old or new."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        raise ValueError(f"nothing can be kept in {folder}: {nearest} is no folder that can be written to")


def replace_file(path: Path, content: bytes) -> None:
    """Write a whole file. Raises OSError, and leaves the file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file, on a new line even if the last was cut off.

    Raises OSError if the disk does not take it all, and leaves the file as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        if fcntl is not None:  # Until the handle is closed: nothing that another process appends is cut away.
            fcntl.flock(handle, fcntl.LOCK_EX)
        length = os.fstat(handle).st_size
        os.lseek(handle, max(0, length - 1), os.SEEK_SET)
        is_cut_off = length > 0 and os.read(handle, 1) != b"\n"
        content = (b"\n" if is_cut_off else b"") + line + b"\n"
        try:
            written = os.write(handle, content)
            if written != len(content):
                raise OSError(errno.ENOSPC, f"only {written} of {len(content)} bytes were taken", str(path))
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, length)
            raise
    finally:
        os.close(handle)
