// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/loans.h"

#include <cstring>

#include "interposer/handle_table.h"
#include "interposer/host/faults.h"
#include "interposer/host/guards.h"
#include "interposer/stack.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

constinit std::atomic<std::uint32_t> detail::g_loans{0};
constinit std::atomic<std::uint32_t> detail::g_mappings{0};

namespace {

struct Loan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t number = 0;  // of the lending, counted up
  StreamArgument stream{};
  LoanUse use = LoanUse::Reads;
  bool pageable = false;
  bool freeable = false;      // it is not CUDA's to free: pageable or registered
  bool non_blocking = false;  // the stream: the legacy stream does not wait for it (R-STR-12)
  bool told = false;          // of a touch: one is enough
  GuardedPages guarded;
};

/// What an event has captured: the loans to this stream up to this number.
struct Recorded {
  std::uint32_t stream;  // hash
  std::uint32_t number;
};

constexpr std::size_t kMostLoans = 256;
constexpr std::uint64_t kEveryEnd = ~std::uint64_t{0};
constinit Loan g_table[kMostLoans] = {};
constinit std::size_t g_count = 0;
constinit bool g_freeable_stale = false;  // loans have been removed since note_all_freeable()
constinit std::uint64_t g_last = 0;
constinit HandleTable<Recorded, 1u << 14> g_events{};

/// Where something lies that free() or munmap() could take away. Without the lock: all blocks that are freed come by.
/// Bounds, and a bit for each 64 KiB between them, by hash: with a loan on the heap and one on a stack, all lies
/// between.
constinit std::atomic<std::uint64_t> g_freeable_begin{kEveryEnd};
constinit std::atomic<std::uint64_t> g_freeable_end{0};
constexpr unsigned kFreeableShift = 16;
constexpr std::uint64_t kFreeableBits = 4096;
constexpr std::uint64_t kMostFreeableParts = 256;  // of one range; longer ones are taken to be everywhere
constinit std::atomic<std::uint64_t> g_freeable_bits[kFreeableBits / 64] = {};

std::uint64_t freeable_bit(std::uint64_t part) { return mix_bits(part) % kFreeableBits; }

