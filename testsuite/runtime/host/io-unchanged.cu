// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While a copy is under way, functions that hand other memory to the kernel do what they always do: results, errno,
// short counts, signals, cancellation. The program says what it saw; the output is compared with that of a run without
// us.
//
// RUN: %build %s -o %t -Xcompiler -pthread
// RUN: %build -O2 -Xcompiler -U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2,-pthread %s -o %t.fortified
// RUN: %nm -u %t.fortified | grep __read_chk
// RUN: %t > %t.alone
// RUN: %run %t > %t.watched 2>&1
// RUN: diff %t.alone %t.watched
// RUN: %run %t.fortified > %t.watched 2>&1
// RUN: diff %t.alone %t.watched
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,host_guard=0,host_frees=0 %run %t > %t.watched 2>&1
// RUN: diff %t.alone %t.watched
// RUN: %filecheck %s --input-file %t.watched
//
// CHECK: cancelled 1 cleaned 1
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "must.h"

static int failed = 0;

/// Prints what a call gave, with errno as the program finds it.
#define SHOW(call)                                            \
  do {                                                        \
    errno = 0;                                                \
    long result = static_cast<long>(call);                    \
    std::printf("%s: %ld, errno %d\n", #call, result, errno); \
  } while (0)

static int pipes[2];
static bool cleaned = false;

static void* wait_in_read(void*) {
  pthread_cleanup_push([](void*) { cleaned = true; }, nullptr);
  char byte;
  failed += read(pipes[0], &byte, 1) != -2;
  pthread_cleanup_pop(0);
  return nullptr;
}

int main(int argc, char**) {
  constexpr size_t kBytes = 1 << 16;
  char *pinned, *device;
  must(cudaMallocHost(&pinned, kBytes));
  must(cudaMalloc(&device, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  must(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice, stream));

  size_t bytes = 1000u + argc - 1;  // not known to the compiler
  static char buffer[1000];         // known to the compiler, which fortifies calls then
  iovec parts[2] = {{buffer, 500}, {buffer + 500, 500}};
  FILE* stdio = tmpfile();
  int file = fileno(stdio);

  SHOW(write(file, buffer, bytes));
  SHOW(pwrite(file, buffer, bytes, 5000));
  SHOW(writev(file, parts, 2));
  SHOW(pwritev(file, parts, 2, 100));
  SHOW(read(file, buffer, bytes));
  SHOW(pread(file, buffer, bytes, 5500));
  SHOW(preadv(file, parts, 2, 5900));
  SHOW(lseek(file, 0, SEEK_SET));
  SHOW(readv(file, parts, 2));
  SHOW(fwrite(buffer, 10, 100, stdio));
  rewind(stdio);
  SHOW(fread(buffer, 10, 100, stdio));
  SHOW(read(-1, buffer, bytes));
  SHOW(write(file, reinterpret_cast<char*>(8), bytes));
  SHOW(readv(file, reinterpret_cast<iovec*>(8), 2));
  SHOW(writev(file, parts, argc - 2));
  SHOW(getrandom(buffer, bytes, 0));
  SHOW(syscall(SYS_write, file, buffer, bytes));
  SHOW(syscall(SYS_pwrite64, file, buffer, bytes, 20000L));
  SHOW(syscall(SYS_write, -1, buffer, bytes));
  SHOW(syscall(-1L));

  int sockets[2];
  must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  SHOW(send(sockets[0], buffer, 10, 0));
  SHOW(recv(sockets[1], buffer, bytes, 0));
  SHOW(sendmsg(sockets[0], &message, 0));
  SHOW(recvmsg(sockets[1], &message, 0));
  SHOW(recv(sockets[1], buffer, bytes, MSG_DONTWAIT));

  must(pipe2(pipes, O_NONBLOCK));
  SHOW(read(pipes[0], buffer, bytes));
  SHOW(write(pipes[1], "abc", 3));
  SHOW(read(pipes[0], buffer, bytes));
  must(fcntl(pipes[0], F_SETFL, 0));

  struct sigaction action{};
  action.sa_handler = [](int) { failed += write(-1, "", 0) != -1; };
  must(sigaction(SIGALRM, &action, nullptr));
  ualarm(20'000, 0);
  SHOW(read(pipes[0], buffer, bytes));

  pthread_t thread;
  must(pthread_create(&thread, nullptr, wait_in_read, nullptr));
  usleep(20'000);
  must(pthread_cancel(thread));
  void* result;
  must(pthread_join(thread, &result));

  char* pages = static_cast<char*>(mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  SHOW(mprotect(pages, 8192, PROT_READ | PROT_WRITE));
  SHOW(mremap(pages, 8192, 4096, 0) == pages);
  SHOW(munmap(pages + 1, 4096));
  SHOW(munmap(pages, 4096));
  char* block = static_cast<char*>(std::realloc(std::malloc(bytes), 1 << 20));
  SHOW(block != nullptr);
  std::free(block);

  std::fflush(stdout);
  if (fork() == 0) {
    SHOW(write(pipes[1], "abc", 3));
    std::fflush(stdout);
    _exit(0);
  }
  int status;
  wait(&status);
  if (vfork() == 0) _exit(write(pipes[1], "abc", 3));
  wait(&status);
  SHOW(WEXITSTATUS(status));

  must(cudaStreamSynchronize(stream));
  std::printf("failed %d, cancelled %d cleaned %d\n", failed, result == PTHREAD_CANCELED, cleaned);
  return 0;
}
