// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function captures work on memory, instantiates the graph into a field, and frees the memory: the graph keeps the
// address. The free itself may be harmless, because no work runs by then; the launch, in another function, is not. So
// the hazard is reported at the launch, with the free as the other side. A graph is identified by its class and field.
#include "analyzer/analysis/kept_graphs.h"

#include <set>
#include <string>

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ir::Op;
using ir::OpKind;
using ir::Place;

namespace {

/// The graphs that the closed function `function` instantiates and leaves in fields.
std::set<std::string> kept_graphs(const ir::Function& function) {
  std::set<std::string> kept;
  for (const ir::Block& block : function.blocks)
    for (const Op& op : block.ops) {
      if (op.target == ir::kNoPlace || function[op.target].type != ir::TypeKind::Graph) continue;
      const std::string key = ir::field_key(function, op.target);
      const Place::Kind root = function[ir::root(function, op.target).place].kind;
      if (key.empty() || root != Place::Kind::This) continue;
      if (op.kind == OpKind::Fresh) {
        kept.insert(key);
      } else {
        kept.erase(key);
      }
    }
  return kept;
}

}  // namespace

std::vector<Hazard> launches_after_free(const std::vector<Hazard>& captured, const ir::Program& program,
                                        ir::Inliner& inliner) {
  std::vector<Hazard> hazards;
  for (const Hazard& freed : captured) {
    const std::set<std::string> graphs = kept_graphs(inliner.close(freed.usr));
    if (graphs.empty()) continue;
    for (const auto& [usr, function] : program.functions) {
      if (usr == freed.usr) continue;
      for (const ir::Block& block : function.blocks)
        for (const Op& op : block.ops) {
          if (op.kind != OpKind::Enqueue || op.work != ir::Work::GraphLaunch || op.arguments.empty()) continue;
          if (op.site == ir::kNoSite || !graphs.contains(ir::field_key(function, op.arguments.front().place))) continue;
          Hazard& hazard = hazards.emplace_back(freed);
          hazard.level = Level::Likely;
          hazard.which = CheckCase::UseAfterFree;
          hazard.earlier = freed.later;
          hazard.later = {
              .where = {function[op.site], {}}, .what = op.name, .mode = ir::Mode::Unknown, .work = op.work};
          if (op.stream.place != ir::kNoPlace) hazard.later.stream.name = function.spell(op.stream);
          hazard.function = function.name;
          hazard.usr = usr;
          hazard.of_calls = true;
          hazard.evidence = {{freed.earlier->what + ", which uses it, becomes part of the graph that is launched",
                              freed.earlier->where}};
        }
    }
  }
  return hazards;
}

}  // namespace streamsan::analyzer
