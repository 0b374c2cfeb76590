// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "interposer/host/host_hash.h"

namespace streamsan::recorder {
namespace {

class Content : public ::testing::Test {
 protected:
  void take(std::size_t bytes) {
    memory_.assign(bytes, 0);
    for (std::size_t i = 0; i < bytes; ++i) memory_[i] = static_cast<char>(i * 7);
    hash_->take(memory_.data(), bytes);
  }
  [[nodiscard]] std::uint64_t offset(const ContentHash::Piece& piece) const {
    return piece.begin - reinterpret_cast<std::uint64_t>(memory_.data());
  }

  std::vector<char> memory_;
  std::unique_ptr<ContentHash> hash_ = std::make_unique<ContentHash>();
};

TEST_F(Content, ThatStaysIsUnchanged) {
  for (std::size_t bytes : {1u, 7u, 8u, 31u, 32u, 33u, 4095u, 4096u, 4097u, 1u << 20, (1u << 20) + 1}) {
    take(bytes);
    EXPECT_EQ(hash_->first_changed().bytes, 0u) << bytes;
  }
}

TEST_F(Content, AnyBytePutBackOrNotIsSeenWhileItDiffers) {
  for (std::size_t bytes : {1u, 2u, 31u, 32u, 33u, 65u, 100u}) {
    take(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      for (char flip : {'\x01', '\x80'}) {
        memory_[i] = static_cast<char>(memory_[i] ^ flip);
        const ContentHash::Piece changed = hash_->first_changed();
        EXPECT_EQ(changed.bytes, bytes) << "byte " << i << " of " << bytes;
        EXPECT_EQ(offset(changed), 0u);
        memory_[i] = static_cast<char>(memory_[i] ^ flip);
        EXPECT_EQ(hash_->first_changed().bytes, 0u);
      }
    }
  }
}

TEST_F(Content, TheFirstPieceThatDiffersIsNamed) {
  take(10 * kLeastPieceBytes + 5);
  memory_[9 * kLeastPieceBytes] ^= 1;
  memory_[3 * kLeastPieceBytes - 1] ^= 1;
  ContentHash::Piece changed = hash_->first_changed();
  EXPECT_EQ(offset(changed), 2 * kLeastPieceBytes);
  EXPECT_EQ(changed.bytes, kLeastPieceBytes);
  take(10 * kLeastPieceBytes + 5);
  memory_.back() ^= 1;
  changed = hash_->first_changed();
  EXPECT_EQ(offset(changed), 10 * kLeastPieceBytes);
  EXPECT_EQ(changed.bytes, 5u);
}

TEST_F(Content, LargeRangesHaveLargerPieces) {
  constexpr std::size_t kBytes = 3 * kMostHashedPieces * kLeastPieceBytes + 1;
  take(kBytes);
  memory_[kBytes - 1] ^= 1;
  const ContentHash::Piece changed = hash_->first_changed();
  EXPECT_GT(changed.bytes, 0u);
  EXPECT_LE(changed.bytes, 4 * kLeastPieceBytes);
  EXPECT_EQ(offset(changed) + changed.bytes, kBytes);
}

TEST_F(Content, SwappedWordsDiffer) {
  take(64);
  std::swap_ranges(memory_.begin(), memory_.begin() + 8, memory_.begin() + 8);
  EXPECT_EQ(hash_->first_changed().bytes, 64u);
  take(64);
  std::swap_ranges(memory_.begin(), memory_.begin() + 8, memory_.begin() + 32);
  EXPECT_EQ(hash_->first_changed().bytes, 64u);
}

TEST_F(Content, MemoryThatIsGoneIsNotRead) {
  constexpr std::size_t kBytes = 8 * kLeastPieceBytes;
  void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  auto* bytes = static_cast<char*>(at);
  hash_->take(bytes, kBytes);
  munmap(bytes, 4 * kLeastPieceBytes);
  EXPECT_EQ(hash_->first_changed().bytes, 0u);
  bytes[5 * kLeastPieceBytes] = 1;
  EXPECT_EQ(hash_->first_changed().begin, reinterpret_cast<std::uint64_t>(bytes) + 5 * kLeastPieceBytes);
  munmap(bytes + 4 * kLeastPieceBytes, 4 * kLeastPieceBytes);
  EXPECT_EQ(hash_->first_changed().bytes, 0u);
}

}  // namespace
}  // namespace streamsan::recorder
