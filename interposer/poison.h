// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills memory that nobody may use any more with a pattern (--poison), so that code that still uses it computes
// nonsense.
//
//   call                  what is filled                              how
//   cuMemFreeAsync        the allocation, before the call             a fill in the same stream
//   cuMemAllocAsync       the allocation, after the call              a fill in the same stream: who still uses what
//                                                                     was there before finds it overwritten
//   cuMemFree             the allocation, before the call             a fill in a non-blocking stream of our own, and
//                                                                     a wait for that stream alone: the legacy stream
//                                                                     would be a barrier, and hide what is looked for
//   cuMemFreeHost         the allocation, before the call             by the host
//   BlockFree             the block of a pool of the program          as for cuMemFreeAsync; without a stream as for
//                                                                     cuMemFree
//
// All fills happen when the program may not use the bytes, so a correct program computes the same as before. A program
// that relies on the wait in cuMemFree, which no document promises (R-ALC-02), does not.
//
// The pattern is the byte 0xff: every floating-point format reads it as NaN, which survives almost any arithmetic up to
// the program's results; integers read -1. (Most other bytes are ordinary numbers in 16 bits.)
//
// Left alone: memory that came by other ways (imports, IPC, virtual memory, graphs), what is freed while a capture is
// under way, memory of another device or context than the one that is current, and allocations for which the table
// (65,536 places) has none left. Our own calls are not recorded, and if they fail nothing is filled.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/streams.h"
#include "ordering/types.h"

namespace streamsan::recorder {

inline constexpr unsigned char kPoison = 0xff;

namespace detail {
extern constinit std::atomic<bool> g_poison;
}

/// One relaxed load; false unless the option is given. The functions below are called only if it is true.
inline bool poisoning() { return detail::g_poison.load(std::memory_order_relaxed); }

/// Reads the options; when recording begins.
void start_poisoning();

/// Memory was allocated. `stream`: of DeviceAsync.
void allocated(std::uint64_t address, std::uint64_t bytes, ordering::MemoryKind kind, StreamArgument stream);
/// Something else is at this address now, which is not ours to fill.
void not_ours(std::uint64_t address);

/// The call that frees what begins at the address is about to be made.
void poison_before_free(std::uint64_t address);
void poison_before_free_async(std::uint64_t address, StreamArgument stream);
void poison_before_free_host(std::uint64_t address);

/// A block goes back to a pool of the program. `stream`: where its last owner used it; handle 0: the program has
/// ordered that itself, on the host. 0 bytes: nothing is done.
void poison_block(std::uint64_t address, std::uint64_t bytes, StreamArgument stream);

/// When a context, with all that was allocated in it, may go.
void forget_poison();

}  // namespace streamsan::recorder
