// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manual page streamsan(1), in troff. `streamsan help man` prints it; the build installs what that prints.
#pragma once

#include <string>

namespace streamsan::cli {

std::string manual();

}  // namespace streamsan::cli
