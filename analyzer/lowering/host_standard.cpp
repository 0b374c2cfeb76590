// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the C++ library that a model has no words for: those that only move values (std::move, std::swap), the
// operators of iterators, and algorithms that call a lambda.
//
// An iterator of a container is an index: `*it` is `v[it]`, and each ++ makes it another. Where it does not come from a
// container that is known, what it points to is not known. A lambda that works on streams is called by the algorithm
// that it is given to, in a loop: with each element where the range is a container and it has one parameter.
#include "analyzer/lowering/host_standard.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

StandardLibrary::StandardLibrary(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments) {}

const clang::FunctionDecl* closure_body(const clang::Expr* argument) {
  const clang::CXXRecordDecl* record = Symbols::record(argument->getType());
  if (record == nullptr || !record->isLambda()) return nullptr;
  if (const clang::FunctionTemplateDecl* pattern = record->getDependentLambdaCallOperator()) {
    const clang::FunctionDecl* only = nullptr;
    for (const clang::FunctionDecl* instance : pattern->specializations()) {
      if (only != nullptr) return nullptr;
      only = instance;
    }
    return only;
  }
  return record->getLambdaCallOperator();
}

bool StandardLibrary::moves_value(const Call& call) {
  const std::string& name = call.known->callee.qualified;
  if (!llvm::StringRef(name).starts_with("std::")) return false;
  const clang::Expr* first = call.argument(0);
  const auto simple =
      llvm::StringSwitch<int>(name)
          .Cases({"std::move", "std::forward", "std::as_const", "std::forward_like", "std::move_if_noexcept"}, 1)
          .Cases({"std::addressof", "std::__addressof"}, 2)
          .Case("std::exchange", 3)
          .Case("std::swap", 4)
          .Default(0);
  if (simple == 0 || first == nullptr) return false;
  // The algorithm of this name has three.
  if (simple == 1 && call.arguments.size() != 1) return false;
  if (simple == 1) {
    const ir::PlaceId same = places_.place(first);
    values_.set_result(*call.expression, same == ir::kNoPlace ? values_.operand(first) : value(same), same);
    return true;
  }
  if (simple == 2) {
    values_.set_result(*call.expression, values_.address_of(places_.place(first)));
    return true;
  }
  if (call.arguments.size() != 2) return false;
  const ir::SiteId site = out_.site(*call.expression, name);
  const ir::PlaceId left = places_.place(first);
  if (simple == 4) {
    assignments_.swap(left, places_.place(call.arguments[1]), site);
    return true;
  }
  const ir::PlaceId before = values_.result_place(*call.expression);
  if (left == ir::kNoPlace) {
    out_.emit_fresh(before, site);
    return true;
  }
  const clang::QualType type = out_.type_of(left);
  if (out_.kind(left) != TypeKind::Object || type.isNull() || unit_.symbols.is_tensor(type)) {
    out_.emit_assign(before, value(left), site);
    assignments_.assign(left, call.arguments[1]);
    return true;
  }
  // Containers and smart pointers hand over what they hold.
  assignments_.move_object(before, left, type, site);
  const bool owner = unit_.symbols.points(type) || unit_.symbols.has_block(type);
  if (owner && values_.operand(call.arguments[1]).kind == Operand::Kind::Null) return true;
  assignments_.assign(left, call.arguments[1]);
  return true;
}

/// `p + n` of a pointer that is an object, as thrust::device_ptr is: a place in the same memory.
bool StandardLibrary::steps_pointer(const Call& call, const clang::Expr& pointer) {
  const clang::Expr* by = call.argument(call.object_expression == nullptr ? 1 : 0);
  // The operator belongs to a base class.
  const clang::QualType type = pointer.IgnoreParenImpCasts()->getType();
  if (call.callee->getOverloadedOperator() != clang::OO_Plus || by == nullptr || !by->getType()->isIntegerType() ||
      !unit_.symbols.points(type))
    return false;
  const Operand given = values_.memory(&pointer);
  if (given.kind == Operand::Kind::Unknown) return false;
  const auto* instance = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(Symbols::record(type));
  const bool typed = instance != nullptr && instance->getTemplateArgs().size() != 0 &&
                     instance->getTemplateArgs()[0].getKind() == clang::TemplateArgument::Type;
  const clang::QualType element = typed ? instance->getTemplateArgs()[0].getAsType() : clang::QualType();
  values_.set_result(*call.expression, numbers_.moved(given, numbers_.stepped(values_.expr(by), element)));
  return true;
}

bool StandardLibrary::steps_iterator(const Call& call) {
  const clang::OverloadedOperatorKind operation = call.callee->getOverloadedOperator();
  if (operation == clang::OO_None) return false;
  const clang::Expr* iterator = call.object_expression != nullptr ? call.object_expression : call.argument(0);
  if (iterator != nullptr && steps_pointer(call, *iterator)) return true;
  if (iterator == nullptr || !unit_.symbols.iterates(iterator->getType())) return false;
  const clang::Expr* at = strip(iterator);
  if (const auto known = places_.iterator(at)) return step(call, known->container, known->index);
  // v.begin() + n, *v.begin()
  const Values::Result* made = values_.result(at);
  if (made == nullptr || made->value.kind == Operand::Kind::Unknown) return false;
  const Operand given = made->value;
  const clang::Expr* by = call.argument(call.object_expression == nullptr ? 1 : 0);
  if (operation == clang::OO_Plus && by != nullptr) {
    values_.set_result(*call.expression,
                       numbers_.moved(given, numbers_.stepped(values_.expr(by), places_.element_type(given))));
    return true;
  }
  const bool arrow = operation == clang::OO_Arrow;
  if (operation != clang::OO_Star && !arrow) return false;
  const clang::QualType type = arrow ? call.expression->getType()->getPointeeType() : call.expression->getType();
  const ir::PlaceId here =
      given.kind == Operand::Kind::Address
          ? places_.element(given.place, given.offset == ir::kNoExpr ? numbers_.number(0) : given.offset, type)
          : places_.pointee(given, type);
  if (arrow) {
    values_.set_result(*call.expression, here == ir::kNoPlace ? unknown() : address(here));
    return true;
  }
  values_.set_result(*call.expression, here == ir::kNoPlace ? unknown() : value(here), here);
  return true;
}

