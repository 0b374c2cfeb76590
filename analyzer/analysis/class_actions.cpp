// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/analysis/class_actions.h"

#include <algorithm>
#include <vector>

#include "analyzer/ir/rings.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ir::Op;
using ir::OpKind;

const Actions& AllActions::of(const std::string& usr) {
  const auto [entry, is_new] = known_.try_emplace(usr);
  if (!is_new) return entry->second;
  const auto found = program_.functions.find(usr);
  if (found == program_.functions.end()) return entry->second;
  const ir::Function& function = found->second;
  Actions all;
  const ir::Rings rings = ir::rings_of(function);
  all.slots = rings.slots;
  all.supposes = !rings.numbers.empty();
  for (const ir::Block& block : function.blocks)
    for (const Op& op : block.ops) {
      switch (op.kind) {
        case OpKind::Enqueue:
          all.enqueues = true;
          all.meets = true;
          break;
        case OpKind::Free:
        case OpKind::EndOfLife:
        case OpKind::HostAccess:
        case OpKind::DestroyHandle:
          all.meets = true;
          break;
        case OpKind::SyncStream:
        case OpKind::SyncEvent:
        case OpKind::SyncDevice:
        case OpKind::QueryStream:
        case OpKind::QueryEvent:
        case OpKind::Complete:
          all.waits = true;
          break;
        case OpKind::Call: {
          const Actions inner = of(op.callee);
          all.enqueues = all.enqueues || inner.enqueues;
          all.meets = all.meets || inner.meets;
          all.waits = all.waits || inner.waits;
          all.slots = std::max(all.slots, inner.slots);
          all.supposes = all.supposes || inner.supposes;
          break;
        }
        default:
          break;
      }
    }
  return known_[usr] = all;
}

StreamOrders ordered_streams(const ir::Program& program, const std::function<bool(const std::string&)>& waits_in) {
  StreamOrders edges;
  std::map<std::string, std::set<std::string>> recorded;
  std::vector<std::pair<std::string, std::string>> waits;
  for (const auto& [usr, function] : program.functions)
    for (const ir::Block& block : function.blocks)
      for (const Op& op : block.ops) {
        if (op.kind != OpKind::Record && op.kind != OpKind::Wait) continue;
        const std::string event = ir::field_key(function, op.event.place),
                          stream = ir::field_key(function, op.stream.place);
        if (event.empty() || stream.empty()) continue;
        if (op.kind == OpKind::Record) {
          recorded[event].insert(stream);
        } else if (waits_in(usr)) {
          waits.emplace_back(event, stream);
        }
      }
  for (const auto& [event, waiter] : waits)
    for (const std::string& stream : recorded[event])
      if (stream != waiter) edges.emplace(stream, waiter);
  return edges;
}

}  // namespace streamsan::analyzer