bool may_be_freeable(std::uint64_t begin, std::uint64_t end) {
  if (begin >= g_freeable_end.load(std::memory_order_relaxed) ||
      end <= g_freeable_begin.load(std::memory_order_relaxed))
    return false;
  const std::uint64_t last = (end - 1) >> kFreeableShift;
  if (last - (begin >> kFreeableShift) > kMostFreeableParts) return true;
  for (std::uint64_t part = begin >> kFreeableShift; part <= last; ++part) {
    const std::uint64_t bit = freeable_bit(part);
    if (g_freeable_bits[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1) return true;
  }
  return false;
}

/// Adds one. Relaxed stores: the caller has the lock.
void note_freeable(const Loan& loan) {
  if (loan.begin < g_freeable_begin.load(std::memory_order_relaxed))
    g_freeable_begin.store(loan.begin, std::memory_order_relaxed);
  if (loan.end > g_freeable_end.load(std::memory_order_relaxed))
    g_freeable_end.store(loan.end, std::memory_order_relaxed);
  const std::uint64_t last = (loan.end - 1) >> kFreeableShift;
  std::uint64_t part = loan.begin >> kFreeableShift;
  if (last - part > kMostFreeableParts) {
    for (auto& word : g_freeable_bits) word.store(~std::uint64_t{0}, std::memory_order_relaxed);
    return;
  }
  for (; part <= last; ++part) {
    const std::uint64_t bit = freeable_bit(part);
    g_freeable_bits[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
  }
}

/// After removals. What is not lent any more may be noted for a while; what is lent must be, but for the moment this
/// takes.
void note_all_freeable() {
  g_freeable_stale = false;
  g_freeable_begin.store(kEveryEnd, std::memory_order_relaxed);
  g_freeable_end.store(0, std::memory_order_relaxed);
  for (auto& word : g_freeable_bits) word.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < g_count; ++i) {
    if (g_table[i].freeable) note_freeable(g_table[i]);
  }
}

std::uint32_t hash_of(const StreamArgument& stream) {
  return static_cast<std::uint32_t>(mix_bits(stream.handle ^ mix_bits(stream.context)));
}

bool same_stream(const StreamArgument& a, const StreamArgument& b) {
  return a.handle == b.handle && a.context == b.context;
}

void note_count() { detail::g_loans.store(static_cast<std::uint32_t>(g_count), std::memory_order_relaxed); }

/// What the loans but `without` ask for.
Protection wanted(std::uint64_t page, const Loan* without) {
  Protection out = Protection::Free;
  for (std::size_t i = 0; i < g_count; ++i) {
    if (&g_table[i] == without || !g_table[i].guarded.has(page)) continue;
    if (g_table[i].use == LoanUse::Writes) return Protection::None;
    out = Protection::ReadOnly;
  }
  return out;
}

void unguard(Loan& loan) {
  if (loan.guarded.count == 0) return;
  const GuardTime time;
  for (unsigned i = 0; i < loan.guarded.count; ++i) {
    const std::uint64_t page = loan.guarded.page[i];
    const Protection left = wanted(page, &loan);
    const Protection now = loan.use == LoanUse::Writes ? Protection::None : Protection::ReadOnly;
    if (left == Protection::Free || (now == Protection::None && left != now)) set_protection(page, left);
  }
  loan.guarded.count = 0;
}

void guard(Loan& loan, HostRegion& region) {
  if (!region.guardable || !options().host_guard) return;
  const GuardTime time;
  if (!time.affordable() || !faults_are_ours()) return;
  const GuardedPages chosen = choose_pages(region, loan.begin, loan.end);
  for (unsigned i = 0; i < chosen.count; ++i) {
    const std::uint64_t page = chosen.page[i];
    const Protection before = wanted(page, nullptr);
    const Protection after =
        loan.use == LoanUse::Writes || before == Protection::None ? Protection::None : Protection::ReadOnly;
    // Noted first: a process that is forked here must find every protected page in the table.
    loan.guarded.page[loan.guarded.count++] = page;
    if (after != before && !set_protection(page, after)) {
      --loan.guarded.count;
      region.guardable = false;
      break;
    }
  }
}

void remove(Loan& loan) {
  unguard(loan);
  const bool freeable = loan.freeable;
  // In this order, for a process that is forked here.
  Loan& last = g_table[g_count - 1];
  if (&loan != &last) loan = last;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --g_count;
  last.guarded.count = 0;
  note_count();
  g_freeable_stale |= freeable;
}

template <typename Condition>
void end_if(Condition condition) {
  for (std::size_t i = g_count; i > 0; --i) {
    if (condition(g_table[i - 1])) remove(g_table[i - 1]);
  }
  if (g_freeable_stale) note_all_freeable();
}

/// Under g_host_lock.
void add(std::uint64_t begin, std::uint64_t end, LoanUse use, const StreamArgument& stream, HostRegion* region) {
  const bool pageable = region == nullptr;
  Loan* oldest = &g_table[0];
  for (std::size_t i = 0; i < g_count; ++i) {
    Loan& loan = g_table[i];
    if (loan.begin == begin && loan.end == end && loan.use == use && same_stream(loan.stream, stream)) {
      loan.number = ++g_last;
      loan.told = false;
      if (!loan.guarded.count && region) guard(loan, *region);
      return;
    }
    if (loan.number < oldest->number) oldest = &loan;
  }
  if (g_count == kMostLoans) remove(*oldest);
  Loan& loan = g_table[g_count++];
  loan = {.begin = begin,
          .end = end,
          .number = ++g_last,
          .stream = stream,
          .use = use,
          .pageable = pageable,
          .freeable = pageable || region->kind == ordering::MemoryKind::Registered,
          .non_blocking = is_non_blocking(stream.handle),
          .guarded = {}};
  note_count();
  detail::g_mappings.store(1, std::memory_order_relaxed);
  if (region) guard(loan, *region);
  if (loan.freeable) note_freeable(loan);
}

/// Takes the guards of everything that has a guarded page in [begin, end) away.
void unguard_pages(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = begin / kPageBytes * kPageBytes;
  for (std::size_t i = 0; i < g_count; ++i) {
    Loan& loan = g_table[i];
    for (unsigned p = 0; p < loan.guarded.count; ++p) {
      if (loan.guarded.page[p] < first || loan.guarded.page[p] >= end) continue;
      unguard(loan);
      break;
    }
  }
}

/// The same. True: some of the range is lent so that the access matters.
bool make_accessible(std::uint64_t begin, std::uint64_t end, bool writes) {
  unguard_pages(begin, end);
  bool matters = false;
  for (std::size_t i = 0; i < g_count; ++i) {
    Loan& loan = g_table[i];
    if (loan.begin >= end || begin >= loan.end || loan.pageable || loan.told) continue;
    if (!writes && loan.use == LoanUse::Reads) continue;
    matters = loan.told = true;
  }
  return matters;
}

void write_record(trace::Kind kind, const std::uint64_t (&words)[trace::kRecordWords], unsigned length_word,
                  const char* name, std::uint32_t stack) {
  write_text_record(kind, words, length_word, name, std::strlen(name), nullptr, 0, stack);
}

}  // namespace

void lend(std::uint64_t begin, std::uint64_t bytes, LoanUse use, StreamArgument stream, bool pageable) {
  if (begin == 0 || bytes == 0) return;
  const bool near = near_host_memory(begin);
  if (!near && !(pageable && options().host_frees)) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  HostRegion* region = near ? find_host_region(begin) : nullptr;
  if (!region && !(pageable && options().host_frees)) return;
  std::uint64_t end = begin + bytes;
  if (region && end > region->end) end = region->end;
  add(begin, end, use, stream, region);
}

