// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A class captures work once, keeps the graph, and launches it whenever it is wanted. The graph keeps addresses:
//
//   void packet()          { if (!exec_) record(); cudaGraphLaunch(exec_, stream_); }
//   void record()          { ... capture: filter<<<..., stream_>>>(workspace_.p); ... instantiate exec_ ... }
//   void rescan(size_t n)  { workspace_.reserve(n); ... }      // frees, and allocates more
//
// After rescan() the next packet() launches a graph whose kernels write to memory that was freed. No single call is
// wrong, and no order of streams helps. So this looks at what the methods of one class do with two of its members, the
// graph and the memory, each named by its path from `this`:
//
//   * one method captures work that uses the memory, and leaves the graph in its member;
//   * another one launches the graph, on some path without a new capture, and the third one writes nothing that decides
//     about this path;
//   * a third one frees the memory and puts other memory in its place, and does not use the graph;
//   * no other one makes the graph anew or drops it: callers would have to call that method. A method that also frees
//     the memory ends the object, and does not count.
//
// A free without a replacement is not looked at: it is the end of the object, or callers must stop using the object. A
// method that other methods of the class call is looked at as a part of those, and not by itself. If a capture also
// stores the address of its memory (`captured_ = workspace_.p`), code that is not understood may compare it: then
// nothing is reported.
//
// Cost: none if the program does not capture; else the methods of its classes are closed once more.
#include "analyzer/analysis/workspaces.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::PlaceId;

/// An op of a method, and its place in the closed method.
struct At {
  const Op* op = nullptr;
  std::size_t block = 0, number = 0;
};

