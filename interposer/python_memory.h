// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the memory of an interpreter, which is not ours to give types to, and of which not everything is certain.
//
//   load_at          a word that is there
//   get<Checked>     a word at an address that may be anything: the kernel is asked whether it can be read
//   get<Direct>      a word at an address that looks like one, where a checked walk has been before
//   read_by_kernel   words that another thread may give back to the kernel while they are read
#pragma once

#include <sys/syscall.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "interposer/host/raw_syscall.h"
#include "interposer/machine.h"

namespace streamsan::recorder {

template <typename Word>
Word load_at(std::uint64_t address) {
  Word out;
  __builtin_memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
  return out;
}

inline bool can_be_pointer(std::uint64_t address) {
  constexpr std::uint64_t kLowest = 4096;
  return address >= kLowest && address >> kAddressBits == 0 && address % sizeof(void*) == 0;
}

inline constexpr long kBadAddress = -14;  // -EFAULT

/// The kernel is asked to read eight bytes there, as a mask of signals for a request that it does not know.
inline bool is_readable(std::uint64_t address) {
  constexpr long kNoRequest = -1;
  return raw_syscall(SYS_rt_sigprocmask, kNoRequest, static_cast<long>(address), 0, sizeof(std::uint64_t)) !=
         kBadAddress;
}

enum class Care { Checked, Direct };

/// A word at an address that must be one. False: it is none, or (Care::Checked) cannot be read.
template <Care kCare, typename Word>
bool get(std::uint64_t base, std::uint64_t offset, Word& out) {
  if (!can_be_pointer(base)) return false;
  if constexpr (kCare == Care::Checked) {
    if (!is_readable((base + offset) & ~std::uint64_t{7})) return false;
  }
  out = load_at<Word>(base + offset);
  return true;
}

enum class KernelRead {
  Done,
  NotThere,
  NotAllowed,  ///< by a filter of system calls
};

/// Two words, in this order. The kernel copies them, so that memory which is gone meanwhile is no fault of ours.
inline KernelRead read_by_kernel(std::uint64_t first_at, std::uint64_t second_at, std::uint64_t (&out)[2]) {
  const iovec to{.iov_base = out, .iov_len = sizeof out};
  const iovec from[] = {{.iov_base = reinterpret_cast<void*>(first_at), .iov_len = sizeof out[0]},
                        {.iov_base = reinterpret_cast<void*>(second_at), .iov_len = sizeof out[1]}};
  const long self = raw_syscall(SYS_getpid, 0, 0, 0);
  const long read =
      raw_syscall(SYS_process_vm_readv, self, reinterpret_cast<long>(&to), 1, reinterpret_cast<long>(&from), 2, 0);
  if (read == sizeof out) return KernelRead::Done;
  return read >= 0 || read == kBadAddress ? KernelRead::NotThere : KernelRead::NotAllowed;
}

}  // namespace streamsan::recorder
