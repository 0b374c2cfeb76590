// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order between host threads, as far as their synchronisation reaches libc (option host_threads=seen).
//
// Each thread, and each object that threads synchronise with, has a vector clock: of each recording thread the last
// record that is before this point. Giving up a mutex adds the thread's clock to the mutex's, taking it does the
// reverse, and so for all objects. The trace holds none of that. Before a thread's next record its news stand in one
// ThreadOrder record: which records of other threads it is after now. So locks cost room in the trace only where they
// carry order that a call of CUDA's can use, and a program whose threads bring each other no news writes nothing.
//
// ON THE PATH of a lock: a look-up in a table of fixed size, and one comparison. Clocks of equal content have equal
// names (stamps); a lock that goes round among threads without news carries one stamp, and nothing else is looked at.
// Otherwise a pass over the lanes in use. No lock, no allocation, no system call: clocks only grow, entry by entry, so
// signal handlers and threads that are stopped in the middle do no harm.
//
// LANES. A thread takes a lane of the clocks at its first release after a record. The entry of a lane is a position in
// the trace and the thread that made the record, so it says by itself what it means, and a lane may be taken over by a
// thread that is after all that its former owner did. If there is none left, threads share the last one, whose entries
// mean "after everybody".
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

namespace streamsan::recorder {

inline constexpr std::size_t kOrderLanes = 64;

struct ThreadClock;

/// Of the calling thread. In the initial-exec TLS block.
struct ThreadOrder {
  std::uint64_t position;      ///< of its last record, plus 1; 0: it has made none
  ThreadClock* clock;          ///< null: it knows of nobody
  std::uint64_t stamp;         ///< names the content of the clock; 0: nothing does
  std::uint64_t own_position;  ///< that stands in the clock
  const void* written[4];      ///< read-write locks it holds to write
  bool unwritten;              ///< the trace lacks news
  bool hides;                  ///< it synchronises in ways that are not seen
};
extern constinit thread_local ThreadOrder t_order __attribute__((tls_model("initial-exec")));

namespace detail {
/// 1 while order is followed; the entries of the wrappers read it.
extern constinit std::atomic<std::uint32_t> g_orders;
}  // namespace detail

/// Recording begins: follows order from now on, if can_follow_order().
void start_order();
/// Are our wrappers those that the program calls, and is the option on?
bool can_follow_order();

/// What the thread has done is before what follows a later acquire() of the object. `object` is any key.
void release_order(std::uint64_t object);
void acquire_order(std::uint64_t object);
/// The object ends.
void forget_order(std::uint64_t object);
/// Counts the thread's arrival at a barrier, from 0.
std::uint64_t count_arrival(std::uint64_t object);

/// The thread waits by means that are not seen whole.
void hide_order();

/// A thread that is about to start: what it will know. nullptr: nothing to hand over, or no room.
struct ThreadStart;
ThreadStart* prepare_thread(void* (*routine)(void*), void* argument, bool hides);
void drop_thread(ThreadStart* start);
/// The key of a thread: what it has done in all, released at its end and acquired by a join.
inline std::uint64_t thread_key(pthread_t thread) { return static_cast<std::uint64_t>(thread) + 3; }
/// In the new thread.
void* begin_thread(void* start);

/// Writes the news, before the thread's next record. Called by reserve().
void write_order();

}  // namespace streamsan::recorder
