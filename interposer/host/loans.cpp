// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/loans.h"

#include <cstring>

#include "interposer/handle_table.h"
#include "interposer/host/address_filter.h"
#include "interposer/host/faults.h"
#include "interposer/host/guards.h"
#include "interposer/host/other_readers.h"
#include "interposer/process.h"
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
  std::uint64_t working = 0;  // context of the stream; 0: not known
  bool told = false;          // of a touch: one is enough
  bool settled = false;       // the host has waited for it
  Operation operation;
  std::uint64_t context = 0;  // of the memory
  GuardedPages guarded;
  bool whole = false;        // nobody could touch it unseen so far: all its pages are guarded, and always were
  std::uint32_t lapses = 0;  // g_lapses when it was guarded
  // The driver has touched it, in this call of this thread, and so taken the guards of what was whole.
  std::uint16_t toucher = 0;
  std::uint32_t touched_in = 0;
};

/// What an event has captured: the loans to this stream up to this number.
struct Recorded {
  std::uint32_t stream;  // hash
  std::uint32_t number;
};

constexpr std::size_t kMostLoans = 256;
constexpr std::uint16_t kNoNumber = 0xffff;  // of a thread: many have it
constexpr std::uint64_t kEveryEnd = ~std::uint64_t{0};
constinit Loan g_table[kMostLoans] = {};
constinit std::size_t g_count = 0;
constinit bool g_freeable_stale = false;  // loans have been removed since note_all_freeable()
constinit std::uint64_t g_last = 0;
constinit HandleTable<Recorded, 1u << 14> g_events{};
/// Counts what may have let a touch by unseen: copies of the process, and what could not look at the tables.
constinit std::atomic<std::uint32_t> g_lapses{0};

/// What is to be written as a HostIdle record, once the lock is free.
struct Idle {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t position;
  bool until_touched;
};
constexpr std::uint32_t kMostIdle = 2 * kMostLoans;
constinit Idle g_idle[kMostIdle] = {};
constinit std::atomic<std::uint32_t> g_idle_count{0};

/// Where something lies that free() or munmap() could take away. Without the lock: all blocks that are freed come by.
/// Bounds, and a bit for each 64 KiB between them, by hash: with a loan on the heap and one on a stack, all lies
/// between.
constinit std::atomic<std::uint64_t> g_freeable_begin{kEveryEnd};
constinit std::atomic<std::uint64_t> g_freeable_end{0};
constinit AddressFilter<16, 4096, 256> g_freeable_parts{};

bool may_be_freeable(std::uint64_t begin, std::uint64_t end) {
  if (begin >= g_freeable_end.load(std::memory_order_relaxed) ||
      end <= g_freeable_begin.load(std::memory_order_relaxed))
    return false;
  return g_freeable_parts.may_hold(begin, end);
}

/// Adds one. Relaxed stores: the caller has the lock.
void note_freeable(const Loan& loan) {
  if (loan.begin < g_freeable_begin.load(std::memory_order_relaxed))
    g_freeable_begin.store(loan.begin, std::memory_order_relaxed);
  if (loan.end > g_freeable_end.load(std::memory_order_relaxed))
    g_freeable_end.store(loan.end, std::memory_order_relaxed);
  g_freeable_parts.add(loan.begin, loan.end);
}

