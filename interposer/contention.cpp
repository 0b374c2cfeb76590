// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/contention.h"

#include <atomic>

#include "interposer/areas.h"
#include "interposer/clock.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/host/host_memory.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "trace/format.h"

namespace streamsan::recorder {
namespace {

constexpr unsigned kMostLanes = 32;
constexpr std::uint32_t kMostSnapshots = 4096;
constexpr std::uint64_t kMostPollingThreads = 32;
constexpr std::uint64_t kPollingPatience = kNanosecondsPerSecond;

/// For each lane, up to which of its operations.
struct StreamClock {
  std::atomic<std::uint32_t> of[kMostLanes];

  [[nodiscard]] std::uint32_t get(unsigned lane) const { return of[lane].load(std::memory_order_relaxed); }
  void set(unsigned lane, std::uint32_t to) { of[lane].store(to, std::memory_order_relaxed); }
  void join(const StreamClock& other, unsigned lanes) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (get(lane) < other.get(lane)) set(lane, other.get(lane));
    }
  }
  void assign(const StreamClock& other, unsigned lanes) {
    for (unsigned lane = 0; lane < lanes; ++lane) set(lane, other.get(lane));
  }
  void clear() {
    for (std::atomic<std::uint32_t>& one : of) one.store(0, std::memory_order_relaxed);
  }
};

enum class LaneKind : std::uint8_t { NonBlocking, Blocking, Legacy };

struct Lane {
  StreamClock seen;  // and at its own place: its operations so far
  std::atomic<std::uint64_t> context;
  std::atomic<LaneKind> kind;
};

/// The last access of an area, in one word: the lane's operation and number, and the two flags below. 0: none yet.
constexpr unsigned kLaneShift = 32;
constexpr std::uint64_t kOnlyRead = std::uint64_t{1} << 62;
constexpr std::uint64_t kContended = std::uint64_t{1} << 63;

STREAMSAN_HOT_DATA constinit std::atomic<bool> g_following{false};
STREAMSAN_HOT_DATA constinit std::atomic<unsigned> g_lane_count{0};
/// There were more lanes than there is room for: nothing is known any more, everything counts as contended.
STREAMSAN_HOT_DATA constinit std::atomic<bool> g_lost{false};
constinit std::atomic<unsigned> g_streams_made{0};
/// The last launch that may poll: its lane above its number; and when it was made. 0: none.
STREAMSAN_HOT_DATA constinit std::atomic<std::uint64_t> g_polling{0};
constinit std::atomic<std::uint64_t> g_polling_ns{0};
constinit Lane g_lanes[kMostLanes] = {};
constinit StreamClock g_host = {};
constinit HandleTable<std::uint32_t, 256> g_lane_of{};  // number + 1
constinit std::atomic<std::uint64_t> g_last[kMostAreas] = {};

constinit HandleTable<std::uint32_t, 2 * kMostSnapshots> g_events{};  // number of the snapshot + 1
constinit StreamClock g_snapshots[kMostSnapshots] = {};
constinit std::atomic<std::uint32_t> g_snapshot_count{0};

unsigned lanes() { return g_lane_count.load(std::memory_order_acquire); }

constexpr unsigned kNoLane = kMostLanes;

/// Per-thread default streams are streams of their threads.
std::uint64_t key_of(const StreamArgument& stream) {
  const std::uint64_t thread = stream.handle == trace::kPerThreadStream ? thread_number() : 0;
  const std::uint64_t key = mix_bits(stream.handle ^ mix_bits(stream.context ^ thread << 48));
  return key > 1 ? key : key + 2;
}

unsigned add_lane(std::atomic<std::uint32_t>& place, const StreamArgument& stream) {
  unsigned lane = g_lane_count.load(std::memory_order_relaxed);
  do {
    if (lane == kMostLanes) {
      g_lost.store(true, std::memory_order_relaxed);
      return kNoLane;
    }
    // Before the count says that it is there. Who loses the race writes it again for the next.
    g_lanes[lane].context.store(context_of(stream), std::memory_order_relaxed);
    LaneKind kind = LaneKind::Legacy;
    if (stream.handle != trace::kLegacyStream)
      kind = is_non_blocking(stream.handle) ? LaneKind::NonBlocking : LaneKind::Blocking;
    g_lanes[lane].kind.store(kind, std::memory_order_relaxed);
  } while (!g_lane_count.compare_exchange_weak(lane, lane + 1, std::memory_order_acq_rel));
  std::uint32_t known = 0;
  return place.compare_exchange_strong(known, lane + 1) ? lane : known - 1;
}

