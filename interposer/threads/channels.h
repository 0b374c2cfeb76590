// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Channels: pipes, eventfds and pairs of sockets through which threads of one process hand things over. The actions of
// a thread before it writes to a channel are before those of another thread after it has read from it.
//
// A descriptor is known as an end of a channel by the call that made it; no system call asks what a descriptor is. Both
// ends have one number, and one clock (order.h). Not known are duplicates, ends that came by a socket or through
// exec(), and named pipes: what is handed over by those is not seen. A descriptor that is closed and used again for
// another file stays an end until another channel is made there: then a conflict may be missed that is `possible` at
// most. So close() needs no wrapper, which the child of a vfork() would call, too.
//
// Reads and writes are wrapped in host/libc_io.cpp for the sake of the memory they touch, and call this besides. They
// may be made by a signal handler.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/host/libc_call.h"
#include "interposer/threads/order.h"
#include "interposer/unlike_address.h"

namespace streamsan::recorder {

inline constexpr std::size_t kMostDescriptors = 4096;

namespace detail {
/// By descriptor: the number of the channel; 0: it is none. A fork keeps it, as it keeps the descriptors.
extern constinit std::atomic<std::uint32_t> g_channels[kMostDescriptors];
}  // namespace detail

/// The descriptors are ends of a new channel. Negative ones are ignored.
void note_channel(int one, int other);

/// The key of its clock, unlike any address; 0: it is no channel, or nobody follows order.
inline std::uint64_t channel_key(int descriptor) {
  if (detail::g_orders.load(std::memory_order_relaxed) == 0) return 0;
  if (descriptor < 0 || static_cast<std::size_t>(descriptor) >= kMostDescriptors) return 0;
  const std::uint32_t number = detail::g_channels[descriptor].load(std::memory_order_relaxed);
  return number == 0 ? 0 : unlike_address(std::uint64_t{number} << 4);
}

/// Before a call that writes to the descriptor.
inline void sends(const HostCall& call, int descriptor) {
  const std::uint64_t key = channel_key(descriptor);
  if (key != 0 && !call.is_of_cuda()) release_order(key, Context::PerhapsSignalHandler);
}
/// After a call that has read from it, or not.
inline void received(const HostCall& call, int descriptor, std::ptrdiff_t bytes) {
  const std::uint64_t key = bytes > 0 ? channel_key(descriptor) : 0;
  if (key != 0 && !call.is_of_cuda()) acquire_order(key, Context::PerhapsSignalHandler);
}

}  // namespace streamsan::recorder
