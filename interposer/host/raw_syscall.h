// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A system call itself, for what must not come by the wrappers of libc's functions, nor change the guest's errno.
#pragma once

namespace streamsan::recorder {

/// What the kernel answers: a negative errno value for an error.
inline long raw_syscall(long number, long a, long b, long c, long d = 0) {
#if defined __x86_64__
  register long fourth asm("r10") = d;
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
#elif defined __aarch64__
  register long which asm("x8") = number;
  register long first asm("x0") = a;
  register long second asm("x1") = b;
  register long third asm("x2") = c;
  register long fourth asm("x3") = d;
  asm volatile("svc #0" : "+r"(first) : "r"(which), "r"(second), "r"(third), "r"(fourth) : "memory", "cc");
  return first;
#else
#error "system calls are written for x86-64 and AArch64"
#endif
}

/// One of six arguments.
inline long raw_syscall(long number, long a, long b, long c, long d, long e, long f) {
#if defined __x86_64__
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  register long sixth asm("r9") = f;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
#elif defined __aarch64__
  register long which asm("x8") = number;
  register long first asm("x0") = a;
  register long second asm("x1") = b;
  register long third asm("x2") = c;
  register long fourth asm("x3") = d;
  register long fifth asm("x4") = e;
  register long sixth asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(first)
               : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
               : "memory", "cc");
  return first;
#endif
}

}  // namespace streamsan::recorder