STREAMSAN_HOT_CODE unsigned lane_of(const StreamArgument& stream) {
  auto* entry = g_lane_of.insert(key_of(stream));
  if (!entry) {
    g_lost.store(true, std::memory_order_relaxed);
    return kNoLane;
  }
  const std::uint32_t known = entry->value.load(std::memory_order_acquire);
  return known ? known - 1 : add_lane(entry->value, stream);
}

/// The legacy stream waits for the blocking ones of its context, and they for it (R-STR-10, R-STR-11).
STREAMSAN_HOT_CODE void join_legacy(unsigned index) {
  Lane& lane = g_lanes[index];
  const LaneKind kind = lane.kind.load(std::memory_order_relaxed);
  if (kind == LaneKind::NonBlocking) return;
  const LaneKind awaited = kind == LaneKind::Legacy ? LaneKind::Blocking : LaneKind::Legacy;
  const std::uint64_t context = lane.context.load(std::memory_order_relaxed);
  const unsigned count = lanes();
  for (unsigned other = 0; other < count; ++other) {
    const Lane& there = g_lanes[other];
    if (there.kind.load(std::memory_order_relaxed) == awaited &&
        there.context.load(std::memory_order_relaxed) == context && lane.seen.get(other) < there.seen.get(other))
      lane.seen.join(there.seen, count);
  }
}

/// The next operation of the stream. kNoLane: it is not followed.
STREAMSAN_HOT_CODE unsigned submit(const StreamArgument& stream) {
  const unsigned lane = lane_of(stream);
  if (lane == kNoLane) return lane;
  join_legacy(lane);
  g_lanes[lane].seen.set(lane, g_lanes[lane].seen.get(lane) + 1);
  return lane;
}

/// True: the area is contended.
STREAMSAN_HOT_CODE bool touch(unsigned index, Area area, bool only_reads) {
  std::atomic<std::uint64_t>& place = g_last[area];
  const std::uint64_t last = place.load(std::memory_order_relaxed);
  if (last & kContended) return true;
  const Lane& lane = g_lanes[index];
  const unsigned by = last >> kLaneShift & (kMostLanes - 1);
  const auto operation = static_cast<std::uint32_t>(last);
  const bool ordered = by == index || lane.seen.get(by) >= operation || g_host.get(by) >= operation;
  if (ordered || (only_reads && (last & kOnlyRead))) {
    place.store(std::uint64_t{index} << kLaneShift | lane.seen.get(index) | (only_reads ? kOnlyRead : 0),
                std::memory_order_relaxed);
    return false;
  }
  place.store(last | kContended, std::memory_order_relaxed);
  return true;
}

void contend(Area area) { g_last[area].fetch_or(kContended, std::memory_order_relaxed); }

bool is_following() { return g_following.load(std::memory_order_relaxed); }

StreamClock* snapshot_of(std::uint64_t event) {
  const auto* entry = g_events.find(event);
  const std::uint32_t known = entry ? entry->value.load(std::memory_order_acquire) : 0;
  return known ? &g_snapshots[known - 1] : nullptr;
}

StreamClock* make_snapshot(std::uint64_t event) {
  if (StreamClock* known = snapshot_of(event)) return known;
  auto* entry = g_events.insert(event);
  if (!entry || g_snapshot_count.load(std::memory_order_relaxed) >= kMostSnapshots) return nullptr;
  const std::uint32_t made = g_snapshot_count.fetch_add(1);
  if (made >= kMostSnapshots) return nullptr;
  std::uint32_t known = 0;
  return &g_snapshots[entry->value.compare_exchange_strong(known, made + 1) ? made : known - 1];
}

}  // namespace

void follow_contention() { g_following.store(true); }

STREAMSAN_HOT_CODE bool launch_contends(const StreamArgument& stream, const std::uint64_t* words, unsigned count) {
  if (!is_following()) return false;
  const unsigned lane = submit(stream);
  if (lane == kNoLane || g_lost.load(std::memory_order_relaxed)) return true;
  bool contended = false;
  for (unsigned i = 0; i < count; ++i) {
    const Area area = area_of(trace::word_address(words[i]));
    if (area) contended |= touch(lane, area, false);
  }
  return contended;
}

