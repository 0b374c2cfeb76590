// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/threads/order.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/keep_errno.h"
#include "interposer/process.h"
#include "interposer/this_library.h"
#include "interposer/threads/names.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

// A fork keeps t_order: in_child::thread_order() clears the one thread's that is left.
constinit thread_local ThreadOrder t_order __attribute__((tls_model("initial-exec"))) = {};

alignas(detail::kOrderGroup *
        sizeof(detail::OrderObject)) constinit detail::OrderObject detail::g_order_objects[kOrderObjects] = {};
alignas(kCacheLine) constinit std::atomic<std::uint64_t> detail::g_stamps{0};
constinit std::atomic<std::uint32_t> detail::g_orders{0};
// A fork keeps g_submissions_count: it follows from the options.
constinit std::atomic<bool> detail::g_submissions_count{false};

struct ThreadStart {
  std::atomic<bool> taken;
  bool follows;  ///< order is followed
  bool hides;
  ThreadRoutine routine;
  ThreadOrigin origin;
  std::uint64_t lanes[kOrderLanes];
};

namespace {

/// The entry of a lane: position in the trace plus 1, then the thread; the greater is the later.
constexpr unsigned kThreadBits = 16;
constexpr std::uint64_t kEverybody = 0xffff;
constexpr std::uint64_t entry_of(std::uint64_t position, std::uint64_t thread) {
  return position << kThreadBits | thread;
}

using detail::g_stamps;
using detail::kOrderObjects;
using detail::kStampBits;
using detail::kStamps;

/// What the clock of an object holds. Objects go from core to core, so their clocks lie on as few cache lines as can
/// be.
struct alignas(kCacheLine) Content {
  std::atomic<std::uint64_t> lanes[kOrderLanes];
};
/// Asks for the lines before the exchange of the object's name, which would wait for its own line first.
void fetch_to_write(const Content& content, std::uint32_t lanes) {
  for (std::uint32_t i = 0; i < lanes; i += kCacheLine / sizeof content.lanes[0]) {
    __builtin_prefetch(&content.lanes[i], 1);
  }
}

/// The state of an object: from the lowest bit on the stamp, how many releases are under way, and a count of changes.
constexpr unsigned kUnderWayBits = 10;
constexpr std::uint64_t kOneUnderWay = std::uint64_t{1} << kStampBits, kOneChange = kOneUnderWay << kUnderWayBits;
constexpr std::uint64_t changed(std::uint64_t state) { return (state & ~kStamps) + kOneChange; }
constexpr std::uint64_t begun(std::uint64_t state) { return changed(state) + kOneUnderWay; }
constexpr std::uint64_t ended(std::uint64_t state, std::uint64_t stamp) {
  return (changed(state) - kOneUnderWay) | stamp;
}
/// One release is under way.
constexpr bool is_alone(std::uint64_t state) { return (state >> kStampBits) % (1u << kUnderWayBits) == 1; }

constexpr std::size_t kMostThreads = 512;
static_assert(kMostThreads < std::size_t{1} << kUnderWayBits, "of all threads a release may be under way");
constexpr std::size_t kMostStarts = 128;

constinit Content g_contents[kOrderObjects] = {};
constinit HandleTable<std::uint64_t, 1u << 10> g_arrivals{};  // barrier -> how many have arrived there
constinit ThreadClock g_clocks[kMostThreads] = {};
constinit ThreadStart g_starts[kMostStarts] = {};
/// By lane, the last entry that an owner has put into its clock: no clock has a later one.
alignas(kCacheLine) constinit std::atomic<std::uint64_t> g_latest[kOrderLanes] = {};
constinit std::atomic<std::uint32_t> g_lanes{0};                // in use, or once in use
constinit std::atomic<std::uint64_t> g_free[kOrderLanes] = {};  // 0: taken; else the last entry of the former owner
// A fork keeps g_key: a key that is ready is inherited.
constinit pthread_key_t g_key{};
constinit std::atomic<std::uint32_t> g_key_state{0};  // 0 none, 1 being made, 2 ready
constinit std::atomic<bool> g_recording{false};       // and order is to be followed
constinit std::atomic<bool> g_has_threads{false};

/// One object; false: there is none.
struct Object {
  detail::OrderObject* head = nullptr;
  Content* content = nullptr;
  explicit operator bool() const { return head; }
  [[nodiscard]] bool is_shared() const { return head->key.load(std::memory_order_relaxed) == detail::kSharedPlace; }
};
Object object_of(detail::OrderObject* head) {
  return head ? Object{head, &g_contents[head - detail::g_order_objects]} : Object{};
}

Object find(std::uint64_t key) { return object_of(detail::find_order_object(key)); }

Object find_or_make(std::uint64_t key) {
  detail::OrderObject* const group = &detail::g_order_objects[detail::order_home(key)];
  for (std::size_t i = 0; i + 1 < detail::kOrderGroup; ++i) {
    std::uint64_t owner = group[i].key.load(std::memory_order_acquire);
    if (owner == 0 && group[i].key.compare_exchange_strong(owner, key)) return object_of(&group[i]);
    if (owner == key) return object_of(&group[i]);
  }
  detail::OrderObject& shared = group[detail::kOrderGroup - 1];
  shared.key.store(detail::kSharedPlace, std::memory_order_release);
  return object_of(&shared);
}

std::uint32_t lanes_in_use() { return g_lanes.load(std::memory_order_acquire); }

constexpr std::uintptr_t kRounds = PTHREAD_DESTRUCTOR_ITERATIONS;

/// At the end of a thread, after the destructors of all other keys as far as they can be waited for.
void thread_ends(void* round) {
  const auto count = reinterpret_cast<std::uintptr_t>(round);
  if (count < kRounds && pthread_setspecific(g_key, reinterpret_cast<void*>(count + 1)) == 0) return;
  end_thread_name();
  if (detail::g_orders.load(std::memory_order_relaxed) != 0) release_order(thread_key(pthread_self()));
  ThreadClock* mine = t_order.clock;
  t_order = {};
  if (!mine) return;
  if (mine->lane < kOrderLanes && !mine->shares) g_free[mine->lane].store(mine->lanes[mine->lane]);
  mine->taken.store(false, std::memory_order_release);
}

/// Of that many keys libc has the memory in each thread; for later ones it allocates some.
constexpr pthread_key_t kKeysWithoutMemory = 32;

ThreadClock* make_clock(Context context) {
  if (!watch_end(context)) {
    hide_order();
    return nullptr;
  }
  for (ThreadClock& each : g_clocks) {
    bool taken = each.taken.load(std::memory_order_relaxed);
    if (taken || !each.taken.compare_exchange_strong(taken, true)) continue;
    each.lane = kOrderLanes;
    each.shares = false;
    for (std::size_t i = 0; i < kOrderLanes; ++i) each.lanes[i] = each.written[i] = 0;
    for (std::uint64_t& name : each.held) name = 0;
    t_order.clock = &each;
    return &each;
  }
  hide_order();
  return nullptr;
}

/// Takes over a lane only if the thread's own record is after the last entry there: if the trace said so before that
/// record. What else the thread knows it may have learned since. For the same reason write_order() takes a lane before
/// it says more.
void take_lane(ThreadClock& mine) {
  for (std::uint32_t lane = 0; lane + 1 < lanes_in_use(); ++lane) {
    std::uint64_t last = g_free[lane].load();
    if (last == 0 || last > mine.written[lane] || !g_free[lane].compare_exchange_strong(last, 0)) continue;
    mine.lane = lane;
    return;
  }
  std::uint32_t lane = g_lanes.load();
  while (lane < kOrderLanes && !g_lanes.compare_exchange_weak(lane, lane + 1)) {
  }
  mine.shares = lane + 1 >= kOrderLanes;
  mine.lane = mine.shares ? kOrderLanes - 1 : lane;
}

/// Brings the thread's own entry up to date. False: it has nothing to hand on.
bool note_own(Context context) {
  if (t_order.position == t_order.own_position) return t_order.clock != nullptr;
  ThreadClock* mine = t_order.clock ? t_order.clock : make_clock(context);
  if (!mine) return false;
  if (mine->lane == kOrderLanes) take_lane(*mine);
  std::uint64_t& own = mine->lanes[mine->lane];
  if (mine->shares) {
    // A later entry of another thread's may stand there. And where the own one stands, an earlier one of another
    // thread's is no news, so the own one is news itself.
    own = std::max(own, entry_of(t_order.position, kEverybody));
    t_order.unwritten = true;
  } else {
    mine->written[mine->lane] = own = entry_of(t_order.position, thread_number());
  }
  std::atomic<std::uint64_t>& latest = g_latest[mine->lane];
  std::uint64_t there = latest.load(std::memory_order_relaxed);
  while (there < own && !latest.compare_exchange_weak(there, own)) {
  }
  t_order.own_position = t_order.position;
  t_order.stamp = 0;
  return true;
}

/// Names the content of the thread's clock. Under the new name others can learn what this thread knows, and nothing
/// that it does not know. So if it knew all that was in any clock when the last name was given, it does now.
std::uint64_t give_stamp() {
  const std::uint64_t before = g_stamps.fetch_add(1, std::memory_order_acq_rel);
  if (t_order.informed_at == before) t_order.informed_at = before + 1;
  return (before + 1) & kStamps;
}

/// Does the thread know all that may be in any clock? What comes into one later is handed on under a later stamp.
void note_whether_informed(const ThreadClock& mine) {
  const std::uint64_t stamps = g_stamps.load(std::memory_order_acquire);
  const std::uint32_t lanes = lanes_in_use();
  for (std::uint32_t i = 0; i < lanes; ++i) {
    if (mine.lanes[i] < g_latest[i].load(std::memory_order_relaxed)) return;
  }
  t_order.informed_at = stamps;
}

}  // namespace