void lend_from(std::uint64_t pointer, StreamArgument stream) {
  if (!near_host_memory(pointer)) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  if (HostRegion* region = find_host_region(pointer)) add(pointer, region->end, LoanUse::Writes, stream, region);
}

void stream_waited_for(StreamArgument stream) {
  if (!any_loans()) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  const bool legacy = stream.handle == trace::kLegacyStream;
  end_if([&](const Loan& loan) { return same_stream(loan.stream, stream) || (legacy && !loan.non_blocking); });
}

void event_recorded(std::uint64_t event, StreamArgument stream) {
  if (!any_loans()) {
    // What it captured before is behind it now, too: there is nothing that waiting for it could give back.
    if (auto* entry = g_events.find(event)) entry->value.store({}, std::memory_order_relaxed);
    return;
  }
  const Holding holding(g_host_lock);
  if (!holding) return;
  auto* entry = g_events.insert(event);
  if (entry) entry->value.store({hash_of(stream), static_cast<std::uint32_t>(g_last)}, std::memory_order_relaxed);
}

void event_waited_for(std::uint64_t event) {
  if (!any_loans()) return;
  const auto* entry = g_events.find(event);
  if (!entry) return;
  const Recorded recorded = entry->value.load(std::memory_order_relaxed);
  if (recorded.number == 0) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  end_if([&](const Loan& loan) {
    return hash_of(loan.stream) == recorded.stream &&
           static_cast<std::int32_t>(recorded.number - static_cast<std::uint32_t>(loan.number)) >= 0;
  });
}

void before_host_call(const void* begin, std::size_t bytes, bool writes, const char* function, const void* frame) {
  if (bytes == 0 || !any_loans()) return;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  bool matters = false;
  {
    const Holding holding(g_host_lock);
    if (!holding) return;
    matters = make_accessible(address, address + bytes, writes);
  }
  if (!matters || !recording() || is_in_call(frame)) return;
  write_record(trace::Kind::HostAccess,
               {address, bytes, static_cast<std::uint64_t>(trace::AccessWay::Call), writes ? 1u : 0u}, 4, function,
               capture_stack(frame));
}

void before_host_free(const void* begin, std::size_t bytes, trace::HostFreeWay way, const char* function,
                      const void* frame) {
  if (bytes == 0 || !any_loans()) return;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  if (!may_be_freeable(address, address + bytes)) return;
  bool lent = false;
  {
    const Holding holding(g_host_lock);
    if (!holding) return;
    for (std::size_t i = 0; i < g_count && !lent; ++i)
      lent = g_table[i].freeable && g_table[i].begin < address + bytes && address < g_table[i].end;
    // Also pages that only share one with what goes away.
    unguard_pages(address, address + bytes);
    if (lent) end_loans(address, address + bytes);
  }
  if (!lent || !recording() || (frame && is_in_call(frame))) return;
  write_record(trace::Kind::HostFree, {address, bytes, static_cast<std::uint64_t>(way)}, 3, function,
               frame ? capture_stack(frame) : 0);
}

void before_host_mapping(const void* begin, std::size_t bytes) {
  if (!any_loans()) return;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  const std::uint64_t end = bytes > ~address ? kEveryEnd : address + bytes;
  const Holding holding(g_host_lock);
  if (holding) unguard_pages(address, end);
}

bool host_touched(std::uint64_t address, bool wrote, bool counts, std::uint64_t pc) {
  const std::uint64_t page = address / kPageBytes * kPageBytes;
  bool matters = false;
  {
    const Holding holding(g_host_lock);
    // A signal handler of the guest has interrupted this thread inside of the tables: they cannot be looked at, and the
    // page must be accessible for it to go on.
    if (!holding) return near_host_memory(address) && set_protection(page, Protection::Free);
    if (wanted(page, nullptr) == Protection::Free) {
      // Another thread was faster, or the process is a copy. Or it is none of our business.
      const HostRegion* region = find_host_region(address);
      return region && region->guardable && set_protection(page, Protection::Free);
    }
    matters = make_accessible(address, address + 1, wrote);
  }
  if (!matters || !counts) return true;
  write_record(trace::Kind::HostAccess,
               {address, 1, static_cast<std::uint64_t>(trace::AccessWay::Instruction), wrote ? 1u : 0u}, 4, "",
               capture_interrupted_stack(pc));
  return true;
}

void end_loans(std::uint64_t begin, std::uint64_t end) {
  end_if([&](const Loan& loan) { return loan.begin < end && begin < loan.end; });
}

void end_all_loans() {
  if (!any_loans()) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  end_loans(0, kEveryEnd);
}

void forget_loans() {
  g_host_lock.forget();
  end_all_loans();
  g_events.clear();
  forget_host_memory();
}

}  // namespace streamsan::recorder
