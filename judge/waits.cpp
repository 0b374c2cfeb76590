// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program says of its own run: its parts, and where it must not wait. See judge.h and hidden_syncs.h.
#include "judge/judge.h"
#include "ordering/api/row.h"

namespace streamsan::judge {

using ordering::MemoryKind;
using trace::Item;
using trace::Kind;
using trace::Record;

namespace {

/// Up to here a copy from pageable memory is staged at once (R-CPY-13).
constexpr std::uint64_t kStagedAtOnce = std::uint64_t{64} << 10;

bool is_pageable(const ordering::AllocationInfo* known) { return !known || known->kind == MemoryKind::Pageable; }
bool is_device(const ordering::AllocationInfo* known) { return known && ordering::is_on_device(known->kind); }

std::optional<Wait> wait_of_copy(const Record& record, std::uint64_t bytes, const ordering::Model& model) {
  const auto& w = record.as<Kind::Copy>();
  const ordering::AllocationInfo* dst = model.find_allocation(w.dst);
  const ordering::AllocationInfo* src = model.find_allocation(w.src);
  // An array is on the device.
  const bool to_device = w.dst == 0 || is_device(dst), from_device = w.src == 0 || is_device(src);
  if (!(record.flags & trace::kAsyncForm)) {
    if (to_device && from_device) return std::nullopt;
    return Wait::Copies;
  }
  if (from_device && !to_device && is_pageable(dst)) return Wait::PageableDownload;
  if (to_device && !from_device && is_pageable(src) && bytes > kStagedAtOnce) return Wait::PageableUpload;
  return std::nullopt;
}

std::uint64_t bytes_of_copy(const Item& item) {
  const auto& w = item.record->as<Kind::Copy>();
  return w.shaped ? w.width * item.shape().height * item.shape().depth : w.width;
}

/// Does the call make memory that any stream may use, so that the driver may wait?
bool allocates(const Record& record, const api::Row& row) {
  const auto& w = record.as<Kind::Alloc>();
  if ((record.flags & trace::kVariable) || static_cast<MemoryKind>(w.memory) == MemoryKind::DeviceAsync) return false;
  return row.effect.kind == api::EffectKind::Alloc;
}

}  // namespace

void Judge::mark(const Item& item) {
  const auto& w = item.record->as<Kind::Mark>();
  // A call's moment is its position plus one.
  hazards_.marks().add(w.level, item.position + 1, trace::payload_text(item.payload, 0, w.name_bytes));
}

void Judge::host_waits(const Item& item) {
  const Record& record = *item.record;
  const auto& w = record.as<Kind::HostWaits>();
  if (w.state.raw > static_cast<std::uint64_t>(trace::HostWaitsState::Allowed)) return;
  hidden_syncs_.say(record.thread, w.state,
                    record.stack ? places_.site_outside(SiteKind::Pool, "", record.stack) : ordering::kNoSite);
}

void Judge::look_for_wait(const Item& item) {
  const Record& record = *item.record;
  if (item.cancelled || !hidden_syncs_.forbidden(record.thread)) return;
  std::optional<Wait> wait;
  bool of_stream = false;
  switch (record.kind) {
    case Kind::SyncStream:
      of_stream = true;
      wait = Wait::Synchronises;
      break;
    case Kind::SyncEvent:
    case Kind::SyncContext:
      wait = Wait::Synchronises;
      break;
    case Kind::Copy:
      of_stream = true;
      wait = wait_of_copy(record, bytes_of_copy(item), model_);
      break;
    case Kind::Free: {
      const auto way = static_cast<trace::FreeKind>(record.as<Kind::Free>().way);
      if (way != trace::FreeKind::Async && way != trace::FreeKind::Unmap) wait = Wait::Frees;
      break;
    }
    case Kind::Alloc:
      if (allocates(record, row_of(record))) wait = Wait::Allocates;
      break;
    default:
      break;
  }
  if (!wait) return;
  const StreamLife* stream = nullptr;
  if (of_stream) {
    const ordering::StreamId id = stream_of(record);
    // A copy that is captured waits for nothing.
    if (!handles_.executes(id)) return;
    stream = handles_.life(id);
  }
  hidden_syncs_.met(*wait, record.thread, call(record).site, stream, places_, hazards_.marks(), item.position + 1);
}

}  // namespace streamsan::judge
