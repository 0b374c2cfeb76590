// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From raw handles, which the driver reuses, to the model's ids, each of which names one life; and which streams are
// captured.
//
// STREAMS. Handle 1 is the legacy stream of the calling thread's context, 2 the per-thread default stream of (thread,
// context); others live from StreamCreate to StreamDestroy. A handle whose creation was not seen counts as a blocking
// stream: that has more order than a non-blocking one, so a race may be missed but none is invented.
//
// EVENTS. An event shared with another process, or whose creation was not seen (until this process records it), is
// foreign: it may have been recorded unseen. Waiting for it counts as waiting for everything (R-EVT-15), not as waiting
// for nothing (R-EVT-04).
//
// CAPTURE (R-GRF-01, 03, 05). Between CaptureBegin and CaptureEnd the calls on a stream build a graph and nothing runs.
// An event recorded in a capturing stream belongs to that capture, and a stream that waits for it joins the capture
// until its end. executes() answers whether a call on a stream reaches the GPU now.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "ordering/flat_map.h"
#include "ordering/model.h"

namespace streamsan::judge {

// Flags of an event that is made.
inline constexpr std::uint64_t kEventDisableTiming = 2;  ///< CU_EVENT_DISABLE_TIMING
inline constexpr std::uint64_t kEventInterprocess = 4;   ///< CU_EVENT_INTERPROCESS

struct StreamLife {
  std::uint64_t handle = 0;
  std::uint64_t unique = 0;  ///< cuStreamGetId, 0: not known
  ordering::ContextId context{};
  ordering::StreamKind kind = ordering::StreamKind::Blocking;
  ordering::ThreadId thread{};          ///< PerThread: whose
  std::optional<std::uint32_t> device;  ///< ordinal; of a program that uses one device: none
  std::uint32_t number = 0;             ///< 1, 2, 3 in order of creation: "stream 2"
  std::uint32_t capture = 0;            ///< the capture it takes part in, 0: none
  ordering::SiteId created{};           ///< where; kNoSite: not known
  std::string name;                     ///< given by the program
};

struct EventLife {
  std::uint64_t handle = 0;
  std::uint32_t number = 0;
  std::uint32_t capture = 0;   ///< last recorded in this capture, 0: recorded for real, or never
  bool foreign = false;        ///< somebody we cannot see may have recorded it
  bool interprocess = false;   ///< and may do so at any time
  ordering::SiteId created{};  ///< where; kNoSite: not known
};

class Handles {
 public:
  explicit Handles(ordering::Model& model) : model_(model) {}

  /// 0 stands for the context the thread used last.
  ordering::ContextId context(std::uint64_t raw, ordering::ThreadId thread);
  /// The context is current to the thread, and of that device.
  void place_context(std::uint64_t raw, std::uint64_t device, ordering::ThreadId thread);
  /// The context, and all others that may be green contexts of its device. 0: all there are.
  std::vector<ordering::ContextId> with_green_contexts(std::uint64_t raw, ordering::ThreadId thread);
  void destroy_context(std::uint64_t raw);
  /// Its ordinal; none: not known, or the program uses one device.
  [[nodiscard]] std::optional<std::uint32_t> device(ordering::ContextId context) const;

  ordering::StreamId stream(std::uint64_t raw, std::uint64_t raw_context, ordering::ThreadId thread);
  void create_stream(std::uint64_t raw, bool non_blocking, std::uint64_t raw_context, std::uint64_t unique,
                     ordering::ThreadId thread, ordering::SiteId created = ordering::kNoSite);
  void destroy_stream(std::uint64_t raw);
  void name_stream(std::uint64_t raw, std::string name);
  /// nullptr for a stream destroyed long ago.
  [[nodiscard]] const StreamLife* life(ordering::StreamId stream) const;
  /// Is it there now, that is, made and not destroyed?
  [[nodiscard]] bool exists(ordering::StreamId stream) const;

  /// The stream or event that has the handle now, if one was met; these make none.
  [[nodiscard]] std::optional<ordering::StreamId> known_stream(std::uint64_t raw) const;
  [[nodiscard]] std::optional<ordering::EventId> known_event(std::uint64_t raw) const;

  ordering::EventId event(std::uint64_t raw);
  void create_event(std::uint64_t raw, bool interprocess, ordering::EventTiming timing = ordering::EventTiming::On,
                    ordering::SiteId created = ordering::kNoSite);
  void destroy_event(std::uint64_t raw);
  /// nullptr for an event that was destroyed.
  [[nodiscard]] const EventLife* life(ordering::EventId event) const;

  /// A graph that was created there is launched there.
  void launch_graph(ordering::SiteId launch, ordering::SiteId created);
  /// A graph that was created there is looked at by itself from now on.
  void check_graph(ordering::SiteId created) { checked_graph_ = created; }
  /// Where the graph was created that the access is a node of; kNoSite: it is none, that is not known, or several
  /// graphs were launched at that place.
  [[nodiscard]] ordering::SiteId graph_of(const ordering::Access& access) const;

  void begin_capture(ordering::StreamId stream);
  void end_capture(ordering::StreamId stream);
  /// Is what is submitted to the stream executed (not captured)?
  [[nodiscard]] bool executes(ordering::StreamId stream) const;
  /// The event is recorded in the stream. False: into a capture, the model must not hear of it.
  bool recorded(ordering::EventId event, ordering::StreamId stream);
  /// The stream waits for the event. False: a dependency inside a capture; the stream takes part in it from now on.
  bool waits(ordering::EventId event, ordering::StreamId stream);

 private:
  StreamLife& adopt(ordering::StreamId id, StreamLife life);

  ordering::Model& model_;
  ordering::FlatMap<std::uint32_t> contexts_;      ///< raw -> ContextId
  ordering::FlatMap<std::uint32_t> last_context_;  ///< thread -> ContextId
  ordering::FlatMap<std::uint32_t> devices_;       ///< ContextId -> ordinal + 1
  std::uint32_t first_device_ = 0;                 ///< ordinal + 1
  bool several_devices_ = false;
  std::uint32_t next_context_ = 1;
  std::uint32_t newest_context_ = 0;

  ordering::FlatMap<std::uint32_t> streams_;     ///< raw -> StreamId
  ordering::FlatMap<std::uint32_t> legacy_;      ///< ContextId -> StreamId
  ordering::FlatMap<std::uint32_t> per_thread_;  ///< ContextId << 32 | thread -> StreamId
  ordering::FlatMap<StreamLife> stream_lives_;
  std::deque<ordering::StreamId> destroyed_streams_;  ///< lives kept for reports, the oldest first
  std::uint32_t next_stream_number_ = 1;

  ordering::FlatMap<std::uint32_t> events_;  ///< raw -> EventId
  ordering::FlatMap<EventLife> event_lives_;
  std::uint32_t next_event_number_ = 1;

  ordering::FlatMap<ordering::SiteId> graphs_;  ///< where it is launched -> where it was created; kNoSite: several
  ordering::SiteId checked_graph_{};

  ordering::FlatMap<std::vector<ordering::StreamId>> captures_;  ///< active ones and who takes part
  std::uint32_t next_capture_ = 1;
};

}  // namespace streamsan::judge
