// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who observes the calls of wrapped functions, and in which order. To observe something new: write an observer (call.h)
// and name it here.
//
// The order before the call and the one after it are not each other's mirror, so both are written down. What they keep:
//
//   before   a thread is inside of the call, and has no wait behind it, before anything of ours can fault or read a
//            clock. Records of Begin rows take their place before whatever we do to memory or streams. Next to the call
//            stand the clock, and the bracket of the agent of the times, in which the driver must see this call only.
//   after    First the clock. What lets other threads go on (gate) does not wait for our records. Records of End rows
//            and launches are there when the times' bracket ends, which asks for their position. Host memory is looked
//            at behind that bracket: it may ask the driver. Then the records of Begin rows are published. The
//            thread is inside of the call until all that is done.
//
// All of it is resolved at compile time: a wrapper is the code of the observers that watch its row, one behind the
// other.
#pragma once

#include <type_traits>

#include "interposer/observers/confirm.h"
#include "interposer/observers/contention.h"
#include "interposer/observers/failures.h"
#include "interposer/observers/gates.h"
#include "interposer/observers/host_memory.h"
#include "interposer/observers/launches.h"
#include "interposer/observers/records.h"
#include "interposer/observers/start.h"
#include "interposer/observers/thread.h"
#include "interposer/observers/times.h"

namespace streamsan::recorder {

template <template <class> class... Each>
struct Order {};

using OrderBefore =
    Order<Start, Unmodelled, Inside, Waits, Frames, BeginRecords, Launches, HostMemory, Gates, Confirm, Clock, Times>;
using OrderAfter = Order<Clock, Gates, Launches, Confirm, EndRecords, EventTimes, Times, HostMemory, Contention,
                         BeginRecords, Failures, Waits, Inside, Start, Lookups>;

namespace detail {

/// Where an observer would stand whom the row does not concern, or who has a place already.
template <class Call, template <class> class Observer, int kWhy>
struct Nobody {};
template <class Call, template <class> class Observer>
using Present = std::conditional_t<Observer<Call>::kWatches, Observer<Call>, Nobody<Call, Observer, 0>>;

template <class Call, template <class> class Observer, template <class> class... Each>
constexpr bool is_one_of(Order<Each...>) {
  return (std::is_same_v<Observer<Call>, Each<Call>> || ...);
}
template <class Call, template <class> class Observer>
using PresentBefore =
    std::conditional_t<is_one_of<Call, Observer>(OrderAfter{}), Nobody<Call, Observer, 1>, Present<Call, Observer>>;

template <class Call, class Before, class After>
class Walk;

template <class Call, template <class> class... Before, template <class> class... After>
class Walk<Call, Order<Before...>, Order<After...>> : PresentBefore<Call, Before>..., Present<Call, After>... {
 public:
  SS_OBSERVER void before(Call& call) { (step_before<Before>(call), ...); }
  /// The driver's function was called, and the result stands in the call.
  SS_OBSERVER void after(Call& call) {
    if (call.result == CUDA_SUCCESS) [[likely]] {
      (step_after<After>(call), ...);
    } else {
      (step_failed<After>(call), ...);
    }
  }
  /// Right after the driver's function was called: it failed, and may have because of us, so it must be called again.
  SS_OBSERVER bool wants_retry(Call& call) {
    if constexpr (Launches<Call>::kWatches) {
      return Launches<Call>::wants_retry(call);
    } else {
      return false;
    }
  }

 private:
  template <template <class> class Observer>
  SS_OBSERVER void step_before(Call& call) {
    if constexpr (Observer<Call>::kWatches) Observer<Call>::before(call);
  }
  template <template <class> class Observer>
  SS_OBSERVER void step_after(Call& call) {
    if constexpr (Observer<Call>::kWatches) Observer<Call>::after(call);
  }
  template <template <class> class Observer>
  SS_OBSERVER void step_failed(Call& call) {
    if constexpr (Observer<Call>::kWatches) Observer<Call>::failed(call);
  }
};

}  // namespace detail

/// The observers of one call, from before it to after it.
template <class Call>
using Observers = detail::Walk<Call, OrderBefore, OrderAfter>;

}  // namespace streamsan::recorder
