// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rows of the table have a wrapper, and so an exported entry point: all that mean something for order or memory,
// and those that are only written down.
#pragma once

#include "ordering/api/row.h"

namespace streamsan::recorder {

constexpr bool is_wrapped(const api::Row& row) {
  return row.effect.kind != api::EffectKind::Pass || row.effect.asks_event_time;
}

/// Does the host have the same knowledge and the GPU the same work after such a call? A clock that is read then may
/// still be read because of the wait before (host/clock_reads.h).
constexpr bool leaves_all_as_it_was(api::EffectKind kind) {
  switch (kind) {
    case api::EffectKind::StreamCreate:
    case api::EffectKind::StreamDestroy:
    case api::EffectKind::EventCreate:
    case api::EffectKind::EventDestroy:
    case api::EffectKind::EventRecord:
    case api::EffectKind::EventWait:
    case api::EffectKind::QueryStream:
    case api::EffectKind::QueryEvent:
    case api::EffectKind::FunctionLookup:
    case api::EffectKind::GlobalLookup:
    case api::EffectKind::ArrayCreate:
    case api::EffectKind::ArrayPart:
    case api::EffectKind::TextureCreate:
      return true;
    default:
      return false;
  }
}

}  // namespace streamsan::recorder
