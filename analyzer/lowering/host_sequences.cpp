// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors, lists and queues of handles, pointers and objects.
//
// A container is an array of elements, and two numbers: `$size`, how many there are, and `$begin`, the index of the
// first, if elements are taken away at the front, too.
//
//   q.push_back(x)   q[$begin + $size] = x; $size + 1        q.front()   q[$begin]
//   q.pop_front()    $begin + 1; $size - 1                   q.back()    q[$begin + $size - 1]
//   q[i]             q[$begin + i]                           q.empty()   $size == 0
//
// Where the numbers are known, so are the elements: of a container that is made in sight and filled in a straight line,
// or by a loop that is written out (ir/written_out.h). Where they are not, an element that was put in is another one
// each time. What puts elements in between, or takes some away there, leaves a container of which nothing is known.
#include "analyzer/lowering/host_sequences.h"

#include <array>

#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_lifetimes.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_tensors.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::TypeKind;

namespace {

enum class SequenceCall : std::uint8_t { Nothing, Clear, TakeBack, TakeFront, Resize, Rearrange };

SequenceCall what(llvm::StringRef name, bool queue, bool adapts) {
  return llvm::StringSwitch<SequenceCall>(name)
      .Case("clear", SequenceCall::Clear)
      .Case("pop_back", SequenceCall::TakeBack)
      .Case("pop_front", SequenceCall::TakeFront)
      .Case("pop", queue ? SequenceCall::TakeFront : SequenceCall::TakeBack)
      .Cases({"resize", "assign"}, SequenceCall::Resize)
      .Case("emplace", adapts ? SequenceCall::Nothing : SequenceCall::Rearrange)
      .Cases({"erase", "insert", "splice", "merge", "remove", "remove_if"}, SequenceCall::Rearrange)
      .Cases({"sort", "reverse", "unique", "append_range", "insert_range"}, SequenceCall::Rearrange)
      .Default(SequenceCall::Nothing);
}

}  // namespace

