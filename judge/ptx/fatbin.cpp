// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/fatbin.h"

#include <algorithm>
#include <cstring>

#ifdef STREAMSAN_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef STREAMSAN_HAVE_LZ4
#include <lz4.h>
#endif

#include "judge/ptx/sections.h"

namespace streamsan::ptx {
namespace {

constexpr std::uint32_t kMagic = 0xba55ed50;
constexpr std::uint16_t kKindPtx = 1;
constexpr std::uint64_t kFlagLz4 = 0x2000;
constexpr std::uint64_t kFlagZstd = 0x8000;
constexpr unsigned kSuffixShift = 20;
constexpr std::uint64_t kSuffixMask = 3;
constexpr std::uint64_t kMostEntry = std::uint64_t{256} << 20;
constexpr std::uint64_t kMostRatio = 4096;  // nothing can be packed better than that
constexpr std::uint64_t kMostPadding = std::uint64_t{64} << 10;
constexpr std::size_t kMostName = 4096;  // of a section

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

Packed packed_of(const EntryHeader& entry, std::uint64_t offset) {
  Packed out{.offset = offset,
             .bytes = entry.packed_bytes ? entry.packed_bytes : entry.bytes,
             .size = entry.packed_bytes ? entry.text_bytes : entry.bytes,
             .arch = entry.arch,
             .suffix = static_cast<std::uint32_t>(entry.flags >> kSuffixShift & kSuffixMask)};
  if (out.bytes > entry.bytes || out.size > kMostEntry || out.size / kMostRatio > out.bytes)
    out.packing = Packed::Packing::Unknown;
  else if (entry.packed_bytes)
    out.packing = entry.flags & kFlagZstd  ? Packed::Packing::Zstd
                  : entry.flags & kFlagLz4 ? Packed::Packing::Lz4
                                           : Packed::Packing::Unknown;
  return out;
}

/// False: damaged.
bool read_container(const Input& file, std::uint64_t at, std::uint64_t end, Container& out) {
  while (at < end) {
    EntryHeader entry{};
    if (!file.load(at, entry) || entry.header_bytes < sizeof(entry)) return false;
    const std::uint64_t left = end - at;
    if (entry.header_bytes > left || entry.bytes > left - entry.header_bytes) return false;
    const Packed packed = packed_of(entry, at + entry.header_bytes);
    (entry.kind == kKindPtx ? out.texts : out.others).push_back(packed);
    at += entry.header_bytes + entry.bytes;
  }
  return true;
}

void read_section(const Input& file, std::uint64_t at, std::uint64_t end, bool relocatable,
                  std::vector<Container>& out) {
  std::uint64_t padding = 0;
  while (at < end && padding < kMostPadding) {
    ContainerHeader header{};
    if (!file.load(at, header)) return;
    if (header.magic != kMagic || header.header_bytes < sizeof(header)) {
      at += 8;
      padding += 8;
      continue;
    }
    padding = 0;
    const std::uint64_t left = end - at;
    if (header.header_bytes > left || header.bytes > left - header.header_bytes) return;
    Container container{.relocatable = relocatable};
    const std::uint64_t begin = at + header.header_bytes;
    if (read_container(file, begin, begin + header.bytes, container)) out.push_back(std::move(container));
    at = begin + header.bytes;
  }
}

}  // namespace

bool Container::proves() const {
  const auto made_from_a_text = [this](const Packed& code) {
    return std::any_of(texts.begin(), texts.end(), [&](const Packed& text) {
      return text.arch == code.arch && text.suffix == code.suffix && text.packing != Packed::Packing::Unknown;
    });
  };
  return !texts.empty() && std::all_of(texts.begin(), texts.end(), made_from_a_text) &&
         std::all_of(others.begin(), others.end(), made_from_a_text);
}

std::vector<Container> find_containers(const Input& file) {
  std::vector<Container> out;
  any_section(file, [&](std::string_view name, const Elf64_Shdr& header) {
    const bool relocatable = name == "__nv_relfatbin";
    if (relocatable || name == ".nv_fatbin")
      read_section(file, header.sh_offset, header.sh_offset + header.sh_size, relocatable, out);
    return false;
  });
  return out;
}

std::string unpack(const Input& file, const Packed& entry) {
  if (entry.packing == Packed::Packing::Unknown || entry.size > kMostEntry || entry.bytes > kMostEntry) return {};
  if (entry.offset > file.size() || entry.bytes > file.size() - entry.offset) return {};
  std::string raw(entry.bytes, '\0');
  if (!file.read(entry.offset, std::as_writable_bytes(std::span(raw)))) return {};
  if (entry.packing == Packed::Packing::None) return raw;
  std::string out(entry.size, '\0');
  std::uint64_t got = 0;
#ifdef STREAMSAN_HAVE_ZSTD
  if (entry.packing == Packed::Packing::Zstd) {
    got = ZSTD_decompress(out.data(), out.size(), raw.data(), raw.size());
    if (ZSTD_isError(got)) got = 0;
  }
#endif
#ifdef STREAMSAN_HAVE_LZ4
  if (entry.packing == Packed::Packing::Lz4) {
    const int length =
        LZ4_decompress_safe(raw.data(), out.data(), static_cast<int>(raw.size()), static_cast<int>(out.size()));
    if (length > 0) got = static_cast<std::uint64_t>(length);
  }
#endif
  if (got != entry.size) return {};
  return out;
}

std::string unpack_text(const Input& file, const Packed& entry) {
  std::string text = unpack(file, entry);
  if (const std::size_t end = text.find('\0'); end != std::string::npos) text.resize(end);
  return text;
}

std::vector<std::string> functions_of(std::string_view machine_code) {
  // Each function has a section of its own, called after it.
  constexpr std::string_view kSection = ".text.";
  std::vector<std::string> out;
  for (std::size_t at = machine_code.find(kSection); at != std::string_view::npos;
       at = machine_code.find(kSection, at + 1)) {
    const std::string_view name = machine_code.substr(at + kSection.size(), kMostName);
    out.emplace_back(name.substr(0, name.find('\0')));
  }
  return out;
}

}  // namespace streamsan::ptx
