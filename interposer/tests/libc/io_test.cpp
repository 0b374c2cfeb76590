// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wrappers of what hands memory to the kernel. Each function is called three times: as it is; with its buffer on
// guarded pages while nothing is lent, where it must fail (or the guard is none); and with its buffer guarded and lent,
// where it must do what it did the first time, and report the access.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "interposer/tests/libc/recorder_stub.h"
#include "trace/pages.h"

extern "C" {
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off_t, size_t);
ssize_t __recv_chk(int, void*, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);
}

namespace streamsan::testing {
namespace {

const std::size_t kPage = page_bytes();
const std::size_t kBytes = 2 * kPage;

/// Two pages with a fixed content, and things to read them from and write them to.
class World {
 public:
  World() {
    buffer = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(buffer, 'x', kBytes);
    file = fileno(stream);
    std::string content(2 * kBytes, 'f');
    EXPECT_EQ(pwrite(file, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    EXPECT_EQ(send(sockets[1], content.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
    EXPECT_EQ(pipe(pipes), 0);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    munmap(buffer, kBytes);
    fclose(stream);
    for (int end : {sockets[0], sockets[1], pipes[0], pipes[1]}) close(end);
  }

  char* buffer;
  FILE* stream = tmpfile();
  int file;
  int sockets[2];
  int pipes[2];
  iovec part() { return {buffer, kBytes}; }
  msghdr message(iovec& part) {
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    return header;
  }
};

struct Function {
  const char* name;
  bool writes;
  std::function<long(World&)> call;
  const char* recorded_as = nullptr;  // another name
  bool by_kernel = true;              // false: newer systems do it in the process, where a guard means SIGSEGV
};

#define VECTOR(expression)                \
  [](World& w) -> long {                  \
    [[maybe_unused]] iovec v = w.part();  \
    return static_cast<long>(expression); \
  }
#define MESSAGE(expression)               \
  [](World& w) -> long {                  \
    iovec v = w.part();                   \
    mmsghdr m{};                          \
    m.msg_hdr = w.message(v);             \
    return static_cast<long>(expression); \
  }

const Function kFunctions[] = {
    {"read", true, VECTOR(read(w.file, w.buffer, kBytes))},
    {"write", false, VECTOR(write(w.file, w.buffer, kBytes))},
    {"pread", true, VECTOR(pread(w.file, w.buffer, kBytes, 1))},
    {"pread64", true, VECTOR(pread64(w.file, w.buffer, kBytes, 1))},
    {"pwrite", false, VECTOR(pwrite(w.file, w.buffer, kBytes, 1))},
    {"pwrite64", false, VECTOR(pwrite64(w.file, w.buffer, kBytes, 1))},
    {"readv", true, VECTOR(readv(w.file, &v, 1))},
    {"writev", false, VECTOR(writev(w.file, &v, 1))},
    {"preadv", true, VECTOR(preadv(w.file, &v, 1, 1))},
    {"preadv64", true, VECTOR(preadv64(w.file, &v, 1, 1))},
    {"pwritev", false, VECTOR(pwritev(w.file, &v, 1, 1))},
    {"pwritev64", false, VECTOR(pwritev64(w.file, &v, 1, 1))},
    {"preadv2", true, VECTOR(preadv2(w.file, &v, 1, 1, 0))},
    {"preadv64v2", true, VECTOR(preadv64v2(w.file, &v, 1, 1, 0))},
    {"pwritev2", false, VECTOR(pwritev2(w.file, &v, 1, 1, 0))},
    {"pwritev64v2", false, VECTOR(pwritev64v2(w.file, &v, 1, 1, 0))},
    {"vmsplice", false, VECTOR(vmsplice(w.pipes[1], &v, 1, 0))},
    {"fread", true, VECTOR(fread(w.buffer, 2, kBytes / 2, w.stream))},
    {"fread_unlocked", true, VECTOR(fread_unlocked(w.buffer, 2, kBytes / 2, w.stream))},
    {"fwrite", false, VECTOR(fwrite(w.buffer, 2, kBytes / 2, w.stream))},
    {"fwrite_unlocked", false, VECTOR(fwrite_unlocked(w.buffer, 2, kBytes / 2, w.stream))},
    {"recv", true, VECTOR(recv(w.sockets[0], w.buffer, kBytes, 0))},
    {"send", false, VECTOR(send(w.sockets[0], w.buffer, kBytes, 0))},
    {"recvfrom", true, VECTOR(recvfrom(w.sockets[0], w.buffer, kBytes, 0, nullptr, nullptr))},
    {"sendto", false, VECTOR(sendto(w.sockets[0], w.buffer, kBytes, 0, nullptr, 0))},
    {"recvmsg", true, MESSAGE(recvmsg(w.sockets[0], &m.msg_hdr, 0))},
    {"sendmsg", false, MESSAGE(sendmsg(w.sockets[0], &m.msg_hdr, 0))},
    {"recvmmsg", true, MESSAGE(recvmmsg(w.sockets[0], &m, 1, 0, nullptr))},
    {"sendmmsg", false, MESSAGE(sendmmsg(w.sockets[0], &m, 1, 0))},
    {"getrandom", true, VECTOR(getrandom(w.buffer, kBytes, 0)), nullptr, false},
    {"process_vm_readv", true,
     [](World& w) -> long {
       static std::string other(kBytes, 0);
       iovec mine = w.part(), theirs{other.data(), kBytes};
       return process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0);
     }},
    {"process_vm_writev", false,
     [](World& w) -> long {
       static std::string other(kBytes, 0);
       iovec mine = w.part(), theirs{other.data(), kBytes};
       return process_vm_writev(getpid(), &mine, 1, &theirs, 1, 0);
     }},
    {"__read_chk", true, VECTOR(__read_chk(w.file, w.buffer, kBytes, kBytes))},
    {"__pread_chk", true, VECTOR(__pread_chk(w.file, w.buffer, kBytes, 1, kBytes))},
    {"__pread64_chk", true, VECTOR(__pread64_chk(w.file, w.buffer, kBytes, 1, kBytes))},
    {"__recv_chk", true, VECTOR(__recv_chk(w.sockets[0], w.buffer, kBytes, kBytes, 0))},
    {"__recvfrom_chk", true, VECTOR(__recvfrom_chk(w.sockets[0], w.buffer, kBytes, kBytes, 0, nullptr, nullptr))},
    {"__fread_chk", true, VECTOR(__fread_chk(w.buffer, kBytes, 2, kBytes / 2, w.stream))},
    {"__fread_unlocked_chk", true, VECTOR(__fread_unlocked_chk(w.buffer, kBytes, 2, kBytes / 2, w.stream))},
    {"syscall_read", true, VECTOR(syscall(SYS_read, w.file, w.buffer, kBytes)), "syscall"},
    {"syscall_pwrite", false, VECTOR(syscall(SYS_pwrite64, w.file, w.buffer, kBytes, 1)), "syscall"},
    {"syscall_writev", false, VECTOR(syscall(SYS_writev, w.file, &v, 1)), "syscall"},
    {"syscall_recvmsg", true, MESSAGE(syscall(SYS_recvmsg, w.sockets[0], &m.msg_hdr, 0)), "syscall"},
    {"syscall_sendmmsg", false, MESSAGE(syscall(SYS_sendmmsg, w.sockets[0], &m, 1, 0)), "syscall"},
};

class LibcIo : public ::testing::Test {
 protected:
  LibcIo() { set_lent(false); }
  ~LibcIo() override {
    set_lent(false);
    set_in_driver(false);
  }
};

class EachFunction : public LibcIo, public ::testing::WithParamInterface<Function> {};

TEST_P(EachFunction, WorksOnAGuardedPageAsWithout) {
  const Function& function = GetParam();
  long without;
  int error_without;  // libc may try one system call and make another
  {
    World world;
    errno = 77;
    without = function.call(world);
    error_without = errno;
    if (without == -1 && errno == ENOSYS) GTEST_SKIP() << "this kernel (or what plays one) has no such call";
    ASSERT_GT(without, 0);
  }
  if (function.by_kernel) {
    World world;
    guard(world.buffer, kBytes);
    EXPECT_LT(function.call(world), without) << "the guard is none, or this is not the function that is wrapped";
  }
  World world;
  guard(world.buffer, kBytes);
  set_lent(true);
  forget_recorded();
  errno = 77;
  const long lent = function.call(world);
  const int error = errno;
  set_lent(false);  // before the test itself frees something
  EXPECT_EQ(lent, without);
  EXPECT_EQ(error, error_without);
  // What is reported of the buffer; for a vector, the wrapper also checks whether it can be read.
  std::size_t calls = 0;
  for (std::size_t i = 0; i < recorded_count(); ++i) {
    if (recorded(i).what == What::Mapping) continue;
    EXPECT_EQ(recorded(i).what, What::Call);
    EXPECT_STREQ(recorded(i).function, function.recorded_as ? function.recorded_as : function.name);
    EXPECT_EQ(recorded(i).begin, world.buffer);
    EXPECT_EQ(recorded(i).bytes, kBytes);
    EXPECT_EQ(recorded(i).writes, function.writes);
    ++calls;
  }
  EXPECT_EQ(calls, 1u);
}

INSTANTIATE_TEST_SUITE_P(Libc, EachFunction, ::testing::ValuesIn(kFunctions),
                         [](const auto& function) { return std::string(function.param.name); });

TEST_F(LibcIo, EntropyAndMessageQueues) {
  // getentropy takes 256 bytes at most.
  World world;
  guard(world.buffer, kBytes);
  EXPECT_EQ(getentropy(world.buffer, 256), -1);
  set_lent(true);
  EXPECT_EQ(getentropy(world.buffer, 256), 0);
  const int queue = msgget(IPC_PRIVATE, 0600);
  if (queue < 0) GTEST_SKIP() << "no message queues here";
  *reinterpret_cast<long*>(world.buffer) = 1;
  guard(world.buffer, kBytes);
  forget_recorded();
  EXPECT_EQ(msgsnd(queue, world.buffer, 100, 0), 0);
  guard(world.buffer, kBytes);
  EXPECT_EQ(msgrcv(queue, world.buffer, 100, 0, 0), 100);
  set_lent(false);
  msgctl(queue, IPC_RMID, nullptr);
  ASSERT_EQ(recorded_count(), 2u);
  EXPECT_EQ(recorded(0).bytes, 108u);
  EXPECT_FALSE(recorded(0).writes);
  EXPECT_TRUE(recorded(1).writes);
}

TEST_F(LibcIo, PosixMessageQueues) {
  const std::string name = "/streamsan-test-" + std::to_string(getpid());
  mq_attr attributes{};
  attributes.mq_maxmsg = 2;
  attributes.mq_msgsize = 64;
  const mqd_t queue = mq_open(name.c_str(), O_CREAT | O_RDWR | O_EXCL, 0600, &attributes);
  if (queue == static_cast<mqd_t>(-1)) GTEST_SKIP() << "no message queues here";
  mq_unlink(name.c_str());
  World world;
  const timespec now{};
  set_lent(true);
  guard(world.buffer, kBytes);
  EXPECT_EQ(mq_send(queue, world.buffer, 64, 0), 0);
  guard(world.buffer, kBytes);
  EXPECT_EQ(mq_timedsend(queue, world.buffer, 64, 0, &now), 0);
  guard(world.buffer, kBytes);
  EXPECT_EQ(mq_receive(queue, world.buffer, 64, nullptr), 64);
  guard(world.buffer, kBytes);
  EXPECT_EQ(mq_timedreceive(queue, world.buffer, 64, nullptr, &now), 64);
  mq_close(queue);
}

TEST_F(LibcIo, ErrorsAreThoseOfTheFunction) {
  World world;
  set_lent(true);
  EXPECT_EQ(read(-1, world.buffer, 1), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(write(world.file, reinterpret_cast<void*>(8), 1), -1);
  EXPECT_EQ(errno, EFAULT);
  iovec part = world.part();
  EXPECT_EQ(writev(world.file, &part, -1), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(writev(world.file, &part, 1025), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(syscall(-1L), -1);
  EXPECT_EQ(errno, ENOSYS);
}

#ifndef __SANITIZE_ADDRESS__  // which looks at the vector itself
TEST_F(LibcIo, AWildVectorIsTheKernelsToRefuse) {
  World world;
  set_lent(true);
  auto* wild = reinterpret_cast<iovec*>(8);
  EXPECT_EQ(writev(world.file, wild, 1), -1);
  EXPECT_EQ(errno, EFAULT);
  msghdr message{};
  message.msg_iov = wild;
  message.msg_iovlen = 1;
  EXPECT_EQ(sendmsg(world.sockets[0], &message, 0), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(recvmsg(world.sockets[0], reinterpret_cast<msghdr*>(8), 0), -1);
  EXPECT_EQ(errno, EFAULT);
  // The first page of the vector can be read, the second cannot.
  auto* two = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(two + kPage, kPage, PROT_NONE);
  EXPECT_EQ(writev(world.file, reinterpret_cast<iovec*>(two + kPage - sizeof(iovec)), 2), -1);
  EXPECT_EQ(errno, EFAULT);
  munmap(two, kBytes);
}
#endif

TEST_F(LibcIo, ShortCountsStayShort) {
  World world;
  set_lent(true);
  ASSERT_EQ(write(world.pipes[1], "abc", 3), 3);
  EXPECT_EQ(read(world.pipes[0], world.buffer, kBytes), 3);
  EXPECT_EQ(std::memcmp(world.buffer, "abcx", 4), 0);
}

/// Calls in a thread of its own, which is known to wait in the kernel when this returns.
template <class Body>
std::thread waiting_thread(Body body, pthread_t& handle) {
  std::atomic<pid_t> id{0};
  std::thread thread([&id, body] {
    id = gettid();
    body();
  });
  handle = thread.native_handle();
  while (id == 0) std::this_thread::yield();
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(id));
  for (char state = 0; state != 'S';) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    FILE* stat = fopen(path, "r");
    if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = 0;
    if (stat) fclose(stat);
  }
  return thread;
}

TEST_F(LibcIo, GuardedWhileTheCallWaits) {
  World world;
  set_lent(true);
  ssize_t done = 0;
  pthread_t handle;
  std::thread reader = waiting_thread([&] { done = read(world.pipes[0], world.buffer, kBytes); }, handle);
  guard(world.buffer, kBytes);
  ASSERT_EQ(write(world.pipes[1], "abc", 3), 3);
  reader.join();
  EXPECT_EQ(done, 3);
  EXPECT_EQ(std::memcmp(world.buffer, "abcx", 4), 0);
}

TEST_F(LibcIo, SignalsInterrupt) {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  struct sigaction before;
  sigaction(SIGUSR1, &action, &before);
  for (bool lent : {false, true}) {
    World world;
    set_lent(lent);
    ssize_t done = 0;
    int error = 0;
    pthread_t handle;
    std::thread reader = waiting_thread(
        [&] {
          done = read(world.pipes[0], world.buffer, kBytes);
          error = errno;
        },
        handle);
    pthread_kill(handle, SIGUSR1);
    reader.join();
    EXPECT_EQ(done, -1);
    EXPECT_EQ(error, EINTR);
  }
  sigaction(SIGUSR1, &before, nullptr);
}

struct Reader {
  World world;
  std::atomic<pid_t> id{0};
  std::atomic<bool> cleaned{false};
};

void* read_until_cancelled(void* data) {
  auto& self = *static_cast<Reader*>(data);
  pthread_cleanup_push([](void* reader) { static_cast<Reader*>(reader)->cleaned = true; }, data);
  self.id = gettid();
  [[maybe_unused]] ssize_t done = read(self.world.pipes[0], self.world.buffer, kBytes);
  pthread_cleanup_pop(0);
  return nullptr;
}

TEST_F(LibcIo, StaysACancellationPoint) {
  for (bool lent : {false, true}) {
    set_lent(lent);
    Reader reader;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, read_until_cancelled, &reader), 0);
    while (reader.id == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(pthread_cancel(thread), 0);
    void* result;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(reader.cleaned);
  }
}

TEST_F(LibcIo, ChildrenWriteToo) {
  World world;
  set_lent(true);
  for (bool shares_memory : {false, true}) {
    pid_t child = shares_memory ? vfork() : fork();
    if (child == 0) _exit(write(world.pipes[1], "child", 5) == 5 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    char text[5];
    EXPECT_EQ(read(world.pipes[0], text, 5), 5);
  }
}

TEST_F(LibcIo, SystemCallsKeepAllSixArguments) {
  World world;
  ASSERT_EQ(pwrite(world.file, "second page", 11, static_cast<off_t>(kPage)), 11);
  for (bool lent : {false, true}) {
    set_lent(lent);
    const long at = syscall(SYS_mmap, 0L, kPage, static_cast<long>(PROT_READ), static_cast<long>(MAP_PRIVATE),
                            static_cast<long>(world.file), kPage);
    ASSERT_NE(at, -1);
    EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(at), "second page", 11), 0);
    munmap(reinterpret_cast<void*>(at), kPage);
  }
}

TEST_F(LibcIo, UnknownSystemCallsAreMadeAgain) {
  World world;
  guard(world.buffer, kBytes);
  EXPECT_EQ(syscall(SYS_uname, world.buffer), -1);
  EXPECT_EQ(errno, EFAULT);
  set_lent(true);
  forget_recorded();
  EXPECT_EQ(syscall(SYS_uname, world.buffer), 0);
  EXPECT_STREQ(reinterpret_cast<utsname*>(world.buffer)->sysname, "Linux");
  ASSERT_EQ(recorded_count(), 1u);
  EXPECT_EQ(recorded(0).what, What::Mapping) << "what it does to the memory is not known";
}

TEST_F(LibcIo, WhatTheRecorderAndTheDriverDoIsNotTheProgramsDoing) {
  World world;
  set_lent(true);
  forget_recorded();
  EXPECT_EQ(write_from_recorder(world.file, world.buffer, 10), 10);
  EXPECT_EQ(recorded_count(), 0u);
  set_in_driver(true);
  guard(world.buffer, kBytes);
  EXPECT_EQ(write(world.file, world.buffer, 10), 10);
  ASSERT_EQ(recorded_count(), 1u);
  EXPECT_EQ(recorded(0).what, What::Mapping);
}

TEST_F(LibcIo, NothingIsRecordedForNoBytes) {
  World world;
  set_lent(true);
  forget_recorded();
  EXPECT_EQ(write(world.file, world.buffer, 0), 0);
  EXPECT_EQ(write(world.file, nullptr, 0), 0);
  EXPECT_EQ(fwrite(world.buffer, 0, 5, world.stream), 0u);
  EXPECT_EQ(recorded_count(), 0u);
}

}  // namespace
}  // namespace streamsan::testing
