// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/libc_frames.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unwind.h>

#include <atomic>

#include "interposer/host/loans.h"
#include "interposer/return_places.h"
#include "interposer/this_library.h"

extern "C" void* __libc_stack_end;

namespace streamsan::recorder {

namespace {

constexpr std::size_t kMostOfThread = 32;  // of one thread at a time; the oldest gives way

/// The kernel keeps this much below the main thread's stack free of other mappings, whatever the limit of the stack is;
/// an emulator no more than the limit.
constexpr std::uint64_t kMainStack = std::uint64_t{128} << 20;

}  // namespace

struct StackLoans {
  std::uint64_t low;  // bounds of the thread's stack
  std::uint64_t high;
  std::size_t count;
  std::size_t next_victim;
  StackLoan loans[kMostOfThread];
};

namespace detail {
constinit thread_local StackLoans* t_stack_loans __attribute__((tls_model("initial-exec"))) = nullptr;
}

namespace {

using detail::t_stack_loans;

// A fork keeps t_stack_loans: nothing is lent any more in the child, so telling of a frame says nothing. And g_key,
// g_key_state: keys are inherited.
constinit pthread_key_t g_key{};
constinit std::atomic<std::uint32_t> g_key_state{0};  // 0 none, 1 being made, 2 ready, 3 there are no more

/// Without a stack: who has returned stands in the stack of the copy. Where it is noticed has nothing to do with it.
void tell(const StackLoan& loan) {
  before_host_free(reinterpret_cast<const void*>(loan.begin), loan.end - loan.begin, trace::HostFreeWay::Frame, "",
                   nullptr);
}

/// The thread's functions have all returned.
void thread_ends(void* stack_loans) {
  auto* mine = static_cast<StackLoans*>(stack_loans);
  t_stack_loans = nullptr;
  for (std::size_t i = 0; i < mine->count; ++i) tell(mine->loans[i]);
  munmap(mine, sizeof *mine);
}

void find_stack(StackLoans& mine, std::uint64_t here) {
  const auto main_high = reinterpret_cast<std::uint64_t>(__libc_stack_end);
  if (main_high - kMainStack <= here && here < main_high) {
    rlimit limit{};
    const bool limited = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kMainStack;
    mine.low = main_high - (limited ? limit.rlim_cur : kMainStack);
    mine.high = main_high;
    return;
  }
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low;
  std::size_t bytes;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    mine.low = reinterpret_cast<std::uint64_t>(low);
    mine.high = mine.low + bytes;
  }
  pthread_attr_destroy(&attributes);
}

StackLoans* make_loans(std::uint64_t here) {
  std::uint32_t none = 0;
  if (g_key_state.load(std::memory_order_acquire) == 0 && g_key_state.compare_exchange_strong(none, 1)) {
    g_key_state.store(pthread_key_create(&g_key, thread_ends) == 0 ? 2 : 3, std::memory_order_release);
  }
  void* made = mmap(nullptr, sizeof(StackLoans), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  auto* mine = static_cast<StackLoans*>(made);
  find_stack(*mine, here);
  // Without a key the end of the thread is not seen.
  if (g_key_state.load(std::memory_order_acquire) == 2) pthread_setspecific(g_key, made);
  return t_stack_loans = mine;
}

struct Search {
  StackLoan* loan;
  std::uint64_t high;
  ReturnPlaces places{};
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const std::uint64_t address = _Unwind_GetIP(context);
  const std::uint64_t callee_end = _Unwind_GetCFA(context);
  if (address == 0 || callee_end > search.high) return _URC_END_OF_STACK;
  const std::uint64_t place = search.places.of(context);
  if (callee_end < search.loan->end || is_in_this_library(reinterpret_cast<const void*>(address)))
    return _URC_NO_REASON;
  // Nothing is concluded from a frame that is not entered by a call (a signal's).
  if (place != 0) {
    search.loan->return_place = place;
    search.loan->return_word = *reinterpret_cast<const std::uint64_t*>(place);
  }
  return _URC_END_OF_STACK;
}

/// Unwinds as far as the variable. The steps that stack.cpp remembers may be stale in rare cases: good enough for a
/// stack in a report, not for the claim that a frame is gone.
void find_return_place(StackLoan& loan, std::uint64_t high) {
  Search search{.loan = &loan, .high = high};
  _Unwind_Backtrace(visit, &search);
}

bool is_on_stack(const StackLoans& mine, std::uint64_t at) { return mine.low <= at && at < mine.high; }

bool is_gone(const StackLoan& loan, std::uint64_t live) {
  if (loan.end <= live) return true;
  if (loan.return_place == 0) return false;
  return loan.return_place < live || *reinterpret_cast<const std::uint64_t*>(loan.return_place) != loan.return_word;
}

}  // namespace

void detail::look_at_frames(const void* callers_stack) {
  StackLoans& mine = *t_stack_loans;
  const auto live = reinterpret_cast<std::uint64_t>(callers_stack);
  if (!is_on_stack(mine, live)) return;
  for (std::size_t i = 0; i < mine.count;) {
    const StackLoan loan = mine.loans[i];
    if (!is_gone(loan, live)) {
      ++i;
      continue;
    }
    mine.loans[i] = mine.loans[--mine.count];
    tell(loan);
  }
}

void note_stack_loan(const void* begin, std::size_t bytes, const void* callers_stack) {
  const auto from = reinterpret_cast<std::uint64_t>(begin);
  const auto live = reinterpret_cast<std::uint64_t>(callers_stack);
  // Most memory is far from any stack, and a thread that lends none of its own needs no bounds.
  StackLoans* mine = t_stack_loans;
  if (bytes == 0 || from < live) return;
  if (!mine) mine = make_loans(live);
  if (!mine || !is_on_stack(*mine, live) || from + bytes > mine->high || from + bytes < from) return;
  StackLoan loan{from, from + bytes, 0, 0};
  for (std::size_t i = 0; i < mine->count; ++i) {
    // In a loop. The variables that are gone were reported at the beginning of this call.
    if (mine->loans[i].begin == loan.begin && mine->loans[i].end == loan.end) return;
  }
  find_return_place(loan, mine->high);
  if (mine->count < kMostOfThread) {
    mine->loans[mine->count++] = loan;
  } else {
    mine->loans[mine->next_victim++ % kMostOfThread] = loan;
  }
}

}  // namespace streamsan::recorder
