// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/tensor_code.h"

#include <elf.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace streamsan::footprints {
namespace {

constexpr std::size_t kInstructionBytes = 16;
constexpr std::uint64_t kOpcodeMask = 0xfff;
constexpr std::uint64_t kTensorLoad = 0x5b4;       // UTMALDG
constexpr std::uint64_t kTensorStore = 0x3b5;      // UTMASTG
constexpr std::uint64_t kTensorReduction = 0x3b6;  // UTMAREDG
constexpr char kCodePrefix[] = ".text.";
constexpr char kEntryPrefix[] = ".nv.constant0.";  // the arguments: only kernels have any

// Hashes of names, open addressing. A full table forgets: such a kernel would be believed complete, so it says "yes"
// then.
constexpr std::size_t kNames = 1 << 14;
constinit std::atomic<std::uint64_t> g_names[kNames] = {};
constinit std::atomic<std::size_t> g_count{0};
constinit std::atomic<bool> g_unreadable{false};  // a module's code: any kernel may be in it

// As much of a name as the recorder keeps.
constexpr std::size_t kLongestName = 2000;

std::uint64_t hash_of(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (std::size_t i = 0; i < kLongestName && *name; ++i, ++name)
    hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3ull;
  return hash ? hash : 1;
}

bool is_full() { return g_count.load(std::memory_order_relaxed) > kNames / 2; }

void remember(const char* name) {
  if (is_full()) return;
  const std::uint64_t hash = hash_of(name);
  for (std::size_t at = hash % kNames;; at = (at + 1) % kNames) {
    std::uint64_t found = g_names[at].load(std::memory_order_relaxed);
    if (found == hash) return;
    if (found == 0 && g_names[at].compare_exchange_strong(found, hash)) {
      g_count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (found == hash) return;
  }
}

bool has_tensor_copy(const char* code, std::size_t bytes) {
  for (std::size_t at = 0; at + kInstructionBytes <= bytes; at += kInstructionBytes) {
    std::uint64_t word;
    std::memcpy(&word, code + at, sizeof word);
    const std::uint64_t opcode = word & kOpcodeMask;
    if (opcode == kTensorLoad || opcode == kTensorStore || opcode == kTensorReduction) return true;
  }
  return false;
}

bool fits(std::uint64_t offset, std::uint64_t length, std::size_t bytes) {
  return offset <= bytes && length <= bytes - offset;
}

/// Calls visit(function, content, bytes) for each section of the kind that begins with the prefix. False: the image is
/// no such file.
template <typename Visit>
bool for_each_section(const char* cubin, std::size_t bytes, const char* prefix, Visit visit) {
  const std::size_t prefix_length = std::strlen(prefix);
  Elf64_Ehdr header;
  if (bytes < sizeof header) return false;
  std::memcpy(&header, cubin, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return false;
  if (!fits(header.e_shoff, sizeof(Elf64_Shdr), bytes)) return false;
  const auto section = [&](std::uint64_t index) {
    Elf64_Shdr out;
    std::memcpy(&out, cubin + header.e_shoff + index * sizeof out, sizeof out);
    return out;
  };
  // With many sections both numbers stand in the first one.
  const Elf64_Shdr first = section(0);
  const std::uint64_t count = header.e_shnum ? header.e_shnum : first.sh_size;
  const std::uint64_t names_at = header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
  if (count > bytes / sizeof(Elf64_Shdr) || !fits(header.e_shoff, count * sizeof(Elf64_Shdr), bytes)) return false;
  if (names_at >= count) return false;
  const Elf64_Shdr names = section(names_at);
  if (!fits(names.sh_offset, names.sh_size, bytes) || names.sh_size == 0) return false;
  const char* text = cubin + names.sh_offset;
  if (text[names.sh_size - 1] != '\0') return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Shdr code = section(i);
    if (code.sh_type != SHT_PROGBITS || code.sh_name >= names.sh_size) continue;
    const char* name = text + code.sh_name;
    if (std::strncmp(name, prefix, prefix_length) != 0) continue;
    if (!fits(code.sh_offset, code.sh_size, bytes)) return false;
    visit(name + prefix_length, cubin + code.sh_offset, code.sh_size);
  }
  return true;
}

}  // namespace

void note_tensor_code(const char* cubin, std::size_t bytes) {
  bool in_function = false;  // that is no kernel, but called by some
  const bool readable =
      for_each_section(cubin, bytes, kCodePrefix, [&](const char* name, const char* code, std::size_t length) {
        if (!has_tensor_copy(code, length)) return;
        remember(name);
        bool is_kernel = false;
        for_each_section(cubin, bytes, kEntryPrefix, [&](const char* kernel, const char*, std::size_t) {
          is_kernel |= std::strcmp(kernel, name) == 0;
        });
        in_function |= !is_kernel;
      });
  if (!readable) g_unreadable.store(true, std::memory_order_relaxed);
  if (!in_function) return;
  for_each_section(cubin, bytes, kEntryPrefix, [](const char* name, const char*, std::size_t) { remember(name); });
}

bool uses_tensor_maps(const char* kernel) {
  if (is_full() || g_unreadable.load(std::memory_order_relaxed)) return true;
  const std::uint64_t hash = hash_of(kernel);
  for (std::size_t at = hash % kNames;; at = (at + 1) % kNames) {
    const std::uint64_t found = g_names[at].load(std::memory_order_relaxed);
    if (found == hash) return true;
    if (found == 0) return false;
  }
}

}  // namespace streamsan::footprints
