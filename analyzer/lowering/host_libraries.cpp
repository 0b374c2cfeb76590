// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries that enqueue work.
//
// A library handle is a value; the stream it was given is kept behind it, in `$stream`, so that all copies of the
// handle see it. A handle that was just made works on the default stream. An algorithm of Thrust works on the stream of
// its policy; without one, on the default stream, or it is the host's work if the iterators are. One that returns what
// only the data can tell has waited for it, whatever its policy is.
#include "analyzer/lowering/host_libraries.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/ir/hidden.h"
#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;
using ordering::MemoryKind;

namespace {

/// A number, or how far the result reaches.
bool returns_result(const Call& call) {
  static constexpr std::array<std::string_view, 21> kTell = {
      "reduce",          "transform_reduce", "inner_product",  "reduce_by_key", "min_element",
      "max_element",     "minmax_element",   "find",           "find_if",       "find_if_not",
      "mismatch",        "unique",           "unique_copy",    "unique_by_key", "remove",
      "remove_if",       "remove_copy",      "remove_copy_if", "copy_if",       "partition",
      "stable_partition"};
  if (call.expression->getType()->isArithmeticType()) return true;
  const clang::IdentifierInfo* name = call.callee == nullptr ? nullptr : call.callee->getIdentifier();
  return name != nullptr && std::ranges::find(kTell, std::string_view(name->getName())) != kTell.end();
}

/// A local array, or the address of a local variable.
bool is_on_stack(const clang::Expr* given) {
  given = strip(given);
  bool address = given->getType()->isArrayType();
  if (const auto* taken = llvm::dyn_cast<clang::UnaryOperator>(given);
      taken != nullptr && taken->getOpcode() == clang::UO_AddrOf) {
    given = strip(taken->getSubExpr());
    address = true;
  }
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(given);
  const auto* variable = named == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(named->getDecl());
  return address && variable != nullptr && variable->hasLocalStorage() && !variable->getType()->isReferenceType();
}

/// cuRAND fills memory of the host with generators of the host only. Which kind a caller's is, is not known otherwise.
bool generates_on_host(const Call& call) {
  return call.model->works_on_host && call.arguments.size() > 1 && is_on_stack(call.arguments[1]);
}

/// It is kept in an object, and the file makes generators of the host.
bool may_generate_on_host(const Call& call, const clang::ASTContext& context) {
  const clang::Expr* generator = call.model->works_on_host ? call.argument(call.model->handle_argument) : nullptr;
  if (generator == nullptr || !llvm::isa<clang::MemberExpr>(strip(generator))) return false;
  const auto makers = context.getTranslationUnitDecl()->lookup(&context.Idents.get(call.model->maker_for_host));
  return std::ranges::any_of(makers, [](const clang::NamedDecl* maker) { return maker->isReferenced(); });
}

}  // namespace

Libraries::Libraries(const Parts& parts)
    : unit_(parts.unit), out_(parts.out), places_(parts.places), values_(parts.values), arguments_(parts.arguments) {}

void Libraries::set_handle_stream(const Call& call) {
  const int position = call.model->handle_argument >= 0 ? call.model->handle_argument : kObject;
  out_.emit_assign(arguments_.handle_stream(call, position), arguments_.stream_of(call), call.site);
}

void Libraries::make_handles(const Call& call) {
  if (!call.model->makes_handle) return;
  const clang::Expr* out = call.argument(0);
  if (out == nullptr || !out->getType()->isPointerType()) return;
  const ir::PlaceId handle = places_.target_of(out);
  const TypeKind of = out_.kind(handle);
  if (of != TypeKind::Pointer && of != TypeKind::Integer) return;
  if (call.model->works_on_host) host_handles_.insert(static_cast<std::uint32_t>(handle));
  out_.emit_assign(places_.stream_of(places_.pointee(value(handle), {})), {.kind = Operand::Kind::DefaultStream},
                   call.site);
}

void Libraries::work(const Call& call) {
  const Model& model = *call.model;
  if (model.null_argument >= 0)
    if (const clang::Expr* storage = call.argument(model.null_argument)) {
      if (values_.operand(storage).kind == Operand::Kind::Null) return arguments_.fresh_arguments(call);
    }
  if (generates_on_host(call)) return arguments_.host_touch(call);
  if (may_generate_on_host(call, unit_.context)) return arguments_.fresh_arguments(call);
  if (const clang::Expr* handle = call.argument(model.handle_argument); handle != nullptr && !host_handles_.empty()) {
    const Operand used = values_.operand(handle);
    if (used.kind == Operand::Kind::Value && host_handles_.contains(static_cast<std::uint32_t>(used.place)))
      return arguments_.host_touch(call);
  }
  ir::Op op = start(OpKind::Enqueue, call);
  op.work = model.action == ActionKind::Communication ? ir::Work::Communication : ir::Work::Library;
  bool waits = model.effect.form == api::CallForm::Synchronous;
  int shift = 0;
  if (model.after_policy) {
    op.stream = {.kind = Operand::Kind::DefaultStream};
    // The algorithms take it as a reference to a base class that knows no stream.
    const clang::Expr* first = call.arguments.empty() ? nullptr : strip(call.arguments.front());
    const Policy policy = first == nullptr ? Policy::None : unit_.symbols.policy(first->getType());
    if (policy != Policy::None) {
      shift = 1;
      if (policy == Policy::Host) return arguments_.fresh_arguments(call);
      waits = policy == Policy::Waits || returns_result(call);
      const Operand given = values_.operand(first);
      const bool bare = given.kind != Operand::Kind::Value || out_[given.place].kind == ir::Place::Kind::Global;
      if (!bare) op.stream = given;
      op.implicit_stream = bare;
    } else if (first != nullptr) {
      // Without a policy the iterators decide: of host memory, the host does the work.
      const auto on_host = [&](clang::QualType of) {
        const auto owner = unit_.symbols.owner(of);
        return owner && owner->memory == MemoryKind::Pageable;
      };
      const Operand given = values_.memory(first);
      const bool host_block =
          ir::is_value_of(out_, given, ir::Hidden::Data) && on_host(out_.type_of(out_[given.place].base));
      if (on_host(first->getType()) || host_block) return arguments_.host_touch(call);
      // With plain pointers, which are the host's, Thrust would not go to a stream.
      op.implicit_stream = unit_.symbols.points(first->getType());
    }
  } else {
    op.stream = arguments_.stream_of(call, &op);
  }
  arguments_.add_roles(call, op, shift);
  const Operand on = op.stream;
  const bool none = op.accesses.empty();
  if (none) op.accesses.push_back({.memory = unknown(), .mode = ir::Mode::Unknown});
  out_.emit(std::move(op));
  if (!waits) return;
  wait_for_results(call, on);
}

void Libraries::wait_for_results(const Call& call, const Operand& stream) {
  ir::Op sync = start(OpKind::SyncStream, call);
  sync.work = ir::Work::Library;
  sync.stream = stream;
  out_.emit(std::move(sync));
}

}  // namespace streamsan::analyzer::host
