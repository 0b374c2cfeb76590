// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order between host threads, as far as their synchronisation reaches libc (options host_threads=seen, the default, and
// strict).
//
// Each thread, and each object that threads synchronise with, has a vector clock: of each recording thread the last
// record that is before this point. Giving up a mutex adds the thread's clock to the mutex's, taking it does the
// reverse, and so for all objects. The trace holds none of that. Before a thread's next record its news stand in one
// ThreadOrder record: which records of other threads it is after now. So locks cost room in the trace only where they
// carry order that a call of CUDA's can use, and a program whose threads bring each other no news writes nothing.
//
// ON THE PATH of a lock: calls that the driver makes inside of a call of CUDA's pass at the entry (host/libc_call.h).
// Of others, a look-up in a table of fixed size, and one comparison: clocks of equal content have equal names (stamps),
// and a lock that goes round among threads without news carries one stamp. A thread knows by name what it has learned
// once: objects that are only ever acquired (pthread_once) keep the name of their last release, and a mutex that nobody
// has had for long keeps that of an older clock. release_matters() and acquire_matters() are that part, inlined in the
// wrappers; what they read of all objects together is a few pages, of one object a cache line. Otherwise a pass over
// the lanes in use. No lock, no allocation, no system call: clocks only grow, entry by entry, so signal handlers and
// threads that are stopped in the middle do no harm.
//
// LANES. A thread that has made a record that counts (note_record()) takes a lane of the clocks when it hands that on,
// or before it writes news. The entry of a lane is a position in the trace and the thread that made the record, so it
// says by itself what it means. Code that is after an entry is after all earlier ones of the lane. So a lane may be
// taken over by a thread that was after all that its former owner did, by what the trace says, when it made its own
// first record. If there is none left, threads share the last one, whose entries mean "after everybody". Their order
// says nothing, so a thread that has put in one is itself after everybody.
//
// WHAT IS LOST, towards silence: an object that ends without a function of libc (std::mutex) hands its clock to the
// next one at its address, and keeps its place in the table. PyTorch has a mutex in each tensor and in each node of its
// graph, so there may be many; and each group of the table has one place that all share for whom there is no other.
//
// Synchronisation inside of calls of CUDA's is the driver's own and no order of the program's. Waits that are not seen
// whole (raw futexes, threads of run-time libraries that spin) mark their thread, and the judge is careful with it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace streamsan::recorder {

inline constexpr std::size_t kOrderLanes = 64;
inline constexpr std::size_t kOrderNames = 32;

inline constexpr std::size_t kCacheLine = 64;

/// What a thread knows of others. In a table of the recorder's: the TLS block is to stay small.
struct alignas(kCacheLine) ThreadClock {
  std::atomic<bool> taken;
  std::uint32_t lane;  ///< its own; kOrderLanes: none yet
  bool shares;         ///< the last one, with others
  /// Stamps of contents that it holds, as it has grown since: each at its place by its lowest bits.
  std::uint64_t held[kOrderNames];
  std::uint64_t lanes[kOrderLanes];
  std::uint64_t written[kOrderLanes];  ///< what the trace has
};
struct ThreadOrigin;

/// The order of the calling thread. In the initial-exec TLS block.
struct ThreadOrder {
  std::uint64_t position;      ///< of its last record that counts, plus 1; 0: it has made none
  ThreadClock* clock;          ///< null: it knows of nobody
  std::uint64_t stamp;         ///< names the content of the clock; 0: nothing does
  std::uint64_t informed_at;   ///< so many stamps had been given when the clock held all that any clock did
  std::uint64_t own_position;  ///< that stands in the clock
  const void* written[4];      ///< read-write locks it holds to write
  bool unwritten;              ///< the trace lacks news, or the thread's name
  bool hides;                  ///< it synchronises in ways that are not seen
};
extern constinit thread_local ThreadOrder t_order __attribute__((tls_model("initial-exec")));

namespace detail {
/// Which object it is, and the name of its clock; what the clock holds is elsewhere.
struct OrderObject {
  std::atomic<std::uint64_t> key;    ///< 0: none yet. It stays, once it is there
  std::atomic<std::uint64_t> state;  ///< a number that changes with every release, and the stamp of the content or 0
};
inline constexpr std::size_t kOrderObjects = 8192;
inline constexpr std::size_t kOrderGroup = 4;  // objects on one cache line
inline constexpr unsigned kStampBits = 40;
inline constexpr std::uint64_t kStamps = (std::uint64_t{1} << kStampBits) - 1;
/// The key in the last place of a group, once somebody is there. No object has it.
inline constexpr std::uint64_t kSharedPlace = ~std::uint64_t{0};
/// A hash table of groups. An object is in its group and nowhere else.
alignas(kOrderGroup * sizeof(OrderObject)) extern constinit OrderObject g_order_objects[kOrderObjects];
/// Where its group begins.
inline std::size_t order_home(std::uint64_t key) {
  return (key * 0x9E3779B97F4A7C15ull >> 40) % (kOrderObjects / kOrderGroup) * kOrderGroup;
}
/// Null: there is none.
inline OrderObject* find_order_object(std::uint64_t key) {
  OrderObject* const group = &g_order_objects[order_home(key)];
  for (std::size_t i = 0; i + 1 < kOrderGroup; ++i) {
    const std::uint64_t owner = group[i].key.load(std::memory_order_acquire);
    if (owner == key) return &group[i];
    if (owner == 0) return nullptr;
  }
  OrderObject& shared = group[kOrderGroup - 1];
  return shared.key.load(std::memory_order_acquire) != 0 ? &shared : nullptr;
}
/// How many stamps have been given. Nothing that was not in all clocks so far is handed on without another one.
alignas(kCacheLine) extern constinit std::atomic<std::uint64_t> g_stamps;
/// 1 while order is followed, so not before the program has made a thread; the entries of the wrappers read it.
extern constinit std::atomic<std::uint32_t> g_orders;
/// Is it of use to know that a thread is after a submission of another one (host_threads=strict)?
extern constinit std::atomic<bool> g_submissions_count;
}  // namespace detail

