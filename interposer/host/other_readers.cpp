// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/other_readers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstring>

#include "interposer/clock.h"
#include "interposer/host/raw_syscall.h"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t kPause = 100 * kNanosecondsPerMillisecond;
constexpr const char* kNames[] = {
    "anon_inode:[io_uring]", "/dev/infiniband/", "/dev/hfi", "/dev/cxi", "/dev/knem", "/dev/xpmem"};

// A fork keeps g_found, g_next_look: what may touch our memory is inherited with its descriptor.
constinit std::atomic<bool> g_found{false};
constinit std::atomic<std::uint64_t> g_next_look{0};

bool is_one(const char* target) {
  for (const char* name : kNames) {
    if (std::strncmp(target, name, std::strlen(name)) == 0) return true;
  }
  return false;
}

/// No heap, and no function of libc that we wrap.
bool look() {
  const long directory =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/fd"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  bool found = false;
  alignas(dirent64) char entries[1024];
  long filled;
  while (!found && (filled = raw_syscall(SYS_getdents64, directory, reinterpret_cast<long>(entries),
                                         static_cast<long>(sizeof entries))) > 0) {
    for (long at = 0; at < filled && !found;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      char target[64];
      const long length = raw_syscall(SYS_readlinkat, directory, reinterpret_cast<long>(entry->d_name),
                                      reinterpret_cast<long>(target), static_cast<long>(sizeof target - 1));
      target[length > 0 ? length : 0] = '\0';
      found = is_one(target);
      at += entry->d_reclen;
    }
  }
  raw_syscall(SYS_close, directory, 0, 0);
  return found;
}

}  // namespace

bool others_are_known() { return g_found.load(std::memory_order_relaxed); }

bool others_may_touch(bool now) {
  if (others_are_known()) return true;
  const std::uint64_t time = monotonic_ns();
  std::uint64_t next = g_next_look.load(std::memory_order_relaxed);
  if (!now && time < next) return false;
  // One thread looks; the others take its last answer.
  if (!g_next_look.compare_exchange_strong(next, time + kPause, std::memory_order_relaxed) && !now) return false;
  if (look()) g_found.store(true, std::memory_order_relaxed);
  return others_are_known();
}

}  // namespace streamsan::recorder
