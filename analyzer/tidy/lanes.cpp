// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/tidy/lanes.h"

#include <algorithm>

namespace streamsan::analyzer {
namespace {

/// Memory that host and GPU both use in place, without a copy between them.
bool is_for_both(const ir::Op& op) {
  return op.kind == ir::OpKind::Allocate &&
         (op.memory == ordering::MemoryKind::Managed || op.memory == ordering::MemoryKind::Pinned);
}

}  // namespace

bool has_lanes(const ir::Program& program) {
  for (const auto& [usr, function] : program.functions) {
    const auto is_one_of_many = [&function](const ir::Place& place) {
      if (place.type != ir::TypeKind::Stream) return false;
      const ir::Place* at = &place;
      for (; at->kind != ir::Place::Kind::Index; at = &function[at->base])
        if (at->base == ir::kNoPlace) return false;
      return true;
    };
    if (std::ranges::any_of(function.places, is_one_of_many)) return true;
    for (const ir::Block& block : function.blocks) {
      for (const ir::Op& op : block.ops) {
        if (op.kind == ir::OpKind::CreateStream || op.kind == ir::OpKind::Wait || is_for_both(op)) return true;
        if (op.kind != ir::OpKind::Enqueue) continue;
        if ((op.work == ir::Work::Copy && op.form == ir::Form::Asynchronous) || op.transfers) return true;
      }
    }
  }
  return false;
}

}  // namespace streamsan::analyzer
