// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources of host-to-device copies that change before they are read (--host_hash).
//
// The complement of the guard pages: where memory cannot be protected, its content is hashed when the copy is submitted
// and once more by a host function right in front of the copy. If it differs, somebody wrote to the source although the
// copy had not read it yet: a HostAccess record with AccessWay::Content, by the thread and with the stack that
// submitted the copy, since who wrote is not known. What is written and put back is not seen, nor what is written while
// the copy itself runs.
//
// A range is hashed in at most 256 pieces of equal size, of 4 KiB each if it is no larger than 1 MiB; the record names
// the first piece that differs. Pieces, not words, because only their hashes are kept.
//
// At most kMostHashed copies are watched at a time; those beyond are not. Not watched either: copies that are captured,
// and pageable memory, which is read at the call (R-CPY-13). The host function waits for nothing and makes no call of
// CUDA; memory that is not mapped any more when it runs is not read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/streams.h"

namespace streamsan::recorder {

inline constexpr unsigned kMostHashed = 256;
inline constexpr unsigned kMostHashedPieces = 256;
inline constexpr std::size_t kLeastPieceBytes = 4096;

/// A range of memory and what it held.
class ContentHash {
 public:
  /// Reads the range.
  void take(const void* begin, std::size_t bytes);

  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;  ///< 0: there is none
  };
  /// The first piece that holds something else now. Reads the range; what is not mapped any more counts as unchanged.
  [[nodiscard]] Piece first_changed() const;

 private:
  [[nodiscard]] Piece piece(unsigned index) const;

  const char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t piece_bytes_ = 0;
  unsigned count_ = 0;
  std::uint64_t hashes_[kMostHashedPieces] = {};
};

namespace detail {
extern constinit std::atomic<bool> g_host_hash;
}

/// One relaxed load; false unless the option is given.
inline bool hashing() { return detail::g_host_hash.load(std::memory_order_relaxed); }

/// Reads the options; when recording begins.
void start_hashing();

/// A copy that reads [begin, begin + bytes) of host memory asynchronously is about to be submitted to the stream by the
/// row `api`; to be called only while hashing(), and last of all before the real call. Does nothing unless the memory
/// is pinned or registered. `frame`: __builtin_frame_address(0) of the wrapper.
void hash_source(std::uint64_t begin, std::uint64_t bytes, StreamArgument stream, std::uint16_t api, const void* frame);

}  // namespace streamsan::recorder