void in_child::thread_order() {
  detail::g_orders.store(0);
  g_recording.store(false);
  g_has_threads.store(false);
  t_order = {};
  for (std::size_t place = 0; place < kOrderObjects; ++place) {
    auto& head = detail::g_order_objects[place];
    if (head.key.load(std::memory_order_relaxed) == 0) continue;
    head.key.store(0, std::memory_order_relaxed);
    head.state.store(0, std::memory_order_relaxed);
    for (auto& lane : g_contents[place].lanes) lane.store(0, std::memory_order_relaxed);
  }
  g_arrivals.clear();
  for (ThreadClock& clock : g_clocks) clock.taken.store(false, std::memory_order_relaxed);
  for (ThreadStart& start : g_starts) start.taken.store(false, std::memory_order_relaxed);
  for (auto& lane : g_free) lane.store(0, std::memory_order_relaxed);
  for (auto& lane : g_latest) lane.store(0, std::memory_order_relaxed);
  g_lanes.store(0);
  g_stamps.store(0);
  std::uint32_t being_made = 1;
  g_key_state.compare_exchange_strong(being_made, 0);  // a key that is ready is inherited
}

bool watch_end(Context context) {
  if (g_key_state.load(std::memory_order_acquire) != 2) return true;
  if (context == Context::PerhapsSignalHandler && g_key >= kKeysWithoutMemory) return false;
  const KeepErrno keep;
  pthread_setspecific(g_key, reinterpret_cast<void*>(std::uintptr_t{1}));
  return true;
}

