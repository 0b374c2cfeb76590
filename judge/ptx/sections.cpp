// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/sections.h"

#include <algorithm>
#include <cstring>

namespace streamsan::ptx {

bool any_section(const Input& file, const std::function<bool(std::string_view, const Elf64_Shdr&)>& visit) {
  Elf64_Ehdr elf{};
  if (!file.load(0, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
      elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shoff > file.size())
    return false;
  const auto section = [&](std::uint64_t index, Elf64_Shdr& header) {
    return file.load(elf.e_shoff + index * sizeof(Elf64_Shdr), header);
  };
  Elf64_Shdr names{};
  if (!section(elf.e_shstrndx, names) || names.sh_offset > file.size() || names.sh_size > file.size() - names.sh_offset)
    return false;
  for (std::uint64_t i = 0; i < elf.e_shnum; ++i) {
    Elf64_Shdr header{};
    if (!section(i, header)) break;
    if (header.sh_type == SHT_NOBITS || header.sh_offset > file.size() ||
        header.sh_size > file.size() - header.sh_offset || header.sh_name >= names.sh_size)
      continue;
    char name[32] = {};  // longer names are of no interest
    const std::uint64_t most = std::min<std::uint64_t>(sizeof(name) - 1, names.sh_size - header.sh_name);
    if (!file.read(names.sh_offset + header.sh_name, std::as_writable_bytes(std::span(name, most)))) continue;
    if (visit(std::string_view(name), header)) return true;
  }
  return false;
}

}  // namespace streamsan::ptx
