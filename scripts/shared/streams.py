"""Output that never takes the place of a result: every command prints through `guarded`, and its exit code stays its own.

    what the terminal cannot show   is written out, as in \\u2013 (a stdout of latin-1 or cp1252, the C locale)
    a reader that has gone          ends nothing: the rest of the text is dropped (`gate ... | head -1`)
    any other failure of writing    is said on standard error when the command is done; a command that would have ended
                                    with 0 ends with 2, since its text is lost, and every other exit code is kept
    a stream that was closed        counts as one that nobody reads

Only real streams of the process are touched; what stands in for them in a test or a notebook stays as it is.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

LOST = 2
_DESCRIPTORS = {"stdout": 1, "stderr": 2}
# Replaced streams: what still holds one, such as a handler of `logging`, can go on writing to it.
_KEPT: list[io.TextIOWrapper] = []


class _Patient(io.FileIO):
    """The raw end of a stream that takes everything: after the first failure the text is dropped."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            # Whatever else writes to this descriptor, such as a child process, must not meet the failure again.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)

    @property
    def lost(self) -> OSError | None:
        """A failure that is worth a word: not a reader who has seen enough."""
        return None if isinstance(self.failure, BrokenPipeError | ConnectionResetError) else self.failure


def guarded(main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """`main(arguments)` with both streams as the module's docstring says; returns the exit code."""
    with _patient("stdout") as out, _patient("stderr"):
        code = main(arguments)
        sys.stdout.flush()
        if out is not None and out.lost is not None:
            print(f"lm-eval-bias: the output could not be written ({out.lost.strerror}). Free space there.", file=sys.stderr)
            return code or LOST
    return code


@contextmanager
def _patient(name: str) -> Iterator[_Patient | None]:
    """One stream of `sys`, replaced while the block runs; gives None where the stream is not the process's own."""
    stream: TextIO | None = getattr(sys, name)
    if stream is None:
        nowhere = io.FileIO(os.devnull, "w")
        setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(nowhere), "utf-8"))
        yield None
        return
    raw = _own_end(stream, _DESCRIPTORS[name])
    if raw is None or not isinstance(stream, io.TextIOWrapper):
        yield None
        return
    stream.flush()
    patient = _Patient(raw.fileno())
    by_line = stream.line_buffering or stream.write_through
    text = io.TextIOWrapper(io.BufferedWriter(patient), stream.encoding, errors="backslashreplace", line_buffering=by_line)
    setattr(sys, name, text)
    try:
        yield patient
    finally:
        text.flush()
        setattr(sys, name, stream)
        _KEPT.append(text)


def _own_end(stream: TextIO, descriptor: int) -> io.FileIO | None:
    """The raw file under a stream of the process; unbuffered streams (`python -u`) have no buffer between."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    return raw if isinstance(raw, io.FileIO) and raw.fileno() == descriptor else None
