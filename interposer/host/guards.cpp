// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/guards.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "interposer/clock.h"
#include "interposer/handle_table.h"
#include "interposer/host/raw_syscall.h"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t kFree = 5'000'000;  // ns a process may always spend: some hundred guards
constexpr std::uint64_t kUnseen = 400;      // ns a measured stretch costs beside: page walks, a lock, a fault's entry
constexpr std::uint64_t kLongPages = 8;     // from here on, pages in between are guarded, too

// A fork keeps g_started_ns, g_spent_ns, g_turn: the child goes on with the budget.
constinit std::uint64_t g_started_ns = 0;
constinit std::uint64_t g_spent_ns = 0;
constinit std::uint64_t g_turn = 0;

bool is_affordable(std::uint64_t now) {
  return g_spent_ns <= kFree + (now - g_started_ns) / 100 * options().host_guard_cost;
}

}  // namespace

GuardedPages choose_pages(const HostRegion& region, std::uint64_t begin, std::uint64_t end, std::uint64_t page) {
  std::uint64_t low = page_below(begin, page);
  std::uint64_t high = page_above(end, page);
  if (region.kind == ordering::MemoryKind::Registered) {
    // The rest of a page at the edge is other people's memory.
    const std::uint64_t first = page_above(region.begin, page);
    const std::uint64_t last = page_below(region.end, page);
    if (low < first) low = first;
    if (high > last) high = last;
  }
  GuardedPages out;
  if (low >= high) return out;
  const std::uint64_t pages = (high - low) / page;
  const auto guard = [&out](std::uint64_t from, std::uint64_t to) { out.run[out.count++] = {from, to}; };
  const auto guard_page = [&](std::uint64_t number) { guard(low + number * page, low + (number + 1) * page); };
  if (options().syncs && high - low <= kMostWhole) {
    guard(low, high);
    out.all = low <= begin && end <= high;
    return out;
  }
  guard_page(0);
  // A page inside of registered memory may be a part of a huge one, which a guard would split.
  if (pages >= kLongPages && region.kind != ordering::MemoryKind::Registered) {
    const std::uint64_t inner = pages - 2;
    const std::uint64_t turn = mix_bits(++g_turn);
    guard_page(1 + turn % (inner / 2));
    guard_page(1 + inner / 2 + turn / 65536 % (inner - inner / 2));
  }
  if (pages > 1) guard_page(pages - 1);
  return out;
}

bool set_protection(std::uint64_t begin, std::uint64_t end, Protection protection) {
  const long access = protection == Protection::None       ? PROT_NONE
                      : protection == Protection::ReadOnly ? PROT_READ
                                                           : PROT_READ | PROT_WRITE;
  // mprotect() is wrapped to see what the guest does.
  return raw_syscall(SYS_mprotect, static_cast<long>(begin), static_cast<long>(end - begin), access) == 0;
}

GuardTime::GuardTime() : start_(monotonic_ns()) {}

GuardTime::~GuardTime() {
  if (counts_) g_spent_ns += monotonic_ns() - start_ + kUnseen;
}

bool GuardTime::affordable() { return counts_ = is_affordable(start_); }

bool guards_are_affordable() { return is_affordable(monotonic_ns()); }

void start_guard_time() {
  g_started_ns = monotonic_ns();
  g_spent_ns = 0;
}

}  // namespace streamsan::recorder
