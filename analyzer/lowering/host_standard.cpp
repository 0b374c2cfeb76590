// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the C++ library that a model has no words for: those that only move values (std::move, std::swap), the
// operators of iterators, and algorithms that call a lambda.
//
// An iterator of a container is an index: `*it` is `v[it]`, and each ++ makes it another. Where it does not come from a
// container that is known, what it points to is not known. A lambda that works on streams is called by the algorithm
// that it is given to, in a loop: with each element where the range is a container and it has one parameter.
#include "analyzer/lowering/host_body.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

bool Body::call_standard(const Call& call) {
  const std::string& name = call.known->callee.qualified;
  if (!llvm::StringRef(name).starts_with("std::")) return false;
  const clang::Expr* first = argument(call, 0);
  const auto simple =
      llvm::StringSwitch<int>(name)
          .Cases({"std::move", "std::forward", "std::as_const", "std::forward_like", "std::move_if_noexcept"}, 1)
          .Cases({"std::addressof", "std::__addressof"}, 2)
          .Case("std::exchange", 3)
          .Cases({"std::swap", "std::iter_swap"}, 4)
          .Default(0);
  if (simple == 0 || first == nullptr) return false;
  if (simple == 1) {
    const ir::PlaceId same = place(first);
    set_result(call, same == ir::kNoPlace ? operand(first) : value(same), same);
    return true;
  }
  if (simple == 2) {
    set_result(call, address_of(place(first)));
    return true;
  }
  if (call.arguments.size() != 2) return false;
  const Call at_site = [&] {
    Call copy = call;
    copy.site = site(*call.expression, name);
    return copy;
  }();
  const ir::PlaceId left = place(first);
  if (simple == 4) {
    swap_places(at_site, left, place(call.arguments[1]));
    return true;
  }
  const ir::PlaceId before = result_place(at_site);
  if (left == ir::kNoPlace) {
    emit_fresh(before, at_site.site);
    return true;
  }
  emit_assign(before, value(left), at_site.site);
  assign(left, call.arguments[1]);
  return true;
}

bool Body::call_iterator(const Call& call) {
  const clang::OverloadedOperatorKind operation = call.callee->getOverloadedOperator();
  if (operation == clang::OO_None) return false;
  const clang::Expr* iterator = call.object_expression != nullptr ? call.object_expression : argument(call, 0);
  if (iterator == nullptr || !unit_.symbols.iterates(iterator->getType())) return false;
  const clang::Expr* at = strip(iterator);
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(at))
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl()))
      if (const auto known = iterated_.find(variable); known != iterated_.end())
        return call_counted_iterator(call, known->second, variables_[variable]);
  // v.begin() + n, *v.begin()
  const Result* made = result(at);
  if (made == nullptr || made->value.kind == Operand::Kind::Unknown) return false;
  const Operand given = made->value;
  const clang::Expr* by = argument(call, call.object_expression == nullptr ? 1 : 0);
  if (operation == clang::OO_Plus && by != nullptr) {
    set_result(call, moved(given, stepped(expr(by), element_type(given))));
    return true;
  }
  if (operation != clang::OO_Star) return false;
  const ir::PlaceId here =
      given.kind == Operand::Kind::Address
          ? element(given.place, given.offset == ir::kNoExpr ? number(0) : given.offset, call.expression->getType())
          : pointee(given, call.expression->getType());
  set_result(call, here == ir::kNoPlace ? unknown() : value(here), here);
  return true;
}

bool Body::call_counted_iterator(const Call& call, ir::PlaceId container, ir::PlaceId each) {
  const clang::Expr* by = argument(call, call.object_expression == nullptr ? 1 : 0);
  const clang::QualType type = call.expression->getType();
  const auto at = [&](ir::ExprId index, clang::QualType of) {
    return container == ir::kNoPlace ? ir::kNoPlace : element(container, index, of);
  };
  switch (call.callee->getOverloadedOperator()) {
    case clang::OO_Star: {
      const ir::PlaceId here = at(index_of(each), type);
      set_result(call, here == ir::kNoPlace ? unknown() : value(here), here);
      return true;
    }
    case clang::OO_Arrow: {
      const ir::PlaceId here = at(index_of(each), type->getPointeeType());
      set_result(call, here == ir::kNoPlace ? unknown() : address(here));
      return true;
    }
    case clang::OO_Subscript: {
      const ir::PlaceId here = at(sum(index_of(each), expr(by)), type);
      set_result(call, here == ir::kNoPlace ? unknown() : value(here), here);
      return true;
    }
    case clang::OO_Plus: {
      const ir::PlaceId here = at(sum(index_of(each), expr(by)), {});
      set_result(call, here == ir::kNoPlace ? unknown() : memory_of(here));
      return true;
    }
    case clang::OO_PlusPlus:
    case clang::OO_MinusMinus:
    case clang::OO_PlusEqual:
    case clang::OO_MinusEqual:
    case clang::OO_Equal:
      emit_fresh(each, site(*call.expression));
      set_result(call, value(each), each);
      return true;
    default:
      return true;
  }
}

const clang::FunctionDecl* Body::closure_body(const clang::Expr* argument) const {
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

bool Body::call_algorithm(const Call& call) {
  const std::string& name = call.known->callee.qualified;
  const bool once = name == "std::invoke" || name == "std::call_once" || name == "std::apply";
  const bool touches_host = call.model != nullptr && call.model->deed == DeedKind::HostTouch;
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

void Body::call_closure(const Call& call, const clang::Expr& closure, const clang::FunctionDecl& body) {
  const std::size_t before = block_;
  const std::size_t head = new_block(), inside = new_block(), after = new_block();
  const auto go = [&](std::size_t from, std::size_t to) {
    function_.blocks[from].successors.push_back(ir::BlockId{static_cast<std::uint32_t>(to)});
  };
  go(before, head);
  go(head, inside);
  go(head, after);
  go(inside, head);
  block_ = inside;
  ir::Op op = start(OpKind::Call, call);
  op.callee = unit_.usr(body);
  op.name = unit_.symbols.shown(body);
  const ir::PlaceId object = place(&closure);
  op.object = object == ir::kNoPlace ? unknown() : address(object);
  // An algorithm over a container calls it with each element.
  const Operand range = call.arguments.empty() ? unknown() : memory(call.arguments.front());
  if (body.getNumParams() == 1 && range.kind == Operand::Kind::Value && function_[range.place].name == "$data") {
    const ir::PlaceId each = new_local("each", TypeKind::Integer);
    emit_fresh(each, call.site);
    const clang::QualType type = body.getParamDecl(0)->getType();
    const ir::PlaceId at = element(function_[range.place].base, index_of(each), type.getNonReferenceType());
    op.arguments.push_back(type->isReferenceType() ? address(at) : value(at));
  } else {
    op.arguments.assign(body.getNumParams(), unknown());
  }
  emit(std::move(op));
  block_ = after;
}

}  // namespace streamsan::analyzer::host