/// One method with its callees put in, and what it does with members.
class Method {
 public:
  explicit Method(ir::Function closed) : function_(std::move(closed)), only_(function_.places.size()) {
    std::vector<bool> stored(function_.places.size());
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops) {
        if (op.target == ir::kNoPlace) continue;
        only_[ir::at(op.target)] = stored[ir::at(op.target)] ? nullptr : &op;
        stored[ir::at(op.target)] = true;
      }
    read();
  }

  [[nodiscard]] const ir::Function& function() const { return function_; }
  /// By the path of the memory: the first op of a capture that uses it.
  [[nodiscard]] const std::map<std::string, At>& captured() const { return captured_; }
  [[nodiscard]] const std::map<std::string, At>& launched() const { return launched_; }
  [[nodiscard]] const std::map<std::string, At>& freed() const { return freed_; }
  /// Members that are assigned.
  [[nodiscard]] const std::set<std::string>& stored() const { return stored_; }
  /// Graphs that are left in members.
  [[nodiscard]] const std::set<std::string>& graphs() const { return graphs_; }
  [[nodiscard]] bool gives_itself_away() const { return gives_itself_away_; }
  /// Memory that a capture uses and whose address is also kept in another member.
  [[nodiscard]] const std::set<std::string>& noted() const { return noted_; }

  /// After `freed`, the member gets other memory.
  [[nodiscard]] bool replaces(const std::string& memory, const At& freed) const {
    const std::vector<bool> behind = ir::reached_behind(function_, freed.block);
    for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
      const std::vector<Op>& ops = function_.blocks[block].ops;
      const bool here = block == freed.block;
      if (!here && !behind[block]) continue;
      for (std::size_t i = here ? freed.number + 1 : 0; i < ops.size(); ++i)
        if (ops[i].kind == OpKind::Allocate && path(ops[i].target) == memory) return true;
    }
    return false;
  }

  /// The method launches the graph without storing it first, and no condition on that path reads one of `written`.
  [[nodiscard]] bool launches_as_it_was(const std::string& graph, const At& launch,
                                        const std::set<std::string>& written) const {
    std::vector<bool> stores(function_.blocks.size());
    for (std::size_t block = 0; block < function_.blocks.size(); ++block)
      for (const Op& op : function_.blocks[block].ops)
        stores[block] = stores[block] || (op.target != ir::kNoPlace && path(op.target) == graph);
    if (stores[launch.block]) return false;
    std::vector<bool> launches(function_.blocks.size());
    launches[launch.block] = true;
    const std::vector<bool> around =
        ir::leading_to(function_, launches, [&](std::size_t from, std::size_t) { return !stores[from]; });
    if (!around[0]) return false;
    // A branch of which one path goes to the launch directly, and the other one to a capture.
    for (const ir::Block& choice : function_.blocks) {
      if (choice.successors.size() != 2 || choice.condition == ir::kNoExpr) continue;
      if (around[ir::at(choice.successors[0])] == around[ir::at(choice.successors[1])]) continue;
      for (const PlaceId use : function_[choice.condition].uses)
        if (written.contains(path(use))) return false;
    }
    return true;
  }

  /// "Class::field.field", from `this`; empty: it is not part of the object, or is one of several elements.
  [[nodiscard]] std::string path(PlaceId place) const {
    constexpr unsigned kDeepest = 12;
    for (unsigned steps = 0; steps < kDeepest && place != ir::kNoPlace; ++steps) {
      const Op* op = function_[place].base == ir::kNoPlace ? only_[ir::at(place)] : nullptr;
      if (op == nullptr || op->kind != OpKind::Assign || op->source.kind != Operand::Kind::Value) break;
      place = op->source.place;
    }
    std::string result;
    for (; place != ir::kNoPlace; place = function_[place].base) {
      const Place& here = function_[place];
      if (here.kind == Place::Kind::This) return result;
      if (here.kind == Place::Kind::Field) {
        result = here.owner + "::" + here.name + (result.empty() ? "" : "." + result);
      } else if (here.kind != Place::Kind::Deref) {
        return {};
      }
    }
    return {};
  }

 private:
  void read() {
    std::vector<bool> capturing(function_.blocks.size());
    std::vector<std::size_t> work;
    for (std::size_t block = 0; block < function_.blocks.size(); ++block)
      if (ends_capturing(block, false)) work.push_back(block);
    while (!work.empty()) {
      const std::size_t block = work.back();
      work.pop_back();
      for (const ir::BlockId next : function_.blocks[block].successors) {
        if (capturing[ir::at(next)]) continue;
        capturing[ir::at(next)] = true;
        if (ends_capturing(ir::at(next), true)) work.push_back(ir::at(next));
      }
    }
    for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
      bool inside = capturing[block];
      for (std::size_t i = 0; i < function_.blocks[block].ops.size(); ++i) {
        const Op& op = function_.blocks[block].ops[i];
        if (op.kind == OpKind::CaptureBegin) inside = true;
        if (op.kind == OpKind::CaptureEnd) inside = false;
        read(op, {&op, block, i}, inside);
      }
    }
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops) {
        if (op.kind != OpKind::Assign || op.source.kind != Operand::Kind::Value || op.target == ir::kNoPlace) continue;
        const std::string from = path(op.source.place), to = path(op.target);
        if (captured_.contains(from) && !to.empty() && to != from) noted_.insert(from);
      }
  }

  /// At the end of the block, if it was so or not at its begin.
  [[nodiscard]] bool ends_capturing(std::size_t block, bool inside) const {
    for (const Op& op : function_.blocks[block].ops)
      if (op.kind == OpKind::CaptureBegin || op.kind == OpKind::CaptureEnd) inside = op.kind == OpKind::CaptureBegin;
    return inside;
  }

  void read(const Op& op, const At& at, bool inside) {
    if (op.kind == OpKind::Escape && op.source.place != ir::kNoPlace)
      gives_itself_away_ = gives_itself_away_ || function_[op.source.place].kind == Place::Kind::This;
    if (op.target != ir::kNoPlace) {
      const std::string to = path(op.target);
      if (!to.empty()) stored_.insert(to);
      if (!to.empty() && op.kind == OpKind::Fresh && function_[op.target].type == ir::TypeKind::Graph)
        graphs_.insert(to);
    }
    if (op.kind == OpKind::Enqueue && op.work == ir::Work::GraphLaunch && !op.arguments.empty() &&
        op.arguments.front().place != ir::kNoPlace && op.site != ir::kNoSite) {
      const std::string graph = path(op.arguments.front().place);
      if (!graph.empty()) launched_.try_emplace(graph, at);
    } else if (op.kind == OpKind::Enqueue && inside) {
      for (const ir::Access& access : op.accesses) {
        if (access.memory.kind != Operand::Kind::Value) continue;
        const std::string memory = path(access.memory.place);
        if (!memory.empty()) captured_.try_emplace(memory, at);
      }
    } else if (op.kind == OpKind::Free && op.source.kind == Operand::Kind::Value && op.site != ir::kNoSite) {
      const std::string memory = path(op.source.place);
      if (!memory.empty()) freed_.try_emplace(memory, at);
    }
  }

  ir::Function function_;
  std::vector<const Op*> only_;  ///< by place: the only op that stores into it
  std::map<std::string, At> captured_, launched_, freed_;
  std::set<std::string> stored_, graphs_, noted_;
  bool gives_itself_away_ = false;
};

bool captures(const ir::Program& program) {
  bool begins = false, launches = false;
  for (const auto& [usr, function] : program.functions)
    for (const ir::Block& block : function.blocks)
      for (const Op& op : block.ops) {
        begins = begins || op.kind == OpKind::CaptureBegin;
        launches = launches || (op.kind == OpKind::Enqueue && op.work == ir::Work::GraphLaunch);
      }
  return begins && launches;
}

