// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A system call itself, for what must not come by the wrappers of libc's functions, nor change the guest's errno.
#pragma once

#ifndef __x86_64__
#error "system calls are written for x86-64"
#endif

namespace streamsan::recorder {

/// What the kernel answers: a negative errno value for an error.
inline long raw_syscall(long number, long a, long b, long c, long d = 0) {
  register long fourth asm("r10") = d;
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
}

}  // namespace streamsan::recorder