/// The thread has something to hand on now, at its end at the latest: it needs a clock.
void begin_order();

/// A record is complete. Those that count are those by which the thread may get to know something: only what it knows
/// then can be handed on. Between two of them its clock does not change, and most locks carry no news.
inline void note_record(trace::Kind kind, std::uint64_t position) {
  const bool counts = kind == trace::Kind::CallEnd || kind == trace::Kind::QueryStream ||
                      kind == trace::Kind::QueryEvent || kind == trace::Kind::Await ||
                      detail::g_submissions_count.load(std::memory_order_relaxed);
  if (!counts) return;
  t_order.position = position + 1;
  if (!t_order.clock && detail::g_orders.load(std::memory_order_relaxed) != 0) [[unlikely]]
    begin_order();
}

/// Recording begins: follows order from now on, if can_follow_order() and there are threads that it could be between.
void start_order();
/// The program is about to make a thread, perhaps before recording begins. What it has done so far is before all that
/// the thread does, so nothing is lost of a program that had one thread until now, and had paid nothing.
void note_thread();
/// Are our wrappers those that the program calls, and is the option on?
bool can_follow_order();

/// May the call be made by a signal handler, which must not allocate memory? (sem_post(), write() and the like)
enum class Context : std::uint8_t { Ordinary, PerhapsSignalHandler };

namespace detail {
/// Is the content of this stamp in the thread's clock?
inline bool holds(std::uint64_t stamp) {
  return stamp != 0 && (stamp == t_order.stamp || (t_order.clock && t_order.clock->held[stamp % kOrderNames] == stamp));
}
}  // namespace detail

/// Would a release of the object by this thread change anything? May say yes where no would be right.
inline bool release_matters(std::uint64_t object) {
  if (!t_order.clock && t_order.position == 0) return false;
  if (t_order.stamp == 0 || t_order.position != t_order.own_position) return true;
  const detail::OrderObject* there = detail::find_order_object(object);
  return !there || (there->state.load(std::memory_order_relaxed) & detail::kStamps) != t_order.stamp;
}

/// The same of an acquire. Most objects were never released by a thread that had something to hand on: run-time
/// libraries ask pthread_once() in each call whether they are initialised. Where such an object would stand, nothing
/// does. Who has released the object has taken the stamp before, so a thread that comes behind sees that it was given.
inline bool acquire_matters(std::uint64_t object) {
  if (detail::g_stamps.load(std::memory_order_relaxed) == t_order.informed_at) [[likely]]
    return false;
  const detail::OrderObject* there = detail::find_order_object(object);
  return there && !detail::holds(there->state.load(std::memory_order_relaxed) & detail::kStamps);
}

/// The thread is about to take the object, and most objects it releases before long: what release_matters() then reads
/// comes from far away, and may come while the thread works. Of a semaphore it may come in vain, which costs little.
/// Write locks and waits for conditions do without.
inline void expect_release(std::uint64_t object) {
  if (t_order.clock) __builtin_prefetch(&detail::g_order_objects[detail::order_home(object)]);
}

/// At its end the thread will leave its order and its name (names.h). False: only if that takes no memory, which it
/// would.
bool watch_end(Context context);

/// What the thread has done is before what follows a later acquire() of the object. `object` is any key.
void release_order(std::uint64_t object, Context context = Context::Ordinary);
void acquire_order(std::uint64_t object, Context context = Context::Ordinary);
/// The object ends.
void forget_order(std::uint64_t object);
/// Counts the thread's arrival at a barrier, from 0.
std::uint64_t count_arrival(std::uint64_t object);

/// The thread waits by means that are not seen whole.
void hide_order();

/// A thread that is about to start: what it will know. nullptr: no room.
struct ThreadStart;
struct ThreadRoutine {
  void (*code)();  ///< of whatever type
  void* argument;
};
ThreadStart* prepare_thread(const ThreadRoutine& routine, bool hides, const ThreadOrigin& origin);
void drop_thread(ThreadStart* start);
/// The key of a thread: what it has done in all, released at its end and acquired by a join.
inline std::uint64_t thread_key(pthread_t thread) { return static_cast<std::uint64_t>(thread) + 3; }
/// In the new thread. Returns what it is to run.
ThreadRoutine begin_thread(void* start);

/// Writes the news, and the thread's name, before its next record. Called by reserve().
void write_order();

}  // namespace streamsan::recorder
