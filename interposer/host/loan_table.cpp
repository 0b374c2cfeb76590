// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/loan_table.h"

#include "interposer/fork.h"
#include "interposer/host/faults.h"
#include "interposer/host/freeable.h"
#include "interposer/host/other_readers.h"
#include "interposer/process.h"

namespace streamsan::recorder {
namespace {

constexpr std::uint16_t kNoNumber = 0xffff;  // of a thread: many have it
constexpr std::uint32_t kMostIdle = 2 * kMostLoans;

// A fork keeps g_table, g_count, g_freeable_stale: in_child::loans() has ended all loans by their own way. And
// g_lapses, which only counts up, and g_idle, of which none counts.
constinit Loan g_table[kMostLoans] = {};
constinit std::size_t g_count = 0;
constinit std::atomic<std::uint32_t> g_lapses{0};
constinit Idle g_idle[kMostIdle] = {};
constinit std::atomic<std::uint32_t> g_idle_count{0};

constinit bool g_freeable_stale = false;  // loans have been removed since forget_freeable()

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

}  // namespace

// A fork keeps detail::g_freeable, as g_table.
constinit detail::Freeable detail::g_freeable{};

std::span<Loan> all_loans() { return {g_table, g_count}; }

Loan& keep(const Loan& loan) {
  if (g_count == kMostLoans) {
    Loan* victim = &g_table[0];
    for (std::size_t i = 1; i < g_count; ++i) {
      Loan& other = g_table[i];
      if (other.settled != victim->settled ? other.settled : other.number < victim->number) victim = &other;
    }
    remove(*victim);
  }
  Loan& kept = g_table[g_count++];
  kept = loan;
  note_count();
  return kept;
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

void note_freeable(const Loan& loan) { detail::g_freeable.add(loan.begin, loan.end); }

// What is not lent any more may be noted for a while; what is lent must always be.
void forget_freeable() {
  if (!g_freeable_stale) return;
  g_freeable_stale = false;
  detail::Freeable lent;
  for (std::size_t i = 0; i < g_count; ++i) {
    if (g_table[i].freeable) lent.add(g_table[i].begin, g_table[i].end);
  }
  detail::g_freeable.replace_by(lent);
}

bool is_touched_by_this_call(const Loan& loan) {
  return loan.toucher != 0 && loan.toucher == t_thread.number && loan.touched_in == t_thread.calls;
}

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

bool is_guarded(std::uint64_t page) {
  std::uint64_t end = page + page_bytes();
  return wanted(page, end, nullptr) != Protection::Free;
}

void note_lapse() { g_lapses.fetch_add(1, std::memory_order_relaxed); }
std::uint32_t lapses() { return g_lapses.load(std::memory_order_relaxed); }

bool any_idle() { return g_idle_count.load(std::memory_order_relaxed) != 0; }

bool take_idle(Idle& idle) {
  const std::uint32_t count = g_idle_count.load(std::memory_order_relaxed);
  if (count == 0) return false;
  idle = g_idle[count - 1];
  g_idle_count.store(count - 1, std::memory_order_relaxed);
  return true;
}

void in_child::loan_table() { g_idle_count.store(0, std::memory_order_relaxed); }

}  // namespace streamsan::recorder
