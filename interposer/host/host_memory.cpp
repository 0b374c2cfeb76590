// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/host_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/fork.h"
#include "interposer/host/address_filter.h"
#include "interposer/host/guards.h"
#include "interposer/host/loans.h"
#include "interposer/hot.h"

namespace streamsan::recorder {

constinit OwnedLock g_host_lock;

namespace {

// A fork keeps g_regions: in_child::host_memory() sets their number to 0. And g_guards: the devices are the same. And
// g_near: it may say yes too often. The lock g_host_lock is made anew by in_child::loans(), which needs it.
constexpr std::size_t kMostRegions = 8192;
constinit HostRegion g_regions[kMostRegions] = {};  // by address, not overlapping
constinit std::size_t g_region_count = 0;
constinit std::atomic<bool> g_guards{true};

// A bit for each part that ever held some, found by hash. Bits are never taken back.
constinit AddressFilter<kNearShift, std::uint64_t{1} << 20> g_near{};

/// Index of the first region that ends after the address.
std::size_t first_ending_after(std::uint64_t address) {
  std::size_t low = 0;
  std::size_t high = g_region_count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (g_regions[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void remove_at(std::size_t index) {
  --g_region_count;
  std::memmove(&g_regions[index], &g_regions[index + 1], (g_region_count - index) * sizeof(HostRegion));
}

/// Memory that was registered may be of any kind: is all of it readable, writable and nothing else? And is some of it
/// shared? From /proc/self/maps; no heap, no stdio.
bool is_plain_memory(std::uint64_t begin, std::uint64_t end, bool& shared) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char buffer[4096];
  std::size_t filled = 0;
  std::uint64_t reached = begin;
  bool plain = true;
  while (plain && reached < end) {
    const ssize_t got = read(file, buffer + filled, sizeof buffer - 1 - filled);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
    buffer[filled] = '\0';
    char* line = buffer;
    while (char* newline = std::strchr(line, '\n')) {
      *newline = '\0';
      char* rest = nullptr;
      const std::uint64_t low = std::strtoull(line, &rest, 16);
      const std::uint64_t high = *rest == '-' ? std::strtoull(rest + 1, &rest, 16) : 0;
      if (low < end && high > reached) {
        if (low > reached || std::strncmp(rest, " rw-", 4) != 0 || std::strstr(rest, "[stack]")) plain = false;
        constexpr std::size_t kSharing = 4;  // " rw-p" or " rw-s"
        if (std::strlen(rest) <= kSharing || rest[kSharing] != 'p') shared = true;
        reached = high;
      }
      line = newline + 1;
    }
    filled -= static_cast<std::size_t>(line - buffer);
    std::memmove(buffer, line, filled);
    if (filled == sizeof buffer - 1) break;  // no line is that long
  }
  close(file);
  return plain && reached >= end;
}

}  // namespace

void host_memory_given(ordering::MemoryKind kind, std::uint64_t begin, std::uint64_t bytes, std::uint64_t context) {
  if (bytes == 0) return;
  using ordering::MemoryKind;
  bool guardable = options().host_guard != 0 && g_guards.load(std::memory_order_relaxed);
  bool shared = false;
  if (guardable && kind == MemoryKind::Registered) {
    const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    guardable = (here < begin || here >= begin + bytes) && is_plain_memory(begin, begin + bytes, shared);
  }
  const Holding holding(g_host_lock);
  if (!holding) return;
  std::size_t at = first_ending_after(begin);
  // What was there before was freed without our seeing it.
  if (at < g_region_count && g_regions[at].begin < begin + bytes) end_loans(begin, begin + bytes, false);
  while (at < g_region_count && g_regions[at].begin < begin + bytes) remove_at(at);
  if (g_region_count == kMostRegions) return;
  std::memmove(&g_regions[at + 1], &g_regions[at], (g_region_count - at) * sizeof(HostRegion));
  g_regions[at] = {begin, begin + bytes, kind, guardable, shared, context};
  ++g_region_count;
  detail::g_mappings.store(1, std::memory_order_relaxed);
  g_near.add(begin, begin + bytes);
}

void host_memory_going(std::uint64_t begin) {
  if (!near_host_memory(begin)) return;
  const IdleMemory idle;
  const Holding holding(g_host_lock);
  if (!holding) return;
  const std::size_t at = first_ending_after(begin);
  if (at == g_region_count || g_regions[at].begin != begin) return;
  end_loans(g_regions[at].begin, g_regions[at].end, true);
  remove_at(at);
}

void guard_nothing() { g_guards.store(false, std::memory_order_relaxed); }

void guard_no_more(std::uint64_t begin, std::uint64_t bytes) {
  if (bytes > ~begin) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  const std::uint64_t end = begin + bytes;
  for (std::size_t at = first_ending_after(begin); at < g_region_count && g_regions[at].begin < end; ++at) {
    end_loans(g_regions[at].begin, g_regions[at].end, false);
    g_regions[at].guardable = false;
  }
}

STREAMSAN_HOT_CODE bool near_host_memory(std::uint64_t address) { return g_near.may_hold(address); }

HostRegion* find_host_region(std::uint64_t address) {
  const std::size_t at = first_ending_after(address);
  return at < g_region_count && g_regions[at].begin <= address ? &g_regions[at] : nullptr;
}

bool can_be_guarded(std::uint64_t address) {
  if (!near_host_memory(address)) return false;
  const Holding holding(g_host_lock);
  const HostRegion* region = find_host_region(address);
  return region && region->guardable;
}

void in_child::host_memory() { g_region_count = 0; }

}  // namespace streamsan::recorder
