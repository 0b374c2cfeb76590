// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/libc_call.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>

#include "interposer/host/host_memory.h"
#include "interposer/host/raw_syscall.h"
#include "interposer/keep_errno.h"
#include "interposer/process.h"
#include "trace/pages.h"

namespace streamsan::recorder {
namespace {

constexpr std::size_t kMostParts = 1024;  // the kernel's: with more it refuses a vector, and cuts a list of messages

// A fork keeps t_finding: the thread is where it was.
constinit thread_local bool t_finding __attribute__((tls_model("initial-exec"))) = false;

/// Can these 8 bytes be read? Asked of the kernel, which copies the set before it looks at what is to be done with it.
bool is_word_readable(std::uintptr_t at) {
  constexpr long kNoSuchWay = -1;  // the mask stays
  const long result = raw_syscall(SYS_rt_sigprocmask, kNoSuchWay, static_cast<long>(at & ~std::uintptr_t{7}), 0, 8);
  return result != -EFAULT;
}

/// A guest that hands the kernel a wild pointer gets EFAULT, and so must not get SIGSEGV from us.
bool is_readable(const void* begin, std::size_t bytes) {
  KeepErrno keep;
  before_host_mapping(begin, bytes);
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t to = from + bytes;
  if (to < from) return false;
  for (std::uintptr_t at = from; at < to; at = page_below(at) + page_bytes()) {
    if (!is_word_readable(at)) return false;
  }
  return true;
}

}  // namespace

void* find_next(const char* name) {
  KeepErrno keep;
  const bool outer = t_finding;
  t_finding = true;
  void* found = real_dlsym(RTLD_NEXT, name);
  // The guest must not find our failure: a look-up that succeeds ends it. Not dlerror(), which before glibc 2.34 makes
  // a text with realloc(); if that is what we have not found yet, it is looked up in between, and the text is gone.
  if (!found) real_dlsym(RTLD_NEXT, "free");
  t_finding = outer;
  return found;
}

void* find_next_version(const char* name, const char* version) {
  KeepErrno keep;
  const bool outer = t_finding;
  t_finding = true;
  void* found = dlvsym(RTLD_NEXT, name, version);
  t_finding = outer;
  return found ? found : find_next(name);
}

bool is_finding_next() { return t_finding; }

void HostCall::touches(const void* begin, std::size_t bytes, bool writes) const {
  if (!begin || bytes == 0) return;
  KeepErrno keep;
  if (is_quiet()) {
    before_host_mapping(begin, bytes);
  } else {
    before_host_call(begin, bytes, writes, function_, frame_);
  }
}

void HostCall::touches_parts(const iovec* parts, std::size_t count, bool writes) const {
  if (count == 0 || count > kMostParts || !is_readable(parts, count * sizeof *parts)) return;
  for (std::size_t i = 0; i < count; ++i) touches(parts[i].iov_base, parts[i].iov_len, writes);
}

void HostCall::touches_message(const msghdr* message, bool writes) const {
  if (is_readable(message, sizeof *message)) touches_parts(message->msg_iov, message->msg_iovlen, writes);
}

void HostCall::touches_messages(const mmsghdr* messages, unsigned count, bool writes) const {
  if (count > kMostParts) count = kMostParts;
  for (unsigned i = 0; i < count; ++i) touches_message(&messages[i].msg_hdr, writes);
}

void HostCall::remaps(const void* begin, std::size_t bytes) const {
  if (bytes == 0) return;
  KeepErrno keep;
  before_host_mapping(begin, bytes);
}

void HostCall::replaces(const void* begin, std::size_t bytes) const {
  if (bytes == 0 || is_quiet()) return;
  KeepErrno keep;
  guard_no_more(reinterpret_cast<std::uint64_t>(begin), bytes);
}

void HostCall::frees(const void* begin, std::size_t bytes, trace::HostFreeWay way) const {
  if (!begin || bytes == 0) return;
  KeepErrno keep;
  if (is_quiet() || !options().host_frees) {
    before_host_mapping(begin, bytes);
  } else {
    before_host_free(begin, bytes, way, function_, frame_);
  }
}

}  // namespace streamsan::recorder
