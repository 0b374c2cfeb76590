// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What earlier runs measured: the file that the launcher keeps between runs (cli/footprint_cache.h), and the extract of
// it that the recorder is given (interposer/earlier.h). Both have this form:
//
//   +------------------+ 0
//   | EarlierHeader    |
//   | EarlierLaunch    |   `launches` of them, sorted by key, no key twice
//   | Piece            |   `pieces` of them: the bytes that the launches touched
//   +------------------+
//
// A KEY stands for all launches that are given the same: kernel (by its machine code), grid, block, shared memory, and
// arguments up to the values of pointers, on one kind of device with one driver. It means the same in every run. What
// is kept of it is relative to the pointers, as in a trace.
//
// Nothing in such a file is believed unchecked: EarlierFile answers only from within its bytes. A wrong answer costs
// precision and nothing else, because what an earlier run saw never makes an error by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "trace/format.h"

namespace streamsan::trace {

inline constexpr std::uint64_t kEarlierMagic = 0x31726c7265537353ull;  // "SsSerlr1"
inline constexpr std::uint32_t kEarlierVersion = 1;

struct EarlierHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t launch_bytes;  ///< of an EarlierLaunch
  std::uint64_t tool;          ///< stands for the version of StreamSan that measured
  std::uint64_t launches;
  std::uint64_t pieces;
  std::uint64_t checksum;  ///< earlier_checksum() of all that follows the header
};

struct EarlierLaunch {
  enum Flags : std::uint8_t {
    kIncomplete = 1,  ///< the kernel may have touched more
    kVaries = 2,      ///< two measurements differed: nothing is known of it
    kMet = 4,         ///< the kernel was in a conflict in the last run
  };

  std::uint64_t key;
  std::uint32_t first_piece;
  std::uint32_t pieces;
  std::uint32_t kernel_launches;  ///< of the kernel, whatever it was given, in the last run
  std::uint32_t day;              ///< of the last run that launched it, in days since 1970
  std::uint8_t keys;              ///< how many launches that differ in pointers were measured in one run
  std::uint8_t times;             ///< how often each of them at least
  std::uint8_t flags;
  std::uint8_t unused[5];
};
static_assert(sizeof(EarlierLaunch) == 32 && std::is_trivially_copyable_v<EarlierLaunch>);
static_assert(sizeof(EarlierHeader) == 48);

constexpr std::uint64_t mix_earlier(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 32;
}

inline std::uint64_t earlier_checksum(const void* bytes, std::size_t size) {
  std::uint64_t hash = mix_earlier(0x5374726d53616e21ull, size);
  const auto* at = static_cast<const char*>(bytes);
  for (; size >= sizeof hash; at += sizeof hash, size -= sizeof hash) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    hash = mix_earlier(hash, word);
  }
  std::uint64_t rest = 0;
  if (size) std::memcpy(&rest, at, size);
  return mix_earlier(hash, rest);
}

/// A view of such a file in memory, which is at an address that is a multiple of 8. Empty: there is none, or it is not
/// of this form.
class EarlierFile {
 public:
  EarlierFile() = default;
  /// `bytes` must outlive it. Checks all but the checksum.
  EarlierFile(const void* bytes, std::size_t size) {
    const auto* head = static_cast<const EarlierHeader*>(bytes);
    if (size < sizeof *head || head->magic != kEarlierMagic || head->version != kEarlierVersion) return;
    if (head->launch_bytes != sizeof(EarlierLaunch)) return;
    const std::size_t room = size - sizeof *head;
    if (head->launches > room / sizeof(EarlierLaunch)) return;
    const std::size_t left = room - head->launches * sizeof(EarlierLaunch);
    if (left % sizeof(Piece) != 0 || head->pieces != left / sizeof(Piece)) return;
    head_ = head;
  }

  explicit operator bool() const { return head_ != nullptr; }
  [[nodiscard]] const EarlierHeader& header() const { return *head_; }
  [[nodiscard]] std::size_t count() const { return head_ ? head_->launches : 0; }
  [[nodiscard]] const EarlierLaunch* launches() const { return reinterpret_cast<const EarlierLaunch*>(head_ + 1); }

  /// Null: there is none. If the file is not sorted: any of its launches, or none.
  [[nodiscard]] const EarlierLaunch* find(std::uint64_t key) const {
    std::size_t first = 0;
    for (std::size_t last = count(); first < last;) {
      const std::size_t middle = first + (last - first) / 2;
      const EarlierLaunch& launch = launches()[middle];
      if (launch.key == key) return &launch;
      launch.key < key ? first = middle + 1 : last = middle;
    }
    return nullptr;
  }
  /// The pieces of one of its launches. Null: they are not in the file.
  [[nodiscard]] const Piece* pieces(const EarlierLaunch& launch) const {
    if (launch.first_piece > head_->pieces || launch.pieces > head_->pieces - launch.first_piece) return nullptr;
    return reinterpret_cast<const Piece*>(launches() + count()) + launch.first_piece;
  }

 private:
  const EarlierHeader* head_ = nullptr;
};

}  // namespace streamsan::trace
