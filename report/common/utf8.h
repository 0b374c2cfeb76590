// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text that can be shown: on a terminal, in a line of its own, in formats that demand UTF-8.
//
// Names of kernels, streams and buffers are the program's own and may hold any bytes: line ends, which would make a
// line of a report that we never wrote (and in a CI log perhaps a command to it), escape sequences for the terminal,
// bytes that are no UTF-8. The JSON report keeps them; all other output leaves them out.
#pragma once

#include <string>
#include <string_view>

namespace streamsan::report {

/// Bytes that are not UTF-8 become U+FFFD, as do code points that XML 1.0 and JSON readers refuse.
std::string utf8(std::string_view text);

/// As utf8(), with each run of control characters made one blank.
std::string one_line(std::string_view text);

}  // namespace streamsan::report
