// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/pageable.h"

#include "ordering/api/row.h"

namespace streamsan::judge {

using ordering::MemoryKind;
using trace::Kind;

PageableWay pageable_way(const trace::Record& copy, const ordering::Model& model) {
  const auto& w = copy.as<Kind::Copy>();
  const MemoryKind to = model.kind_at(w.dst);
  const MemoryKind from = model.kind_at(w.src);
  const auto direction = static_cast<api::Direction>(copy.flags >> trace::kDirectionShift & 7);
  const bool any = direction == api::Direction::ByAddress || direction == api::Direction::Array;
  if (from == MemoryKind::Pageable && is_on_device(to) && (any || direction == api::Direction::HostToDevice)) {
    return PageableWay::ToDevice;
  }
  if (to == MemoryKind::Pageable && is_on_device(from) && (any || direction == api::Direction::DeviceToHost)) {
    return PageableWay::ToHost;
  }
  return PageableWay::None;
}

}  // namespace streamsan::judge
