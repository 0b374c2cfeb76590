# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The suite under an emulator. In a module, as lit hands tests to other processes."""
import lit.formats
import lit.Test


class Emulated(lit.formats.ShTest):
    """Leaves out the tests that the listing names, for the reason that it gives: a line for each, `path: reason`."""

    def __init__(self, listing):
        super().__init__(execute_external=False)
        with open(listing, encoding="utf-8") as file:
            rows = [line.strip().partition(": ") for line in file if line.strip() and not line.startswith("#")]
        self.reasons = {path: reason for path, _, reason in rows}

    def execute(self, test, lit_config):
        reason = self.reasons.get("/".join(test.path_in_suite))
        if reason:
            return lit.Test.Result(lit.Test.UNSUPPORTED, reason)
        return super().execute(test, lit_config)
