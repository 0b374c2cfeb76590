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

// Hashes of names, open addressing. A full table forgets: such a kernel would be believed complete, so it says "yes"
// then.
constexpr std::size_t kNames = 1 << 14;
constinit std::atomic<std::uint64_t> g_names[kNames] = {};
constinit std::atomic<std::size_t> g_count{0};

std::uint64_t hash_of(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (; *name; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3ull;
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

}  // namespace

void note_tensor_code(const char* cubin, std::size_t bytes) {
  Elf64_Ehdr header;
  if (bytes < sizeof header) return;
  std::memcpy(&header, cubin, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  if (!fits(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), bytes)) return;
  const auto section = [&](std::size_t index) {
    Elf64_Shdr out;
    std::memcpy(&out, cubin + header.e_shoff + index * sizeof out, sizeof out);
    return out;
  };
  if (header.e_shstrndx >= header.e_shnum) return;
  const Elf64_Shdr names = section(header.e_shstrndx);
  if (!fits(names.sh_offset, names.sh_size, bytes) || names.sh_size == 0) return;
  const char* text = cubin + names.sh_offset;
  if (text[names.sh_size - 1] != '\0') return;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr code = section(i);
    if (code.sh_type != SHT_PROGBITS || code.sh_name >= names.sh_size || !fits(code.sh_offset, code.sh_size, bytes))
      continue;
    const char* name = text + code.sh_name;
    if (std::strncmp(name, kCodePrefix, sizeof kCodePrefix - 1) != 0) continue;
    if (has_tensor_copy(cubin + code.sh_offset, code.sh_size)) remember(name + sizeof kCodePrefix - 1);
  }
}

bool uses_tensor_maps(const char* kernel) {
  if (is_full()) return true;
  const std::uint64_t hash = hash_of(kernel);
  for (std::size_t at = hash % kNames;; at = (at + 1) % kNames) {
    const std::uint64_t found = g_names[at].load(std::memory_order_relaxed);
    if (found == hash) return true;
    if (found == 0) return false;
  }
}

}  // namespace streamsan::footprints
