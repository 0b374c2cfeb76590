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
// ON THE PATH of a lock: calls that the driver makes inside of a call of CUDA's pass at the entry (host/libc_call.h). Of
// others, a look-up in a table of fixed size, and one comparison: clocks of equal content have equal names (stamps), and
// a lock that goes round among threads without news carries one stamp. release_matters() and acquire_matters() are that
// part, inlined in the wrappers; what they read of all objects together is a few pages. Otherwise a pass over the lanes
// in use. No lock, no allocation, no system call: clocks only grow, entry by entry, so signal handlers and threads that
// are stopped in the middle do no harm.
//
// LANES. A thread takes a lane of the clocks at its first record that counts (note_record()). The entry of a lane is a
// position in the trace and the thread that made the record, so it says by itself what it means, and a lane may be taken
// over by a thread that is after all that its former owner did. If there is none left, threads share the last one, whose
// entries mean "after everybody".
//
// WHAT IS LOST, towards silence: objects past the table's size share one clock; an object that ends without a function
// of libc (std::mutex) hands its clock to the next one at its address.
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

struct ThreadClock;
struct ThreadOrigin;

/// Of the calling thread. In the initial-exec TLS block.
struct ThreadOrder {
  std::uint64_t position;      ///< of its last record that counts, plus 1; 0: it has made none
  ThreadClock* clock;          ///< null: it knows of nobody
  std::uint64_t stamp;         ///< names the content of the clock; 0: nothing does
  std::uint64_t own_position;  ///< that stands in the clock
  const void* written[4];      ///< read-write locks it holds to write
  bool unwritten;              ///< the trace lacks news, or the thread's name
  bool hides;                  ///< it synchronises in ways that are not seen
};
extern constinit thread_local ThreadOrder t_order __attribute__((tls_model("initial-exec")));

namespace detail {
/// Which object it is, and the name of its clock; what the clock holds is elsewhere.
struct OrderObject {
  std::atomic<std::uint64_t> key;    ///< 0: none yet
  std::atomic<std::uint64_t> state;  ///< a number that changes with every release, and the stamp of the content or 0
};
inline constexpr std::size_t kOrderObjects = 4096;
inline constexpr unsigned kStampBits = 40;
inline constexpr std::uint64_t kStamps = (std::uint64_t{1} << kStampBits) - 1;
/// A hash table, and behind it one object for all that found no place in it.
extern constinit OrderObject g_order_objects[kOrderObjects + 1];
inline std::size_t order_home(std::uint64_t key) { return (key * 0x9E3779B97F4A7C15ull >> 40) % kOrderObjects; }
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
/// Do the thread and the object, if this is the one of that key, know the same?
inline bool is_known(const OrderObject& object, std::uint64_t owner, std::uint64_t key) {
  return t_order.stamp != 0 && t_order.position == t_order.own_position && owner == key &&
         (object.state.load(std::memory_order_relaxed) & kStamps) == t_order.stamp;
}
}  // namespace detail

/// Would a release of the object by this thread change anything? May say yes where no would be right.
inline bool release_matters(std::uint64_t object) {
  const detail::OrderObject& there = detail::g_order_objects[detail::order_home(object)];
  if (detail::is_known(there, there.key.load(std::memory_order_relaxed), object)) return false;
  return t_order.clock || t_order.position != 0;
}

/// The same of an acquire. Most objects were never released by a thread that had something to hand on: run-time
/// libraries ask pthread_once() in each call whether they are initialised. Where such an object would stand, nothing does.
inline bool acquire_matters(std::uint64_t object) {
  const detail::OrderObject& there = detail::g_order_objects[detail::order_home(object)];
  const std::uint64_t owner = there.key.load(std::memory_order_relaxed);
  return owner != 0 && !detail::is_known(there, owner, object);
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
