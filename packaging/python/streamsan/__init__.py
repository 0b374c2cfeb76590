# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StreamSan as a Python package: the programs and libraries of an install tree, two ways to start them, and what a
program may tell of itself while it is checked.

    streamsan run -- python train.py        the command
    python -m streamsan train.py            the same for this very Python, see __main__.py
    pytest --streamsan                      see _pytest_plugin.py

    import streamsan
    streamsan.name(stream, "copies")        reports call the stream, or the tensor's memory, by this name
    streamsan.mark("epoch 3")               and say in which part of the run something was done
    with streamsan.no_sync(): ...           a wait of this thread for the GPU in here is reported
    streamsan.findings()                    what was found so far, for tests
    streamsan.block_allocated(...)          what a pool of the program's own hands out
    %load_ext streamsan                     in a notebook: each cell prints what was found in it, see _notebook.py

In a process that is not recorded all of these do nothing and cost next to nothing. docs/python.md has the details.
"""
import os
import sys

from . import _recorder
from ._regions import allow_sync, no_sync

__version__ = "@VERSION@"
__all__ = ["Finding", "HOST", "allow_sync", "block_allocated", "block_freed", "block_used", "findings", "mark", "name",
           "no_sync", "recorded"]

HOST = _recorder.HOST  # in place of a stream: the calling host thread, with all it has waited for


def prefix():
    """Where the install tree is: bin/streamsan, lib/streamsan/libstreamsan.so, include/streamsan/annotate.h."""
    return os.path.dirname(os.path.abspath(__file__))


def executable():
    """Path of the program streamsan itself."""
    return os.path.join(prefix(), "bin", "streamsan")


def main():
    """The command streamsan: this process becomes the program."""
    program = executable()
    try:
        sys.stdout.flush()
        os.execv(program, ["streamsan", *sys.argv[1:]])
    except OSError as fault:
        print(f"streamsan: cannot run {program}: {fault.strerror}", file=sys.stderr)
        return 2


def recorded():
    """Is this process recorded? True under `streamsan run`, also before CUDA is first used."""
    return _recorder.table is not None


def mark(part):
    """From here on the run is in `part` ("epoch 3"), for all threads, until the next mark; None or "": in none.

    Reports name the parts in which the two operations of a finding were submitted.
    """
    if _recorder.table is not None:
        _recorder.table.mark(_recorder.PART, str(part or "").encode())


def name(subject, text):
    """Reports call `subject` by this name: a stream, or what a tensor or an array holds, until it is freed.

    Streams: torch.cuda.Stream, cupy.cuda.Stream, Numba's, anything with __cuda_stream__. Memory: a tensor, anything with
    data_ptr() or __cuda_array_interface__. A bare number may be either: use name_stream() or name_memory().
    """
    if _recorder.table is None:
        return
    address = _memory_of(subject)
    if address is not None:
        return name_memory(address, text)
    handle = _stream_of(subject)
    if handle is None:
        raise TypeError(f"streamsan.name: {type(subject).__name__} is neither a CUDA stream nor memory")
    name_stream(handle, text)


def name_stream(handle, text):
    """As name(), for the raw handle of a stream; 0: the legacy default stream."""
    if _recorder.table is not None:
        _recorder.table.name_stream(handle, str(text).encode())


def name_memory(address, text):
    """As name(), for the address at which an allocation or a block of an allocator begins."""
    if _recorder.table is not None:
        _recorder.table.name_memory(address, str(text).encode())


def block_allocated(address, size, stream=0):
    """A pool of the program's own hands out `size` bytes at `address` for use in `stream`, or by everybody (HOST).

    As streamsan_block_allocated() of include/streamsan/annotate.h: call it after the waits that the pool itself makes.
    A stream is what name() takes for one, or a raw handle; 0: the legacy default stream.
    """
    if _recorder.table is not None:
        _recorder.table.block_allocated(address, size, _handle_of(stream))


def block_freed(address, stream=None):
    """The block goes back to its pool, for work that follows in `stream`; None: in the stream it was handed out for.

    Call it before the pool can hand the block out to anybody else.
    """
    if _recorder.table is not None:
        _recorder.table.block_freed(address, _recorder.SAME_STREAM if stream is None else _handle_of(stream))


def block_used(address, stream):
    """The pool knows that the block is used in `stream` as well, and will wait for that: record_stream() in PyTorch."""
    if _recorder.table is not None:
        _recorder.table.block_used(address, _handle_of(stream))


def findings(errors_only=False, timeout=60):
    """What was found in this process up to now, as a list of Finding; empty where nothing is recorded.

    For tests: what was submitted before the call is in it. Suppressed findings are not. `errors_only`: without those
    that are latent, possible or notes. TimeoutError if the judge does not answer within `timeout` seconds.
    """
    from ._findings import ask_for_findings
    return ask_for_findings(errors_only, timeout)


def load_ipython_extension(shell):
    """%load_ext streamsan, in a notebook or IPython's shell: each cell prints what was found while it ran."""
    from ._notebook import load
    load(shell)


def unload_ipython_extension(shell):
    """%unload_ext streamsan."""
    from ._notebook import unload
    unload(shell)


def _memory_of(subject):
    """The address, or None."""
    untyped = getattr(subject, "untyped_storage", None)
    if callable(untyped):  # a tensor may be a view: the memory that has a life is its storage's
        return untyped().data_ptr()
    pointer = getattr(subject, "data_ptr", None)
    if callable(pointer):
        return pointer()
    interface = getattr(subject, "__cuda_array_interface__", None)
    return interface["data"][0] if interface else None


def _stream_of(subject):
    """The raw handle, or None."""
    protocol = getattr(subject, "__cuda_stream__", None)
    if protocol is not None:
        return (protocol() if callable(protocol) else protocol)[1]
    for attribute in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba
        handle = getattr(subject, attribute, None)
        if handle is not None:
            return getattr(handle, "value", handle) or 0
    return None


def _handle_of(stream):
    """Of a stream or a raw handle."""
    if isinstance(stream, int):
        return stream
    handle = _stream_of(stream)
    if handle is None:
        raise TypeError(f"streamsan: {type(stream).__name__} is not a CUDA stream")
    return handle


def __getattr__(attribute):
    if attribute == "Finding":
        from ._findings import Finding
        return Finding
    raise AttributeError(f"module 'streamsan' has no attribute {attribute!r}")
