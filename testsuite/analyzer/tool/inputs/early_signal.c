// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded: sends SIGTERM to the program as it calls waitpid() for the first time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

pid_t waitpid(pid_t pid, int* status, int options) {
  static int sent = 0;
  if (!sent) {
    sent = 1;
    raise(SIGTERM);
  }
  pid_t (*real)(pid_t, int*, int) = (pid_t(*)(pid_t, int*, int))dlsym(RTLD_NEXT, "waitpid");
  return real(pid, status, options);
}
