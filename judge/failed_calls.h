// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that failed, and whether one of them is why two operations are not ordered.
//
// A failed call by itself is no finding: some programs try calls out. But if a record, a wait or a synchronisation
// failed, the program ignored the result, and two operations race that the call would have ordered, then the failure is
// the bug. The report names the call if it came between the two operations and
//   * was a record in the stream of the earlier one, or of the event that comes nearest to ordering them;
//   * was a wait of the stream of the later one;
//   * was a synchronisation of the host with the stream of the earlier one, that event, or everything.
//
// Bounded: the last kMost failed calls, and one count for each function and result.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "judge/handles.h"
#include "ordering/api/row.h"
#include "ordering/hazard.h"

namespace streamsan::judge {

struct FailedCall {
  ordering::SiteId site{};
  const api::Row* row = nullptr;
  std::uint32_t result = 0;  ///< CUresult
  std::optional<ordering::StreamId> stream;
  std::optional<ordering::EventId> event;
  EventLife event_life;
  std::uint64_t operations = 0;  ///< submitted before it
};

class FailedCalls {
 public:
  void add(FailedCall call);
  /// The one that would have ordered the two; nullptr: none. Valid until the next add().
  [[nodiscard]] const FailedCall* behind(const ordering::Hazard& hazard) const;
  /// The last record of the event that failed; nullptr: none.
  [[nodiscard]] const FailedCall* record_of(ordering::EventId event) const;
  /// "2 calls failed: cuEventRecord: invalid resource handle (400), 2 times"; empty: none did.
  [[nodiscard]] std::string summary() const;

 private:
  static constexpr std::size_t kMost = 256;

  std::deque<FailedCall> last_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> counts_;  ///< by function and result
  std::uint64_t total_ = 0;
};

/// "invalid resource handle (400)".
std::string result_text(std::uint32_t result);

}  // namespace streamsan::judge
