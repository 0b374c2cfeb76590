// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a terminal is sent to change the colour of the text that follows.
#pragma once

namespace streamsan::report::color {

inline constexpr const char* kError = "\033[1;31m";     // red
inline constexpr const char* kLatent = "\033[1;33m";    // yellow
inline constexpr const char* kPossible = "\033[1;35m";  // magenta
inline constexpr const char* kNote = "\033[1;36m";      // cyan
inline constexpr const char* kBold = "\033[1m";
inline constexpr const char* kReset = "\033[0m";

}  // namespace streamsan::report::color
