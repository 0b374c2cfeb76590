// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/modules.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/loaded_object.h"
#include "interposer/process.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

constexpr std::size_t kMostModules = 8192;
struct Seen {
  std::uint64_t key;   // bounds and path, mixed
  std::uint32_t scan;  // the last one that met it
};
// A fork keeps g_seen: in_child::modules() sets their number to 0. And g_scan, which only counts up.
constinit Seen g_seen[kMostModules] = {};  // this and the next two are guarded by g_scanning
constinit std::uint32_t g_scan = 0;
constinit std::size_t g_count = 0;
constinit std::atomic<bool> g_scanning{false};
constinit std::atomic<unsigned long long> g_changes{0};  // adds + subs of the last scan

struct BuildId {
  const unsigned char* bytes = nullptr;
  std::size_t length = 0;
};

BuildId find_build_id(const dl_phdr_info& info) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    auto at = reinterpret_cast<const unsigned char*>(info.dlpi_addr + segment.p_vaddr);
    const unsigned char* end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const unsigned char* name = at + sizeof note;
      const unsigned char* body = name + ((note.n_namesz + 3) & ~3u);
      if (body + note.n_descsz > end) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        return {body, note.n_descsz < 64 ? note.n_descsz : 64};
      at = body + ((note.n_descsz + 3) & ~3u);
    }
  }
  return {};
}

bool is_new(std::uint64_t key) {
  for (std::size_t i = 0; i < g_count; ++i) {
    if (g_seen[i].key != key) continue;
    g_seen[i].scan = g_scan;
    return false;
  }
  if (g_count < kMostModules) g_seen[g_count++] = {key, g_scan};
  return true;
}

/// What was unloaded may come back, at its old place, after something else stood there.
void forget_unloaded() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < g_count; ++i) {
    if (g_seen[i].scan == g_scan) g_seen[kept++] = g_seen[i];
  }
  g_count = kept;
}

std::uint64_t key_of(std::uint64_t low, std::uint64_t high, const char* path) {
  std::uint64_t key = mix_bits(low) ^ mix_bits(high << 1);
  for (; path && *path; ++path) key = mix_bits(key * 31 + static_cast<unsigned char>(*path));
  return key;
}

int visit(dl_phdr_info* info, std::size_t, void* first) {
  const auto [low, high] = bounds_of(*info);
  bool is_program = *static_cast<bool*>(first);
  *static_cast<bool*>(first) = false;
  if (high == 0 || !is_new(key_of(low, high, info->dlpi_name))) return 0;
  char program[1024];
  const char* path = info->dlpi_name;
  if (is_program && (!path || !*path)) {
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    path = program;
  }
  if (!path || !*path) return 0;
  BuildId id = find_build_id(*info);
  using Words = trace::Words<trace::Kind::Module>;
  const Words words = {.bias = info->dlpi_addr, .low = low, .high = high, .path_bytes = 0, .build_id_bytes = id.length};
  write_text<trace::Kind::Module>(words, &Words::path_bytes, path, std::strlen(path), id.bytes, id.length);
  return 0;
}

int count_changes(dl_phdr_info* info, std::size_t, void* out) {
  *static_cast<unsigned long long*>(out) = info->dlpi_adds + info->dlpi_subs;
  return 1;  // the first object tells
}

}  // namespace

void note_modules() {
  unsigned long long changes = 0;
  dl_iterate_phdr(count_changes, &changes);
  if (changes == g_changes.load(std::memory_order_acquire)) return;
  if (g_scanning.exchange(true, std::memory_order_acquire)) return;
  bool first = true;
  ++g_scan;
  dl_iterate_phdr(visit, &first);
  forget_unloaded();
  g_changes.store(changes, std::memory_order_release);
  g_scanning.store(false, std::memory_order_release);
}

void in_child::modules() {
  g_count = 0;
  g_changes.store(0);
  g_scanning.store(false);
}

}  // namespace streamsan::recorder
