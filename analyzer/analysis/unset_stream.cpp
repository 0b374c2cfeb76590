// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream field that no code sets.
//
//     cudaLaunchConfig_t how = {};
//     how.gridDim = blocks;
//     cudaLaunchKernelEx(&how, kernel, data);
//
// It is only known to be unset in a variable that is made here and of which every store is in sight. A variable from
// outside (a parameter, a global, the result of a function without a body) may hold any stream. Each store to the whole
// variable is followed to the place where its value was made. A function that gets the variable as an argument is
// looked into if the class is the file's own and no code in the file sets the field (HandleField::unset); else the
// function may set it. If the address is kept, as by a pointer, a lambda or a swap, nothing is claimed.
#include "analyzer/analysis/unset_stream.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;

/// The fields that lead from a variable to a part of it.
using Fields = std::vector<std::string>;

struct Part {
  ir::PlaceId variable = ir::kNoPlace;
  Fields fields;
};

/// nullopt: an element or a pointer is on the way.
std::optional<Part> part_of(const ir::Function& function, ir::PlaceId place) {
  Part part{place, {}};
  while (function[part.variable].base != ir::kNoPlace) {
    const Place& field = function[part.variable];
    if (field.kind != Place::Kind::Field) return std::nullopt;
    part.fields.push_back(ir::field_key(function, part.variable));
    part.variable = field.base;
  }
  std::ranges::reverse(part.fields);
  return part;
}

class NeverSet {
 public:
  /// `unset`: code in the file only reads the field.
  NeverSet(const ir::Program& program, bool unset) : program_(program), unset_(unset) {}

  /// `function` makes the variable, and its stream field stays null.
  bool made_null(const ir::Function& function, const Part& stream) {
    const Place::Kind kind = function[stream.variable].kind;
    if (kind != Place::Kind::Local && kind != Place::Kind::Temporary) return false;
    bool made = false;
    return keeps_null(function, stream, &made) && made;
  }

 private:
  static constexpr int kDeepest = 6;

  /// `made`: set if the function gives the variable its value; null: it has one already.
  bool keeps_null(const ir::Function& function, const Part& stream, bool* made) {
    if (++depth_ > kDeepest || !function.incomplete.empty()) return false;
    for (const ir::Block& block : function.blocks)
      for (const Op& op : block.ops) {
        if (!leaves_alone(function, op, stream, made)) return false;
        const std::optional<Fields> stored = inside(function, op.target, stream);
        if (!stored) continue;
        if (!stores_null(function, op, *stored)) return false;
        if (made != nullptr) *made = true;
      }
    --depth_;
    return true;
  }

  /// The fields that lead from `place` to the stream; nullopt: the stream is no part of it.
  static std::optional<Fields> inside(const ir::Function& function, ir::PlaceId place, const Part& stream) {
    if (place == ir::kNoPlace) return std::nullopt;
    const std::optional<Part> part = part_of(function, place);
    if (!part || part->variable != stream.variable || part->fields.size() > stream.fields.size()) return std::nullopt;
    const auto [end, next] = std::ranges::mismatch(part->fields, stream.fields);
    if (end != part->fields.end()) return std::nullopt;
    return Fields(next, stream.fields.end());
  }

  /// A store to the stream, or to something that it is a part of: by the way that is left.
  bool stores_null(const ir::Function& function, const Op& op, const Fields& left) {
    if (left.empty()) {
      // An author who writes null has chosen it.
      const bool written = op.site != ir::kNoSite && function[op.site].line != 0;
      return op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Null && (unset_ || !written);
    }
    if (op.kind == OpKind::Call) return returns_null(op.callee, left);
    return op.kind == OpKind::Assign && is_null(function, op.source, left);
  }

  bool is_null(const ir::Function& function, const Operand& object, const Fields& left) {
    if (object.kind != Operand::Kind::Value) return false;
    std::optional<Part> from = part_of(function, object.place);
    if (!from) return false;
    from->fields.insert(from->fields.end(), left.begin(), left.end());
    return made_null(function, *from);
  }

  const ir::Function* body(const std::string& usr) const {
    const auto found = program_.functions.find(usr);
    return found == program_.functions.end() ? nullptr : &found->second;
  }

  bool returns_null(const std::string& usr, const Fields& left) {
    const ir::Function* callee = body(usr);
    if (callee == nullptr) return false;
    bool returns = false;
    for (const ir::Block& block : callee->blocks)
      for (const Op& op : block.ops) {
        if (op.kind != OpKind::Return || op.source.kind == Operand::Kind::None) continue;
        if (!is_null(*callee, op.source, left)) return false;
        returns = true;
      }
    return returns;
  }

  /// `op` does not pass the stream, or an object that contains it, to code that may set it.
  bool leaves_alone(const ir::Function& function, const Op& op, const Part& stream, bool* made) {
    if (op.kind == OpKind::EndOfLife || op.kind == OpKind::KeepAlive) return true;
    const auto given = [&](const Operand& operand) {
      return operand.kind == Operand::Kind::Address ? inside(function, operand.place, stream) : std::nullopt;
    };
    for (const ir::Access& access : op.accesses)
      if (access.mode != ir::Mode::Read && given(access.memory)) return false;
    for (const Operand* operand : {&op.source, &op.stream, &op.event, &op.event2})
      if (given(*operand)) return false;
    if (op.kind != OpKind::Call)
      return std::ranges::none_of(op.arguments, [&](const Operand& argument) { return given(argument).has_value(); });
    if (const auto left = given(op.object)) {
      if (!keeps(op.callee, Place::Kind::This, 0, *left)) return false;
      // Of constructors, too.
      if (made != nullptr) *made = true;
    }
    for (std::size_t i = 0; i < op.arguments.size(); ++i)
      if (const auto left = given(op.arguments[i]); left && !keeps(op.callee, Place::Kind::Parameter, i, *left))
        return false;
    return true;
  }

  /// `op` calls a function with the object as an argument.
  bool keeps(const std::string& usr, Place::Kind as, std::size_t number, const Fields& left) {
    const ir::Function* callee = unset_ ? body(usr) : nullptr;
    if (callee == nullptr) return false;
    for (std::size_t i = 0; i < callee->places.size(); ++i) {
      const Place& place = callee->places[i];
      if (place.kind != as || (as == Place::Kind::Parameter && place.number != number)) continue;
      if (as == Place::Kind::Parameter && !place.reference) return false;
      return keeps_null(*callee, {static_cast<ir::PlaceId>(i), left}, nullptr);
    }
    return callee->incomplete.empty();
  }

  const ir::Program& program_;
  bool unset_;
  int depth_ = 0;
};

}  // namespace

bool is_never_set(const ir::Function& function, ir::PlaceId stream, const ir::Program& program) {
  if (stream == ir::kNoPlace || function[stream].kind != Place::Kind::Field) return false;
  const std::optional<Part> part = part_of(function, stream);
  if (!part) return false;
  const bool marked = std::ranges::any_of(function.blocks, [&](const ir::Block& block) {
    return std::ranges::any_of(block.ops,
                               [&](const Op& op) { return op.kind == OpKind::Record && op.stream.place == stream; });
  });
  if (marked) return false;
  const auto known = program.fields.find(ir::field_key(function, stream));
  return NeverSet(program, known != program.fields.end() && known->second.unset).made_null(function, *part);
}

}  // namespace streamsan::analyzer
