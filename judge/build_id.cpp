// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The note is found through the program headers, as the loader and the recorder find it: sections may be stripped.
// Every size comes from the file and is checked before it is used.
#include "judge/build_id.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace streamsan::judge {
namespace {

constexpr std::uint64_t kLargestNotes = 1 << 20;

template <typename T>
std::optional<T> read_at(std::ifstream& file, std::uint64_t offset) {
  T out;
  file.seekg(static_cast<std::streamoff>(offset));
  if (!file.read(reinterpret_cast<char*>(&out), sizeof out)) return std::nullopt;
  return out;
}

std::uint64_t padded(std::uint64_t size, std::uint64_t alignment) { return (size + alignment - 1) & ~(alignment - 1); }

/// `notes` are headers, each followed by a name and a descriptor, both padded.
std::string id_among(std::string_view notes, std::uint64_t alignment) {
  Elf64_Nhdr header;
  while (notes.size() >= sizeof header) {
    std::memcpy(&header, notes.data(), sizeof header);
    notes.remove_prefix(sizeof header);
    std::uint64_t name = padded(header.n_namesz, alignment);
    if (name > notes.size() || header.n_descsz > notes.size() - name) break;
    bool is_gnu = notes.substr(0, header.n_namesz) == std::string_view("GNU\0", 4);
    if (is_gnu && header.n_type == NT_GNU_BUILD_ID) return std::string(notes.substr(name, header.n_descsz));
    notes.remove_prefix(std::min<std::uint64_t>(name + padded(header.n_descsz, alignment), notes.size()));
  }
  return {};
}

}  // namespace

std::string build_id_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  std::optional<Elf64_Ehdr> header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    std::optional<Elf64_Phdr> segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type != PT_NOTE || segment->p_filesz > kLargestNotes) continue;
    std::string notes(segment->p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment->p_offset));
    if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return {};
    std::string id = id_among(notes, segment->p_align == 8 ? 8 : 4);
    if (!id.empty()) return id;
  }
  return {};
}

Standing standing_of(const std::string& path, const std::string& recorded) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return Standing::Missing;
  // A trace may name anything: a pipe or a device is not to be read.
  if (status.type() != std::filesystem::file_type::regular && !error) return Standing::Missing;
  if (recorded.empty()) return Standing::Same;
  std::string present = build_id_of(path);
  return present.empty() || present == recorded ? Standing::Same : Standing::Rebuilt;
}

}  // namespace streamsan::judge
