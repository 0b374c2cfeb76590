// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programmatic launches: kernels that may begin before the kernel in front of them in their stream ends (R-LCH-02).
//
// To a stream belong two tokens more. `start`: all of a programmatic launch that is enqueued there from now on comes
// after the access. `waited`: what such a launch does after its wait for the grid in front comes after it.
//
//   a kernel            its own accesses have {waited}: whoever waits, waits for it
//   other work, records,
//   waits, ordinary kernels
//                       all that is before them in the stream gets both: they begin when it has ended, and what
//                       follows them begins, at the earliest, when they have begun
//   a programmatic B    that waits first: what its wait covers is before B's end and, unless B lets its dependents begin
//                       before it has waited, before their begin: it gets {start}
//                       that never waits: it passes nothing on (R-LCH-02d). What may still run at B's begin loses
//                       {waited}: the wait of the next launch is for B alone
//
// Ordinary work behind all that is ordered by the stream's own token as ever (R-LCH-02e).
#include "analyzer/analysis/order_step.h"

#include <algorithm>

namespace streamsan::analyzer {

using ir::Certainty;

namespace {

bool is_of(std::uint32_t token, Order::Dependent part) {
  return token != kHost && token >= kDependents && (token % 2 == 0) == (part == Order::Dependent::Start);
}

}  // namespace

bool Order::surely_before(const Values& values, const Sets& sets, SetId must, ValueId stream, Dependent part) {
  return std::ranges::any_of(sets[must], [&](std::uint32_t token) {
    return token == kHost || (is_of(token, part) && values.must_equal(value_of(token), stream));
  });
}

bool Order::perhaps_before(const Values& values, const Sets& sets, SetId may, ValueId stream, Dependent part) {
  return std::ranges::any_of(sets[may], [&](std::uint32_t token) {
    return token == kHost || (is_of(token, part) && values.may_equal(value_of(token), stream));
  });
}

void OrderStep::full_edge(ValueId stream) {
  if (!values_.launches_programmatically() || order_.capturing_ != Tri::No) return;
  const auto both = [this](SetId set, ValueId of) {
    return sets_.add(sets_.add(set, start_token(of)), waited_token(of));
  };
  for (Pending& p : order_.pending_) {
    if (over(p)) continue;
    if (stream == kUnknown) {
      p.may = both(p.may, p.stream);
      continue;
    }
    if (surely(p, stream)) p.must = both(p.must, stream);
    if (perhaps(p, stream)) p.may = both(p.may, stream);
  }
}

void OrderStep::overtake(ValueId stream) {
  if (order_.capturing_ != Tri::No || stream == kUnknown) return full_edge(stream);
  using Part = Order::Dependent;
  for (Pending& p : order_.pending_) {
    if (over(p) || !perhaps(p, stream)) continue;
    const auto surely_is = [&](Part part) { return Order::surely_before(values_, sets_, p.must, stream, part); };
    const auto perhaps_is = [&](Part part) { return Order::perhaps_before(values_, sets_, p.may, stream, part); };
    const bool started = surely_is(Part::Start), perhaps_started = perhaps_is(Part::Start);
    const bool waited = surely_is(Part::Waited), perhaps_waited = perhaps_is(Part::Waited);
    const auto is_wait = [&](std::uint32_t token) {
      return is_of(token, Part::Waited) && values_.may_equal(value_of(token), stream);
    };
    if (op_.waits == Certainty::Yes) {
      if (waited && surely(p, stream) && op_.triggers_first == Certainty::No)
        p.must = sets_.add(p.must, start_token(stream));
    } else if (!started) {
      p.must = sets_.without(p.must, is_wait);
    }
    if (op_.waits == Certainty::No && op_.programmatic == Certainty::Yes) {
      if (!perhaps_started && values_.must_equal(p.stream, stream)) p.may = sets_.without(p.may, is_wait);
    } else if (op_.programmatic == Certainty::Perhaps || (perhaps_waited && op_.triggers_first != Certainty::Yes)) {
      p.may = sets_.add(sets_.add(p.may, start_token(stream)), waited_token(stream));
    }
  }
}

}  // namespace streamsan::analyzer
