// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operator new and delete of streamsan-tidy, and with it of the Clang that it is linked to.
//
// A worker reads one source and ends. Until then it takes millions of small blocks, most of them for a short time:
// twelve million for a large file with PyTorch's headers, where the C library's malloc() and free() are 8 % of what it
// does. Here blocks of up to kLargest bytes come from pools, one for each multiple of kStep: a block that is given back
// is the next one of its size to be given out, and a pool that is empty takes what follows in its chunk. Larger ones,
// aligned ones and malloc() itself are the C library's.
//
// Whose a block is shows in its address: chunks lie in one range of addresses, which is reserved and gets memory where
// it is written to. Where so much cannot be reserved (ulimit -v), and where the range is used up, malloc() is asked.
// Each thread has pools of its own; a block goes to those of the thread that gives it back. Chunks are never given
// back to the system.
//
// Sanitizers have an operator new of their own, which finds what this one hides.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kStep = 16, kLargest = 1024, kPools = kLargest / kStep + 1;
constexpr std::size_t kChunk = std::size_t{1} << 16U, kChunks = std::size_t{1} << 20U;

/// A block that is free.
struct Free {
  Free* next;
};

struct Pool {
  Free* first;         ///< of those that were given back
  char *unused, *end;  ///< of its newest chunk
};

// All of this is ready before the first constructor of a global object runs: it is zero, or set here.
constinit std::atomic<char*> range{nullptr};
constinit std::atomic<std::size_t> chunks_taken{0};
constinit std::array<std::uint8_t, kChunks> pool_of_chunk{};
constinit thread_local std::array<Pool, kPools> pools{};

/// Where chunks lie, or nullptr.
char* reserve() {
  void* const got =
      ::mmap(nullptr, kChunk * kChunks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    chunks_taken = kChunks;
    return nullptr;
  }
  char* before = nullptr;
  if (range.compare_exchange_strong(before, static_cast<char*>(got))) return static_cast<char*>(got);
  ::munmap(got, kChunk * kChunks);  // another thread was faster
  return before;
}

/// Of the C library.
void* large(std::size_t size) {
  for (;;) {
    if (void* const block = std::malloc(size != 0 ? size : 1)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

/// A block of a pool that has none.
void* refill(std::size_t number) {
  Pool& pool = pools[number];
  const std::size_t size = number * kStep;
  if (static_cast<std::size_t>(pool.end - pool.unused) < size) {
    char* base = range.load(std::memory_order_acquire);
    if (base == nullptr && chunks_taken < kChunks) base = reserve();
    const std::size_t chunk = base == nullptr ? kChunks : chunks_taken.fetch_add(1);
    if (chunk >= kChunks) {
      chunks_taken = kChunks;
      return large(size);
    }
    pool_of_chunk[chunk] = static_cast<std::uint8_t>(number);
    pool.unused = base + chunk * kChunk;
    pool.end = pool.unused + kChunk;
  }
  void* const block = pool.unused;
  pool.unused += size;
  return block;
}

}  // namespace

void* operator new(std::size_t size) {
  if (size > kLargest) return large(size);
  const std::size_t number = size == 0 ? 1 : (size + kStep - 1) / kStep;
  Pool& pool = pools[number];
  Free* const block = pool.first;
  if (block == nullptr) return refill(number);
  pool.first = block->next;
  return block;
}

void operator delete(void* block) noexcept {
  char* const base = range.load(std::memory_order_acquire);
  const std::size_t at = reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(base);
  if (base == nullptr || at >= kChunk * kChunks) {
    std::free(block);
    return;
  }
  Pool& pool = pools[pool_of_chunk[at / kChunk]];
  auto* const freed = static_cast<Free*>(block);
  freed->next = pool.first;
  pool.first = freed;
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
#endif
