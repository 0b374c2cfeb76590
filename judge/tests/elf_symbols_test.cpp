// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library of two exported functions with a nameless one between them: stripped, as vendors' libraries are.
#include "judge/elf_symbols.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

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

std::string name_at(const char* path, std::uint64_t address) { return ElfSymbols(path, {address}).name(address); }

TEST(ElfSymbols, OnlyAddressesInsideOfAFunctionHaveItsName) {
  const Symbols symbols = symbols_of(STREAMSAN_STRIPPED_LIBRARY_SYMBOLS);
  ASSERT_TRUE(symbols.contains("exported_first") && symbols.contains("hidden_between"));
  const auto [first, first_bytes] = symbols.at("exported_first");
  const auto [hidden, hidden_bytes] = symbols.at("hidden_between");
  EXPECT_EQ(name_at(STREAMSAN_STRIPPED_LIBRARY, first), "exported_first");
  EXPECT_EQ(name_at(STREAMSAN_STRIPPED_LIBRARY, first + first_bytes - 1), "exported_first");
  EXPECT_EQ(name_at(STREAMSAN_STRIPPED_LIBRARY, hidden), "");
  EXPECT_EQ(name_at(STREAMSAN_STRIPPED_LIBRARY, hidden + hidden_bytes - 1), "");
  EXPECT_EQ(name_at(STREAMSAN_STRIPPED_LIBRARY, 0), "");
  EXPECT_EQ(name_at(STREAMSAN_STRIPPED_LIBRARY_SYMBOLS, hidden), "hidden_between") << "not stripped";

  const ElfSymbols several(STREAMSAN_STRIPPED_LIBRARY, {0, first, first + 1, hidden, ~std::uint64_t{0}});
  EXPECT_TRUE(several.readable());
  EXPECT_FALSE(several.has_debug_information());
  EXPECT_EQ(several.name(first + 1), "exported_first");
  EXPECT_EQ(several.name(hidden), "");
  EXPECT_TRUE(ElfSymbols(STREAMSAN_SYMBOLIZER_GUEST, {first}).has_debug_information());
}

TEST(ElfSymbols, AreThoseOfNm) {
  for (const char* path : {STREAMSAN_STRIPPED_LIBRARY_SYMBOLS, STREAMSAN_SYMBOLIZER_GUEST}) {
    std::size_t functions = 0;
    const Symbols symbols = symbols_of(path);  // those with a size
    for (const auto& [name, place] : symbols) {
      const auto [address, size] = place;
      const auto found = symbols.find(name_at(path, address + size / 2));
      if (found == symbols.end()) continue;  // data
      ++functions;
      EXPECT_EQ(found->second.first, address) << name << " is found as " << found->first;  // one may have several names
    }
    EXPECT_GT(functions, 2u) << path;
  }
}

TEST(ElfSymbols, OfWhatIsNoElfFile) {
  for (const char* path : {"/nowhere", "/proc/self/status", "/dev/zero", "/"}) {
    const ElfSymbols symbols(path, {1});
    EXPECT_FALSE(symbols.readable()) << path;
    EXPECT_TRUE(symbols.has_debug_information()) << path;
    EXPECT_EQ(symbols.name(1), "") << path;
  }
}

TEST(ElfSymbols, ADamagedFileDoesNoHarm) {
  std::ifstream file(STREAMSAN_STRIPPED_LIBRARY_SYMBOLS, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::set<std::uint64_t> addresses;
  for (const auto& [name, place] : symbols_of(STREAMSAN_STRIPPED_LIBRARY_SYMBOLS)) addresses.insert(place.first);
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    // The file header, the section headers at its end, and anything.
    for (int i = 0; i < 8; ++i) {
      const std::size_t part = random() % 3;
      const std::size_t at = part == 0   ? random() % 64
                             : part == 1 ? damaged.size() - 1 - random() % 2000
                                         : random() % damaged.size();
      damaged[at] = static_cast<char>(random());
    }
    if (round % 5 == 0) damaged.resize(random() % damaged.size());
    const TemporaryFile copy(damaged);
    const ElfSymbols symbols(copy.path(), addresses);
    for (const std::uint64_t address : addresses) EXPECT_LE(symbols.name(address).size(), damaged.size());
  }
}

TEST(ElfSymbols, ASymbolizerNamesNoNeighbour) {
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
