// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of the driver's functions that mean more than "it failed", as numbers of CUresult.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace streamsan::api {

/// Is it an error of the GPU's that ends all work of its context, and fails every later call (R-CORE-07)? From illegal
/// memory access (700) to launch failed (719), those that cuda.h says leave the process in an inconsistent state.
constexpr bool ends_context(std::uint32_t result) {
  constexpr std::array kEnding{700u, 702u, 710u, 714u, 715u, 716u, 717u, 718u, 719u};
  return std::ranges::find(kEnding, result) != kEnding.end();
}

}  // namespace streamsan::api
