// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of kernels written by hand, or at random, have in common.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "judge/ptx/evaluate.h"
#include "judge/ptx/parser.h"
#include "judge/ptx/tests/interpreter.h"

namespace streamsan::ptx {

/// Of a text that has one.
inline Kernel only_kernel(const std::string& text) {
  const std::vector<Entry> entries = find_entries(text);
  EXPECT_EQ(entries.size(), 1u) << text;
  return parse(entries.at(0));
}

/// What is exact is touched whatever memory holds; what is complete is all.
inline void expect_agreement(const Result& result, const Trail& trail) {
  std::array<std::set<std::uint64_t>, 3> exact;
  for (const Touched& touched : result.touched)
    if (touched.exact) exact[static_cast<std::size_t>(touched.mode)].merge(bytes_of(touched.bytes));
  for (std::size_t mode = 0; mode < 3; ++mode) {
    if (result.complete) {
      EXPECT_EQ(exact[mode], trail.bytes[mode]) << "mode " << mode;
    }
    for (const std::uint64_t byte : exact[mode])
      EXPECT_TRUE(trail.bytes[mode].contains(byte)) << "mode " << mode << ", not touched: " << std::hex << byte;
  }
}

}  // namespace streamsan::ptx
