// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of an interpreted program: one range of this process's addresses, which nothing else uses. Each access is
// compared with its ends, so that no program, however wrong, touches what is the analyzer's.
//
//   | stack of each thread ... | heap, variables | host memory of CUDA |        device memory: addresses alone
//
// Memory is zeroed and never used twice: what a program reads of freed memory is what it was.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::analyzer::interpreter {

using Byte = std::uint8_t;
using Word = std::uint64_t;

class Memory {
 public:
  static constexpr std::size_t kStack = std::size_t{8} << 20U;  ///< of a thread
  static constexpr std::size_t kMostThreads = 64;
  static constexpr std::size_t kHeap = std::size_t{64} << 30U;  ///< addresses; what is touched is what costs
  static constexpr std::size_t kPinned = std::size_t{16} << 30U;
  /// A size above this is a mistake of the program's, or one of ours.
  static constexpr std::size_t kMostSize = std::size_t{1} << 38U;
  /// Of what a program fills in one call with another value than 0, so much is: it costs as much memory here. The rest
  /// keeps what it was. A program that copies more in one call, zeros apart, is not followed further.
  static constexpr std::size_t kMostAtOnce = std::size_t{256} << 20U;
  /// Far from where a system places programs, libraries and mappings, the sanitizers' shadows among them: no address of
  /// the host may look like one of the device.
  static constexpr Word kDevice = Word{0x20} << 40U;
  static constexpr std::size_t kDeviceSize = std::size_t{1} << 40U;
  /// Where the range of the host is asked for, so that runs do not differ. Taken already: the system chooses another.
  static constexpr Word kHost = Word{0x30} << 40U;

  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// False: no memory could be had.
  [[nodiscard]] bool usable() const { return begin_ != nullptr; }
  [[nodiscard]] bool contains(Word address, std::size_t size) const {
    const Word offset = address - reinterpret_cast<Word>(begin_);
    return offset < size_ && size <= size_ - offset;
  }
  [[nodiscard]] bool is_stack(Word address) const {
    return address - reinterpret_cast<Word>(begin_) < kStack * kMostThreads;
  }
  [[nodiscard]] bool is_pinned(Word address) const { return address - reinterpret_cast<Word>(pinned_) < kPinned; }
  static bool is_device(Word address) { return address - kDevice < kDeviceSize; }

  // These two take ranges that `contains`.
  static void fill(Word to, int value, std::size_t size);
  /// Pages that are zero stay untouched, so that a copy costs no more memory than what it is made of. False: it was too
  /// much, and not all of it is done.
  static bool copy(Word to, Word from, std::size_t size);

  Byte* stack(std::size_t thread) { return begin_ + thread * kStack; }
  /// nullptr: there is no more.
  Byte* heap(std::size_t size, std::size_t alignment = 16);
  Byte* pinned(std::size_t size);
  /// 0: the size is too large.
  Word device(std::size_t size);

 private:
  Byte* begin_ = nullptr;
  std::size_t size_ = 0;
  Byte* heap_ = nullptr;
  Byte* heap_end_ = nullptr;
  Byte* pinned_ = nullptr;
  Byte* next_pinned_ = nullptr;
  Word next_device_ = kDevice + (Word{1} << 20U);
};

}  // namespace streamsan::analyzer::interpreter
