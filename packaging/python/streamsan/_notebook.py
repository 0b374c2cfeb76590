# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notebooks and IPython's shell: after `%load_ext streamsan` each cell prints what was found while it ran.

A cell that is run again has the place it had before, and its finding the fingerprint. So a finding is printed when it is
new and when it was seen more often than at the end of the last cell: a cell that still has its race still says so.
"""
import os

import streamsan

from . import _recorder

_NOT_RECORDED = ("streamsan: this kernel is not recorded, so nothing will be found. Start it under the recorder: "
                 "`streamsan run -- jupyter lab`, or `streamsan run -- ipython`.")


class _Cells:
    def __init__(self, shell):
        self.shell = shell
        self.asked_at = _recorder.table.position()
        self.seen = {finding.fingerprint: finding.json["count"] for finding in streamsan.findings()}

    def after_cell(self, result=None):
        """IPython passes the cell's result: it is the same whether the cell failed or not."""
        if _recorder.table.position() == self.asked_at:
            return
        try:
            found = streamsan.findings()
        except Exception as fault:  # IPython would print a traceback of ours after each cell
            print(f"streamsan: no findings: {fault}")
            return
        # The question itself is a record.
        self.asked_at = _recorder.table.position()
        for finding in found:
            count = finding.json["count"]
            if count > self.seen.get(finding.fingerprint, 0):
                print("streamsan:", self._with_cells(finding))
            self.seen[finding.fingerprint] = count

    def _with_cells(self, finding):
        """To Python a cell is a file with a name that says nothing (/tmp/ipykernel_4711/1049065905.py). IPython knows
        which cell it is."""
        text = str(finding)
        for file in _files_of(finding.json):
            cell = self.shell.compile.format_code_name(file)
            if cell:
                text = text.replace(f"{file}:", f"{cell[1]}:").replace(f"{os.path.basename(file)}:", f"{cell[1]}:")
        return text


def _files_of(entry):
    buffer = entry.get("buffer")
    halves = [*entry["accesses"], *entry["related"], *([buffer] if buffer else [])]
    return {frame["file"] for half in halves for frame in half["stack"] if frame["file"]}


_cells = None  # of this process


def load(shell):
    global _cells
    if _recorder.table is None:
        print(_NOT_RECORDED)
    elif _cells is None:
        _cells = _Cells(shell)
        shell.events.register("post_run_cell", _cells.after_cell)


def unload(shell):
    global _cells
    if _cells is not None:
        shell.events.unregister("post_run_cell", _cells.after_cell)
        _cells = None
