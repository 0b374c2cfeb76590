// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine code of a module: an ELF image with a section for each function. It is not trusted.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interposer/footprints/agent.h"

namespace streamsan::footprints {

inline constexpr char kCodePrefix[] = ".text.";
/// Kernels have such a section, other functions have none.
inline constexpr char kArgumentsPrefix[] = ".nv.constant0.";

/// The hash of as much of a kernel's name as a launch has. Never 0.
inline std::uint64_t hash_of_name(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (std::size_t i = 0; i < kStreamSanLongestName && name[i]; ++i) {
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3ull;
  }
  return hash ? hash : 1;
}

class CubinImage {
 public:
  /// What `bytes` points to must outlive it.
  CubinImage(const char* bytes, std::size_t size) : bytes_(bytes), size_(size) {
    Elf64_Ehdr header;
    if (size < sizeof header) return;
    std::memcpy(&header, bytes, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
    if (!fits(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr))) return;
    if (header.e_shstrndx >= header.e_shnum) return;
    table_ = bytes + header.e_shoff;
    const Elf64_Shdr names = header_of(header.e_shstrndx);
    if (!fits(names.sh_offset, names.sh_size) || names.sh_size == 0) return;
    if (bytes[names.sh_offset + names.sh_size - 1] != '\0') return;
    names_ = bytes + names.sh_offset;
    names_size_ = names.sh_size;
    count_ = header.e_shnum;
  }

  /// Number of its sections. 0: it is no such image.
  [[nodiscard]] std::size_t count() const { return count_; }
  /// What follows the prefix in the section's name; null: another name.
  const char* name_after(const char* prefix, std::size_t index) const {
    const Elf64_Shdr found = header_of(index);
    if (found.sh_name >= names_size_) return nullptr;
    const std::size_t length = std::strlen(prefix);
    const char* name = names_ + found.sh_name;
    return std::strncmp(name, prefix, length) == 0 ? name + length : nullptr;
  }
  struct Section {
    bool has_bytes = false;       ///< in the image
    const char* bytes = nullptr;  ///< null: they are not in it, whatever it says
    std::size_t size = 0;
  };
  [[nodiscard]] Section section(std::size_t index) const {
    const Elf64_Shdr found = header_of(index);
    const bool inside = fits(found.sh_offset, found.sh_size);
    return {.has_bytes = found.sh_type == SHT_PROGBITS,
            .bytes = inside ? bytes_ + found.sh_offset : nullptr,
            .size = found.sh_size};
  }
  bool is_kernel(const char* name) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const char* kernel = name_after(kArgumentsPrefix, i);
      if (kernel && std::strcmp(kernel, name) == 0) return true;
    }
    return false;
  }

 private:
  bool fits(std::uint64_t offset, std::uint64_t length) const { return offset <= size_ && length <= size_ - offset; }
  Elf64_Shdr header_of(std::size_t index) const {
    Elf64_Shdr out;
    std::memcpy(&out, table_ + index * sizeof out, sizeof out);
    return out;
  }

  const char* bytes_;
  std::size_t size_;
  const char* table_ = nullptr;
  const char* names_ = nullptr;
  std::size_t names_size_ = 0;
  std::size_t count_ = 0;
};

}  // namespace streamsan::footprints
