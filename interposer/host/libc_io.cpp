// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of libc that hand the guest's memory to the kernel.
//
// If the kernel meets a protected page, it does not raise a signal: it fails the call with EFAULT, or stops before the
// page and returns a short count. So the wrapper removes the protection before the call, and records the access that
// the kernel is about to make as one by the host. The range is all that the call may touch: a read of 4096 bytes that
// returns ten bytes could have returned more.
//
// The file lists the functions that move data. It does not list these, and the guest does not notice:
//   * stdio that looks for the end of a string first (fputs, printf) or copies from its own buffer (fgets, getline):
//     instructions of the program's touch the bytes before the kernel can, and the fault handler sees them. Only fread
//     and fwrite pass large requests straight on;
//   * functions that fill a structure or a name (stat, readlink, getcwd) or take one (open, ioctl): nobody keeps these
//     in memory that copies use;
//   * functions that move data between descriptors (sendfile, splice, copy_file_range).
// io_uring and system calls made without libc cannot be seen here: docs/host.md says what to do.
//
// A call that began while nothing was lent is not seen if another thread lends the same memory while it waits in the
// kernel. If the memory is protected then, such a call fails with EFAULT; it is a race of the program's in any case.
#include <aio.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "interposer/host/libc_call.h"
#include "interposer/keep_errno.h"
#include "interposer/threads/channels.h"

namespace {

/// Of fread and fwrite. 0, which is no range, if the product does not exist: libc sees that, too.
std::size_t product(std::size_t size, std::size_t count) {
  std::size_t bytes;
  return __builtin_mul_overflow(size, count, &bytes) ? 0 : bytes;
}

/// Counts of iovecs are signed, and a negative one is an error.
std::size_t parts(int count) { return count < 0 ? 0 : static_cast<std::size_t>(count); }

}  // namespace

