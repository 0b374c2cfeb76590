// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/writer.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "interposer/fork.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "interposer/threads/order.h"
#include "ordering/api/row.h"

namespace streamsan::recorder {
namespace {

/// Chunks are mapped by windows: one mapping for each chunk would use up the process's mappings in a long run.
constexpr std::size_t kWindowChunks = 64;
constexpr std::size_t kWindowBytes = kWindowChunks * trace::kChunkBytes;

constexpr int kPopulateForWriting = 23;  // MADV_POPULATE_WRITE, which older headers do not have

constinit int g_file = -1;
constinit dev_t g_device = 0;
constinit ino_t g_inode = 0;
constinit char* g_windows[trace::kMaxChunks / kWindowChunks] = {};  // guarded by g_growing
STREAMSAN_HOT_DATA constinit std::atomic<trace::FileHeader*> g_header{nullptr};
constinit std::atomic<trace::Record*> g_chunks[trace::kMaxChunks] = {};
constinit std::atomic<bool> g_growing{false};
constinit std::atomic<std::size_t> g_chunk_limit{0};  // all mapped chunks have a smaller index

/// While we allocate file space no signal handler may run on this thread (it could call CUDA and wait for us), and the
/// SIGXFSZ that a file-size limit raises must not reach the guest, whose default action would be to die.
class SignalShield {
 public:
  SignalShield() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved_);
  }
  ~SignalShield() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  SignalShield(const SignalShield&) = delete;
  SignalShield& operator=(const SignalShield&) = delete;

  static void swallow_file_size_signal() {
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    timespec none{};
    while (sigtimedwait(&limit, nullptr, &none) == -1 && errno == EINTR) {
    }
  }

 private:
  sigset_t saved_;
};

/// Gives [offset, offset + length) real blocks, so that a later store cannot fault. Returns 0 or an errno value.
int allocate_blocks(int file, off_t offset, off_t length) {
  int error = 0;
  do {
    if (fallocate(file, 0, offset, length) == 0) return 0;
    error = errno;
  } while (error == EINTR);
  if (error == EFBIG) SignalShield::swallow_file_size_signal();
  if (error != EOPNOTSUPP && error != ENOSYS) return error;
  static const char zeros[4096] = {};
  for (off_t at = offset; at < offset + length; at += static_cast<off_t>(sizeof zeros)) {
    if (pwrite(file, zeros, sizeof zeros, at) != static_cast<ssize_t>(sizeof zeros)) {
      error = errno ? errno : ENOSPC;
      if (error == EFBIG) SignalShield::swallow_file_size_signal();
      return error;
    }
  }
  return 0;
}

void* map_blocks(int file, off_t offset, std::size_t length) {
  void* at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  if (at == MAP_FAILED) return nullptr;
  // A forked child must not write into its parent's trace.
  madvise(at, length, MADV_DONTFORK);
  return at;
}

/// Is our descriptor still our file, and does anybody care for it? A guest may close descriptors it does not know and
/// get the number again for a file of its own, which must not be written to.
int check_file() {
  struct stat now{};
  if (fstat(g_file, &now) != 0) return errno;
  if (now.st_dev != g_device || now.st_ino != g_inode) return EBADF;
  return now.st_nlink == 0 ? ESTALE : 0;
}

/// Shared memory is the guest's too (NCCL and data loaders live there): leave an eighth of a tmpfs free.
bool is_nearly_full(int file) {
  struct statfs system{};
  return fstatfs(file, &system) == 0 && system.f_type == TMPFS_MAGIC && system.f_bavail < system.f_blocks / 8;
}

/// Maps the window of the chunk, which may lie beyond the end of the file; only chunks with blocks are touched.
char* window_of(std::size_t index) {
  char*& window = g_windows[index / kWindowChunks];
  if (!window) {
    std::size_t first = index / kWindowChunks * kWindowChunks;
    window = static_cast<char*>(
        map_blocks(g_file, static_cast<off_t>(trace::kHeaderBytes + first * trace::kChunkBytes), kWindowBytes));
  }
  return window;
}

trace::Record* make_chunk(std::size_t index, int& error) {
  error = check_file();
  if (!error && is_nearly_full(g_file)) error = ENOSPC;
  if (error) return nullptr;
  off_t offset = static_cast<off_t>(trace::kHeaderBytes + index * trace::kChunkBytes);
  error = allocate_blocks(g_file, offset, static_cast<off_t>(trace::kChunkBytes));
  if (error) return nullptr;
  char* window = window_of(index);
  if (!window) {
    error = errno;
    return nullptr;
  }
  char* made = window + index % kWindowChunks * trace::kChunkBytes;
  // Its pages now, in one go: otherwise each costs a fault in the middle of a call of the guest's. A kernel that cannot
  // (before Linux 5.14) leaves it at that.
  madvise(made, trace::kChunkBytes, kPopulateForWriting);
  return reinterpret_cast<trace::Record*>(made);
}

