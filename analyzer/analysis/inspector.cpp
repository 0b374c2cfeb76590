// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which families are asked at an op, and in what order. inspector.h explains it.
#include "analyzer/analysis/inspector.h"

namespace streamsan::analyzer {

void Inspector::at(const Store& store, const Order& order, std::uint32_t block, std::uint32_t position) {
  look_.turn_to(store, order, block, position);
  look_.choice.visit(look_.index);
  handles_.ask();
  if (order.capturing() != Tri::No) return captures_.ask();
  // What a group holds back begins at its end.
  if (look_.op->kind == ir::OpKind::Enqueue && order.holds_back(*look_.op)) return;
  if (order.is_done_by_host(look_.values, store, look_.index)) return;
  races_.ask();
  host_.ask();
  releases_.ask();
  syncs_.ask();
}

std::vector<Hazard> Inspector::take() {
  handles_.conclude();
  releases_.conclude();
  if (handles_.saw_useless_wait()) look_.choice.drop_what_useless_waits_miss();
  return look_.choice.take();
}

}  // namespace streamsan::analyzer
