// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are read whole: findings, suppressions. A pipe that nobody writes to, or a device, would be read for ever.
#pragma once

#include <string>

namespace streamsan::cli {

/// Why the file is not read: it is not there, a folder, a pipe or a device. Empty: it is. /dev/null is empty, and the
/// pipes that the shell hands over (`<(...)`, /dev/stdin) have a writer.
std::string input_fault(const std::string& path);

}  // namespace streamsan::cli