void stop(trace::End why, int error) {
  trace::FileHeader* head = g_header.load(std::memory_order_acquire);
  std::uint32_t running = static_cast<std::uint32_t>(trace::End::Running);
  if (head && head->end.compare_exchange_strong(running, static_cast<std::uint32_t>(why))) {
    head->end_errno.store(static_cast<std::uint32_t>(error), std::memory_order_relaxed);
  }
  const char* reason = "the trace file cannot grow";
  if (why == trace::End::TooLong) reason = "the trace is full";
  if (error == EBADF) reason = "the program has closed the file of the trace";
  // The judge has given up on this process and removed the file: nobody waits for records, and nobody needs a message.
  disable_recording(error == ESTALE ? nullptr : reason, error);
}

trace::Record* chunk_slow(std::size_t index) {
  while (recording()) {
    if (trace::Record* ready = g_chunks[index].load(std::memory_order_acquire)) return ready;
    if (g_growing.exchange(true, std::memory_order_acquire)) {
      sched_yield();
      continue;
    }
    trace::Record* made = g_chunks[index].load(std::memory_order_acquire);
    if (!made) {
      SignalShield shield;
      int error = 0;
      made = make_chunk(index, error);
      if (!made) {
        stop(trace::End::NoSpace, error);
      } else {
        if (index >= g_chunk_limit.load(std::memory_order_relaxed)) g_chunk_limit.store(index + 1);
        g_chunks[index].store(made, std::memory_order_release);
      }
    }
    g_growing.store(false, std::memory_order_release);
    return made;
  }
  return nullptr;
}

trace::Record* chunk(std::size_t index) {
  if (index >= trace::kMaxChunks) {
    stop(trace::End::TooLong, 0);
    return nullptr;
  }
  if (trace::Record* ready = g_chunks[index].load(std::memory_order_acquire)) return ready;
  return chunk_slow(index);
}

/// The chunk that some thread has come to last, which answers for the most part without a look at the table, which is
/// large. In one word, so that both halves are of one chunk: in the lowest kNumberBits its number plus one, above them
/// its address without the bits that are zero in a page's.
constexpr unsigned kNumberBits = 20;
static_assert(trace::kMaxChunks < std::size_t{1} << kNumberBits);
STREAMSAN_HOT_DATA constinit std::atomic<std::uint64_t> g_newest{0};

trace::Record* newest_chunk(std::size_t index) {
  constexpr unsigned kPageBits = 12;
  constexpr std::uint64_t kNumbers = (std::uint64_t{1} << kNumberBits) - 1;
  constexpr unsigned kShift = kNumberBits - kPageBits;
  const std::uint64_t newest = g_newest.load(std::memory_order_acquire);
  if ((newest & kNumbers) == index + 1) [[likely]]
    return reinterpret_cast<trace::Record*>((newest & ~kNumbers) >> kShift);
  trace::Record* found = chunk(index);
  const auto address = reinterpret_cast<std::uint64_t>(found);
  const std::uint64_t word = address << kShift | (index + 1);
  if (found && address % (1u << kPageBits) == 0 && (word & ~kNumbers) >> kShift == address)
    g_newest.store(word, std::memory_order_release);
  return found;
}

void pad(std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t at = from; at < to; ++at) {
    trace::Record* base = chunk(at / trace::kChunkSlots);
    if (!base) return;
    publish({base + at % trace::kChunkSlots, at});
  }
}

void fill_command_line(trace::FileHeader& head) {
  ssize_t length = readlink("/proc/self/exe", head.executable, sizeof head.executable - 1);
  head.executable[length > 0 ? length : 0] = '\0';
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  length = read(file, head.command_line, sizeof head.command_line - 1);
  head.command_line[length > 0 ? length : 0] = '\0';
  close(file);
}

void fill_header(trace::FileHeader& head) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  head.version = trace::kVersion;
  head.slot_bytes = trace::kSlotBytes;
  head.chunk_bytes = trace::kChunkBytes;
  head.pid = static_cast<std::uint32_t>(getpid());
  head.api_rows = static_cast<std::uint32_t>(api::kRowCount);
  static constexpr std::uint64_t kTableHash = api::api_table_hash();
  head.api_hash = kTableHash;
  head.header_bytes = trace::kHeaderBytes;
  head.functions_at = sizeof(trace::FileHeader);
  head.functions_bytes = api::kSymbolBytes;
  static_assert(sizeof(trace::FileHeader) + api::kSymbolBytes <= trace::kHeaderBytes);
  std::memcpy(reinterpret_cast<char*>(&head) + head.functions_at, api::kSymbols, api::kSymbolBytes);
  head.start_time_ns =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
  head.recorded_with = trace::kOptionsKnown | (options().syncs ? std::uint32_t{trace::kWithSyncs} : 0) |
                       (options().timings ? std::uint32_t{trace::kWithTimings} : 0) |
                       (can_follow_order() ? std::uint32_t{trace::kWithThreads} : 0);
  fill_command_line(head);
  head.magic = trace::kMagic;
}

}  // namespace

STREAMSAN_HOT_CODE trace::FileHeader* header() { return g_header.load(std::memory_order_acquire); }

