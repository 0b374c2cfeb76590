// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/unmodelled.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "interposer/fork.h"
#include "interposer/machine.h"
#include "interposer/process.h"
#include "interposer/writer.h"
#include "ordering/api/row.h"

extern "C" {
// Touched by the assembly at the end of this file.
__attribute__((visibility("hidden"))) std::atomic<void*> streamsan_unknown_targets[256] = {};
__attribute__((visibility("hidden"))) std::atomic<std::uint64_t> streamsan_unknown_counts[256] = {};
extern const char streamsan_unknown_entries[] __attribute__((visibility("hidden")));
}

namespace streamsan::recorder {
namespace {

constexpr std::size_t kEntryBytes = 32;

constinit std::atomic<std::uint32_t> g_later[api::kRowCount] = {};

struct Unknown {
  std::atomic<void*> address;  // null: free
  char name[96];
};
constexpr std::size_t kMostUnknown = 256;  // as in the assembly below
// A fork keeps g_unknown: the entries were handed out, and the program has them in both.
constinit Unknown g_unknown[kMostUnknown] = {};

void write_count(const char* name, std::size_t length, std::uint64_t count, bool unknown) {
  using Words = trace::Words<trace::Kind::Unmodelled>;
  const Words words = {.calls = count, .name_bytes = 0, .unknown = unknown ? 1u : 0u};
  write_text<trace::Kind::Unmodelled>(words, &Words::name_bytes, name, length);
}

}  // namespace

void note_later(std::size_t row) {
  std::uint32_t count = g_later[row].fetch_add(1, std::memory_order_relaxed) + 1;
  // Powers of two: a guest that is killed leaves a count that is at least half right.
  if ((count & (count - 1)) == 0)
    write_count(api::kRows[row].symbol.data(), api::kRows[row].symbol.size(), count, false);
}

void* counting_entry(const char* name, void* address) {
  for (std::size_t i = 0; i < kMostUnknown; ++i) {
    Unknown& entry = g_unknown[i];
    void* found = entry.address.load(std::memory_order_acquire);
    if (!found) {
      // The name is written by the thread that takes the place; it is read at exit only.
      if (!entry.address.compare_exchange_strong(found, address, std::memory_order_acq_rel) && found != address)
        continue;
      if (!found) std::strncpy(entry.name, name, sizeof entry.name - 1);
      found = address;
    }
    if (found != address) continue;
    // By all who find it: the thread that took the place may not have come so far.
    streamsan_unknown_targets[i].store(address, std::memory_order_release);
    return const_cast<char*>(streamsan_unknown_entries + i * kEntryBytes);
  }
  return address;
}

void write_unmodelled_counts() {
  for (std::size_t row = 0; row < api::kRowCount; ++row) {
    std::uint32_t count = g_later[row].load(std::memory_order_relaxed);
    if (count) write_count(api::kRows[row].symbol.data(), api::kRows[row].symbol.size(), count, false);
  }
  for (std::size_t i = 0; i < kMostUnknown; ++i) {
    std::uint64_t count = streamsan_unknown_counts[i].load(std::memory_order_relaxed);
    if (count) write_count(g_unknown[i].name, std::strlen(g_unknown[i].name), count, true);
  }
}

void in_child::unmodelled() {
  for (auto& count : g_later) count.store(0, std::memory_order_relaxed);
  for (auto& count : streamsan_unknown_counts) count.store(0, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder

#define SS_ENTRIES_BEGIN                           \
  "  .text\n"                                      \
  "  .p2align 5\n"                                 \
  "  .globl streamsan_unknown_entries\n"           \
  "  .hidden streamsan_unknown_entries\n"          \
  "  .type streamsan_unknown_entries, %function\n" \
  "streamsan_unknown_entries:\n"                   \
  "  .cfi_startproc\n"                             \
  "  .set streamsan_unknown_index, 0\n"            \
  "  .rept 256\n"                                  \
  "  .p2align 5\n" SS_ASM_ENTRY
#define SS_ENTRIES_END \
  "  .cfi_endproc\n"   \
  "  .size streamsan_unknown_entries, . - streamsan_unknown_entries\n"

#if defined __x86_64__
asm(SS_ENTRIES_BEGIN R"(
  lock incq streamsan_unknown_counts + 8 * streamsan_unknown_index(%rip)
  jmp *streamsan_unknown_targets + 8 * streamsan_unknown_index(%rip)
  .set streamsan_unknown_index, streamsan_unknown_index + 1
  .endr
)" SS_ENTRIES_END);
#else
// What all of them do comes after the last.
asm(SS_ENTRIES_BEGIN R"(
  mov x17, #streamsan_unknown_index
  b 1f
  .set streamsan_unknown_index, streamsan_unknown_index + 1
  .endr
1:
  adrp x16, streamsan_unknown_counts
  add x16, x16, #:lo12:streamsan_unknown_counts
  add x16, x16, x17, lsl #3
2:
  ldxr x9, [x16]
  add x9, x9, #1
  stxr w10, x9, [x16]
  cbnz w10, 2b
  adrp x16, streamsan_unknown_targets
  add x16, x16, #:lo12:streamsan_unknown_targets
  ldr x16, [x16, x17, lsl #3]
  br x16
)" SS_ENTRIES_END);
#endif