bool is_method(const ir::Function& function) {
  return std::ranges::any_of(function.places, [](const Place& place) { return place.kind == Place::Kind::This; });
}

/// The methods that a method calls on its own object.
std::set<std::string> called_inside(const ir::Program& program) {
  std::set<std::string> result;
  for (const auto& [usr, function] : program.functions)
    for (const ir::Block& block : function.blocks)
      for (const Op& op : block.ops)
        if (op.kind == OpKind::Call && op.object.place != ir::kNoPlace &&
            function[op.object.place].kind == Place::Kind::This)
          result.insert(op.callee);
  return result;
}

/// "Class::" of the class that a path begins with.
std::string class_of(const std::string& path) {
  const std::string first = path.substr(0, path.find('.'));
  return first.substr(0, first.rfind("::") + 2);
}

Action action(const Method& method, const At& at) {
  const ir::Function& function = method.function();
  Action result{.where = where(function, at.op->site), .what = name_of(function, *at.op), .work = at.op->work};
  if (at.op->stream.place != ir::kNoPlace) result.stream.name = function.spell(at.op->stream);
  return result;
}

}  // namespace

std::vector<Hazard> launches_on_replaced_memory(const ir::Program& program, const std::vector<std::string>& functions,
                                                ir::Inliner& inliner) {
  if (!captures(program)) return {};
  constexpr std::uint64_t kMostWeight = 2000;
  const std::set<std::string> inside = called_inside(program);
  const auto looked_at = [&](const std::string& usr, const ir::Function& function) {
    return function.incomplete.empty() && is_method(function) && inliner.weight(usr) <= kMostWeight;
  };
  std::vector<Method> methods, called;  // the latter by others of their class
  for (const std::string& usr : functions) {
    const auto found = program.functions.find(usr);
    if (found != program.functions.end() && !inside.contains(usr) && looked_at(usr, found->second))
      methods.emplace_back(inliner.close(usr));
  }
  for (const std::string& usr : inside)
    if (const auto found = program.functions.find(usr);
        found != program.functions.end() && !found->second.hidden && looked_at(usr, found->second))
      called.emplace_back(inliner.close(usr));
  const auto others_change = [&](const std::string& graph, const std::string& memory, const Method& changer,
                                 const Method& launcher) {
    const auto changes = [&](const Method& other) {
      const auto freed = other.freed().find(memory);
      const bool ends = freed != other.freed().end() && !other.replaces(memory, freed->second);
      return &other != &changer && &other != &launcher && !other.function().hidden && other.stored().contains(graph) &&
             !ends;
    };
    return std::ranges::any_of(methods, changes) || std::ranges::any_of(called, changes);
  };
  std::vector<Hazard> hazards;
  std::set<std::pair<ir::SiteId, const Method*>> reported;
  for (const Method& keeper : methods)
    for (const std::string& graph : keeper.graphs())
      for (const auto& [memory, use] : keeper.captured()) {
        if (class_of(graph) != class_of(memory) || keeper.noted().contains(memory)) continue;
        for (const Method& changer : methods) {
          const auto freed = changer.freed().find(memory);
          if (freed == changer.freed().end() || changer.stored().contains(graph) || changer.gives_itself_away() ||
              !changer.replaces(memory, freed->second))
            continue;
          for (const Method& launcher : methods) {
            const auto launch = launcher.launched().find(graph);
            if (launch == launcher.launched().end() ||
                !launcher.launches_as_it_was(graph, launch->second, changer.stored()) ||
                others_change(graph, memory, changer, launcher) ||
                !reported.emplace(launch->second.op->site, &launcher).second)
              continue;
            Hazard& hazard = hazards.emplace_back();
            hazard.check = Check::PrematureFree;
            hazard.level = Level::Likely;
            hazard.which = CheckCase::UseAfterFree;
            hazard.function = launcher.function().name;
            hazard.usr = launcher.function().usr;
            hazard.of_calls = true;
            hazard.later = action(launcher, launch->second);
            hazard.later.mode = ir::Mode::Unknown;
            hazard.earlier = action(changer, freed->second);
            hazard.buffer.name = changer.function().spell(freed->second.op->source.place);
            hazard.evidence.push_back(
                {action(keeper, use).what +
                     ", which uses it, becomes part of the graph that is launched, and keeps its address",
                 where(keeper.function(), use.op->site)});
          }
        }
      }
  return hazards;
}

}  // namespace streamsan::analyzer
