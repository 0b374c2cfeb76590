// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where libstreamsan.so itself is mapped, from the linker's own symbols: no look-up is needed to know whether code is
// ours.
#pragma once

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace streamsan::recorder {

inline bool is_in_this_library(const void* address) {
  auto at = static_cast<const char*>(address);
  return __ehdr_start <= at && at < _end;
}

}  // namespace streamsan::recorder
