// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The observers of wrapped functions, and the order in which they run. To observe something new, write an observer
// (call.h) and name it here.
//
// The order after the call is not the reverse of the order before it, so both are written down. The reasons:
//
// BEFORE THE CALL
//   Inside, Waits    come first: what follows may touch a protected page or read a clock, and must then be known to run
//                    inside of a driver call.
//   BeginRecords     comes before Launches, HostMemory and Confirm: the record gets its place in the trace before we
//                    touch memory or streams.
//   Clock, Times     come last, next to the call. Times opens a bracket for the agent that takes times; inside of it
//                    the driver must see no call but this one.
//
// AFTER THE CALL
//   Clock            comes first, so that our own work is not counted.
//   Gates            comes next: other threads wait for it, and need not wait for our records.
//   EndRecords       and Launches come before Times, which closes its bracket with the position of their record.
//   Captures, HostMemory  come after Times: they may call the driver.
//   BeginRecords     comes after HostMemory: it publishes the record.
//   Waits, Inside    come last: the thread counts as inside of the call until all else is done.
//
// The compiler resolves all of it: a wrapper is the code of the observers that watch its row, one after another.
#pragma once

#include <type_traits>

#include "interposer/observers/captures.h"
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
using OrderAfter = Order<Clock, Gates, Launches, Confirm, EndRecords, EventTimes, Times, Captures, HostMemory,
                         Contention, BeginRecords, Failures, Waits, Inside, Start, Lookups>;

namespace detail {

/// Takes the place of an observer that does not watch the row, or that is a base class already.
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
  /// After the driver's function was called; `call` has its result.
  SS_OBSERVER void after(Call& call) {
    if (call.result == CUDA_SUCCESS) [[likely]] {
      (step_after<After>(call), ...);
    } else {
      (step_failed<After>(call), ...);
    }
  }
  /// Right after the driver's function was called. True: it failed, perhaps because of us, and must be called again.
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

/// All observers of one call.
template <class Call>
using Observers = detail::Walk<Call, OrderBefore, OrderAfter>;

}  // namespace streamsan::recorder
