// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which questions are asked at which op. The essay is in inspector.h.
#include "analyzer/analysis/inspector.h"

namespace streamsan::analyzer {

using ir::OpKind;

void Inspector::at(const Store& store, const Order& order, std::uint32_t block, std::uint32_t position) {
  look_.turn_to(store, order, block, position);
  look_.choice.visit(look_.index);
  handles_.handles();
  if (order.capturing() != Tri::No) return handles_.capture();
  switch (look_.op->kind) {
    case OpKind::Enqueue:
      if (order.holds_back(*look_.op)) return;
      races_.races();
      return syncs_.pageable_copy();
    case OpKind::GroupEnd:
      return races_.released_races();
    case OpKind::HostAccess:
      return host_.host_access();
    case OpKind::Free:
    case OpKind::EndOfLife:
      return host_.end_of_memory();
    case OpKind::Wait:
      return handles_.wait();
    case OpKind::SyncEvent:
      handles_.wait();
      return syncs_.redundant_event_sync();
    case OpKind::Record:
      return handles_.record();
    case OpKind::Elapsed:
      return handles_.elapsed();
    case OpKind::SyncDevice:
      syncs_.device_sync();
      return syncs_.redundant_sync();
    case OpKind::SyncStream:
      return syncs_.redundant_sync();
    default:
      return;
  }
}

std::vector<Hazard> Inspector::take() {
  handles_.conclude();
  if (handles_.saw_useless_wait()) look_.choice.drop_what_useless_waits_miss();
  return look_.choice.take();
}

}  // namespace streamsan::analyzer
