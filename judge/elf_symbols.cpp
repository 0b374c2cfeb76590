// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over each table, which may have a million symbols; of the names only those that are wanted are read. Every
// size comes from the file and is checked before it is used.
#include "judge/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "judge/build_id.h"

namespace streamsan::judge {
namespace {

constexpr std::uint64_t kLargestTable = std::uint64_t{1} << 30;
constexpr std::size_t kChunk = 1 << 14;     // symbols read at a time
constexpr std::size_t kMostName = 1 << 16;  // of a symbol
constexpr std::size_t kMostSectionName = 32;
constexpr unsigned char kIndirect = 10;  // STT_GNU_IFUNC
constexpr std::size_t kNone = ~std::size_t{0};

template <typename T>
bool read_all(std::ifstream& file, std::uint64_t offset, std::vector<T>& out) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  const auto bytes = static_cast<std::streamsize>(out.size() * sizeof(T));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(out.data()), bytes));
}

bool is_function(const Elf64_Sym& symbol, const std::vector<Elf64_Shdr>& sections) {
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size() || symbol.st_value == 0) return false;
  if ((sections[symbol.st_shndx].sh_flags & SHF_EXECINSTR) == 0) return false;
  const unsigned char type = ELF64_ST_TYPE(symbol.st_info);
  if (type == STT_FUNC || type == kIndirect) return true;
  // Assembly often has no type. Nor have the marks of the assembler's own ($x on AArch64), which are local.
  return type == STT_NOTYPE && (symbol.st_size != 0 || ELF64_ST_BIND(symbol.st_info) != STB_LOCAL);
}

/// A symbol that may name an address; `table`: index of the section with its table, or kNone.
struct Candidate {
  std::uint64_t begin = 0;
  std::uint64_t name = 0;
  std::size_t table = kNone;
  bool sized = false;
  std::size_t section = 0;
};

bool is_in_section(std::uint64_t address, const Elf64_Shdr& section) {
  return address >= section.sh_addr && address - section.sh_addr < section.sh_size;
}

/// For one address, of all symbols that begin behind the address before it and not behind this one.
struct Slot {
  std::uint64_t address = 0;
  Candidate around;   ///< the innermost symbol with a size that covers the address, wherever it begins
  Candidate nearest;  ///< the one that begins last; one with a size, if there is any at that place
};

void see(const Elf64_Sym& symbol, std::size_t table, std::vector<Slot>& slots) {
  const auto first = std::lower_bound(slots.begin(), slots.end(), symbol.st_value,
                                      [](const Slot& slot, std::uint64_t value) { return slot.address < value; });
  if (first == slots.end()) return;
  const Candidate candidate{symbol.st_value, symbol.st_name, table, symbol.st_size != 0, symbol.st_shndx};
  Candidate& nearest = first->nearest;
  if (nearest.table == kNone || candidate.begin > nearest.begin ||
      (candidate.begin == nearest.begin && candidate.sized && !nearest.sized))
    nearest = candidate;
  for (auto slot = first; slot != slots.end() && slot->address - symbol.st_value < symbol.st_size; ++slot)
    if (slot->around.table == kNone || candidate.begin > slot->around.begin) slot->around = candidate;
}

std::string text_at(std::ifstream& file, const Elf64_Shdr& strings, std::uint64_t at, std::size_t most) {
  if (at >= strings.sh_size) return {};
  std::vector<char> text(std::min<std::uint64_t>(strings.sh_size - at, most));
  if (!read_all(file, strings.sh_offset + at, text)) return {};
  const auto end = std::find(text.begin(), text.end(), '\0');
  return {text.begin(), end};
}

bool is_debug_section(std::string_view name) {
  return name == ".debug_info" || name == ".zdebug_info" || name == ".debug_line" || name == ".gnu_debuglink";
}

/// Distributions put the debug information of a package into another one, under the build id.
bool has_debug_file(const std::string& path) {
  const std::string id = build_id_of(path);
  if (id.size() < 2) return false;
  std::string text;
  for (const char byte : id) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  std::error_code ignored;
  return std::filesystem::exists("/usr/lib/debug/.build-id/" + text.substr(0, 2) + "/" + text.substr(2) + ".debug",
                                 ignored);
}

}  // namespace

ElfSymbols::ElfSymbols(const std::string& path, const std::set<std::uint64_t>& addresses) { read(path, addresses); }

void ElfSymbols::read(const std::string& path, const std::set<std::uint64_t>& addresses) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  std::ifstream file(path, std::ios::binary);
  std::vector<Elf64_Ehdr> header(1);
  if (!read_all(file, 0, header)) return;
  const Elf64_Ehdr& elf = header[0];
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64) return;
  if (elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shnum == 0) return;
  std::vector<Elf64_Shdr> sections(elf.e_shnum);
  if (!read_all(file, elf.e_shoff, sections)) return;
  const std::uint64_t most = std::min<std::uint64_t>(kLargestTable, std::filesystem::file_size(path, ignored));

  std::vector<Slot> slots;
  for (const std::uint64_t address : addresses) slots.push_back({.address = address, .around = {}, .nearest = {}});
  std::vector<Elf64_Sym> symbols;
  std::set<Elf64_Word> read_types;  // a file has one table of each
  for (std::size_t table = 0; table < sections.size(); ++table) {
    const Elf64_Shdr& section = sections[table];
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_entsize != sizeof(Elf64_Sym) || section.sh_size > most || section.sh_link >= sections.size())
      continue;
    if (!read_types.insert(section.sh_type).second) continue;
    const std::uint64_t count = section.sh_size / sizeof(Elf64_Sym);
    for (std::uint64_t at = 0; at < count; at += kChunk) {
      symbols.resize(std::min<std::uint64_t>(kChunk, count - at));
      if (!read_all(file, section.sh_offset + at * sizeof(Elf64_Sym), symbols)) break;
      for (const Elf64_Sym& symbol : symbols) {
        if (!is_function(symbol, sections)) continue;
        readable_ = true;
        see(symbol, table, slots);
      }
    }
  }
  if (!readable_) return;

  Candidate nearest;
  for (const Slot& slot : slots) {
    if (slot.nearest.table != kNone) nearest = slot.nearest;
    const bool reaches =
        nearest.table != kNone && !nearest.sized && is_in_section(slot.address, sections[nearest.section]);
    const Candidate& best = slot.around.table == kNone && reaches ? nearest : slot.around;
    if (best.table == kNone) continue;
    names_[slot.address] = text_at(file, sections[sections[best.table].sh_link], best.name, kMostName);
  }

  if (elf.e_shstrndx >= sections.size()) return;
  debug_information_ = has_debug_file(path);
  const auto is_debug = [&](const Elf64_Shdr& section) {
    return is_debug_section(text_at(file, sections[elf.e_shstrndx], section.sh_name, kMostSectionName));
  };
  debug_information_ = debug_information_ || std::any_of(sections.begin(), sections.end(), is_debug);
}

std::string ElfSymbols::name(std::uint64_t address) const {
  const auto found = names_.find(address);
  return found == names_.end() ? std::string() : found->second;
}

}  // namespace streamsan::judge
