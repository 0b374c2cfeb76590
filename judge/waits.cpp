// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/waits.h"

#include "judge/pageable.h"
#include "judge/transfers.h"
#include "ordering/api/row.h"

namespace streamsan::judge {

using ordering::MemoryKind;
using trace::Item;
using trace::Kind;
using trace::Record;

namespace {

std::optional<Wait> wait_of_copy(const Item& copy, const ordering::Model& model) {
  const Record& record = *copy.record;
  const auto& w = record.as<Kind::Copy>();
  if (!(record.flags & trace::kAsyncForm)) {
    if (is_on_device(model.kind_at(w.dst)) && is_on_device(model.kind_at(w.src))) return std::nullopt;
    return Wait::Copies;
  }
  switch (pageable_way(record, model)) {
    case PageableWay::ToHost:
      return Wait::PageableDownload;
    case PageableWay::ToDevice:
      return bytes_of_copy(copy) > kStagedAtOnce ? std::optional(Wait::PageableUpload) : std::nullopt;
    case PageableWay::None:
      break;
  }
  return std::nullopt;
}

/// Does the call make memory that any stream may use, so that the driver may wait?
bool allocates(const Record& record, const api::Row& row) {
  const auto& w = record.as<Kind::Alloc>();
  if ((record.flags & trace::kVariable) || static_cast<MemoryKind>(w.memory) == MemoryKind::DeviceAsync) return false;
  return row.effect.kind == api::EffectKind::Alloc;
}

}  // namespace

std::optional<WaitingCall> waiting_call(const Item& item, const Places& places, const ordering::Model& model) {
  const Record& record = *item.record;
  if (item.cancelled) return std::nullopt;
  switch (record.kind) {
    case Kind::SyncStream:
      return WaitingCall{Wait::Synchronises, true};
    case Kind::SyncEvent:
    case Kind::SyncContext:
      return WaitingCall{Wait::Synchronises, false};
    case Kind::Copy:
      if (const std::optional<Wait> wait = wait_of_copy(item, model)) return WaitingCall{*wait, true};
      return std::nullopt;
    case Kind::Free: {
      const auto way = static_cast<trace::FreeKind>(record.as<Kind::Free>().way);
      if (way == trace::FreeKind::Async || way == trace::FreeKind::Unmap) return std::nullopt;
      return WaitingCall{Wait::Frees, false};
    }
    case Kind::Alloc:
      if (allocates(record, places.row_of(record.api))) return WaitingCall{Wait::Allocates, false};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace streamsan::judge
