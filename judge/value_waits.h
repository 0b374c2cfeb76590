// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams that wait for a value in memory (cuStreamWaitValue32 and the like), and the streams that write it.
//
// A wait is taken to come after all that was submitted before it (R-MOP-01). That is enough where the write is
// submitted first. But the wait of a consumer may be submitted before the work of the producer:
//
//     consumer: wait for *flag >= 1, read the buffer
//     producer: fill the buffer, write 1 to *flag          submitted later, and runs first
//
// So while no write is known that ends the wait, a conflict of the stream's work with what is submitted after the wait
// is possible, never certain. That state ends
//   * when a stream writes such a value: the waiting stream comes after all that is submitted by then, and conflicts
//     with the writing stream's work in front of the write were none;
//   * when the host has waited for the stream: the value was there.
// A value that the host or a kernel writes is not seen. Nor is it followed that a third stream comes after the waiting
// one: conflicts of that one's work stay certain.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "ordering/hazard.h"
#include "ordering/types.h"

namespace streamsan::judge {

/// When a wait ends, as the words of trace::Kind::StreamJoinsAll have it.
struct ValueWait {
  std::uint64_t address = 0;
  std::uint64_t value = 0;
  std::uint32_t how = 0;  ///< CUstreamWaitValue_flags
  unsigned bits = 32;     ///< of the word
  /// Does it end when this value stands there?
  [[nodiscard]] bool ends_with(std::uint64_t there) const;
};

class ValueWaits {
 public:
  /// The operation `op` of the stream is a wait. True: a write that ends it was submitted before.
  bool wait(ordering::StreamId stream, std::uint64_t op, const ValueWait& wait);
  struct Ended {
    std::vector<ordering::StreamId> streams;  ///< whose wait is over
    std::vector<std::uint32_t> harmless;      ///< the indices of hazards that were none, see keep()
  };
  /// The operation `op` of the stream writes the value.
  Ended write(ordering::StreamId writer, std::uint64_t address, std::uint64_t value, std::uint64_t op);
  /// Hazards::kept()[index] counts this hazard, one side of which waits.
  void keep(const ordering::Hazard& hazard, std::uint32_t index);
  /// The host waits for the stream, or for all of them, and `op` was the last operation so far.
  void end(ordering::StreamId stream, std::uint64_t op);
  void end_all(std::uint64_t op);
  /// Which of the two may wait for a value that is written behind the other one?
  [[nodiscard]] ordering::Hazard::Awaits who_waits(const ordering::Hazard& hazard) const;

 private:
  /// From the wait on, until no more is in doubt. Both are numbers of operations.
  struct Doubt {
    std::uint64_t begin = 0;
    std::uint64_t end = kOpen;
    static constexpr std::uint64_t kOpen = ~std::uint64_t{0};
  };
  struct Open {
    ordering::StreamId other;  ///< of the side that does not wait
    std::uint32_t index;
  };
  struct Waiting {
    std::deque<Doubt> doubts;      ///< oldest first
    std::vector<ValueWait> waits;  ///< those that are not over
    std::vector<Open> open;        ///< met since the first of these
  };
  [[nodiscard]] bool may_wait(const ordering::Access& access, const ordering::Hazard& hazard) const;
  static void close(Waiting& waiting, std::uint64_t op);

  std::map<ordering::StreamId, Waiting> streams_;
  std::unordered_map<std::uint64_t, std::uint64_t> written_;  ///< by address, the last value
};

}  // namespace streamsan::judge
