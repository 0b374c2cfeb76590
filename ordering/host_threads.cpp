// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order between host threads, as far as the recorder sees it (HostThreads::Seen).
//
// Each host thread has a clock of its own. The recorder sees calls on mutexes, joins of threads and so on. From them it
// says: this thread now comes after that moment of that other thread. The thread then knows what the other one knew at
// that moment.
//
// WHAT IS NOT SEEN. Threads also synchronise by atomic variables, and a thread that reads one makes no call. Suppose
// that some thread knew the earlier operation to be complete before the later one was submitted. That thread may have
// passed its knowledge on through an atomic variable, so the conflict is only `possible`. The conflict is certain in
// two cases:
//   1. No thread knew that the earlier operation was complete: there was no knowledge to pass on.
//   2. A hand-over was seen, and it came too early. By what is seen, the later thread comes after the SUBMISSION of the
//      earlier operation, but not after the wait for it, which the submitting thread made only afterwards. Examples: a
//      mutex was unlocked, a thread was started, or a condition was signalled before the wait instead of after it.
// Case 2 has three conditions. Neither thread is known to synchronise in ways that are not seen (raw futexes, which
// make no call while there is no contention; the spinning threads of run-time libraries). The thread that submitted the
// earlier operation is also the one that waited for it. And the later access is one of an operation: an access by the
// host itself may have been made by a worker of a pool, which gets its work in a way that is not seen. A program may
// still use both ways for one hand-over; it can say so with annotations (streamsan_happens_before()).
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
