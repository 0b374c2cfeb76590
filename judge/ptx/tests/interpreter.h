// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The naive specification of evaluate(): every thread, one instruction after the other, with numbers. What is read from
// memory is noise that depends on the address and on a seed, the same for all threads. Shares the parser with the
// judge, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "judge/ptx/evaluate.h"

namespace streamsan::ptx {

/// Every byte that was touched, by mode. Bytes, not ranges: launches in tests are small.
struct Trail {
  std::array<std::set<std::uint64_t>, 3> bytes;
};

/// Nothing: an instruction that is not known, or a thread that does not end.
std::optional<Trail> interpret(const Kernel& kernel, const Launch& launch, std::uint64_t seed);

}  // namespace streamsan::ptx
