// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A class that keeps its streams to itself may still tell others when its work is done:
//
//   void submit(...) { ...; cudaEventRecord(done_, stream_); *event = done_; }   // in a parameter
//   void submit(...) { ...; fence_.signal(stream_); }                             // the constructor's argument
//   void submit(...) { ...; Tracker::instance().note(stream_); }
//
// An event is somebody else's if the way to it leads through a parameter, a global variable, what a function returned,
// or a field that was given a pointer to it by a parameter: a reference, a plain pointer, a std::shared_ptr. Whoever
// gives a std::unique_ptr has it no more. Virtual calls and calls of what is not in sight are no matter of this.
//
// Errs to others that wait: then a conflict of two calls is not reported.
#include "analyzer/lowering/handed_out.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;

namespace {

constexpr unsigned kDeepestCall = 6;

/// The field that keeps a pointer, be it a plain or a smart one; empty: none does.
std::string keeper(const ir::Function& function, ir::PlaceId pointer) {
  const Place& place = function[pointer];
  const bool smart = place.kind == Place::Kind::Field && ir::is(place, ir::Hidden::Data);
  return ir::field_key(function, smart ? place.base : pointer);
}

bool ends_with_its_keeper(const ir::Function& function, ir::PlaceId pointer) {
  return function[pointer].kind == Place::Kind::Field && function[pointer].owner == "std::unique_ptr";
}

/// Of a pointer that is stored: where it came from.
bool is_given(const ir::Function& function, const Operand& source) {
  if (source.kind == Operand::Kind::Unknown) return true;
  if ((source.kind != Operand::Kind::Value && source.kind != Operand::Kind::Address) || source.place == ir::kNoPlace)
    return false;
  const Place::Kind from = function[ir::root(function, source.place).place].kind;
  return from == Place::Kind::Parameter || from == Place::Kind::Global;
}

}  // namespace

const std::set<std::string>& HandedOut::lent() {
  if (lent_) return *lent_;
  lent_.emplace();
  for (const auto& [usr, function] : program_.functions)
    for (const ir::Block& block : function.blocks)
      for (const Op& op : block.ops) {
        if (op.kind != OpKind::Assign || op.target == ir::kNoPlace || !is_given(function, op.source)) continue;
        if (ends_with_its_keeper(function, op.target)) continue;
        if (std::string field = keeper(function, op.target); !field.empty()) lent_->insert(std::move(field));
      }
  return *lent_;
}

bool HandedOut::is_others(const ir::Function& function, ir::PlaceId place, const Ours& ours) {
  for (ir::PlaceId at = place; at != ir::kNoPlace; at = function[at].base) {
    const Place& part = function[at];
    switch (part.kind) {
      case Place::Kind::Field:
      case Place::Kind::Index:
        break;
      case Place::Kind::Deref:
        if (const std::string field = keeper(function, part.base); !field.empty() && lent().contains(field))
          return true;
        if (function[part.base].kind == Place::Kind::Temporary) return true;
        break;
      case Place::Kind::Parameter:
        return !ours.parameters.contains(part.number);
      case Place::Kind::This:
        return !ours.object;
      case Place::Kind::Global:
        return true;
      case Place::Kind::Local:
      case Place::Kind::Temporary:
        return false;
    }
  }
  return false;
}

bool HandedOut::points_to_others(const ir::Function& function, const Operand& given, const Ours& ours) {
  if (given.place == ir::kNoPlace) return false;
  if (given.kind == Operand::Kind::Value && lent().contains(keeper(function, given.place))) return true;
  return is_others(function, given.place, ours);
}

bool HandedOut::done_by(const ir::Function& function, const Op& op, const Ours& ours, unsigned deep) {
  const auto is_handle = [&](const Operand& source) {
    if (source.kind != Operand::Kind::Value || source.place == ir::kNoPlace) return false;
    const ir::TypeKind type = function[source.place].type;
    return type == ir::TypeKind::Event || type == ir::TypeKind::Stream;
  };
  // Who waits for a global event is in sight.
  if (op.kind == OpKind::Record && op.event.place != ir::kNoPlace)
    return function[op.event.place].kind != Place::Kind::Global && is_others(function, op.event.place, ours);
  if (op.kind == OpKind::Assign && op.target != ir::kNoPlace && is_handle(op.source))
    return function[op.target].kind != Place::Kind::Parameter && is_others(function, op.target, ours);
  const auto called = op.kind == OpKind::Call ? program_.functions.find(op.callee) : program_.functions.end();
  if (called == program_.functions.end()) return false;
  Ours inside{.object = !points_to_others(function, op.object, ours), .parameters = {}};
  for (unsigned i = 0; i < op.arguments.size(); ++i)
    if (!points_to_others(function, op.arguments[i], ours)) inside.parameters.insert(i);
  return looks(called->second, inside, deep + 1);
}

bool HandedOut::looks(const ir::Function& function, const Ours& ours, unsigned deep) {
  if (deep > kDeepestCall) return false;
  const std::pair asked{function.usr, ours};
  if (const auto [known, is_new] = known_.try_emplace(asked, false); !is_new) return known->second;
  bool found = false;
  for (const ir::Block& block : function.blocks)
    for (const Op& op : block.ops) found = found || done_by(function, op, ours, deep);
  return known_[asked] = found;
}

}  // namespace streamsan::analyzer
