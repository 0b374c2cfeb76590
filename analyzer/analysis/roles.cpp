// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the code assumes about its streams.
//
// Two streams that come from outside may be one: two parameters, a parameter and a field. But code that makes one of
// them wait for an event of the other was written for two, and has to be right for two. Such code anywhere in the
// translation unit is evidence that they differ, also in another method than the one that lacks an order. Code behind a
// condition is no evidence: the condition may be that they differ. Nor is a synchronisation of each, which is right for
// one stream too.
//
// Other code is evidence against it: a comparison of the two (`if (a != b)`, also in a callee), an assignment of one to
// the other, one value that is stored in both, a caller that passes the one for the other. Then nothing is believed,
// whatever the evidence for it.
//
// A slot is a field (by class and name, of any object), a parameter of a function, or a global variable. A local
// variable that is assigned once stands for what it was assigned; a call of a getter stands for the field.
//
// One pass over the lowered functions finds all of it, before anything is inlined.
#include "analyzer/analysis/roles.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ir::Operand;
using ir::OpKind;
using ir::Place;

Slot slot_of_field(const std::string& class_and_name) { return {.kind = Slot::Kind::Field, .name = class_and_name}; }
Slot slot_of_global(const std::string& name) { return {.kind = Slot::Kind::Global, .name = name}; }
Slot slot_of_parameter(const std::string& usr, std::uint32_t number) {
  return {.kind = Slot::Kind::Parameter, .name = usr, .number = number};
}

const Roles::Reason* Roles::two(const Slot& a, const Slot& b) const {
  if (a.empty() || b.empty() || a == b || perhaps_one(a, b)) return nullptr;
  const auto found = two_.find(pair(a, b));
  return found == two_.end() ? nullptr : &found->second;
}

bool Roles::perhaps_one(const Slot& a, const Slot& b) const { return perhaps_one_.contains(pair(a, b)); }

bool Roles::waits_elsewhere(const Slot& stream, const std::set<std::string>& bodies) const {
  const auto found = waits_.find(stream);
  return found != waits_.end() &&
         std::ranges::any_of(found->second, [&](const std::string& usr) { return !bodies.contains(usr); });
}

bool Roles::is_joined_elsewhere(const Slot& stream, const std::set<std::string>& bodies) const {
  const auto elsewhere = [&](const std::string& usr) { return !bodies.contains(usr) && !ir::is_destructor(usr); };
  const auto found = joined_.find(stream);
  return (found != joined_.end() && std::ranges::any_of(found->second, elsewhere)) ||
         std::ranges::any_of(device_syncs_, elsewhere);
}

const ir::Site* Roles::awaited(const Slot& event) const {
  const auto found = awaited_.find(event);
  return found == awaited_.end() ? nullptr : &found->second;
}

/// Reads one program.
class RoleCollector {
 public:
  RoleCollector(Roles& roles, const ir::Program& program) : roles_(roles), program_(program) {
    for (const auto& [usr, function] : program.functions) returns_.emplace(usr, returned(function));
    for (const auto& [usr, function] : program.functions) read(function);
    // What a callee shows about its parameters holds for the arguments.
    for (bool changed = true; changed;) {
      const std::size_t before = roles_.perhaps_one_.size();
      for (const auto& given : passed_)
        for (const auto& [one, from] : given)
          for (const auto& [other, its] : given)
            if (one != other && roles_.perhaps_one(one, other)) speak_against(from, its);
      changed = roles_.perhaps_one_.size() != before;
    }
    // So does what it does with them: a function that passes its stream to such a callee has it joined.
    for (bool changed = true; changed;) {
      changed = false;
      for (const Handed& handed : handed_)
        if (const auto joins = roles_.joined_.find(handed.parameter); joins != roles_.joined_.end())
          changed = roles_.joined_[handed.stream].insert(handed.by).second || changed;
    }
    for (const Use& wait : waits_)
      for (const Use& record : records_)
        if (wait.event == record.event) speak_for(wait.stream, record.stream, "waits here for work of", *wait.site);
  }

