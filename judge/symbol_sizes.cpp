// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every size comes from the file and is checked before it is used.
#include "judge/symbol_sizes.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace streamsan::judge {
namespace {

constexpr std::uint64_t kMostSections = 1 << 16;
constexpr std::uint64_t kLargestTable = std::uint64_t{1} << 30;
constexpr unsigned char kIndirect = 10;  // STT_GNU_IFUNC

template <typename T>
bool read_all(std::ifstream& file, std::uint64_t offset, std::vector<T>& out) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  const auto bytes = static_cast<std::streamsize>(out.size() * sizeof(T));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(out.data()), bytes));
}

bool is_function(const Elf64_Sym& symbol) {
  const unsigned char type = ELF64_ST_TYPE(symbol.st_info);
  // Assembly often has no type either.
  const bool code = type == STT_FUNC || type == kIndirect || type == STT_NOTYPE;
  return code && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE && symbol.st_value != 0;
}

}  // namespace

SymbolSizes::SymbolSizes(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  std::ifstream file(path, std::ios::binary);
  std::vector<Elf64_Ehdr> header(1);
  if (!read_all(file, 0, header)) return;
  const Elf64_Ehdr& elf = header[0];
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64) return;
  if (elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shnum == 0 || elf.e_shnum > kMostSections) return;
  std::vector<Elf64_Shdr> sections(elf.e_shnum);
  if (!read_all(file, elf.e_shoff, sections)) return;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, ignored);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_entsize != sizeof(Elf64_Sym) || section.sh_size > std::min(kLargestTable, file_bytes)) continue;
    std::vector<Elf64_Sym> symbols(section.sh_size / sizeof(Elf64_Sym));
    if (!read_all(file, section.sh_offset, symbols)) continue;
    for (const Elf64_Sym& symbol : symbols) {
      if (!is_function(symbol)) continue;
      const std::uint64_t room = ~std::uint64_t{0} - symbol.st_value;
      const std::uint64_t end = symbol.st_value + std::min<std::uint64_t>(symbol.st_size, room);
      spans_.push_back({symbol.st_value, end, end});
    }
  }
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::uint64_t reaches = 0;
  for (Span& span : spans_) span.reaches = reaches = std::max(reaches, span.end);
}

bool SymbolSizes::names(std::uint64_t address) const {
  if (spans_.empty()) return true;
  auto after = std::upper_bound(spans_.begin(), spans_.end(), address,
                                [](std::uint64_t value, const Span& span) { return value < span.begin; });
  if (after == spans_.begin()) return false;
  const Span& last = *std::prev(after);
  if (last.reaches > address) return true;
  // Of several at one address, one may have a size.
  for (auto it = after; it != spans_.begin() && std::prev(it)->begin == last.begin; --it) {
    if (std::prev(it)->end != last.begin) return false;
  }
  return true;
}

}  // namespace streamsan::judge
