// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library of two exported functions with a nameless one between them: stripped, as vendors' libraries are.
#include "judge/symbol_sizes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "judge/symbolizer.h"
#include "judge/tests/temporary_file.h"

namespace streamsan::judge {
namespace {

/// Symbols of the library, by name: address and size.
using Symbols = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;

Symbols symbols_of(const char* library) {
  Symbols out;
  std::FILE* pipe = popen((std::string("nm -S --defined-only ") + library).c_str(), "r");
  if (!pipe) return out;
  unsigned long long address = 0, size = 0;
  std::array<char, 256> name{};
  char type = 0;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), pipe)) {
    if (std::sscanf(line.data(), "%llx %llx %c %255s", &address, &size, &type, name.data()) == 4)
      out[name.data()] = {address, size};
  }
  pclose(pipe);
  return out;
}

TEST(SymbolSizes, OnlyAddressesInsideOfAFunctionHaveItsName) {
  const Symbols symbols = symbols_of(STREAMSAN_STRIPPED_LIBRARY_SYMBOLS);
  ASSERT_TRUE(symbols.contains("exported_first") && symbols.contains("hidden_between"));
  const auto [first, first_bytes] = symbols.at("exported_first");
  const auto [hidden, hidden_bytes] = symbols.at("hidden_between");
  const SymbolSizes sizes(STREAMSAN_STRIPPED_LIBRARY);
  EXPECT_TRUE(sizes.names(first));
  EXPECT_TRUE(sizes.names(first + first_bytes - 1));
  EXPECT_FALSE(sizes.names(hidden));
  EXPECT_FALSE(sizes.names(hidden + hidden_bytes - 1));
  EXPECT_FALSE(sizes.names(0));
  EXPECT_TRUE(SymbolSizes(STREAMSAN_STRIPPED_LIBRARY_SYMBOLS).names(hidden)) << "not stripped";
}

TEST(SymbolSizes, WhatIsNoElfFileSaysNothingAgainstAName) {
  EXPECT_TRUE(SymbolSizes("/nowhere").names(1));
  EXPECT_TRUE(SymbolSizes("/proc/self/status").names(1));
}

TEST(SymbolSizes, ASymbolizerNamesNoNeighbour) {
  const Symbols symbols = symbols_of(STREAMSAN_STRIPPED_LIBRARY_SYMBOLS);
  unsigned tools = 0;
  for (const char* tool : {"/usr/bin/addr2line", "/usr/bin/llvm-symbolizer", "/usr/lib/llvm-22/bin/llvm-symbolizer"}) {
    if (access(tool, X_OK) != 0) continue;
    SCOPED_TRACE(tool);
    ++tools;
    Symbolizer symbolizer({.enabled = true, .tool = tool});
    const std::uint64_t inside = symbols.at("exported_first").first + 2,
                        hidden = symbols.at("hidden_between").first + 2;
    EXPECT_EQ(symbolizer.frames(STREAMSAN_STRIPPED_LIBRARY, inside, 1)[0].function, "exported_first");
    EXPECT_EQ(symbolizer.frames(STREAMSAN_STRIPPED_LIBRARY, hidden, 1)[0].function, "");
    EXPECT_EQ(symbolizer.frames(STREAMSAN_STRIPPED_LIBRARY_SYMBOLS, hidden, 1)[0].function, "hidden_between");
  }
  EXPECT_GT(tools, 0u) << "binutils or llvm is needed for this test";
}

}  // namespace
}  // namespace streamsan::judge