STREAMSAN_HOT_CODE bool launch_may_poll(const std::uint64_t* words, unsigned count, std::uint64_t threads) {
  if (threads > kMostPollingThreads || !is_following()) return false;
  for (unsigned i = 0; i < count; ++i) {
    if (near_host_memory(trace::word_address(words[i]))) return true;
  }
  return false;
}

void polling_launched(const StreamArgument& stream) {
  const unsigned lane = lane_of(stream);
  if (lane == kNoLane) return;
  g_polling_ns.store(monotonic_ns(), std::memory_order_relaxed);
  g_polling.store(std::uint64_t{lane} << kLaneShift | g_lanes[lane].seen.get(lane), std::memory_order_relaxed);
}

STREAMSAN_HOT_CODE bool is_polled() {
  const std::uint64_t last = g_polling.load(std::memory_order_relaxed);
  if (last == 0) [[likely]]
    return false;
  const bool over = g_host.get(last >> kLaneShift & (kMostLanes - 1)) >= static_cast<std::uint32_t>(last) ||
                    monotonic_ns() - g_polling_ns.load(std::memory_order_relaxed) > kPollingPatience;
  if (over) g_polling.store(0, std::memory_order_relaxed);
  return !over;
}

STREAMSAN_HOT_CODE bool several_streams() { return lanes() > 1 || g_streams_made.load(std::memory_order_relaxed) > 1; }

void memory_given(std::uint64_t begin, std::uint64_t bytes, bool by_host) {
  if (!is_following()) return;
  Area other = 0;
  const Area area = give_area(begin, bytes, other);
  if (area && (by_host || other)) contend(area);
  if (other) contend(other);
}

void operation_submitted(const StreamArgument& stream, std::uint64_t writes, std::uint64_t reads) {
  if (!is_following()) return;
  const unsigned lane = submit(stream);
  if (lane == kNoLane) return;
  if (const Area area = area_of(writes)) touch(lane, area, false);
  if (const Area area = area_of(reads)) touch(lane, area, true);
}

void stream_made() { g_streams_made.fetch_add(1, std::memory_order_relaxed); }

void event_made_or_gone(std::uint64_t event) {
  if (!is_following()) return;
  // The number stays with the handle, which the driver gives out again.
  if (StreamClock* snapshot = snapshot_of(event)) snapshot->clear();
}

void event_recorded_in(std::uint64_t event, const StreamArgument& stream) {
  if (!is_following()) return;
  const unsigned lane = submit(stream);
  if (lane == kNoLane) return;
  if (StreamClock* snapshot = make_snapshot(event)) snapshot->assign(g_lanes[lane].seen, lanes());
}

void stream_waits(const StreamArgument& stream, std::uint64_t event) {
  if (!is_following()) return;
  const unsigned lane = submit(stream);
  const StreamClock* snapshot = snapshot_of(event);
  if (lane != kNoLane && snapshot) g_lanes[lane].seen.join(*snapshot, lanes());
}

void host_waited_for_stream(const StreamArgument& stream) {
  if (!is_following()) return;
  const unsigned lane = lane_of(stream);
  if (lane != kNoLane) g_host.join(g_lanes[lane].seen, lanes());
}

void host_waited_for_event(std::uint64_t event) {
  if (!is_following()) return;
  if (const StreamClock* snapshot = snapshot_of(event)) g_host.join(*snapshot, lanes());
}

void host_waited_for_context(std::uint64_t context) {
  if (!is_following()) return;
  const unsigned count = lanes();
  for (unsigned lane = 0; lane < count; ++lane) {
    const std::uint64_t of = g_lanes[lane].context.load(std::memory_order_relaxed);
    if (of == context || of == 0 || context == 0) g_host.join(g_lanes[lane].seen, count);
  }
}

void in_child::contention() {
  g_streams_made.store(0);
  if (!g_following.exchange(false)) return;  // the tables are large, and untouched
  g_lost.store(false);
  g_polling.store(0);
  g_polling_ns.store(0);
  for (Lane& lane : g_lanes) lane.seen.clear();
  g_host.clear();
  g_lane_of.clear();
  g_lane_count.store(0);
  for (std::atomic<std::uint64_t>& last : g_last) last.store(0, std::memory_order_relaxed);
  g_events.clear();
  for (StreamClock& snapshot : g_snapshots) snapshot.clear();
  g_snapshot_count.store(0);
  forget_areas();
}

}  // namespace streamsan::recorder