 private:
  struct Use {
    Slot event;
    Slot stream;
    const ir::Site* site;
  };
  /// A function passes a stream on.
  struct Handed {
    Slot parameter, stream;
    std::string by;
  };

  static const ir::Site& site(const ir::Function& function, const ir::Op& op) {
    static const ir::Site kNone;
    return op.site == ir::kNoSite ? kNone : function[op.site];
  }

  void speak_for(const Slot& a, const Slot& b, const char* what, const ir::Site& site) {
    if (!a.empty() && !b.empty() && a != b) roles_.two_.try_emplace(Roles::pair(a, b), Roles::Reason{what, site});
  }
  void speak_against(const Slot& a, const Slot& b) {
    if (!a.empty() && !b.empty() && a != b) roles_.perhaps_one_.insert(Roles::pair(a, b));
  }

  /// The slot of a place as it is written.
  static Slot plain(const ir::Function& function, ir::PlaceId place) {
    if (place == ir::kNoPlace) return {};
    const Place& at = function[place];
    if (ir::hidden_part(at.name)) return {};
    switch (at.kind) {
      case Place::Kind::Field:
        return ir::is_captured(at) ? Slot() : slot_of_field(at.owner + "::" + at.name);
      case Place::Kind::Global:
        return slot_of_global(at.name);
      case Place::Kind::Parameter:
        return slot_of_parameter(function.usr, at.number);
      default:
        return {};
    }
  }

  /// The slot that a getter returns.
  static Slot returned(const ir::Function& function) {
    Slot all;
    for (const ir::Block& block : function.blocks)
      for (const ir::Op& op : block.ops) {
        if (op.kind != OpKind::Return || op.source.kind == Operand::Kind::None) continue;
        const Slot one = op.source.kind == Operand::Kind::Value || op.source.kind == Operand::Kind::Address
                             ? plain(function, op.source.place)
                             : Slot();
        if (one.empty() || one.kind == Slot::Kind::Parameter || (!all.empty() && all != one)) return {};
        all = one;
      }
    return all;
  }

  using Locals = std::unordered_map<std::uint32_t, Slot>;

  /// Finds the local variables and temporaries that are assigned once, from one slot.
  Locals locals(const ir::Function& function) const {
    Locals result;
    for (const ir::Block& block : function.blocks)
      for (const ir::Op& op : block.ops) {
        if (op.target == ir::kNoPlace || function[op.target].base != ir::kNoPlace) continue;
        Slot given;
        if (op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Value)
          given = slot(function, result, op.source.place);
        if (op.kind == OpKind::Call)
          if (const auto known = returns_.find(op.callee); known != returns_.end()) given = known->second;
        const auto [entry, is_new] = result.try_emplace(static_cast<std::uint32_t>(op.target), given);
        if (!is_new && entry->second != given) entry->second = {};
      }
    return result;
  }

  static Slot slot(const ir::Function& function, const Locals& locals, ir::PlaceId place) {
    if (place == ir::kNoPlace) return {};
    if (Slot known = plain(function, place); !known.empty()) return known;
    // The function returns a reference to it.
    const ir::PlaceId of = function[place].kind == Place::Kind::Deref ? function[place].base : place;
    const auto local = locals.find(static_cast<std::uint32_t>(of));
    return local == locals.end() ? Slot() : local->second;
  }

