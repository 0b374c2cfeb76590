// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of an interpreted program: one range of this process's addresses, which nothing else uses. Each access is
// checked against the range, so that no program, however wrong, touches memory of the analyzer.
//
//   | stack of each thread ... | heap, variables | host memory of CUDA |        device memory: addresses alone
//
// Memory is zeroed and never handed out twice: a program that reads freed memory finds the old values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::analyzer::interpreter {

using Byte = std::uint8_t;
using Word = std::uint64_t;

class Memory {
 public:
  static constexpr std::size_t kStack = std::size_t{8} << 20U;  ///< bytes per thread
  static constexpr std::size_t kMostThreads = 64;
  static constexpr std::size_t kHeap = std::size_t{64} << 30U;  ///< addresses; only touched pages use memory
  static constexpr std::size_t kPinned = std::size_t{16} << 30U;
  /// A larger size is an error of the program or of the interpreter.
  static constexpr std::size_t kMostSize = std::size_t{1} << 38U;
  /// A call that fills memory with a value other than 0 fills no more than this, because it uses as much memory here.
  /// The rest keeps its values. A program that copies more in one call, zeros not counted, is not followed further.
  static constexpr std::size_t kMostAtOnce = std::size_t{256} << 20U;
  /// Far from the addresses of programs, libraries and mappings, the sanitizers' shadow memory included: no host
  /// address may look like a device address.
  static constexpr Word kDevice = Word{0x20} << 40U;
  static constexpr std::size_t kDeviceSize = std::size_t{1} << 40U;
  /// The wanted address of the host range, so that all runs have the same. If it is taken, the system chooses another.
  static constexpr Word kHost = Word{0x30} << 40U;

  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// False: the memory could not be reserved.
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

  // The ranges of these two must be inside the memory (contains()).
  static void fill(Word to, int value, std::size_t size);
  /// Zero pages stay untouched, so that a copy uses no more memory than its source. False: there was too much to copy,
  /// so only a part was.
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
