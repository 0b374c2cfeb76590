// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library of two exported functions with a nameless one between them: stripped, as vendors' libraries are.
#include "judge/elf_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

struct Symbol {
  const char* name;
  std::uint64_t value;
  std::uint64_t size;
  int type;
  int binding;
  std::uint16_t section;
};
constexpr std::uint16_t kInit = 1, kText = 2, kData = 3;

/// A file with sections for code at 0x800 (32 bytes) and 0x1000 (4096 bytes), and data at 0x3000.
std::string elf_with(const std::vector<Symbol>& symbols, const char* another_section = ".comment") {
  std::string names(1, '\0');
  std::vector<Elf64_Sym> table(1);
  for (const Symbol& each : symbols) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(each.binding, each.type));
    symbol.st_shndx = each.section;
    symbol.st_value = each.value;
    symbol.st_size = each.size;
    table.push_back(symbol);
    names += std::string(each.name) + '\0';
  }
  const std::size_t section_name = names.size();
  names += std::string(another_section) + '\0';
  const std::size_t table_bytes = table.size() * sizeof(Elf64_Sym);
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = 7;
  elf.e_shstrndx = 5;
  elf.e_shoff = sizeof elf + table_bytes + names.size();
  std::array<Elf64_Shdr, 7> sections{};
  const auto place = [&](std::size_t index, std::uint64_t flags, std::uint64_t address, std::uint64_t bytes) {
    sections[index].sh_type = SHT_PROGBITS;
    sections[index].sh_flags = flags;
    sections[index].sh_addr = address;
    sections[index].sh_size = bytes;
  };
  place(kInit, SHF_EXECINSTR, 0x800, 0x20);
  place(kText, SHF_EXECINSTR, 0x1000, 0x1000);
  place(kData, SHF_WRITE, 0x3000, 0x1000);
  sections[4].sh_type = SHT_SYMTAB;
  sections[4].sh_offset = sizeof elf;
  sections[4].sh_size = table_bytes;
  sections[4].sh_entsize = sizeof(Elf64_Sym);
  sections[4].sh_link = 5;
  sections[5].sh_type = SHT_STRTAB;
  sections[5].sh_offset = sizeof elf + table_bytes;
  sections[5].sh_size = names.size();
  sections[6].sh_name = static_cast<Elf64_Word>(section_name);
  sections[6].sh_type = SHT_PROGBITS;
  std::string file(reinterpret_cast<const char*>(&elf), sizeof elf);
  file.append(reinterpret_cast<const char*>(table.data()), table_bytes);
  file += names;
  file.append(reinterpret_cast<const char*>(sections.data()), sizeof sections);
  return file;
}

TEST(ElfSymbols, ASymbolWithoutASizeReachesUpToTheNextOfItsSection) {
  const TemporaryFile file(elf_with({{"$x", 0x1010, 0, STT_NOTYPE, STB_LOCAL, kText},
                                     {"mark", 0x3000, 0, STT_NOTYPE, STB_GLOBAL, kData},
                                     {"_init", 0x800, 0, STT_FUNC, STB_GLOBAL, kInit},
                                     {"assembled", 0x1010, 0, STT_NOTYPE, STB_GLOBAL, kText},
                                     {"compiled", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, kText}}));
  const ElfSymbols symbols(file.path(), {0x7ff, 0x81f, 0x820, 0x1000, 0x1010, 0x10ff, 0x1100, 0x110f, 0x1110, 0x3000});
  const std::map<std::uint64_t, std::string> expected = {
      {0x7ff, ""},           {0x81f, "_init"},     {0x820, ""},          {0x1000, ""}, {0x1010, "assembled"},
      {0x10ff, "assembled"}, {0x1100, "compiled"}, {0x110f, "compiled"}, {0x1110, ""}, {0x3000, ""}};
  for (const auto& [address, name] : expected) EXPECT_EQ(symbols.name(address), name) << std::hex << address;
}

TEST(ElfSymbols, TheInnermostFunctionHasTheName) {
  const TemporaryFile file(elf_with({{"outer", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, kText},
                                     {"inner", 0x1020, 0x10, STT_FUNC, STB_LOCAL, kText},
                                     {"endless", 0x1200, ~std::uint64_t{0}, STT_FUNC, STB_GLOBAL, kText}}));
  const ElfSymbols symbols(file.path(), {0x101f, 0x1020, 0x102f, 0x1030, 0x1100, 0x1201, ~std::uint64_t{0}});
  const std::map<std::uint64_t, std::string> expected = {{0x101f, "outer"}, {0x1020, "inner"}, {0x102f, "inner"},
                                                         {0x1030, "outer"}, {0x1100, ""},      {0x1201, "endless"}};
  for (const auto& [address, name] : expected) EXPECT_EQ(symbols.name(address), name) << std::hex << address;
}

TEST(ElfSymbols, AnotherFileMayHaveTheLines) {
  const std::vector<Symbol> one = {{"function", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, kText}};
  EXPECT_FALSE(ElfSymbols(TemporaryFile(elf_with(one)).path(), {0x1000}).has_debug_information());
  EXPECT_TRUE(ElfSymbols(TemporaryFile(elf_with(one, ".gnu_debuglink")).path(), {0x1000}).has_debug_information());
  EXPECT_TRUE(ElfSymbols(TemporaryFile(elf_with(one, ".debug_line")).path(), {0x1000}).has_debug_information());
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