/// A function that writes to a descriptor, or reads from it, and so may hand order from thread to thread (channels.h).
#define SS_LIBC_SENDS(name, type, parameters, ...)                                                 \
  namespace {                                                                                      \
  struct Row_##name {                                                                              \
    static constexpr const char* kName = #name;                                                    \
    static void before(const streamsan::recorder::HostCall& call, SS_LIBC_PARAMETERS parameters) { \
      streamsan::recorder::sends(call, descriptor);                                                \
      if (streamsan::recorder::any_loans()) __VA_ARGS__;                                           \
    }                                                                                              \
  };                                                                                               \
  }                                                                                                \
  SS_LIBC_EXPORT_IF(SS_LIBC_IF_COUNTER(7g_loans) SS_LIBC_IF_COUNTER(8g_orders), name, type, Row_##name)
#define SS_LIBC_RECEIVES(name, type, parameters, ...)                                                      \
  namespace {                                                                                              \
  struct Row_##name {                                                                                      \
    static constexpr const char* kName = #name;                                                            \
    static void before(const streamsan::recorder::HostCall& call, SS_LIBC_PARAMETERS parameters) {         \
      if (streamsan::recorder::any_loans()) __VA_ARGS__;                                                   \
    }                                                                                                      \
    template <class... Rest>                                                                               \
    static void after(const streamsan::recorder::HostCall& call, ssize_t bytes, int descriptor, Rest...) { \
      streamsan::recorder::received(call, descriptor, bytes);                                              \
    }                                                                                                      \
  };                                                                                                       \
  }                                                                                                        \
  SS_LIBC_EXPORT_IF(SS_LIBC_IF_COUNTER(7g_loans) SS_LIBC_IF_COUNTER(8g_orders), name, type, Row_##name)

// ---- files

SS_LIBC_RECEIVES(read, SS_SIGNATURE(read), (int, void* buffer, size_t bytes), call.writes(buffer, bytes));
SS_LIBC_SENDS(write, SS_SIGNATURE(write), (int descriptor, const void* buffer, size_t bytes),
              call.reads(buffer, bytes));
SS_LIBC(pread, SS_SIGNATURE(pread), (int, void* buffer, size_t bytes, off_t), call.writes(buffer, bytes));
SS_LIBC(pread64, SS_SIGNATURE(pread64), (int, void* buffer, size_t bytes, off_t), call.writes(buffer, bytes));
SS_LIBC(pwrite, SS_SIGNATURE(pwrite), (int, const void* buffer, size_t bytes, off_t), call.reads(buffer, bytes));
SS_LIBC(pwrite64, SS_SIGNATURE(pwrite64), (int, const void* buffer, size_t bytes, off_t), call.reads(buffer, bytes));
SS_LIBC_RECEIVES(readv, SS_SIGNATURE(readv), (int, const iovec* vector, int count), call.writes(vector, parts(count)));
SS_LIBC_SENDS(writev, SS_SIGNATURE(writev), (int descriptor, const iovec* vector, int count),
              call.reads(vector, parts(count)));
SS_LIBC(preadv, SS_SIGNATURE(preadv), (int, const iovec* vector, int count, off_t), call.writes(vector, parts(count)));
SS_LIBC(preadv64, SS_SIGNATURE(preadv64), (int, const iovec* vector, int count, off_t),
        call.writes(vector, parts(count)));
SS_LIBC(pwritev, SS_SIGNATURE(pwritev), (int, const iovec* vector, int count, off_t), call.reads(vector, parts(count)));
SS_LIBC(pwritev64, SS_SIGNATURE(pwritev64), (int, const iovec* vector, int count, off_t),
        call.reads(vector, parts(count)));
SS_LIBC(preadv2, SS_SIGNATURE(preadv2), (int, const iovec* vector, int count, off_t, int),
        call.writes(vector, parts(count)));
SS_LIBC(preadv64v2, SS_SIGNATURE(preadv64v2), (int, const iovec* vector, int count, off_t, int),
        call.writes(vector, parts(count)));
SS_LIBC(pwritev2, SS_SIGNATURE(pwritev2), (int, const iovec* vector, int count, off_t, int),
        call.reads(vector, parts(count)));
SS_LIBC(pwritev64v2, SS_SIGNATURE(pwritev64v2), (int, const iovec* vector, int count, off_t, int),
        call.reads(vector, parts(count)));
SS_LIBC(vmsplice, SS_SIGNATURE(vmsplice), (int, const iovec* vector, size_t count, unsigned),
        call.reads(vector, count));

SS_LIBC(fread, SS_SIGNATURE(fread), (void* buffer, size_t size, size_t count, FILE*),
        call.writes(buffer, product(size, count)));
SS_LIBC(fread_unlocked, SS_SIGNATURE(fread_unlocked), (void* buffer, size_t size, size_t count, FILE*),
        call.writes(buffer, product(size, count)));
SS_LIBC(fwrite, SS_SIGNATURE(fwrite), (const void* buffer, size_t size, size_t count, FILE*),
        call.reads(buffer, product(size, count)));
SS_LIBC(fwrite_unlocked, SS_SIGNATURE(fwrite_unlocked), (const void* buffer, size_t size, size_t count, FILE*),
        call.reads(buffer, product(size, count)));

// ---- sockets and queues

SS_LIBC_RECEIVES(recv, SS_SIGNATURE(recv), (int, void* buffer, size_t bytes, int), call.writes(buffer, bytes));
SS_LIBC_SENDS(send, SS_SIGNATURE(send), (int descriptor, const void* buffer, size_t bytes, int),
              call.reads(buffer, bytes));
SS_LIBC_RECEIVES(recvfrom, SS_SIGNATURE(recvfrom), (int, void* buffer, size_t bytes, int, sockaddr*, socklen_t*),
                 call.writes(buffer, bytes));
SS_LIBC_SENDS(sendto, SS_SIGNATURE(sendto),
              (int descriptor, const void* buffer, size_t bytes, int, const sockaddr*, socklen_t),
              call.reads(buffer, bytes));
SS_LIBC_RECEIVES(recvmsg, SS_SIGNATURE(recvmsg), (int, msghdr* message, int), call.writes(message));
SS_LIBC_SENDS(sendmsg, SS_SIGNATURE(sendmsg), (int descriptor, const msghdr* message, int), call.reads(message));
SS_LIBC(recvmmsg, SS_SIGNATURE(recvmmsg), (int, mmsghdr* messages, unsigned count, int, timespec*),
        call.writes(messages, count));
SS_LIBC(sendmmsg, SS_SIGNATURE(sendmmsg), (int, mmsghdr* messages, unsigned count, int), call.reads(messages, count));
SS_LIBC(msgsnd, SS_SIGNATURE(msgsnd), (int, const void* message, size_t bytes, int),
        call.reads(message, sizeof(long) + bytes));
SS_LIBC(msgrcv, SS_SIGNATURE(msgrcv), (int, void* message, size_t bytes, long, int),
        call.writes(message, sizeof(long) + bytes));
SS_LIBC(mq_send, SS_SIGNATURE(mq_send), (mqd_t, const char* message, size_t bytes, unsigned),
        call.reads(message, bytes));
SS_LIBC(mq_timedsend, SS_SIGNATURE(mq_timedsend), (mqd_t, const char* message, size_t bytes, unsigned, const timespec*),
        call.reads(message, bytes));
SS_LIBC(mq_receive, SS_SIGNATURE(mq_receive), (mqd_t, char* message, size_t bytes, unsigned*),
        call.writes(message, bytes));
SS_LIBC(mq_timedreceive, SS_SIGNATURE(mq_timedreceive),
        (mqd_t, char* message, size_t bytes, unsigned*, const timespec*), call.writes(message, bytes));

// ---- threads of libc's, which read and write later: recorded at the call that submits the work

namespace {

template <class Block>
void look_at(const streamsan::recorder::HostCall& call, const Block* block, bool writes) {
  if (!block) return;
  void* const buffer = const_cast<void*>(block->aio_buf);
  writes ? call.writes(buffer, block->aio_nbytes) : call.reads(buffer, block->aio_nbytes);
}

template <class Block>
void look_at_list(const streamsan::recorder::HostCall& call, Block* const* blocks, int count) {
  for (int i = 0; blocks && i < count; ++i) {
    const Block* block = blocks[i];
    if (block && (block->aio_lio_opcode == LIO_READ || block->aio_lio_opcode == LIO_WRITE))
      look_at(call, block, block->aio_lio_opcode == LIO_READ);
  }
}

}  // namespace

SS_LIBC(aio_read, SS_SIGNATURE(aio_read), (aiocb * block), look_at(call, block, true));
SS_LIBC(aio_read64, SS_SIGNATURE(aio_read64), (aiocb64 * block), look_at(call, block, true));
SS_LIBC(aio_write, SS_SIGNATURE(aio_write), (aiocb * block), look_at(call, block, false));
SS_LIBC(aio_write64, SS_SIGNATURE(aio_write64), (aiocb64 * block), look_at(call, block, false));
SS_LIBC(lio_listio, SS_SIGNATURE(lio_listio), (int, aiocb* const* blocks, int count, sigevent*),
        look_at_list(call, blocks, count));
SS_LIBC(lio_listio64, SS_SIGNATURE(lio_listio64), (int, aiocb64* const* blocks, int count, sigevent*),
        look_at_list(call, blocks, count));

// ---- others

SS_LIBC(getrandom, SS_SIGNATURE(getrandom), (void* buffer, size_t bytes, unsigned), call.writes(buffer, bytes));
SS_LIBC(getentropy, SS_SIGNATURE(getentropy), (void* buffer, size_t bytes), call.writes(buffer, bytes));
// Only this process's side. What another process does to our pages by these is beyond us.
SS_LIBC(process_vm_readv, SS_SIGNATURE(process_vm_readv),
        (pid_t, const iovec* mine, unsigned long count, const iovec*, unsigned long, unsigned long),
        call.writes(mine, count));
SS_LIBC(process_vm_writev, SS_SIGNATURE(process_vm_writev),
        (pid_t, const iovec* mine, unsigned long count, const iovec*, unsigned long, unsigned long),
        call.reads(mine, count));

// ---- what -D_FORTIFY_SOURCE makes of them; the additional argument is the size of the buffer

using ReadChk = ssize_t (*)(int, void*, size_t, size_t);
using PreadChk = ssize_t (*)(int, void*, size_t, off_t, size_t);
using RecvChk = ssize_t (*)(int, void*, size_t, size_t, int);
using RecvfromChk = ssize_t (*)(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
using FreadChk = size_t (*)(void*, size_t, size_t, size_t, FILE*);

SS_LIBC_RECEIVES(__read_chk, ReadChk, (int, void* buffer, size_t bytes, size_t), call.writes(buffer, bytes));
SS_LIBC(__pread_chk, PreadChk, (int, void* buffer, size_t bytes, off_t, size_t), call.writes(buffer, bytes));
SS_LIBC(__pread64_chk, PreadChk, (int, void* buffer, size_t bytes, off_t, size_t), call.writes(buffer, bytes));
SS_LIBC_RECEIVES(__recv_chk, RecvChk, (int, void* buffer, size_t bytes, size_t, int), call.writes(buffer, bytes));
SS_LIBC_RECEIVES(__recvfrom_chk, RecvfromChk, (int, void* buffer, size_t bytes, size_t, int, sockaddr*, socklen_t*),
                 call.writes(buffer, bytes));
SS_LIBC(__fread_chk, FreadChk, (void* buffer, size_t, size_t size, size_t count, FILE*),
        call.writes(buffer, product(size, count)));
SS_LIBC(__fread_unlocked_chk, FreadChk, (void* buffer, size_t, size_t size, size_t count, FILE*),
        call.writes(buffer, product(size, count)));

// ---- by number

namespace {

using Syscall = long (*)(long, long, long, long, long, long, long);

/// The numbers that move data are treated as the functions of the same name. Any other may be given memory in ways that
/// are not known here: if one fails with EFAULT while something is lent, it is made again with no page protected.
struct SyscallRow {
  static constexpr const char* kName = "syscall";

  static long instead(const streamsan::recorder::HostCall& call, Syscall next, long number, long a, long b, long c,
                      long d, long e, long f) {
    // The child of these comes back through this very frame; where it shares the stack, the frame must be gone.
#ifdef SYS_vfork
    if (number == SYS_vfork) return next(number, a, b, c, d, e, f);
#endif
    if (number == SYS_clone || number == SYS_clone3) return next(number, a, b, c, d, e, f);
    if (number == SYS_futex) return futex(call, next, a, b, c, d, e, f);
    before(call, number, a, b, c, d);
    long result = next(number, a, b, c, d, e, f);
    if (result != -1 || errno != EFAULT || !streamsan::recorder::any_loans()) return result;
    call.remaps(nullptr, ~std::size_t{0});
    return next(number, a, b, c, d, e, f);
  }

  /// threads/order.h
  static long futex(const streamsan::recorder::HostCall& call, Syscall next, long word, long operation, long c, long d,
                    long e, long f) {
    using namespace streamsan::recorder;
    const long what = operation & FUTEX_CMD_MASK;
    const bool counts = detail::g_orders.load(std::memory_order_relaxed) != 0 && !call.is_of_cuda();
    const bool waits = what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET;
    if (counts) hide_order();
    if (counts && !waits) release_order(static_cast<std::uint64_t>(word));
    const long result = next(SYS_futex, word, operation, c, d, e, f);
    const streamsan::recorder::KeepErrno keep;
    if (counts && waits) acquire_order(static_cast<std::uint64_t>(word));
    return result;
  }

  static void before(const streamsan::recorder::HostCall& call, long number, long a, long b, long c, long d) {
    void* const buffer = reinterpret_cast<void*>(b);
    const auto bytes = static_cast<std::size_t>(c);
    const auto* vector = static_cast<const iovec*>(buffer);
    switch (number) {
      case SYS_read:
      case SYS_pread64:
      case SYS_recvfrom:
        return call.writes(buffer, bytes);
      case SYS_write:
      case SYS_pwrite64:
      case SYS_sendto:
        return call.reads(buffer, bytes);
      case SYS_readv:
      case SYS_preadv:
      case SYS_preadv2:
        return call.writes(vector, bytes);
      case SYS_writev:
      case SYS_pwritev:
      case SYS_pwritev2:
      case SYS_vmsplice:
        return call.reads(vector, bytes);
      case SYS_recvmsg:
        return call.writes(static_cast<const msghdr*>(buffer));
      case SYS_sendmsg:
        return call.reads(static_cast<const msghdr*>(buffer));
      case SYS_recvmmsg:
        return call.writes(static_cast<const mmsghdr*>(buffer), static_cast<unsigned>(c));
      case SYS_sendmmsg:
        return call.reads(static_cast<const mmsghdr*>(buffer), static_cast<unsigned>(c));
      case SYS_getrandom:
        return call.writes(reinterpret_cast<void*>(a), static_cast<std::size_t>(b));
      case SYS_mmap:
        if (!(d & MAP_FIXED)) return;
        [[fallthrough]];
      case SYS_munmap:
      case SYS_mremap:
      case SYS_mprotect:
      case SYS_madvise:
      case SYS_mlock:
      case SYS_mlock2:
        return call.remaps(reinterpret_cast<void*>(a), static_cast<std::size_t>(b));
      default:
        return;
    }
  }
};

}  // namespace

SS_LIBC_EXPORT_IF(SS_LIBC_IF_COUNTER(7g_loans) SS_LIBC_IF_COUNTER(8g_orders), syscall, Syscall, SyscallRow);