Sequences::Sequences(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      lifetimes_(parts.lifetimes),
      tensors_(parts.tensors) {}

void Sequences::set(ir::PlaceId number, ir::Expr value, ir::SiteId site) {
  if (number != ir::kNoPlace)
    out_.emit_assign(number, {.kind = Operand::Kind::Number, .offset = out_.add(std::move(value))}, site);
}

void Sequences::step(ir::PlaceId number, int by, ir::SiteId site) {
  if (number == ir::kNoPlace) return;
  set(number, {.text = out_.spell(number) + (by > 0 ? " + 1" : " - 1"), .uses = {number}, .constant = {}}, site);
}

void Sequences::leave_empty(ir::PlaceId container, ir::SiteId site) {
  const ir::PlaceId size = places_.size(container);
  if (size == ir::kNoPlace) return;
  for (const ir::PlaceId number : {size, places_.begin(container)})
    set(number, {.text = "0", .uses = {}, .constant = 0}, site);
}

void Sequences::forget(ir::PlaceId container, ir::SiteId site) {
  if (places_.size(container) == ir::kNoPlace) return;
  const ir::PlaceId block = out_.temporary(TypeKind::Pointer);
  out_.emit_assign(block, value(places_.data(container)), site);
  out_.emit_fresh(container, site);
  out_.emit_fresh(places_.size(container), site);
  out_.emit_assign(places_.data(container), value(block), site);
}

void Sequences::make(const Call& construction, ir::PlaceId container) {
  const ir::PlaceId size = places_.size(container);
  if (size == ir::kNoPlace) return;
  const clang::Expr* first = construction.argument(0);
  const bool none = first == nullptr || llvm::isa<clang::CXXDefaultArgExpr>(first);
  if (none) return leave_empty(container, construction.site);
  const auto* list = llvm::dyn_cast<clang::InitListExpr>(strip(first));
  if (const ir::PlaceId begin = places_.begin(container); begin != ir::kNoPlace)
    set(begin, {.text = "0", .uses = {}, .constant = 0}, construction.site);
  if (list != nullptr && list->getType()->isArrayType()) {
    const auto count = static_cast<std::int64_t>(list->getNumInits());
    return set(size, {.text = std::to_string(count), .uses = {}, .constant = count}, construction.site);
  }
  if (out_.kind(first->getType()) == TypeKind::Integer)
    return out_.emit_assign(size, values_.integer(first), construction.site);
  out_.emit_fresh(size, construction.site);
}

void Sequences::fill(const Call& call, ir::PlaceId element, clang::QualType type) {
  const clang::Expr* given = call.argument(0);
  const bool same = call.arguments.size() == 1 && out_.kind(given->getType()) == out_.kind(type) &&
                    (out_.kind(type) != TypeKind::Object ||
                     unit_.context.hasSameUnqualifiedType(given->getType().getNonReferenceType(), type));
  if (same) {
    const ir::PlaceId from =
        out_.kind(type) == TypeKind::Object && given->isXValue() ? places_.place(given) : ir::kNoPlace;
    if (from == ir::kNoPlace) return assignments_.initialize(element, given);
    return assignments_.move_object(element, from, given->getType(), call.site);
  }
  out_.emit_fresh(element, call.site);
  // A smart pointer that is made of a pointer.
  if (call.arguments.size() == 1 && unit_.symbols.points(type)) {
    const Operand held = values_.memory(given);
    out_.emit_assign(places_.data(element), held.kind == Operand::Kind::None ? unknown() : held, call.site);
    if (given->isXValue() && unit_.symbols.points(given->getType()))
      if (const ir::PlaceId from = places_.place(given); from != ir::kNoPlace)
        out_.emit_assign(places_.data(from), {.kind = Operand::Kind::Null}, call.site);
    return;
  }
  if (out_.kind(type) == TypeKind::Object) lifetimes_.construct_in_place(call, element, type);
}

bool Sequences::put(const Call& call) {
  const llvm::StringRef name = call.known->callee.name;
  const bool front = name == "push_front" || name == "emplace_front";
  const bool adapts = places_.adapts(call.object) && (name == "push" || name == "emplace");
  if (!front && !adapts && name != "push_back" && name != "emplace_back") return false;
  const ir::PlaceId size = places_.size(call.object);
  if (size == ir::kNoPlace) return true;
  const ir::PlaceId begin = places_.begin(call.object);
  if (front && begin == ir::kNoPlace) {
    forget(call.object, call.site);
    return true;
  }
  const clang::QualType type = places_.element_type(value(call.object));
  if (front) step(begin, -1, call.site);
  const ir::PlaceId element = places_.element(call.object, front ? numbers_.number(0) : numbers_.index_of(size), type);
  fill(call, element, type);
  if (!front) tensors_.put_into(call.object, name == "push_back" ? element : ir::kNoPlace, call.site);
  step(size, 1, call.site);
  if (call.callee->getReturnType()->isReferenceType() && call.expression != nullptr) {
    const ir::PlaceId made = front ? element : places_.element(call.object, places_.last_index(call.object), type);
    values_.set_result(*call.expression, value(made), made);
  }
  return true;
}

void Sequences::change(const Call& call) {
  const ir::PlaceId size = places_.size(call.object);
  if (size == ir::kNoPlace) return;
  const SequenceCall does =
      what(call.known->callee.name, places_.begin(call.object) != ir::kNoPlace, places_.adapts(call.object));
  if (does == SequenceCall::Nothing) return;
  tensors_.put_into(call.object, ir::kNoPlace, call.site);
  switch (does) {
    case SequenceCall::Nothing:
      return;
    case SequenceCall::Clear:
      return leave_empty(call.object, call.site);
    case SequenceCall::TakeBack:
      return step(size, -1, call.site);
    case SequenceCall::TakeFront:
      step(places_.begin(call.object), 1, call.site);
      return step(size, -1, call.site);
    case SequenceCall::Resize: {
      const clang::Expr* first = call.argument(0);
      const bool counted = first != nullptr && out_.kind(first->getType()) == TypeKind::Integer;
      if (call.known->callee.name == "assign") forget(call.object, call.site);
      return counted ? out_.emit_assign(size, values_.integer(first), call.site) : out_.emit_fresh(size, call.site);
    }
    case SequenceCall::Rearrange:
      // splice() and merge() take them out of another one.
      for (const clang::Expr* given : call.arguments)
        if (given->isGLValue() && unit_.symbols.queues(given->getType()))
          if (const ir::PlaceId other = places_.place(given); other != ir::kNoPlace) forget(other, call.site);
      return forget(call.object, call.site);
  }
}

}  // namespace streamsan::analyzer::host
