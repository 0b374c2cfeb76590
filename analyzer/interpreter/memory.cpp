// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reserves memory and hands it out; see memory.h.
#include "analyzer/interpreter/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace streamsan::analyzer::interpreter {
namespace {

/// The number of bytes that are tested for zeros at a time.
constexpr std::size_t kPart = 4096;
/// From this size on, it is worth asking the system which pages are in use.
constexpr std::size_t kLarge = std::size_t{1} << 20U;

Byte* pointer(Word address) { return reinterpret_cast<Byte*>(address); }

bool is_zero(const Byte* at, std::size_t size) { return *at == 0 && std::memcmp(at, at + 1, size - 1) == 0; }

}  // namespace

Memory::Memory() {
  size_ = kStack * kMostThreads + kHeap + kPinned;
  void* const got = ::mmap(reinterpret_cast<void*>(kHost), size_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    size_ = 0;
    return;
  }
  begin_ = static_cast<Byte*>(got);
  heap_ = begin_ + kStack * kMostThreads;
  heap_end_ = heap_ + kHeap;
  pinned_ = next_pinned_ = heap_end_;
}

Memory::~Memory() {
  if (begin_ != nullptr) ::munmap(begin_, size_);
}

void Memory::fill(Word to, int value, std::size_t size) {
  if (value != 0 || size < kLarge) {
    std::memset(pointer(to), value, std::min(size, kMostAtOnce));
    return;
  }
  static const Word page = static_cast<Word>(::sysconf(_SC_PAGESIZE));
  const Word end = to + size, first = (to + page - 1) / page * page, last = end / page * page;
  std::memset(pointer(to), 0, first - to);
  std::memset(pointer(last), 0, end - last);
  // Pages that were given back to the system read as zeros.
  if (::madvise(pointer(first), last - first, MADV_DONTNEED) != 0) std::memset(pointer(first), 0, last - first);
}

bool Memory::copy(Word to, Word from, std::size_t size) {
  const bool overlap = to < from + size && from < to + size;
  if (size < kLarge || overlap) {
    if (size > kMostAtOnce) return false;
    std::memmove(pointer(to), pointer(from), size);
    return true;
  }
  fill(to, 0, size);
  std::size_t copied = 0;
  for (std::size_t done = 0; done < size && copied <= kMostAtOnce; done += kPart)
    if (const std::size_t part = std::min(kPart, size - done); !is_zero(pointer(from + done), part)) {
      std::memcpy(pointer(to + done), pointer(from + done), part);
      copied += part;
    }
  return copied <= kMostAtOnce;
}

Byte* Memory::heap(std::size_t size, std::size_t alignment) {
  if (size > kMostSize) return nullptr;
  const Word begin = (reinterpret_cast<Word>(heap_) + alignment - 1) & ~Word{alignment - 1};
  const Word end = reinterpret_cast<Word>(heap_end_);
  // Blocks are a byte apart: the end of one is not the begin of the next.
  if (begin > end || size + 1 > end - begin) return nullptr;
  heap_ = reinterpret_cast<Byte*>(begin) + size + 1;
  return reinterpret_cast<Byte*>(begin);
}

Byte* Memory::pinned(std::size_t size) {
  constexpr std::size_t kPage = 4096;
  if (size > kMostSize) return nullptr;
  const std::size_t whole = (size + kPage) / kPage * kPage;
  if (whole > static_cast<std::size_t>(pinned_ + kPinned - next_pinned_)) return nullptr;
  Byte* const result = next_pinned_;
  next_pinned_ += whole;
  return result;
}

Word Memory::device(std::size_t size) {
  constexpr std::size_t kUnit = 512;
  if (size > kMostSize) return 0;
  const Word result = next_device_;
  next_device_ += (size + kUnit) / kUnit * kUnit;
  return result;
}

}  // namespace streamsan::analyzer::interpreter
