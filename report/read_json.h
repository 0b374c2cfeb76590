// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a file of findings that json.h wrote, of this or an older version.
//
// Fields that an older version did not write keep their default value; unknown fields are skipped, so that a newer
// version's file can be read as well. All other fields must have the right type: a file that is damaged, or that
// another program wrote, is refused as a whole, with the place of the first fault, so that nobody takes half of the
// findings for all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/finding.h"

namespace streamsan::report {

struct FindingsFile {
  std::uint32_t schema = 1;
  std::vector<Finding> findings;
  Summary summary;
};

/// Returns what is wrong, one line with the place ("line 3, column 7: ...", "findings[2].pid: ..."); empty: nothing.
std::string read_json(std::string_view text, FindingsFile& out);

}  // namespace streamsan::report