int open_trace(const char* path) {
  char partial[1100];
  int length = std::snprintf(partial, sizeof partial, "%s.part", path);
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof partial) return ENAMETOOLONG;
  SignalShield shield;
  int file = open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  int error = allocate_blocks(file, 0, static_cast<off_t>(trace::kHeaderBytes + trace::kChunkBytes));
  void* head = error ? nullptr : map_blocks(file, 0, trace::kHeaderBytes);
  void* first = head ? map_blocks(file, static_cast<off_t>(trace::kHeaderBytes), kWindowBytes) : nullptr;
  if (!first) {
    if (!error) error = errno;
    if (head) munmap(head, trace::kHeaderBytes);
    unlink(partial);
    close(file);
    return error;
  }
  // The judge takes the lock's end as the end of this process, however it ends.
  flock(file, LOCK_SH | LOCK_NB);
  // A descriptor below 10 may be one the guest expects to be free (0, 1 and 2 above all).
  int high = fcntl(file, F_DUPFD_CLOEXEC, 100);
  if (high >= 0) {
    close(file);
    file = high;
  }
  fill_header(*static_cast<trace::FileHeader*>(head));
  // The judge looks for the final name: it never sees a header that is not whole. link() does not replace a file.
  if (link(partial, path) != 0) error = errno;
  if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS)
    error = renameat2(AT_FDCWD, partial, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : errno;
  unlink(partial);
  if (error) {
    munmap(head, trace::kHeaderBytes);
    munmap(first, kWindowBytes);
    close(file);
    return error;
  }
  struct stat made{};
  fstat(file, &made);
  g_device = made.st_dev;
  g_inode = made.st_ino;
  g_windows[0] = static_cast<char*>(first);
  g_file = file;
  g_chunk_limit.store(1);
  g_chunks[0].store(static_cast<trace::Record*>(first), std::memory_order_release);
  g_header.store(static_cast<trace::FileHeader*>(head), std::memory_order_release);
  return 0;
}

void in_child::trace() {
  trace::FileHeader* head = g_header.exchange(nullptr);
  if (!head) return;
  // The mappings are not inherited (MADV_DONTFORK); only our memory of them is.
  for (std::size_t i = 0; i < g_chunk_limit.load(); ++i) g_chunks[i].store(nullptr, std::memory_order_relaxed);
  g_chunk_limit.store(0);
  g_newest.store(0);
  for (char*& window : g_windows) {
    if (window) window = nullptr;
  }
  g_growing.store(false, std::memory_order_relaxed);
  if (int state = check_file(); state == 0 || state == ESTALE) close(g_file);
  g_file = -1;
}

STREAMSAN_HOT_CODE void expect_record() {
  constexpr std::size_t kLaunchBytes = 4 * trace::kSlotBytes;  // of most launches
  const trace::FileHeader* head = g_header.load(std::memory_order_relaxed);
  if (!head) return;
  prefetch_to_write(&head->reserved);
  const char* next = t_thread.next_record;
  if (!next) return;
  for (std::size_t at = 0; at < kLaunchBytes; at += kLineBytes) prefetch_to_write(next + at);
}

STREAMSAN_HOT_CODE Slot reserve(unsigned continuations) {
  const std::uint64_t count = 1 + continuations;
  if (t_order.unwritten) [[unlikely]]
    write_order();
  for (;;) {
    trace::FileHeader* head = g_header.load(std::memory_order_acquire);
    if (!head || !recording()) return {};
    std::uint64_t at = head->reserved.fetch_add(count, std::memory_order_acq_rel);
    trace::Record* base = newest_chunk(at / trace::kChunkSlots);
    if (!base) return {};
    std::uint64_t within = at % trace::kChunkSlots;
    if (within + count <= trace::kChunkSlots) [[likely]] {
      trace::Record* record = base + within;
      record->continuations = static_cast<std::uint8_t>(continuations);
      t_thread.next_record = reinterpret_cast<const char*>(record + count);
      return {record, at};
    }
    pad(at, at + count);
  }
}

STREAMSAN_HOT_CODE void publish(Slot slot, trace::State state) {
  if (!slot) return;
  note_record(slot.record->kind, slot.position);
  slot.record->state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

void write_text_record(trace::Kind kind, const std::uint64_t* words, unsigned length_word, const char* text,
                       std::size_t length, const void* tail, std::size_t tail_length, std::uint32_t stack) {
  constexpr std::size_t kMost = trace::kMaxContinuations * trace::kSlotBytes;
  if (length > kMost) length = kMost;
  if (tail_length > kMost - length) tail_length = kMost - length;
  Slot slot = start_record({.kind = kind, .stack = stack, .continuations = continuations_of(length + tail_length)});
  if (!slot) return;
  std::memcpy(slot.record->w, words, sizeof slot.record->w);
  slot.record->w[length_word] = length;
  char* payload = reinterpret_cast<char*>(slot.continuation());
  std::memcpy(payload, text, length);
  if (tail_length) std::memcpy(payload + length, tail, tail_length);
  publish(slot);
}

}  // namespace streamsan::recorder
