// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorder's share of STREAMSAN_OPTIONS ("key=value" separated by space, comma or colon).
//
// Only the keys the guest needs are read here; the launcher and `streamsan check` own the full list (cli/options.def)
// and warn about unknown keys, so this parser ignores what it does not know. No allocation: it runs inside the guest.
#pragma once

namespace streamsan::recorder {

struct Options {
  char trace_path[1024];  ///< %p is the process id
  unsigned stacks;        ///< capture native call stacks
  unsigned stack_depth;   ///< frames kept of each, at most kMaxStackDepth
  unsigned follow_children;
  unsigned verbosity;
};

inline constexpr unsigned kMaxStackDepth = 64;

/// Reads the environment. The last occurrence of a key wins; a malformed value leaves the default.
void read_options(Options& options);

}  // namespace streamsan::recorder