bool StandardLibrary::step(const Call& call, ir::PlaceId container, ir::PlaceId each) {
  const clang::Expr* by = call.argument(call.object_expression == nullptr ? 1 : 0);
  const clang::QualType type = call.expression->getType();
  const auto at = [&](ir::ExprId index, clang::QualType of) {
    return container == ir::kNoPlace ? ir::kNoPlace : places_.element(container, index, of);
  };
  switch (call.callee->getOverloadedOperator()) {
    case clang::OO_Star: {
      const ir::PlaceId here = at(numbers_.index_of(each), type);
      values_.set_result(*call.expression, here == ir::kNoPlace ? unknown() : value(here), here);
      return true;
    }
    case clang::OO_Arrow: {
      const ir::PlaceId here = at(numbers_.index_of(each), type->getPointeeType());
      values_.set_result(*call.expression, here == ir::kNoPlace ? unknown() : address(here));
      return true;
    }
    case clang::OO_Subscript: {
      const ir::PlaceId here = at(numbers_.sum(numbers_.index_of(each), values_.expr(by)), type);
      values_.set_result(*call.expression, here == ir::kNoPlace ? unknown() : value(here), here);
      return true;
    }
    case clang::OO_Plus: {
      const ir::PlaceId here = at(numbers_.sum(numbers_.index_of(each), values_.expr(by)), {});
      values_.set_result(*call.expression, here == ir::kNoPlace ? unknown() : values_.memory_of(here));
      return true;
    }
    case clang::OO_PlusPlus:
      if (container != ir::kNoPlace && !unit_.symbols.is_map(out_.type_of(container))) {
        ir::Expr next{.text = out_.spell(each) + " + 1", .uses = {each}, .constant = {}};
        out_.emit_assign(each, {.kind = Operand::Kind::Number, .offset = out_.add(std::move(next))},
                         out_.site(*call.expression));
        values_.set_result(*call.expression, value(each), each);
        return true;
      }
      [[fallthrough]];
    case clang::OO_MinusMinus:
    case clang::OO_PlusEqual:
    case clang::OO_MinusEqual:
    case clang::OO_Equal:
      out_.emit_fresh(each, out_.site(*call.expression));
      values_.set_result(*call.expression, value(each), each);
      return true;
    default:
      return true;
  }
}

bool StandardLibrary::runs_algorithm(const Call& call) {
  const std::string& name = call.known->callee.qualified;
  const bool once = name == "std::invoke" || name == "std::call_once" || name == "std::apply";
  const bool touches_host = call.model != nullptr && call.model->action == ActionKind::HostTouch;
  if (!once && !touches_host && !call.known->harmless) return false;
  if (!llvm::StringRef(name).starts_with("std::")) return false;
  for (const clang::Expr* given : call.arguments) {
    const clang::FunctionDecl* body = closure_body(given);
    if (body == nullptr || !unit_.census.is_root(*body)) continue;
    // Who makes an object of it calls it later, if ever.
    const clang::CXXRecordDecl* made = Symbols::record(call.callee->getReturnType());
    if (made != nullptr && made != Symbols::record(given->getType())) continue;
    call_closure(call, *given, *body);
    return true;
  }
  return false;
}

void StandardLibrary::call_closure(const Call& call, const clang::Expr& closure, const clang::FunctionDecl& body) {
  const std::size_t before = out_.block();
  const std::size_t head = out_.new_block(), inside = out_.new_block(), after = out_.new_block();
  out_.link(before, head);
  out_.link(head, inside);
  out_.link(head, after);
  out_.link(inside, head);
  out_.go_on_in(inside);
  ir::Op op = start(OpKind::Call, call);
  op.callee = unit_.usr(body);
  op.name = unit_.symbols.shown(body);
  const ir::PlaceId object = places_.place(&closure);
  op.object = object == ir::kNoPlace ? unknown() : address(object);
  // An algorithm over a container calls it with each element.
  const Operand range = call.arguments.empty() ? unknown() : values_.memory(call.arguments.front());
  if (body.getNumParams() == 1 && ir::is_value_of(out_, range, ir::Hidden::Data)) {
    const ir::PlaceId each = out_.new_local(ir::kEach, TypeKind::Integer);
    out_.emit_fresh(each, call.site);
    const clang::QualType type = body.getParamDecl(0)->getType();
    const ir::PlaceId at = places_.element(out_[range.place].base, numbers_.index_of(each), type.getNonReferenceType());
    op.arguments.push_back(type->isReferenceType() ? address(at) : value(at));
  } else {
    op.arguments.assign(body.getNumParams(), unknown());
  }
  out_.emit(std::move(op));
  out_.go_on_in(after);
}

}  // namespace streamsan::analyzer::host
