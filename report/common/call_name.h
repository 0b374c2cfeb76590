// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program calls a function of CUDA whose symbol has suffixes: for the version of the interface, and for what the
// default stream means. The headers of CUDA add them: cuMemcpyHtoDAsync is cuMemcpyHtoDAsync_v2_ptsz.
#pragma once

#include <string_view>

namespace streamsan::report {

/// Without the suffix for the default stream.
constexpr std::string_view without_variant(std::string_view symbol) {
  if (symbol.ends_with("_ptsz") || symbol.ends_with("_ptds")) symbol.remove_suffix(5);
  return symbol;
}

/// Without any.
constexpr std::string_view written_name(std::string_view symbol) {
  symbol = without_variant(symbol);
  const std::size_t version = symbol.rfind("_v");
  const bool has_one = version != std::string_view::npos && version + 2 < symbol.size() &&
                       symbol.find_first_not_of("0123456789", version + 2) == std::string_view::npos;
  return has_one ? symbol.substr(0, version) : symbol;
}

}  // namespace streamsan::report