/// After removals. What is not lent any more may be noted for a while; what is lent must be, but for the moment this
/// takes.
void note_all_freeable() {
  g_freeable_stale = false;
  g_freeable_begin.store(kEveryEnd, std::memory_order_relaxed);
  g_freeable_end.store(0, std::memory_order_relaxed);
  g_freeable_parts.clear();
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

/// Or may it?
bool works_in(const Loan& loan, std::uint64_t context) {
  return loan.working == context || loan.working == 0 || context == 0;
}

void note_count() { detail::g_loans.store(static_cast<std::uint32_t>(g_count), std::memory_order_relaxed); }

Protection asked_by(const Loan& loan) { return loan.use == LoanUse::Writes ? Protection::None : Protection::ReadOnly; }

/// What the loans but `without` ask for at this page; `end` is brought nearer, to where that changes.
Protection wanted(std::uint64_t page, std::uint64_t& end, const Loan* without) {
  Protection out = Protection::Free;
  for (std::size_t i = 0; i < g_count; ++i) {
    const Loan& loan = g_table[i];
    if (&loan == without) continue;
    for (unsigned r = 0; r < loan.guarded.count; ++r) {
      const GuardedPages::Run& run = loan.guarded.run[r];
      if (run.end <= page || run.begin >= end) continue;
      if (run.begin > page) {
        end = run.begin;
        continue;
      }
      if (run.end < end) end = run.end;
      if (out != Protection::None) out = asked_by(loan);
    }
  }
  return out;
}

/// The stronger of two.
Protection both(Protection a, Protection b) {
  if (a == Protection::None || b == Protection::None) return Protection::None;
  return a == Protection::ReadOnly ? a : b;
}

/// Brings the run from what it is, or would be, with the loan to what it is without it, or back.
bool change_protection(const Loan& loan, GuardedPages::Run run, bool guarded) {
  bool done = true;
  for (std::uint64_t at = run.begin, end; at < run.end; at = end) {
    end = run.end;
    const Protection without = wanted(at, end, &loan);
    const Protection with = both(without, asked_by(loan));
    if (with != without) done &= set_protection(at, end, guarded ? with : without);
  }
  return done;
}

/// The driver has touched it in the call that this thread is in.
bool is_touched_by_this_call(const Loan& loan) {
  return loan.toucher != 0 && loan.toucher == t_thread.number && loan.touched_in == t_thread.calls;
}

/// The loan ends. If it is known that nobody has touched it, that is noted.
void claim(const Loan& loan, bool touched) {
  if (!loan.whole && !is_touched_by_this_call(loan)) return;
  if (loan.lapses != g_lapses.load(std::memory_order_relaxed)) return;
  if (others_are_known()) return;
  // Where host functions run, the judge takes a thread without calls of CUDA's for one of the driver's.
  if (touched && t_thread.calls == 0) return;
  const std::uint32_t at = g_idle_count.load(std::memory_order_relaxed);
  if (at == kMostIdle) return;
  g_idle[at] = {loan.begin, loan.end, loan.operation.position, touched};
  g_idle_count.store(at + 1, std::memory_order_relaxed);
}

void unguard(Loan& loan) {
  loan.whole = false;
  if (loan.guarded.count == 0) return;
  const GuardTime time;
  for (unsigned i = 0; i < loan.guarded.count; ++i) change_protection(loan, loan.guarded.run[i], false);
  loan.guarded.count = 0;
}

/// The driver touches it: on the program's behalf, but it cannot go on while the page is guarded.
void unguard_for_driver(Loan& loan) {
  if (loan.whole) {
    loan.toucher = t_thread.number != kNoNumber ? t_thread.number : 0;
    loan.touched_in = t_thread.calls;
  }
  unguard(loan);
}

void guard(Loan& loan, HostRegion& region) {
  if (!region.guardable || !options().host_guard) return;
  GuardTime time;
  if (!time.affordable() || !faults_are_ours()) return;
  const GuardedPages chosen = choose_pages(region, loan.begin, loan.end);
  for (unsigned i = 0; i < chosen.count; ++i) {
    // Noted first: a process that is forked here must find every protected page in the table.
    loan.guarded.run[loan.guarded.count++] = chosen.run[i];
    if (!change_protection(loan, chosen.run[i], true)) {
      change_protection(loan, chosen.run[i], false);
      --loan.guarded.count;
      region.guardable = false;
      return;
    }
  }
  loan.whole = chosen.all && !region.shared && options().syncs;
  loan.lapses = g_lapses.load(std::memory_order_relaxed);
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

/// The loan has come to its end by a wait. False: it is not kept.
bool settle(Loan& loan) {
  if (!options().syncs || others_are_known() || loan.told || !(loan.guarded.count || loan.freeable)) return false;
  if (loan.guarded.count && !guards_are_affordable()) return false;
  return loan.settled = true;
}

/// Before the lock is taken: may take some microseconds.
void look_for_others() {
  if (options().syncs) others_may_touch();
}

/// The host has waited for the loans that meet the condition.
template <typename Condition>
void settle_if(Condition condition) {
  for (std::size_t i = g_count; i > 0; --i) {
    Loan& loan = g_table[i - 1];
    // What the driver has touched was not lent again: nothing is to be seen or said of it any more.
    const bool spent = loan.settled && !loan.freeable && !loan.guarded.count && !is_touched_by_this_call(loan);
    if (spent || (!loan.settled && condition(loan) && !settle(loan))) remove(loan);
  }
  if (g_freeable_stale) note_all_freeable();
}

/// Does the new loan see whatever of the host's could conflict with the old one?
bool takes_over(const Loan& now, const Loan& old) {
  return now.operation.touches_all && now.begin <= old.begin && old.end <= now.end &&
         same_stream(now.stream, old.stream) && (now.use == LoanUse::Writes || old.use == LoanUse::Reads);
}

Loan& take_place() {
  if (g_count == kMostLoans) {
    Loan* victim = &g_table[0];
    for (std::size_t i = 1; i < g_count; ++i) {
      Loan& loan = g_table[i];
      if (loan.settled != victim->settled ? loan.settled : loan.number < victim->number) victim = &loan;
    }
    remove(*victim);
  }
  return g_table[g_count++];
}

/// Under g_host_lock.
void add(std::uint64_t begin, std::uint64_t end, LoanUse use, const StreamArgument& stream, HostRegion* region,
         Operation operation) {
  const bool pageable = region == nullptr;
  const Loan now = {.begin = begin,
                    .end = end,
                    .number = ++g_last,
                    .stream = stream,
                    .use = use,
                    .pageable = pageable,
                    .freeable = pageable || region->kind == ordering::MemoryKind::Registered,
                    .non_blocking = is_non_blocking(stream.handle),
                    .working = context_of(stream),
                    .operation = operation,
                    .context = region ? region->context : 0,
                    .guarded = {}};
  Loan* same = nullptr;
  for (std::size_t i = g_count; i > 0; --i) {
    Loan& loan = g_table[i - 1];
    if (loan.begin == begin && loan.end == end && loan.use == use && same_stream(loan.stream, stream)) {
      same = &loan;
    } else if (loan.settled && takes_over(now, loan)) {
      claim(loan, false);
      if (same == &g_table[g_count - 1]) same = &loan;  // where remove() puts it
      remove(loan);
    }
  }
  if (same) {
    if (takes_over(now, *same)) claim(*same, false);
    same->number = now.number;
    same->told = same->settled = false;
    same->operation = operation;
    same->toucher = 0;
    same->lapses = g_lapses.load(std::memory_order_relaxed);
    if (!same->guarded.count && region) guard(*same, *region);
    return;
  }
  Loan& loan = take_place();
  loan = now;
  note_count();
  detail::g_mappings.store(1, std::memory_order_relaxed);
  if (region) guard(loan, *region);
  if (loan.freeable) note_freeable(loan);
}

/// Takes the guards of everything that has a guarded page in [begin, end) away. What is settled ends by that.
void unguard_pages(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = begin / kPageBytes * kPageBytes;
  for (std::size_t i = g_count; i > 0; --i) {
    Loan& loan = g_table[i - 1];
    if (!loan.guarded.has_in(first, end)) continue;
    if (loan.settled) {
      remove(loan);
    } else {
      unguard(loan);
    }
  }
  if (g_freeable_stale) note_all_freeable();
}

/// The same for a touch, by the program or by the driver. True: some of the range is lent so that it matters.
bool make_accessible(std::uint64_t begin, std::uint64_t end, bool writes, bool by_program) {
  const std::uint64_t first = begin / kPageBytes * kPageBytes;
  bool matters = false;
  for (std::size_t i = g_count; i > 0; --i) {
    Loan& loan = g_table[i - 1];
    const bool conflicts =
        loan.begin < end && begin < loan.end && !loan.pageable && (writes || loan.use == LoanUse::Writes);
    // What a settled loan guards can be read if the GPU has only read it.
    const bool in_the_way = loan.guarded.has_in(first, end) && (writes || loan.use == LoanUse::Writes || !loan.settled);
    if (!conflicts && !in_the_way) continue;
    if (by_program && conflicts) claim(loan, true);
    if (conflicts && !loan.told) matters = loan.told = true;
    if (!by_program) {
      if (in_the_way) unguard_for_driver(loan);
    } else if (loan.settled) {
      remove(loan);
    } else if (in_the_way) {
      unguard(loan);
    }
  }
  if (g_freeable_stale) note_all_freeable();
  return matters;
}

void write_record(trace::Kind kind, const std::uint64_t (&words)[trace::kRecordWords], unsigned length_word,
                  const char* name, std::uint32_t stack) {
  write_text_record(kind, words, length_word, name, std::strlen(name), nullptr, 0, stack);
}

}  // namespace

void IdleMemory::write() {
  while (g_idle_count.load(std::memory_order_relaxed) != 0) {
    Idle idle;
    {
      const Holding holding(g_host_lock);
      if (!holding) return;
      const std::uint32_t count = g_idle_count.load(std::memory_order_relaxed);
      if (count == 0) return;
      idle = g_idle[count - 1];
      g_idle_count.store(count - 1, std::memory_order_relaxed);
    }
    Slot slot = reserve(0);
    if (!slot) continue;
    slot.record->kind = trace::Kind::HostIdle;
    slot.record->thread = thread_number();
    slot.record->w[0] = idle.begin;
    slot.record->w[1] = idle.end - idle.begin;
    slot.record->w[2] = idle.position;
    slot.record->w[3] = idle.until_touched;
    publish(slot);
  }
}

void lend(std::uint64_t begin, std::uint64_t bytes, LoanUse use, StreamArgument stream, bool pageable,
          Operation operation) {
  if (begin == 0 || bytes == 0) return;
  const bool near = near_host_memory(begin);
  if (!near && !(pageable && options().host_frees)) return;
  const IdleMemory idle;
  const Holding holding(g_host_lock);
  if (!holding) return;
  HostRegion* region = near ? find_host_region(begin) : nullptr;
  if (!region && !(pageable && options().host_frees)) return;
  std::uint64_t end = begin + bytes;
  if (region && end > region->end) end = region->end;
  add(begin, end, use, stream, region, operation);
}

void lend_from(std::uint64_t pointer, StreamArgument stream, std::uint64_t position) {
  if (!near_host_memory(pointer)) return;
  const IdleMemory idle;
  const Holding holding(g_host_lock);
  if (!holding) return;
  if (HostRegion* region = find_host_region(pointer))
    add(pointer, region->end, LoanUse::Writes, stream, region, {.position = position, .touches_all = false});
}

void stream_waited_for(StreamArgument stream) {
  if (!any_loans()) return;
  look_for_others();
  const Holding holding(g_host_lock);
  if (!holding) return;
  const bool legacy = stream.handle == trace::kLegacyStream;
  settle_if([&](const Loan& loan) {
    return same_stream(loan.stream, stream) || (legacy && !loan.non_blocking && works_in(loan, stream.context));
  });
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
  look_for_others();
  const Holding holding(g_host_lock);
  if (!holding) return;
  settle_if([&](const Loan& loan) {
    return hash_of(loan.stream) == recorded.stream &&
           static_cast<std::int32_t>(recorded.number - static_cast<std::uint32_t>(loan.number)) >= 0;
  });
}

void before_host_call(const void* begin, std::size_t bytes, bool writes, const char* function, const void* frame) {
  if (bytes == 0 || !any_loans()) return;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  const bool by_program = !is_in_call(frame);
  bool matters = false;
  {
    const IdleMemory idle;
    const Holding holding(g_host_lock);
    if (!holding) return;
    matters = make_accessible(address, address + bytes, writes, by_program);
  }
  if (!matters || !recording() || !by_program) return;
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
    const IdleMemory idle;
    const Holding holding(g_host_lock);
    if (!holding) return;
    for (std::size_t i = 0; i < g_count && !lent; ++i)
      lent = g_table[i].freeable && g_table[i].begin < address + bytes && address < g_table[i].end;
    if (lent) end_loans(address, address + bytes, true);
    // Also pages that only share one with what goes away.
    unguard_pages(address, address + bytes);
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
    const IdleMemory idle;
    const Holding holding(g_host_lock);
    // A signal handler of the guest has interrupted this thread inside of the tables: they cannot be looked at, and the
    // page must be accessible for it to go on.
    if (!holding) {
      g_lapses.fetch_add(1, std::memory_order_relaxed);
      return near_host_memory(address) && set_protection(page, page + kPageBytes, Protection::Free);
    }
    std::uint64_t end = page + kPageBytes;
    if (wanted(page, end, nullptr) == Protection::Free) {
      // Another thread was faster, or the process is a copy. Or it is none of our business.
      const HostRegion* region = find_host_region(address);
      return region && region->guardable && set_protection(page, page + kPageBytes, Protection::Free);
    }
    matters = make_accessible(address, address + 1, wrote, counts);
  }
  if (!matters || !counts) return true;
  write_record(trace::Kind::HostAccess,
               {address, 1, static_cast<std::uint64_t>(trace::AccessWay::Instruction), wrote ? 1u : 0u}, 4, "",
               capture_interrupted_stack(pc));
  return true;
}

