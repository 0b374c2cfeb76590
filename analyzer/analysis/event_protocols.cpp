// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the methods of a class do with an event that it keeps for itself.
//
// An event has two halves: some code records it, other code waits for it, queries it, or reads its time. If the whole
// translation unit has only one half, the order that the event was made for is missing, in whatever order the methods
// are called:
//
//   * waited for and never recorded: each wait does nothing (event-wait-without-record);
//   * recorded and never waited for: what should have waited does not (event-never-waited).
//
// An event is judged only if all its uses are in sight: it is a field that the translation unit creates
// (HandleField::owned), and no code passes it on, copies it or returns it, whether that code could be lowered or not.
// Errs to silence: if one function could not be lowered, no event is judged.
#include "analyzer/analysis/event_protocols.h"

#include <algorithm>
#include <map>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;

/// A use, and where.
struct Use {
  const ir::Function* function = nullptr;
  const Op* op = nullptr;
};

struct Uses {
  std::vector<Use> records, waits;
  bool created = false;
  bool asked = false;    ///< queried, timed
  bool escapes = false;  ///< other code may do anything with it
};

class Protocols {
 public:
  Protocols(const ir::Program& program, const std::vector<std::string>& functions)
      : program_(program), reported_(functions.begin(), functions.end()) {}

  std::vector<Hazard> find() {
    for (const auto& [usr, function] : program_.functions) {
      if (!function.incomplete.empty()) return {};
      for (const ir::Block& block : function.blocks)
        for (const Op& op : block.ops) read(function, op);
    }
    for (const auto& [key, uses] : uses_) {
      if (uses.escapes || !in_sight(key, uses)) continue;
      if (uses.records.empty() && !uses.asked) {
        for (const Use& wait : uses.waits) raise(Check::EventWaitWithoutRecord, key, wait);
      } else if (uses.waits.empty() && !uses.asked) {
        for (const Use& record : uses.records) raise(Check::EventNeverWaited, key, record);
      }
    }
    return std::move(hazards_);
  }

 private:
  /// ir::field_key() of an event that an object keeps; empty for captures of a lambda and fields that the IR adds.
  static std::string key_of(const ir::Function& function, ir::PlaceId place) {
    const std::string key = ir::field_key(function, place);
    if (key.empty() || ir::hidden_part(key)) return {};
    while (function[place].kind == ir::Place::Kind::Index) place = function[place].base;
    return ir::is_captured(function[place]) ? std::string() : key;
  }

  /// The event is created by code in sight and given to no other code.
  [[nodiscard]] bool in_sight(const std::string& key, const Uses& uses) const {
    const auto field = program_.fields.find(key);
    return uses.created && field != program_.fields.end() && field->second.owned && !field->second.passed_on;
  }

  void read(const ir::Function& function, const Op& op) {
    const auto is_event = [&](const Operand& operand) {
      return operand.place != ir::kNoPlace && function[operand.place].type == ir::TypeKind::Event;
    };
    const auto of = [&](const Operand& operand) -> Uses* {
      if (!is_event(operand)) return nullptr;
      const std::string key = key_of(function, operand.place);
      return key.empty() ? nullptr : &uses_[key];
    };
    const Use use{&function, &op};
    if (op.target != ir::kNoPlace && function[op.target].type == ir::TypeKind::Event) {
      const std::string key = key_of(function, op.target);
      if (!key.empty()) {
        const bool cleared = op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Null;
        if (op.kind == OpKind::CreateEvent) {
          uses_[key].created = true;
        } else if (!cleared) {
          uses_[key].escapes = true;
        }
      }
    }
    switch (op.kind) {
      case OpKind::Record:
        if (Uses* uses = of(op.event)) uses->records.push_back(use);
        return;
      case OpKind::Wait:
      case OpKind::SyncEvent:
        if (Uses* uses = of(op.event)) uses->waits.push_back(use);
        return;
      case OpKind::QueryEvent:
      case OpKind::Elapsed:
        for (const Operand* operand : {&op.event, &op.event2})
          if (Uses* uses = of(*operand)) uses->asked = true;
        return;
      case OpKind::DestroyHandle:
        return;
      default:
        // An object that holds the event may be passed to a function without a body; but its methods are in sight.
        ir::for_each_operand(op, [&](const Operand& operand) {
          if (Uses* uses = of(operand)) uses->escapes = true;
        });
    }
  }

  void raise(Check check, const std::string& key, const Use& use) {
    if (!reported_.contains(use.function->usr)) return;
    const ir::Function& function = *use.function;
    Hazard& hazard = hazards_.emplace_back();
    hazard.check = check;
    hazard.level = Level::Likely;
    hazard.function = function.name;
    hazard.usr = function.usr;
    const ir::Site site = use.op->site == ir::kNoSite ? ir::Site{} : function[use.op->site];
    hazard.later.where.site = site;
    hazard.later.what = name_of(function, *use.op);
    hazard.later.work = use.op->work;
    if (use.op->kind != OpKind::SyncEvent && use.op->stream.place != ir::kNoPlace)
      hazard.later.stream.name = function.spell(use.op->stream);
    hazard.event.name = function.spell(use.op->event);
    hazard.cause = Cause::NeverRecorded;
    hazard.which = CheckCase::Nowhere;
    const auto field = program_.fields.find(key);
    if (field != program_.fields.end() && field->second.made.line != 0)
      hazard.evidence.push_back({"event '" + key.substr(key.rfind(':') + 1) + "' is created here, for its class alone",
                                 Where{field->second.made, {}}});
  }

  const ir::Program& program_;
  std::set<std::string> reported_;
  std::map<std::string, Uses> uses_;
  std::vector<Hazard> hazards_;
};

}  // namespace

std::vector<Hazard> event_protocols(const ir::Program& program, const std::vector<std::string>& functions) {
  return Protocols(program, functions).find();
}

}  // namespace streamsan::analyzer
