// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of loans and their guards. loans.h says what loans are and when they begin and end; this file says how they
// are kept.
//
// PAGES ARE SHARED. Neighbouring loans may guard one page, and ask for different protection: a page is protected as the
// strictest loan asks, and a loan that goes leaves it as the others want it. A fork may come at any moment: the child
// makes every page in the table accessible, so a run of pages is noted before it is protected, and forgotten after it
// is not.
//
// WHAT MAY BE FREED is looked up without the lock, by freeable.h; this file keeps what is looked up there.
//
// WHAT WAS NOT TOUCHED is claimed under the lock and written when it is free (IdleMemory).
//
// All functions here are called under g_host_lock, but for note_lapse(), any_idle() and, in the child of a fork,
// in_child::loan_table().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "interposer/host/guards.h"
#include "interposer/host/host_memory.h"
#include "interposer/host/loans.h"

namespace streamsan::recorder {

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
  bool reported = false;      // a touch of it was reported: one is enough
  bool settled = false;       // the host has waited for it
  Operation operation;
  std::uint64_t context = 0;  // of the memory
  GuardedPages guarded;
  bool whole = false;        // nobody could touch it unseen so far: all its pages are guarded, and always were
  std::uint32_t lapses = 0;  // lapses() when it was guarded
  // The driver has touched it, in this call of this thread, and so taken the guards of what was whole.
  std::uint16_t toucher = 0;
  std::uint32_t touched_in = 0;
};

inline constexpr std::size_t kMostLoans = 256;
inline constexpr std::uint64_t kEveryEnd = ~std::uint64_t{0};

/// All of them, settled or not.
std::span<Loan> all_loans();
/// A place for one more: if there is none, the oldest is given back, settled ones first.
Loan& keep(const Loan& loan);
/// Another loan takes its place: the last one.
void remove(Loan& loan);

void note_freeable(const Loan& loan);
/// After removals.
void forget_freeable();

/// From the last to the first: the one that is visited may be removed.
template <typename Visit>
void visit_loans(Visit visit) {
  for (std::size_t i = all_loans().size(); i > 0; --i) visit(all_loans()[i - 1]);
  forget_freeable();
}

/// Protects what guards.h chooses of the loan's pages, if there is time for that.
void guard(Loan& loan, HostRegion& region);
void unguard(Loan& loan);
/// The driver touches it: on the program's behalf, but it cannot go on while the page is guarded.
void unguard_for_driver(Loan& loan);
/// The driver has touched it in the call that this thread is in.
bool is_touched_by_this_call(const Loan& loan);
/// Does any loan guard the page?
bool is_guarded(std::uint64_t page);

/// The loan ends. If it is known that nobody has touched it, that is noted.
void claim(const Loan& loan, bool touched);
/// A touch may have gone by unseen: the process was copied, or the tables could not be looked at.
void note_lapse();
std::uint32_t lapses();

/// What is to be written as a HostIdle record, once the lock is free.
struct Idle {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t position;
  bool until_touched;
};
/// Is there anything to write? Without the lock.
bool any_idle();
/// False: nothing any more.
bool take_idle(Idle& idle);

}  // namespace streamsan::recorder
