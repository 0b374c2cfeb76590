// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a launch: its pointers, and hashes that identify equal launches and launches that differ in one
// respect only.
//
// Every aligned 8-byte word inside a parameter may be a device pointer (structs by value hold them too: PyTorch passes
// its tensors so); see pointer_regions.h. Some kernels are given 4 KiB by value, at every step of a training loop, so
// what is done for one word counts. Each word goes into one chain of a multiplication for each step: plain ones into
// one of four that take turns (a chain waits for its own multiplications only), pointers into another, and a mark for
// their place into one of the four.
#pragma once

#include <bit>
#include <cstdint>

#include "interposer/pieces.h"

namespace streamsan::recorder {

/// The hashes. In all of them are grid and block. What is a pointer depends on what was allocated by then: a launch may
/// get other hashes than an equal one before it, and is taken for a new one.
struct ArgumentHashes {
  std::uint64_t all;      ///< everything
  std::uint64_t shape;    ///< everything but the values of pointers
  std::uint64_t buffers;  ///< the pointers, in their order
  std::uint64_t extents;  ///< nothing else
};

class LaunchArguments {
 public:
  /// First of all: grid and block.
  void extent(std::uint64_t value) { extents_ = add_word(extents_, value); }
  /// The next parameter. `bytes`: `size` bytes of it.
  void parameter(unsigned index, const char* bytes, std::uint32_t size);

  [[nodiscard]] ArgumentHashes hashes() const;

  /// trace::pointer_word() of each pointer, at most kMostLaunchPointers.
  [[nodiscard]] const std::uint64_t* pointers() const { return pointers_; }
  [[nodiscard]] unsigned count() const { return count_; }

 private:
  __extension__ using Product = unsigned __int128;
  static constexpr unsigned kChains = 4;
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;

  /// Both halves of a product: in the lower one alone, what differs in a word's top bits differs in few bits, which a
  /// later word can cancel (-1.0 for 1.0, and 48 for 32 four words on).
  static constexpr std::uint64_t add_word(std::uint64_t hash, std::uint64_t word) {
    const Product product = static_cast<Product>(std::rotl(hash, 5) ^ word) * kFactor;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  /// The word as it goes into the shape; notes it if it is a pointer.
  std::uint64_t plain(std::uint64_t word, unsigned index, bool in_structure);

  std::uint64_t pointers_[kMostLaunchPointers];
  unsigned count_ = 0;
  unsigned turn_ = 0;
  std::uint64_t extents_ = 0;
  std::uint64_t addresses_ = 0;
  std::uint64_t chains_[kChains] = {0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3};
};

}  // namespace streamsan::recorder
