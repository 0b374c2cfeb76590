// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From PTX text to kernels. Any text is accepted, damaged ones too: what cannot be read is left out, or the kernel
// counts as not understood. Nothing is thrown, and work is linear in the length of the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

/// Where a kernel stands in the text of its module.
struct Entry {
  std::string_view name;
  std::string_view text;  ///< from the name to the closing brace of the body
};

/// All kernels with a body, in order. The views are into `module`.
std::vector<Entry> find_entries(std::string_view module);

/// What the target of the module is: "sm_90a"; empty: it does not say.
std::string_view target_of(std::string_view module);

Kernel parse(const Entry& entry);

}  // namespace streamsan::ptx
