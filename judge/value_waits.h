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
// So while a wait is open, a conflict of work behind it with what is submitted after it is possible, never certain. It
// is open until
//   * another stream writes a value that ends it: the waiting stream then comes after that stream's work so far, and
//     conflicts with that work were none;
//   * the host has waited for the stream, or has found it idle: the value was there.
// A wait is never open if such a value was the last that a stream wrote to the word, and nothing was copied or filled
// there since.
//
// What the host or a kernel writes is not seen. Nor is it followed that a third stream comes after the waiting one:
// conflicts of that one's work stay certain.
#pragma once

#include <cstdint>
#include <map>
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
  /// The operation `op` of the stream is a wait.
  void wait(ordering::StreamId stream, std::uint64_t op, const ValueWait& wait);
  struct Ended {
    std::vector<ordering::StreamId> streams;  ///< one of whose waits is over
    std::vector<std::uint32_t> harmless;      ///< the indices of hazards that were none, see keep()
  };
  /// The stream writes the value.
  Ended write(ordering::StreamId writer, std::uint64_t address, std::uint64_t value);
  /// Something else may have been written to these bytes.
  void overwritten(const ordering::Footprint& bytes);
  /// Hazards::kept()[index] counts this hazard, of which who_waits() was not No.
  void keep(const ordering::Hazard& hazard, ordering::Hazard::Awaits awaits, std::uint32_t index);
  /// The streams that have open waits.
  [[nodiscard]] std::vector<ordering::StreamId> waiting() const;
  /// What the stream has submitted up to the operation `op` is complete.
  void complete(ordering::StreamId stream, std::uint64_t op);
  /// Which of the two may wait for a value that is written behind the other one?
  [[nodiscard]] ordering::Hazard::Awaits who_waits(const ordering::Hazard& hazard) const;

 private:
  struct Wait {
    std::uint64_t op;
    ValueWait until;
  };
  struct Kept {
    std::uint64_t op;          ///< of the earlier one of the two
    ordering::StreamId other;  ///< of the side that does not wait
    std::uint32_t index;
  };
  struct Waiting {
    std::vector<Wait> waits;  ///< open ones, the oldest first
    std::vector<Kept> kept;
  };
  [[nodiscard]] bool may_wait(const ordering::Access& access, const ordering::Hazard& hazard) const;

  std::map<ordering::StreamId, Waiting> streams_;   ///< with open waits
  std::map<std::uint64_t, std::uint64_t> written_;  ///< by address, the last value
};

}  // namespace streamsan::judge
