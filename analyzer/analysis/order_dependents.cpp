// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programmatic launches: kernels that may begin before the kernel in front of them in their stream ends (R-LCH-02).
//
// A stream has two more tokens. `start`: all of a programmatic launch that is enqueued there from now on comes
// after the access. `waited`: what such a launch does after its wait for the grid in front comes after it.
//
//   a kernel            its own accesses have {waited}: whoever waits, waits for it
//   other work, waits,
//   ordinary kernels    all that is before them in the stream gets both: they begin when it has ended, and what
//                       follows them begins, at the earliest, when they have begun
//   a record            likewise; of an event that is known to be made without timing, but for the accesses of its own
//                       stream: the next launch may overlap the kernel in front of the record (R-LCH-02g)
//   a programmatic B,   the work that B's wait covers is over before B ends. Unless B lets its dependents begin before
//   which waits first   it has waited, that work is also over before they begin: it gets {start}
//   a programmatic B,   B passes no order on (R-LCH-02d). Work that may still run when B begins loses {waited}: the
//   which never waits   wait of the next launch is for B alone
//
// Ordinary work behind all that is ordered by the stream's own token as ever (R-LCH-02e).
//
// Here the tokens are read; the steps that give and take them are in order_work.cpp (full_edge, overtake).
#include "analyzer/analysis/order_step.h"

#include <algorithm>

namespace streamsan::analyzer {

bool Order::surely_before(const Values& values, const Sets& sets, SetId must, ValueId stream, Dependent part) {
  return std::ranges::any_of(sets[must], [&](std::uint32_t token) {
    return token == kHost || (is_token_of(token, part) && values.must_equal(value_of(token), stream));
  });
}

bool Order::perhaps_before(const Values& values, const Sets& sets, SetId may, ValueId stream, Dependent part) {
  return std::ranges::any_of(sets[may], [&](std::uint32_t token) {
    return token == kHost || (is_token_of(token, part) && values.may_equal(value_of(token), stream));
  });
}

}  // namespace streamsan::analyzer
