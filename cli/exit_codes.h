// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exit codes of all commands that do not come from the user's program or from the option `exitcode`. The whole
// table is docs/exit-codes.md.
#pragma once

namespace streamsan::cli {

inline constexpr int kUsage = 2;       // what was asked for makes no sense
inline constexpr int kOwnFailure = 2;  // it does, and could not be done

}  // namespace streamsan::cli
