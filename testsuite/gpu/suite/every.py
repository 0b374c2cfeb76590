# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All tests, of all tables."""

from suite import (cases, cases_captures, cases_computed, cases_confirm, cases_dependent, cases_exam, cases_footprints, cases_graphs,
                   cases_host, cases_pairs, cases_peers, cases_python, cases_syncs)

CASES = [case for table in (cases, cases_python, cases_pairs, cases_footprints, cases_computed, cases_host, cases_confirm,
                            cases_syncs, cases_peers, cases_dependent, cases_graphs, cases_captures, cases_exam)
         for case in table.CASES]