bool can_follow_order() {
  const bool wanted = options().host_threads == HostThreads::Seen || options().host_threads == HostThreads::Strict;
  return wanted && is_in_this_library(real_dlsym(RTLD_DEFAULT, "pthread_mutex_lock"));
}

void start_order() {
  std::uint32_t none = 0;
  if (g_key_state.compare_exchange_strong(none, 1)) {
    g_key_state.store(pthread_key_create(&g_key, thread_ends) == 0 ? 2 : 0, std::memory_order_release);
  }
  if (!can_follow_order()) return;
  detail::g_submissions_count.store(options().host_threads == HostThreads::Strict);
  g_recording.store(true);
  if (g_has_threads.load()) detail::g_orders.store(1);
}

void note_thread() {
  if (g_has_threads.load(std::memory_order_relaxed)) return;
  g_has_threads.store(true);
  if (g_recording.load()) detail::g_orders.store(1);
}

// A record may be written while a fault on a guarded page is handled.
void begin_order() { note_own(Context::PerhapsSignalHandler); }

void release_order(std::uint64_t key, Context context) {
  if (!note_own(context)) return;
  if (t_order.stamp == 0) t_order.stamp = give_stamp();
  const std::uint64_t stamp = t_order.stamp;
  const Object object = find_or_make(key);
  auto& named = object.head->state;
  std::uint64_t state = named.load(std::memory_order_acquire);
  if ((state & kStamps) == stamp) [[likely]]
    return;
  const std::uint32_t lanes = lanes_in_use();
  fetch_to_write(*object.content, lanes);
  // The content has no name until all of it is there, and none while somebody else may be adding to it: whoever finds
  // another release under way, or is overtaken by one, leaves it without. So does a thread that is stopped for good
  // here.
  while (!named.compare_exchange_weak(state, begun(state))) {
  }
  state = begun(state);
  const ThreadClock& mine = *t_order.clock;
  bool equal = is_alone(state);
  for (std::uint32_t i = 0; i < lanes; ++i) {
    std::uint64_t there = object.content->lanes[i].load(std::memory_order_relaxed);
    while (there < mine.lanes[i] && !object.content->lanes[i].compare_exchange_weak(there, mine.lanes[i])) {
    }
    equal &= there <= mine.lanes[i];
  }
  if (equal && named.compare_exchange_strong(state, ended(state, stamp))) return;
  state = named.load();
  while (!named.compare_exchange_weak(state, ended(state, 0))) {
  }
}

