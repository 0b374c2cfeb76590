// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rows of the table have a wrapper, and so an exported entry point: all that mean something for order or memory,
// and those that are only written down.
#pragma once

#include "ordering/api/row.h"

namespace streamsan::recorder {

/// Asks for the time between two events (arguments 1 and 2). It is no order (R-EVT-10), so its row is passed through;
/// but it tells that whoever waits in front of it may wait for the time only.
constexpr bool is_event_time(const api::Row& row) { return row.base == "cuEventElapsedTime"; }

constexpr bool is_wrapped(const api::Row& row) {
  return row.effect.kind != api::EffectKind::Pass || is_event_time(row);
}

}  // namespace streamsan::recorder
