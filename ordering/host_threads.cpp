// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order between host threads, as far as the recorder sees it (HostThreads::Seen and Strict).
//
// Each host thread has a clock of its own. The recorder sees calls on mutexes, joins of threads and so on. From them it
// says: this thread now comes after that moment of that other thread. The thread then knows what the other one knew at
// that moment.
//
// WHAT IS NOT SEEN. Threads also synchronise by atomic variables, and a thread that reads one makes no call. So a
// conflict that the seen order leaves open may be ordered all the same, and which part of it is left open depends on
// which thread was faster. Therefore each conflict is also judged as if all threads were joined: what any thread knew
// when the later operation was submitted, all knew (everybody_). Joining invents no hazard, whatever the threads do.
//
//   seen order   joined   the conflict is
//   after        -        ordered
//   unordered    error    an error: nobody knew that the earlier operation was complete, so nobody passed it on
//   unordered    latent   latent, for the same reason
//   unordered    after    possible: somebody knew, and may have passed it on (PassedOn::Perhaps, R-SYN-10)
//
// So the certain hazards are those of joined threads, neither more nor fewer. What seeing adds are possible ones: those
// that joined threads miss because one thread happened to wait before the other one went on. Runs whose
// locks, joins and the like come in the same order then have the same findings, and the certainty says what a run
// proves.
//
// The joined order costs no second set of clocks. An operation that joined threads submit comes after what the seen
// order puts before it, and after what everybody knew when it or one of its predecessors was submitted. The latter only
// grows, so one clock for all of the program answers for each operation, at the time of its submission.
//
// STRICT. A hand-over was seen, and it came too early: by what is seen, the later thread comes after the SUBMISSION of
// the earlier operation, but not after the wait for it, which the submitting thread made only afterwards. Examples: a
// mutex was unlocked, a thread was started, or a condition was signalled before the wait instead of after it. Strict
// makes that an error. It has three conditions. Neither thread is known to synchronise in ways that are not seen (raw
// futexes, which make no call while there is no contention; the spinning threads of run-time libraries). The thread
// that submitted the earlier operation is also the one that waited for it. And the later access is one of an operation:
// an access by the host itself may have been made by a worker of a pool, which gets its work in a way that is not seen.
// A program may still use both ways for one hand-over, so this is not for every program (docs/model.md).
//
// DEPENDENT LAUNCHES. A launch that may overlap the kernel in front is an ordinary one if it is put behind anything
// else, but for what its own thread knows to be over (R-LCH-02f). Where only another thread knows that, joined threads
// let it overlap, and the seen order does not: a hazard of joined threads is then missed.
//
// MANY THREADS. Past kMostHosts, a new thread takes over the clock of the thread that has been silent for longest, and
// shares it if that one goes on. Both then know the same: a conflict may be missed that is possible at most.
#include <algorithm>

#include "ordering/progress.h"

namespace streamsan::ordering {
namespace {

/// Each has a lane of every clock.
constexpr std::size_t kMostHosts = 64;

}  // namespace

HostClock& Progress::host_for_new_thread() {
  if (sees_threads() && hosts.size() >= kMostHosts) {
    HostClock& silent = *std::min_element(
        hosts.begin(), hosts.end(), [](const HostClock& a, const HostClock& b) { return a.last_call < b.last_call; });
    silent.shared = true;
    return silent;
  }
  if (sees_threads() && hosts.size() == 1) everybody_ = hosts.front().clock;
  HostClock& host = hosts.emplace_back();
  host.lane = lanes.open({}, {}).slot;
  return host;
}

void Progress::after(ThreadId later_id, ThreadId earlier_id, std::uint64_t then) {
  if (later_id == earlier_id) return;
  const HostClock& earlier = host(earlier_id);
  HostThread& later = thread(later_id);
  if (options.host_threads == Options::HostThreads::Strict) {
    std::uint64_t& seen = later.seen[static_cast<std::uint64_t>(earlier_id)];
    if (seen < then) seen = then;
  }
  if (later.host == &earlier) return;
  if (const TwoClocks* known = earlier.past.at(then)) learn(*later.host, *known);
}

void Progress::after_all(ThreadId later) {
  HostClock& host = this->host(later);
  if (hosts.size() > 1) learn(host, everybody_);
}

bool Progress::was_handed_over_too_early(const Access& earlier, const Access& later, LaneSlot lane, Epoch epoch) {
  if (earlier.thread == later.thread || later.source == AccessSource::Host) return false;
  const HostThread& submitter = thread(earlier.thread);
  if (!submitter.host->clock.assumed.covers(lane, epoch)) return false;
  const HostThread& here = thread(later.thread);
  if (submitter.hides_order || here.hides_order || submitter.host->shared || here.host->shared) return false;
  const std::uint64_t* seen = here.seen.find(static_cast<std::uint64_t>(earlier.thread));
  return seen && *seen >= earlier.moment;
}

PassedOn Progress::passed_on(const Access& earlier, const Access& later, LaneSlot lane, Epoch epoch,
                             const TwoClocks& clock) {
  if (!sees_threads() || hosts.size() < 2 || !everybody_.assumed.covers(lane, epoch)) return PassedOn::No;
  const bool strict = options.host_threads == Options::HostThreads::Strict;
  if (strict && was_handed_over_too_early(earlier, later, lane, epoch)) return PassedOn::No;
  if (everybody_.documented.covers(lane, epoch)) return PassedOn::Perhaps;
  return clock.assumed.covers(lane, epoch) ? PassedOn::No : PassedOn::ByAssumption;
}

void Progress::may_signal(const Lane& lane) {
  signalled.join(lane.clock.assumed);
  // What joined threads know is before it, too.
  if (sees_threads() && hosts.size() > 1) signalled.join(everybody_.assumed);
}

}  // namespace streamsan::ordering
