// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loans: host memory that operations of the GPU may be using, from their submission until the host has waited for them.
//
// The recorder cannot decide what is a bug: that takes the ordering model, which is in the judge. So the recorder only
// SAMPLES what the host does to memory that may be lent. A loan that is kept too long costs a record that turns out to
// be harmless; one that is given back too early costs a bug that is not seen. Neither makes a false report. Hence the
// simple rules here: a synchronisation with a stream (or event, or context) gives back what was lent to that stream (to
// streams of that context) up to then, and order between streams is not followed.
//
// What the host does is seen in three ways:
//   * an instruction touches a page that guards.h has protected (pinned, registered and managed memory);
//   * a function of libc that hands memory to the kernel is called with it (libc_io.cpp);
//   * the memory goes away: free, munmap (libc_memory.cpp), the return of the function whose variable it was.
//
// SETTLED LOANS (option syncs). To know whether a synchronisation is needed, the judge must know what the host does
// AFTER it. So a loan that a wait has ended is kept, with its guards: it is settled. The host's first touch of it is
// recorded as ever (the judge finds it ordered; without that wait it might not be) and ends it; so does a loan to the
// same stream that covers it, the end of the memory, and the process's. When the table is full or the time for guards
// is used up, settled loans go first.
//
// If a settled loan ends without a touch, that is a fact only if the host COULD not have touched it unseen: all its
// pages were protected from the submission on, and still are. Only then is a HostIdle record written. If a guard was
// removed for another reason (a system call beside the loan, a mapping that changes, a fork), there is no such record.
// Neither is there one for memory that is mapped shared, or that the driver itself has touched. (The memory of the copy
// for which the driver touches it is lent again before the call returns.)
//
// A later loan replaces an earlier one only if every access that conflicts with the earlier one conflicts with the
// later one in the same way: same stream, all of its bytes, and a use at least as strong. Otherwise both are kept.
//
// The table is of fixed size: when it is full the oldest is given back, settled ones first, and less is seen. All
// functions may be called from any thread and from signal handlers; no lock is held across a call of the guest's or the
// driver's code.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/host/host_memory.h"
#include "interposer/streams.h"
#include "trace/format.h"

namespace streamsan::recorder {

/// What the GPU does with memory that is lent to it.
enum class LoanUse : std::uint8_t {
  Reads,   ///< the host may read it, too
  Writes,  ///< or may write: the host may do neither
};

namespace detail {
extern constinit std::atomic<std::uint32_t> g_loans;     // lent at the moment
extern constinit std::atomic<std::uint32_t> g_mappings;  // not 0: what is mapped and unmapped matters
}  // namespace detail

/// Is anything lent at all? One relaxed load: for the start of everything that is called often.
inline bool any_loans() { return detail::g_loans.load(std::memory_order_relaxed) != 0; }

/// What is lent for.
struct Operation {
  std::uint64_t position = 0;  ///< of its record
  bool touches_all = true;     ///< of the bytes lent: no gaps
};

/// An operation that uses [begin, begin + bytes) of memory was submitted to the stream: of host memory that the driver
/// knows, or of `pageable` memory. Nothing happens if it is neither.
void lend(std::uint64_t begin, std::uint64_t bytes, LoanUse use, StreamArgument stream, bool pageable,
          Operation operation = {});
/// The operation, whose record is at that position, was given these pointers (trace::pointer_word()), and how far each
/// reaches is not known.
void lend_from(const std::uint64_t* pointers, unsigned count, StreamArgument stream, std::uint64_t position = 0);

/// The host has waited for the stream, for the event, or for everything in the context.
void stream_waited_for(StreamArgument stream);
void event_waited_for(std::uint64_t event);
void context_waited_for(std::uint64_t context);
/// The event was recorded in the stream, after everything lent to it so far.
void event_recorded(std::uint64_t event, StreamArgument stream);

/// A function of libc is about to read (or write) the range in the kernel. If some of it is lent so that this matters,
/// writes a HostAccess record, and in any case takes the protection of its pages away, so that the system call finds
/// them as the guest left them. `function`: its name; `frame`: __builtin_frame_address(0) of the wrapper.
void before_host_call(const void* begin, std::size_t bytes, bool writes, const char* function, const void* frame);

/// The range is about to be mapped or protected anew (mprotect, mmap over it, mlock): nobody touches its bytes. Takes
/// its protection away. No record. (nullptr, ~0): everything.
void before_host_mapping(const void* begin, std::size_t bytes);

/// The range is about to go away. If some of it is lent, writes a HostFree record; takes its protection away. For
/// realloc and mremap, whose result tells whether it goes, before_host_mapping() comes before the call and this
/// function after it: then the range may already be unmapped, or be used for something else. `frame` null: no stack is
/// recorded.
void before_host_free(const void* begin, std::size_t bytes, trace::HostFreeWay way, const char* function,
                      const void* frame);

/// The host has touched this address, which is not accessible. False: we did not protect it. `counts`: is it to be
/// reported if the memory is lent?
bool host_touched(std::uint64_t address, bool wrote, bool counts, std::uint64_t pc);

/// Whatever of [begin, end) is lent is given back. `goes`: that memory goes away with it. Under g_host_lock, with an
/// IdleMemory outside of it.
void end_loans(std::uint64_t begin, std::uint64_t end, bool goes);
/// Everything is given back, all pages are accessible: nothing is to be seen any more.
void end_all_loans();
/// The same where a context ends, with its memory; 0: it may live on.
void end_loans_with_context(std::uint64_t context);
/// The same at the end of the process.
void end_loans_with_process();
/// A module goes: the driver waits for everything, and module variables of the managed kind go with it.
void end_loans_of_variables();

/// Writes what was found idle under g_host_lock, when the lock is no longer held: declared before the Holding.
class IdleMemory {
 public:
  IdleMemory() = default;
  ~IdleMemory() { write(); }
  IdleMemory(const IdleMemory&) = delete;
  IdleMemory& operator=(const IdleMemory&) = delete;
  static void write();
};

/// The process is about to be forked: its copy may read what nobody here touches.
void loans_are_copied();

}  // namespace streamsan::recorder
