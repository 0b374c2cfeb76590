// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order between host threads, as far as it is seen (HostThreads::Seen).
//
// Each host thread has a clock of its own. The recorder sees mutexes, joins and so on, and says which earlier moments of
// other threads a thread is after; then it knows what those knew.
//
// WHAT IS NOT SEEN. Threads also synchronise by plain atomics, and a thread that reads a flag makes no call. So if some
// thread knew the earlier operation to be complete before the later one was submitted, the program may have passed that
// on, and the conflict is `possible` only. It is certain if
//   * no thread knew it: nobody could have passed it on;
//   * or what was passed on is seen and was too little: the later thread is, by what is seen, after the SUBMISSION of the
//     earlier operation, whose thread only then waited for it. That is a mutex that was given up, a thread that was
//     started, a condition that was signalled before the wait instead of after it.
// The second holds only between threads of which nothing says that they also synchronise in ways that are not seen (raw
// futexes, of which the uncontended case makes no call; threads of run-time libraries that spin), only where the thread
// that submitted is the one that waited, and only for what is submitted: a touch of memory by the host may well be by a
// worker of a pool. A program may still mix both ways for one hand-over; annotations say so
// (streamsan_happens_before()).
#include "ordering/progress.h"

namespace streamsan::ordering {

void Progress::after(ThreadId later_id, ThreadId earlier_id, std::uint64_t then) {
  if (later_id == earlier_id) return;
  const HostClock& earlier = host(earlier_id);
  HostThread& later = thread(later_id);
  std::uint64_t& seen = later.seen[static_cast<std::uint64_t>(earlier_id)];
  if (seen < then) seen = then;
  if (const TwoClocks* known = earlier.past.at(then)) learn(*later.host, *known);
}

void Progress::after_all(ThreadId later) { learn(host(later), everybody); }

bool Progress::perhaps_passed_on(const Access& earlier, const Access& later, LaneSlot lane, Epoch epoch,
                                 const TwoClocks& clock) {
  if (!sees_threads() || hosts.size() < 2 || !everybody.assumed.covers(lane, epoch)) return false;
  if (clock.assumed.covers(lane, epoch)) return false;
  if (earlier.thread == later.thread || later.source == AccessSource::Host) return true;
  const HostThread& submitter = thread(earlier.thread);
  if (!submitter.host->clock.assumed.covers(lane, epoch)) return true;
  const HostThread& here = thread(later.thread);
  if (submitter.hides_order || here.hides_order) return true;
  const std::uint64_t* seen = here.seen.find(static_cast<std::uint64_t>(earlier.thread));
  return !seen || *seen < earlier.moment;
}

}  // namespace streamsan::ordering
