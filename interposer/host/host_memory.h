// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory that the GPU can reach: pinned, registered and managed allocations, by address. Only their pages can be
// protected without harm: pageable memory shares pages with everything else, and the driver itself reads it.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/host/owned_lock.h"
#include "ordering/types.h"

namespace streamsan::recorder {

struct HostRegion {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  ordering::MemoryKind kind = ordering::MemoryKind::Pinned;
  bool guardable = false;  ///< its pages were readable and writable, and can be protected
  bool shared = false;     ///< a mapping that others may have, too: their touches are not seen
  std::uint64_t context = 0;
};

/// Guards the tables of host memory, loans and protected pages, which belong together.
extern constinit OwnedLock g_host_lock;

/// The driver has made, or was given, this memory.
void host_memory_given(ordering::MemoryKind kind, std::uint64_t begin, std::uint64_t bytes, std::uint64_t context = 0);
/// It is about to be freed or unregistered: nothing of it is lent or protected any more.
void host_memory_going(std::uint64_t begin);
/// No page of any is to be guarded.
void guard_nothing();
/// The program changes the protection of some of it itself, or maps something else there: hands off from now on.
void guard_no_more(std::uint64_t begin, std::uint64_t bytes);

/// Cheap and without the lock: may the address be in such memory? Mostly false for others. The same for all addresses
/// of an aligned 2^kNearShift bytes.
inline constexpr unsigned kNearShift = 21;
bool near_host_memory(std::uint64_t address);

/// The region that holds the address, or nullptr. Under g_host_lock.
HostRegion* find_host_region(std::uint64_t address);

/// Is the address in memory whose pages are guarded when it is lent?
bool can_be_guarded(std::uint64_t address);

}  // namespace streamsan::recorder
