// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for the GPU where the program has said that there are none (trace::Kind::HostWaits, `streamsan.no_sync()` of
// the Python module).
//
// WHAT COUNTS is a call that does not return before work of the GPU is done, whether there was any this time or not:
// the program is to be free of them in every run.
//   * synchronisation of a device, a stream or an event. A query is none;
//   * synchronous copies, except from device to device (R-CPY-01 ff.), and asynchronous ones to pageable memory
//     (R-CPY-14); asynchronous ones from pageable memory where they are too large to be staged at once (R-CPY-13);
//   * cudaFree, cudaFreeHost and cudaHostUnregister, which wait for all work (R-ALC-02, R-ALC-05);
//   * cudaMalloc, cudaMallocHost and the like. On today's driver they do not wait (R-ALC-01), but NVIDIA's guide counts
//     them among what synchronises implicitly, and they take the driver's lock for long: a step that is to be free of
//     waits has no place for them. Memory in the order of a stream (cudaMallocAsync) does not count.
// The load of a module also waits. It is not seen here: the driver does it inside of a launch.
//
// A thread answers for itself only: what other threads do meanwhile is theirs, autograd's included.
//
// Calls from one place are one finding. Of the calls that one line of Python makes (the copy and the wait of
// `.item()`) the first one stands for all: they have one repair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/handles.h"
#include "judge/marks.h"
#include "judge/places.h"
#include "judge/symbolizer.h"
#include "ordering/flat_map.h"
#include "ordering/types.h"
#include "report/finding.h"

namespace streamsan::judge {

/// Why the call waits.
enum class Wait : std::uint8_t {
  Synchronises,      ///< it is there for nothing else
  Copies,            ///< a synchronous copy
  PageableDownload,  ///< an asynchronous copy to pageable memory
  PageableUpload,    ///< an asynchronous, large copy from pageable memory
  Frees,
  Allocates,
};

struct HiddenSync {
  Wait wait{};
  ordering::SiteId site{};
  ordering::SiteId region{};  ///< where the part without waits began; kNoSite: not known
  StreamLife stream;          ///< it waits for; meaningless unless on_stream
  bool on_stream = false;
  TestSet tests;
  MarkId part{};  ///< of the first one
  std::uint64_t count = 1;
};

class HiddenSyncs {
 public:
  /// The thread may wait from here on, or must not.
  void say(std::uint16_t thread, trace::HostWaitsState state, ordering::SiteId site);
  [[nodiscard]] bool forbidden(std::uint16_t thread) const;
  /// Has any thread said anything so far?
  [[nodiscard]] bool any() const { return !threads_.empty(); }
  /// A thread that must not wait does. `stream`: that it waits for; null: not one alone. `position`: of the record.
  void met(Wait wait, std::uint16_t thread, ordering::SiteId site, const StreamLife* stream, const Places& places,
           const Marks& marks, std::uint64_t position);

  [[nodiscard]] std::vector<report::Finding> explain(const Places& places, Symbolizer& symbolizer,
                                                     const Marks& marks) const;

 private:
  struct Thread {
    std::uint16_t number = 0;
    trace::HostWaitsState state{};
    ordering::SiteId region{};
  };
  [[nodiscard]] const Thread* find(std::uint16_t thread) const;

  std::vector<Thread> threads_;  ///< few
  std::vector<HiddenSync> kept_;
  ordering::FlatMap<std::uint32_t> index_;  ///< of a place of Python or a site -> index in kept_, plus one
};

}  // namespace streamsan::judge