  void read(const ir::Function& function) {
    const Locals given = locals(function);
    const auto stream = [&](const Operand& operand) {
      const bool named = operand.kind == Operand::Kind::Value || operand.kind == Operand::Kind::Address;
      return named ? slot(function, given, operand.place) : Slot();
    };
    const auto event = [&](const Operand& operand) {
      if (operand.place == ir::kNoPlace) return Slot();
      const Slot known = slot(function, given, operand.place);
      // A local event is identified by its place.
      const auto place = static_cast<std::uint32_t>(operand.place);
      return known.empty() || known.kind == Slot::Kind::Parameter
                 ? Slot{.kind = Slot::Kind::Local, .name = function.usr, .number = place}
                 : known;
    };
    // Uses in a condition, an assignment, a returned value.
    for (const ir::Expr& expr : function.exprs) compare(function, given, expr);
    std::map<Slot, std::vector<Slot>> receivers;
    for (std::size_t number = 0; number < function.blocks.size(); ++number) {
      const ir::Block& block = function.blocks[number];
      for (std::size_t at = 0; at < block.ops.size(); ++at) {
        const ir::Op& op = block.ops[at];
        if (op.kind == OpKind::Wait) roles_.waits_[stream(op.stream)].insert(function.usr);
        if (op.kind == OpKind::Record || op.kind == OpKind::SyncStream || op.kind == OpKind::QueryStream)
          roles_.joined_[stream(op.stream)].insert(function.usr);
        if ((op.kind == OpKind::Wait || op.kind == OpKind::SyncEvent) && op.site != ir::kNoSite)
          roles_.awaited_.try_emplace(event(op.event), function[op.site]);
        if (op.kind == OpKind::SyncDevice) roles_.device_syncs_.insert(function.usr);
        if (op.kind == OpKind::Record) records_.push_back({event(op.event), stream(op.stream), &site(function, op)});
        if (op.kind == OpKind::Wait && ir::always_runs(function, number, at))
          waits_.push_back({event(op.event), stream(op.stream), &site(function, op)});
        if (op.kind == OpKind::Assign && op.target != ir::kNoPlace &&
            function[op.target].type == ir::TypeKind::Stream) {
          const Slot from = stream(op.source), to = slot(function, given, op.target);
          speak_against(from, to);
          if (!from.empty() && !to.empty()) receivers[from].push_back(to);
        }
        if (op.kind == OpKind::Call) pass(function, op, stream);
      }
    }
    for (const auto& [from, to] : receivers)
      for (const Slot& one : to)
        for (const Slot& other : to) speak_against(one, other);
  }

  /// `a != b`
  void compare(const ir::Function& function, const Locals& given, const ir::Expr& condition) {
    if (condition.text.find("==") == std::string::npos && condition.text.find("!=") == std::string::npos) return;
    for (const ir::PlaceId one : condition.uses)
      for (const ir::PlaceId other : condition.uses)
        if (function[one].type == ir::TypeKind::Stream && function[other].type == ir::TypeKind::Stream)
          speak_against(slot(function, given, one), slot(function, given, other));
  }

  template <typename SlotOf>
  void pass(const ir::Function& function, const ir::Op& call, SlotOf stream) {
    std::vector<std::pair<Slot, Slot>> passed;  // parameter, what it is given
    for (std::uint32_t i = 0; i < call.arguments.size(); ++i) {
      const Operand& argument = call.arguments[i];
      const bool is_stream = argument.place != ir::kNoPlace && function[argument.place].type == ir::TypeKind::Stream;
      const Slot from = is_stream ? stream(argument) : Slot();
      if (from.empty()) continue;
      const Slot parameter = slot_of_parameter(call.callee, i);
      handed_.push_back({parameter, from, function.usr});
      if (from.kind != Slot::Kind::Parameter) speak_against(parameter, from);
      for (const auto& [other, its] : passed)
        if (its == from) speak_against(parameter, other);
      passed.emplace_back(parameter, from);
    }
    if (passed.size() > 1) passed_.push_back(std::move(passed));
  }

  Roles& roles_;
  const ir::Program& program_;
  std::unordered_map<std::string, Slot> returns_;
  std::vector<Use> records_, waits_;
  std::vector<Handed> handed_;
  std::vector<std::vector<std::pair<Slot, Slot>>> passed_;  ///< by call: (parameter, argument)
};

Roles::Roles(const ir::Program& program) { RoleCollector(*this, program); }

}  // namespace streamsan::analyzer