void acquire_order(std::uint64_t key, Context context) {
  const Object object = find(key);
  if (!object) return;
  const std::uint64_t state = object.head->state.load(std::memory_order_acquire);
  const std::uint64_t stamp = state & kStamps;
  if (detail::holds(stamp)) [[likely]]
    return;
  ThreadClock* mine = t_order.clock ? t_order.clock : make_clock(context);
  if (!mine) return;
  const std::uint64_t own_stamp = t_order.stamp;
  t_order.stamp = 0;  // what follows may be interrupted
  const std::uint32_t lanes = lanes_in_use();
  bool equal = true;
  bool news = false;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const std::uint64_t there = object.content->lanes[i].load(std::memory_order_acquire);
    equal &= there >= mine->lanes[i];
    if (there <= mine->lanes[i]) continue;
    mine->lanes[i] = there;
    news = true;
    t_order.unwritten = true;
  }
  const bool same = object.head->state.load(std::memory_order_acquire) == state;
  const bool whole = equal && same;
  if (same && stamp != 0) mine->held[stamp % kOrderNames] = stamp;
  // Without news the clock's name is still right. Of two names of one content the older one stays, here and, at the
  // release, at the object: else a thread would take the names of all objects in turn, and look at all lanes each time.
  const bool renamed = news || (whole && stamp != 0 && (own_stamp == 0 || stamp < own_stamp));
  t_order.stamp = !renamed ? own_stamp : whole ? stamp : 0;
  note_whether_informed(*mine);
}

void forget_order(std::uint64_t key) {
  g_arrivals.erase(key);
  const Object object = find(key);
  if (!object || object.is_shared()) return;
  std::uint64_t state = object.head->state.load();
  while (!object.head->state.compare_exchange_weak(state, changed(state))) {
  }
  for (auto& lane : object.content->lanes) lane.store(0, std::memory_order_relaxed);
}

std::uint64_t count_arrival(std::uint64_t key) {
  auto* entry = g_arrivals.insert(key);
  return entry ? entry->value.fetch_add(1) : 0;  // without room all rounds have one clock
}

void hide_order() {
  if (t_order.hides) return;
  t_order.hides = true;
  t_order.unwritten = true;
}

ThreadStart* prepare_thread(const ThreadRoutine& routine, bool hides, const ThreadOrigin& origin) {
  const bool follows = detail::g_orders.load(std::memory_order_acquire) != 0;
  if (follows) note_own(Context::Ordinary);
  for (ThreadStart& each : g_starts) {
    bool taken = each.taken.load(std::memory_order_relaxed);
    if (taken || !each.taken.compare_exchange_strong(taken, true)) continue;
    each.follows = follows;
    each.hides = hides;
    each.origin = origin;
    each.routine = routine;
    for (std::size_t i = 0; i < kOrderLanes; ++i) each.lanes[i] = t_order.clock ? t_order.clock->lanes[i] : 0;
    return &each;
  }
  return nullptr;
}

void drop_thread(ThreadStart* start) { start->taken.store(false, std::memory_order_release); }

ThreadRoutine begin_thread(void* argument) {
  auto* start = static_cast<ThreadStart*>(argument);
  const ThreadRoutine routine = start->routine;
  take_origin(start->origin);
  t_order.unwritten = true;
  if (start->follows) {
    forget_order(thread_key(pthread_self()));
    if (ThreadClock* mine = make_clock(Context::Ordinary)) {
      for (std::size_t i = 0; i < kOrderLanes; ++i) mine->lanes[i] = start->lanes[i];
    }
    if (start->hides) hide_order();
  }
  drop_thread(start);
  return routine;
}

void write_order() {
  t_order.unwritten = false;
  ThreadClock* mine = t_order.clock;
  // Before the records below: they count, too, where submissions do.
  if (mine && mine->lane == kOrderLanes && t_order.position != 0) take_lane(*mine);
  write_thread_name();
  std::uint64_t news[kOrderLanes];
  std::size_t count = 0;
  const std::uint32_t lanes = mine ? lanes_in_use() : 0;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    if (mine->lanes[i] <= mine->written[i]) continue;
    mine->written[i] = news[count++] = mine->lanes[i];
  }
  if (count == 0 && !t_order.hides) return;
  constexpr auto kKind = trace::Kind::ThreadOrder;
  const Slot slot = start_record({.kind = kKind, .continuations = continuations_of_list<kKind>(count)});
  if (!slot) return;
  auto& w = slot.record->as<kKind>();
  w.threads = count;
  w.hides = t_order.hides ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i)
    slot.list<kKind>()[i] = {.thread = news[i] & kEverybody, .position = (news[i] >> kThreadBits) - 1};
  publish(slot);
}

}  // namespace streamsan::recorder
