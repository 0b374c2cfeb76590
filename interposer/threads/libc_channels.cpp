// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of libc that make channels (channels.h). Always looked at: programs make their pipes before they use CUDA.
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interposer/threads/channels.h"

namespace streamsan::recorder {

// A fork keeps g_channels, as it keeps the descriptors.
constinit std::atomic<std::uint32_t> detail::g_channels[kMostDescriptors] = {};

void note_channel(int one, int other) {
  // A fork keeps g_numbers: channels of the child's own get others than those it has inherited.
  static constinit std::atomic<std::uint32_t> g_numbers{0};
  const std::uint32_t number = g_numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  for (const int descriptor : {one, other}) {
    if (descriptor < 0 || static_cast<std::size_t>(descriptor) >= kMostDescriptors) continue;
    detail::g_channels[descriptor].store(number, std::memory_order_relaxed);
  }
}

}  // namespace streamsan::recorder

namespace {

using namespace streamsan::recorder;

struct MakesPipe {
  static constexpr const char* kName = "pipe";
  static int instead(const HostCall&, int (*next)(int*), int* ends) {
    const int result = next(ends);
    if (result == 0) note_channel(ends[0], ends[1]);
    return result;
  }
};

struct MakesPipe2 {
  static constexpr const char* kName = "pipe2";
  static int instead(const HostCall&, int (*next)(int*, int), int* ends, int flags) {
    const int result = next(ends, flags);
    if (result == 0) note_channel(ends[0], ends[1]);
    return result;
  }
};

struct MakesSockets {
  static constexpr const char* kName = "socketpair";
  static int instead(const HostCall&, int (*next)(int, int, int, int*), int domain, int type, int protocol, int* ends) {
    const int result = next(domain, type, protocol, ends);
    if (result == 0) note_channel(ends[0], ends[1]);
    return result;
  }
};

struct MakesEventFd {
  static constexpr const char* kName = "eventfd";
  static int instead(const HostCall&, int (*next)(unsigned, int), unsigned value, int flags) {
    const int result = next(value, flags);
    note_channel(result, -1);
    return result;
  }
};

struct ReadsEventFd {
  static constexpr const char* kName = "eventfd_read";
  static int instead(const HostCall& call, int (*next)(int, eventfd_t*), int descriptor, eventfd_t* value) {
    const int result = next(descriptor, value);
    received(call, descriptor, result == 0 ? 1 : 0);
    return result;
  }
};

struct WritesEventFd {
  static constexpr const char* kName = "eventfd_write";
  static int instead(const HostCall& call, int (*next)(int, eventfd_t), int descriptor, eventfd_t value) {
    sends(call, descriptor);
    return next(descriptor, value);
  }
};

}  // namespace

#define SS_CHANNEL(name, Row) SS_LIBC_EXPORT_IF(SS_LIBC_ALWAYS, name, SS_SIGNATURE(name), Row)
SS_CHANNEL(pipe, MakesPipe);
SS_CHANNEL(pipe2, MakesPipe2);
SS_CHANNEL(socketpair, MakesSockets);
SS_CHANNEL(eventfd, MakesEventFd);
SS_LIBC_EXPORT_IF(SS_LIBC_IF_ORDERS, eventfd_read, SS_SIGNATURE(eventfd_read), ReadsEventFd);
SS_LIBC_EXPORT_IF(SS_LIBC_IF_ORDERS, eventfd_write, SS_SIGNATURE(eventfd_write), WritesEventFd);
