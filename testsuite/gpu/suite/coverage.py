# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Are all driver calls seen? The recorder's counts beside CUPTI's, of the same process in the same run.

Exact equality is demanded for every function whose calls make a record (suite/trace.py), as long as CUPTI or the trace
has seen it. Functions that are passed through are not counted by the recorder and not compared.
"""

import collections
import struct

from suite.trace import base_name

_ENTRY = struct.Struct("<56sQ")


def read_cupti_counts(data):
    """{base name: successful calls}, from the file of cupti_counts.cpp."""
    counts = collections.Counter()
    for name, calls in _ENTRY.iter_unpack(data[: len(data) - len(data) % _ENTRY.size]):
        if calls:
            counts[base_name(name.rstrip(b"\0").decode())] += calls
    return counts


def differences(recorded, cupti, names):
    """["cuEventRecord: 3 recorded, 4 by CUPTI", ...] over the compared names."""
    return [f"{name}: {recorded[name]} recorded, {cupti[name]} by CUPTI" for name in sorted(names)
            if recorded[name] != cupti[name]]


def summary(cupti, names):
    """The busiest functions that were compared, for the log."""
    compared = collections.Counter({name: calls for name, calls in cupti.items() if name in names})
    return ", ".join(f"{name} {calls}" for name, calls in compared.most_common(12))
