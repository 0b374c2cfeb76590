// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events that do nothing, or less than they seem to. Found from the calls alone, whatever memory is touched.
//
//   NeverRecorded     A stream or the host waits for an event that nothing records in its whole life: the wait does
//                     nothing (R-EVT-04). Latent if no wait at that place ever waited for anything; else a note, as a
//                     loop over slots of which some stay unused does just this.
//   WaitedTooEarly    A wait before the event's first record: it waits for nothing (R-EVT-03). A note, as this is
//                     common and correct in the first turn of a loop.
//   RecordLost        An event is recorded in one stream and then in another, nothing looks at it in between, and it is
//                     waited for then: what the first record captured is not waited for (R-EVT-03), unless the second
//                     comes after it in any case. A note.
//   RecordedTooEarly  All records of the event were made in streams that held no work and were after nothing, and it is
//                     waited for elsewhere when its stream has got work: the wait covers none of it (R-EVT-01). A note.
//                     (An event that is recorded once so that the first wait for it passes is recorded again later,
//                     with work.)
//
// Events that may be recorded unseen (foreign, captured, recorded by a graph) are not reported, and no event is if the
// program makes order that is not seen.
//
// Bounded: by live events, by the places of the program where events are used, and eight bytes for each life of a
// stream.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "judge/handles.h"
#include "ordering/flat_map.h"
#include "ordering/model.h"
#include "ordering/types.h"

namespace streamsan::judge {

enum class MisuseKind : std::uint8_t { NeverRecorded, WaitedTooEarly, RecordLost, RecordedTooEarly };

/// A call on an event.
struct EventUse {
  ordering::SiteId site{};
  ordering::StreamId stream{};  ///< meaningless when the host waits
  ordering::OpId op{};          ///< kNoOp for the host
  ordering::ThreadId thread{};
  bool by_host = false;  ///< the host waits
};

struct Misuse {
  MisuseKind kind{};
  ordering::EventId event_id{};
  EventLife event;
  EventUse wait;
  EventUse record;  ///< WaitedTooEarly: the later one; RecordLost: the one waited for; RecordedTooEarly
  EventUse lost;    ///< RecordLost
  // Handles may be destroyed before the report is made.
  StreamLife wait_stream;
  StreamLife record_stream;
  StreamLife lost_stream;
  std::uint64_t count = 1;
  bool place_is_useful = false;  ///< NeverRecorded: some wait at the same place waited for something
};

class EventMisuse {
 public:
  EventMisuse(const Handles& handles, const ordering::Model& model) : handles_(handles), model_(model) {}

  /// The stream was given work.
  void work(ordering::StreamId stream);
  /// After the model's call. `previous`: where the event was recorded before.
  void recorded(ordering::EventId event, const EventUse& record, std::optional<ordering::Moment> previous);
  /// By a stream or by the host; after the model's call.
  void waited(ordering::EventId event, const EventUse& wait);
  /// The host has looked at the event.
  void queried(ordering::EventId event);
  /// It may be recorded unseen.
  void exempt(ordering::EventId event);
  /// Before its life is forgotten.
  void destroyed(ordering::EventId event);

  /// All misuses, as if the run ended here, in the order in which they were met.
  std::vector<Misuse> all();

 private:
  struct Record {
    EventUse use;
    std::uint64_t work = 0;  ///< of its stream at the record
    ordering::Moment moment;
    bool covers_nothing = false;
    bool made = false;
  };
  /// What few events need.
  struct Odd {
    std::uint8_t empty_waits = 0;
    std::array<EventUse, 4> empty;  ///< waits before any record, of different places
    Record lost;
    EventUse early_wait;  ///< found the event recorded before the work
    Record early;
  };
  struct Event {
    bool exempt = false;
    bool looked_at = false;  ///< waited for or queried, since its last record
    bool covered = false;    ///< some record of it covered something
    Record last;
    std::unique_ptr<Odd> odd;

    Odd& make_odd() {
      if (!odd) odd = std::make_unique<Odd>();
      return *odd;
    }
  };

  std::uint64_t& work_of(ordering::StreamId stream);
  static void empty_wait(Odd& odd, const EventUse& wait);
  void add(MisuseKind kind, ordering::EventId event, const EventUse& wait, const EventUse& record,
           const EventUse& lost = {});
  void close(ordering::EventId id, Event& event);

  static constexpr std::size_t kMost = 1000;

  const Handles& handles_;
  const ordering::Model& model_;
  ordering::FlatMap<Event> events_;
  std::vector<std::uint64_t> work_;  ///< by StreamId: operations so far, waits for recorded events included
  bool legacy_work_ = false;         ///< blocking streams are after what the legacy stream holds
  ordering::FlatMap<bool> useful_;   ///< places of waits for something recorded, by then or later
  std::vector<Misuse> found_;
  ordering::FlatMap<std::uint32_t> by_key_;  ///< kind and places -> index in found_, plus one
};

}  // namespace streamsan::judge
