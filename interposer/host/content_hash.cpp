// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/mman.h>

#include <bit>
#include <cstring>

#include "interposer/handle_table.h"
#include "interposer/host/host_hash.h"
#include "trace/pages.h"

namespace streamsan::recorder {
namespace {

/// Four words at a time, each with a hash of its own: a multiplication need not wait for the one before.
std::uint64_t hash_bytes(const char* at, std::size_t bytes) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  std::uint64_t words[4];
  constexpr std::size_t kBlock = sizeof words;
  while (bytes >= kBlock) {
    std::memcpy(words, at, kBlock);
    for (int i = 0; i < 4; ++i) lanes[i] = (std::rotl(lanes[i], 5) ^ words[i]) * kFactor;
    at += sizeof words;
    bytes -= sizeof words;
  }
  std::memset(words, 0, sizeof words);
  std::memcpy(words, at, bytes);
  std::uint64_t hash = bytes;
  for (int i = 0; i < 4; ++i) hash = mix_bits(hash ^ (std::rotl(lanes[i], 5) ^ words[i]) * kFactor);
  return hash;
}

/// A buggy program may have unmapped its source while the copy was on its way.
bool is_mapped(std::uint64_t begin, std::uint64_t bytes) {
  const std::uint64_t page = page_bytes();
  const std::uint64_t end = begin + bytes;
  unsigned char resident[256];
  for (std::uint64_t at = page_below(begin); at < end; at += page * sizeof resident) {
    std::uint64_t length = end - at;
    if (length > page * sizeof resident) length = page * sizeof resident;
    if (mincore(reinterpret_cast<void*>(at), length, resident) != 0) return false;
  }
  return true;
}

}  // namespace

ContentHash::Piece ContentHash::piece(unsigned index) const {
  const std::size_t offset = index * piece_bytes_;
  const std::size_t rest = bytes_ - offset;
  return {reinterpret_cast<std::uint64_t>(begin_) + offset, rest < piece_bytes_ ? rest : piece_bytes_};
}

void ContentHash::take(const void* begin, std::size_t bytes) {
  begin_ = static_cast<const char*>(begin);
  bytes_ = bytes;
  piece_bytes_ = kLeastPieceBytes;
  while (piece_bytes_ * kMostHashedPieces < bytes) piece_bytes_ *= 2;
  count_ = static_cast<unsigned>((bytes + piece_bytes_ - 1) / piece_bytes_);
  for (unsigned i = 0; i < count_; ++i) {
    const Piece part = piece(i);
    hashes_[i] = hash_bytes(begin_ + i * piece_bytes_, part.bytes);
  }
}

ContentHash::Piece ContentHash::first_changed() const {
  for (unsigned i = 0; i < count_; ++i) {
    const Piece part = piece(i);
    if (!is_mapped(part.begin, part.bytes)) continue;
    if (hash_bytes(begin_ + i * piece_bytes_, part.bytes) != hashes_[i]) return part;
  }
  return {};
}

}  // namespace streamsan::recorder
