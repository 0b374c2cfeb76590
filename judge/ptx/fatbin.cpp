// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/fatbin.h"

#include <elf.h>

#include <cstring>
#include <string_view>

#ifdef STREAMSAN_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef STREAMSAN_HAVE_LZ4
#include <lz4.h>
#endif

namespace streamsan::ptx {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kMagic = 0xba55ed50;
constexpr std::uint16_t kKindPtx = 1;
constexpr std::uint64_t kFlagLz4 = 0x2000;
constexpr std::uint64_t kFlagZstd = 0x8000;
constexpr std::uint64_t kMostText = std::uint64_t{256} << 20;
constexpr std::uint64_t kMostRatio = 4096;  // a text cannot be packed better than that

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  ///< behind the header
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;         ///< behind the header, padded
  std::uint32_t packed_bytes;  ///< 0: not compressed
  std::uint32_t unused0;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t arch;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t unused1;
  std::uint64_t text_bytes;  ///< when not compressed
};
static_assert(sizeof(EntryHeader) == 64);

template <typename T>
bool load(Bytes bytes, std::uint64_t offset, T& out) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return false;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return true;
}

void read_container(Bytes file, std::uint64_t at, std::uint64_t end, std::vector<PackedText>& out) {
  while (at < end) {
    EntryHeader entry{};
    if (!load(file, at, entry) || entry.header_bytes < sizeof(entry)) return;
    const std::uint64_t left = end - at;
    if (entry.header_bytes > left || entry.bytes > left - entry.header_bytes) return;
    if (entry.kind == kKindPtx) {
      PackedText text{.offset = at + entry.header_bytes, .arch = entry.arch};
      text.bytes = entry.packed_bytes ? entry.packed_bytes : entry.bytes;
      text.size = entry.packed_bytes ? entry.text_bytes : entry.bytes;
      bool readable = text.bytes <= entry.bytes && text.size <= kMostText && text.size / kMostRatio <= text.bytes;
      if (entry.packed_bytes) {
        if (entry.flags & kFlagZstd)
          text.packing = PackedText::Packing::Zstd;
        else if (entry.flags & kFlagLz4)
          text.packing = PackedText::Packing::Lz4;
        else
          readable = false;
      }
      if (readable) out.push_back(text);
    }
    at += entry.header_bytes + entry.bytes;
  }
}

void read_section(Bytes file, std::uint64_t at, std::uint64_t end, std::vector<PackedText>& out) {
  while (at < end) {
    ContainerHeader header{};
    if (!load(file, at, header)) return;
    if (header.magic != kMagic || header.header_bytes < sizeof(header)) {
      at += 8;  // padding between containers
      continue;
    }
    const std::uint64_t left = end - at;
    if (header.header_bytes > left || header.bytes > left - header.header_bytes) return;
    read_container(file, at + header.header_bytes, at + header.header_bytes + header.bytes, out);
    at += header.header_bytes + header.bytes;
  }
}

std::string_view name_at(Bytes file, const Elf64_Shdr& names, std::uint32_t index) {
  if (names.sh_offset > file.size() || names.sh_size > file.size() - names.sh_offset || index >= names.sh_size)
    return {};
  const char* begin = reinterpret_cast<const char*>(file.data() + names.sh_offset);
  return {begin + index, strnlen(begin + index, names.sh_size - index)};
}

}  // namespace

std::vector<PackedText> find_texts(Bytes file) {
  std::vector<PackedText> out;
  Elf64_Ehdr elf{};
  if (!load(file, 0, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
      elf.e_shentsize != sizeof(Elf64_Shdr))
    return out;
  const auto section = [&](std::uint64_t index, Elf64_Shdr& header) {
    return elf.e_shoff <= file.size() && load(file, elf.e_shoff + index * sizeof(Elf64_Shdr), header);
  };
  Elf64_Shdr names{};
  if (!section(elf.e_shstrndx, names)) return out;
  for (std::uint64_t i = 0; i < elf.e_shnum; ++i) {
    Elf64_Shdr header{};
    if (!section(i, header)) break;
    if (header.sh_type == SHT_NOBITS || header.sh_offset > file.size() ||
        header.sh_size > file.size() - header.sh_offset)
      continue;
    const std::string_view name = name_at(file, names, header.sh_name);
    if (name == ".nv_fatbin" || name == "__nv_relfatbin")
      read_section(file, header.sh_offset, header.sh_offset + header.sh_size, out);
  }
  return out;
}

std::string unpack(Bytes file, const PackedText& text) {
  if (text.offset > file.size() || text.bytes > file.size() - text.offset || text.size > kMostText) return {};
  const char* from = reinterpret_cast<const char*>(file.data() + text.offset);
  if (text.packing == PackedText::Packing::None) return {from, strnlen(from, text.bytes)};
  std::string out(text.size, '\0');
  std::uint64_t got = 0;
#ifdef STREAMSAN_HAVE_ZSTD
  if (text.packing == PackedText::Packing::Zstd) {
    got = ZSTD_decompress(out.data(), out.size(), from, text.bytes);
    if (ZSTD_isError(got)) got = 0;
  }
#endif
#ifdef STREAMSAN_HAVE_LZ4
  if (text.packing == PackedText::Packing::Lz4) {
    const int length =
        LZ4_decompress_safe(from, out.data(), static_cast<int>(text.bytes), static_cast<int>(out.size()));
    if (length > 0) got = static_cast<std::uint64_t>(length);
  }
#endif
  if (got != text.size) return {};
  // A terminator counts as part of the text.
  out.resize(out.find('\0') == std::string::npos ? out.size() : out.find('\0'));
  return out;
}

}  // namespace streamsan::ptx