void end_loans(std::uint64_t begin, std::uint64_t end, bool goes) {
  end_if([&](const Loan& loan) {
    if (loan.begin >= end || begin >= loan.end) return false;
    if (goes && begin <= loan.begin && loan.end <= end) claim(loan, false);
    return true;
  });
}

void context_waited_for(std::uint64_t context) {
  if (!any_loans()) return;
  look_for_others();
  const Holding holding(g_host_lock);
  if (holding) settle_if([context](const Loan& loan) { return works_in(loan, context); });
}

void end_all_loans() {
  if (!any_loans()) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  end_loans(0, kEveryEnd, false);
}

void end_loans_with_context(std::uint64_t context) {
  if (!any_loans()) return;
  const IdleMemory idle;
  const Holding holding(g_host_lock);
  if (!holding) return;
  end_if([&](const Loan& loan) {
    if (context && loan.context == context) claim(loan, false);
    return true;
  });
}

void end_loans_with_process() {
  if (!any_loans()) return;
  if (options().syncs) others_may_touch(true);
  const IdleMemory idle;
  const Holding holding(g_host_lock);
  if (holding) end_loans(0, kEveryEnd, true);
}

void end_loans_of_variables() {
  if (!any_loans()) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  end_if([](const Loan& loan) {
    const HostRegion* region = loan.pageable ? nullptr : find_host_region(loan.begin);
    return region && region->kind == ordering::MemoryKind::Managed;
  });
  settle_if([](const Loan&) { return true; });
}

void loans_are_copied() { g_lapses.fetch_add(1, std::memory_order_relaxed); }

void forget_loans() {
  g_host_lock.forget();
  end_all_loans();
  g_idle_count.store(0, std::memory_order_relaxed);
  g_events.clear();
  forget_host_memory();
}

}  // namespace streamsan::recorder
