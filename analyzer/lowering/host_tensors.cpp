// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch.
//
// The current stream is a variable, `$current_stream`, that guards and setCurrentCUDAStream() write and every operation
// reads. A tensor is its block, `$data`, and the stream it was allocated on, `$stream`: when the last owner ends, the
// block goes back to the allocator in the order of that stream, whatever streams still use it. Owners are not
// counted: a tensor of which a copy was made anywhere is taken to live on, which may hide a missing record_stream() and
// never invents one.
//
// A view has the block of the tensor that it is a view of, and is another owner of it: its end is not the block's. What
// an operation is given without a name is over with the operation; a view that is kept, by a variable, a member, a
// container, a function that returns it or is given it by value, keeps the block as a copy of the tensor would. So does
// what may be a view, like contiguous(). A variable keeps it for nothing that ends before the tensor does. A view of a
// tensor without a name is that tensor.
#include "analyzer/lowering/host_tensors.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_libraries.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_optionals.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_tuples.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/lowering/tensor_options.h"
#include "analyzer/lowering/tensor_owners.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ordering::MemoryKind;

namespace {

/// The tensors that are written in a list: cat({a, b}).
llvm::SmallVector<const clang::Expr*, 4> listed(const clang::Expr* given) {
  const clang::InitListExpr* list = nullptr;
  while (given != nullptr && list == nullptr) {
    given = given->IgnoreImplicit();
    if (const auto* standard = llvm::dyn_cast<clang::CXXStdInitializerListExpr>(given)) {
      given = standard->getSubExpr();
    } else if (const auto* construction = llvm::dyn_cast<clang::CXXConstructExpr>(given)) {
      given = construction->getNumArgs() == 0 ? nullptr : construction->getArg(0);
    } else {
      list = llvm::dyn_cast<clang::InitListExpr>(given);
      given = nullptr;
    }
  }
  if (list == nullptr || !list->getType()->isArrayType()) return {};
  llvm::SmallVector<const clang::Expr*, 4> result;
  for (const clang::Expr* element : list->inits()) result.push_back(element);
  return result;
}

/// to(kFloat): another type on the same device.
bool converts_only(const clang::Expr* given) {
  const auto* type = given->getType()->getAs<clang::EnumType>();
  return type != nullptr && type->getDecl()->getName() == "ScalarType";
}

}  // namespace

Tensors::Tensors(const Parts& parts)
    : unit_(parts.unit),
      definition_(parts.definition),
      scan_(parts.scan),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      arguments_(parts.arguments),
      libraries_(parts.libraries),
      tuples_(parts.tuples),
      optionals_(parts.optionals) {}

void Tensors::make_current(const Call& call) {
  const ir::PlaceId current = places_.current_stream();
  const auto previous = [&] { return places_.stream_before(call.object); };
  switch (call.model->member) {
    case Member::Make:
      if (call.object != ir::kNoPlace) out_.emit_assign(previous(), value(current), call.site);
      break;
    case Member::End:
      return out_.emit_assign(current, call.object == ir::kNoPlace ? unknown() : value(previous()), call.site);
    default:
      break;
  }
  out_.emit_assign(current, arguments_.stream_of(call), call.site);
}

void Tensors::tensor_make(const Call& call) { make(values_.result_place(*call.expression), call); }

void Tensors::make(ir::PlaceId tensor, const Call& call) {
  const Operand home = arguments_.stream_of(call);
  ir::Op op = start(OpKind::Allocate, call);
  op.target = places_.data(tensor);
  op.memory = tensor_memory(call);
  op.tensor = op.memory == MemoryKind::Device;
  op.stream = home;
  out_.emit(std::move(op));
  out_.emit_assign(places_.stream_of(tensor), home, call.site);
}

MemoryKind Tensors::tensor_memory(const Call& call) const {
  return memory_asked_for(call.arguments, call.model->memory, unit_);
}

void Tensors::tensor_work(const Call& call, bool converts) {
  const Model& model = *call.model;
  const clang::QualType type = call.callee->getReturnType();
  const bool new_tensor = !type->isReferenceType() && unit_.symbols.is_tensor(type);
  const bool writes_it = new_tensor && (converts || !model.may_alias);
  llvm::SmallVector<ir::PlaceId, 4> made;
  if (writes_it)
    made.push_back(values_.result_place(*call.expression));
  else if (!model.may_alias)
    made = made_in_tuple(call);
  // They are there before they are written.
  for (const ir::PlaceId tensor : made) make(tensor, call);
  ir::Op op = start(OpKind::Enqueue, call);
  op.work = ir::Work::Library;
  op.transfers = model.transfers && !converts;
  op.of_tensors = !op.transfers;
  op.stream = arguments_.stream_of(call);
  arguments_.add_roles(call, op, 0);
  for (const clang::Expr* given : call.arguments)
    for (const clang::Expr* tensor : listed(given))
      if (const ir::PlaceId at = places_.place(tensor); at != ir::kNoPlace)
        op.accesses.push_back(values_.access(value(places_.data(at)), ir::Mode::Read));
  for (const clang::Expr* given : call.arguments)
    if (const ir::PlaceId last = last_of(list_given(given)); last != ir::kNoPlace)
      op.accesses.push_back(values_.access(value(places_.data(last)), ir::Mode::Read));
  for (const ir::PlaceId tensor : made)
    op.accesses.push_back(values_.access(value(places_.data(tensor)), ir::Mode::Write));
  const Operand on = op.stream;
  out_.emit(std::move(op));
  if (model.effect.form == api::CallForm::Synchronous) libraries_.wait_for_results(call, on);
  if (type->isReferenceType()) {
    if (call.object != ir::kNoPlace) values_.set_result(*call.expression, value(call.object), call.object);
  } else if (new_tensor && !writes_it) {
    const ir::PlaceId result = values_.result_place(*call.expression);
    out_.emit_fresh(result, call.site);
    out_.emit_fresh(places_.data(result), call.site);
    may_lend(call, result);
    // Of a tensor that is there already it may be the memory, or new memory of the current stream; of one that the
    // same expression makes, both are of the current stream.
    if (call.object_expression != nullptr && makes_tensor(*call.object_expression))
      out_.emit_assign(places_.stream_of(result), value(places_.current_stream()), call.site);
  } else if (lists_tensors(type)) {
    // chunk(), unbind(): views, of which nothing more is known.
    const auto [of, whole] = viewed(call, call.object_expression != nullptr ? kObject : 0);
    if (const ir::PlaceId lender = this->lender(of, whole); lender != ir::kNoPlace) keep_tensor(lender, call.site);
  }
}

void Tensors::tensor_copy(const Call& call) {
  const Model& model = *call.model;
  const bool converts = call.known->callee.name == "to" && !call.arguments.empty() && converts_only(call.arguments[0]);
  // A tensor of that type already would be given back as it is; the call is there for the others.
  if (converts) return tensor_work(call, converts);
  const clang::QualType type = call.callee->getReturnType();
  const clang::Expr* non_blocking = call.argument(model.non_blocking_argument);
  const bool asynchronous = non_blocking != nullptr && constant(non_blocking, unit_.context).value_or(0) == 1;
  // to(kCPU, non_blocking) makes a pinned tensor and does not wait until it is filled. From a tensor that is there
  // already nobody would copy that way.
  const bool to_host = asynchronous && !type->isReferenceType() && tensor_memory(call) == MemoryKind::Pageable;
  const ir::PlaceId copy = type->isReferenceType() ? ir::kNoPlace : values_.result_place(*call.expression);
  if (to_host) {
    ir::Op made = start(OpKind::Allocate, call);
    made.target = places_.data(copy);
    made.memory = MemoryKind::Pinned;
    made.stream = arguments_.stream_of(call);
    out_.emit_fresh(copy, call.site);
    out_.emit(std::move(made));
    out_.emit_assign(places_.stream_of(copy), arguments_.stream_of(call), call.site);
  }
  // A copy that does not wait is there for tensors that are elsewhere: they are copied to a new one.
  const bool uploads = asynchronous && !to_host && copy != ir::kNoPlace;
  if (uploads) make(copy, call);
  ir::Op op = start(OpKind::Enqueue, call);
  op.stream = arguments_.stream_of(call);
  arguments_.add_roles(call, op, 0);
  // A copy that does not wait is work like other work: what pageable memory would make of it is not documented.
  op.work = asynchronous ? ir::Work::Library : ir::Work::Copy;
  op.tensor = asynchronous && !to_host;
  op.transfers = model.transfers && !to_host;
  if (to_host) op.accesses.push_back({.memory = value(places_.data(copy)), .mode = ir::Mode::Write, .on_host = true});
  if (uploads) op.accesses.push_back(values_.access(value(places_.data(copy)), ir::Mode::Write));
  const Operand on = op.stream;
  out_.emit(std::move(op));
  // copy_() between tensors of the device does not wait; which it is is not known here.
  ir::Op wait = start(OpKind::MaySync, call);
  if (call.known->callee.name == "cpu") {
    wait.kind = OpKind::SyncStream;
    wait.work = ir::Work::Library;
    wait.stream = on;
  }
  if (!asynchronous) out_.emit(std::move(wait));
  if (type->isReferenceType()) {
    if (call.object != ir::kNoPlace) values_.set_result(*call.expression, value(call.object), call.object);
    return;
  }
  if (to_host || uploads) return;
  out_.emit_fresh(copy, call.site);
  out_.emit_fresh(places_.data(copy), call.site);
  if (model.may_alias) may_lend(call, copy);
}

ir::ExprId Tensors::begin_of_part(const Call& call) {
  const clang::Expr* written = call.argument(call.model->offset_argument);
  while (written != nullptr && !llvm::isa<clang::CXXDefaultArgExpr>(written)) {
    // SymInt(1), optional<int64_t>(1)
    const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(strip(written));
    if (made == nullptr || made->getNumArgs() == 0) break;
    written = made->getArg(0);
  }
  if (written == nullptr || llvm::isa<clang::CXXDefaultArgExpr>(written)) return ir::kNoExpr;
  // In rows, or columns: how long one is, is not known, and the step has no unit.
  return values_.expr(written);
}

void Tensors::tensor_view(const Call& call) {
  const auto [of, whole] = viewed(call, call.model->value_argument);
  const ir::PlaceId view = values_.result_place(*call.expression);
  if (whole == view) return;
  if (whole == ir::kNoPlace) {
    out_.emit_fresh(view, call.site);
    return out_.emit_fresh(places_.data(view), call.site);
  }
  const bool part = call.model->offset_argument >= 0;
  const Operand block = value(places_.data(whole));
  const ir::PlaceId lender = this->lender(of, whole);
  lend(call, view, lender, /*surely=*/true);
  out_.emit_assign(places_.data(view), part ? numbers_.moved(block, begin_of_part(call)) : block, call.site);
  // Of a tensor without a name the view is the only owner.
  if (lender == ir::kNoPlace) out_.emit_assign(places_.stream_of(view), value(places_.stream_of(whole)), call.site);
}

std::pair<const clang::Expr*, ir::PlaceId> Tensors::viewed(const Call& call, int argument) {
  if (argument == kObject) return {call.object_expression, call.object};
  const clang::Expr* given = call.argument(argument);
  const bool tensor = given != nullptr && unit_.symbols.is_tensor(given->getType());
  return {given, tensor ? places_.place(given) : ir::kNoPlace};
}

void Tensors::may_lend(const Call& call, ir::PlaceId result) {
  const auto [of, whole] = viewed(call, call.object_expression != nullptr ? kObject : 0);
  lend(call, result, lender(of, whole), /*surely=*/false);
}

ir::PlaceId Tensors::lender(const clang::Expr* of, ir::PlaceId tensor) const {
  if (tensor == ir::kNoPlace) return tensor;
  if (const auto lent = lent_.find(tensor); lent != lent_.end()) return lent->second.by;
  return of != nullptr && strip(of)->isPRValue() ? ir::kNoPlace : tensor;
}

void Tensors::lend(const Call& call, ir::PlaceId view, ir::PlaceId lender, bool surely) {
  if (lender == ir::kNoPlace) return;
  out_.emit_assign(places_.stream_of(view), unknown(), call.site);
  if (scan_.destinations.contains(strip(call.expression)) && !ends_first(call, lender))
    keep_tensor(lender, call.site);
  else
    lent_[view] = {.by = lender, .surely = surely};
}

bool Tensors::ends_first(const Call& call, ir::PlaceId lender) const {
  const auto to = scan_.destinations.find(strip(call.expression));
  if (to == scan_.destinations.end() || to->second.kind != Destination::Kind::Variable) return false;
  const auto* view = static_cast<const clang::VarDecl*>(to->second.of);
  const auto* whole = llvm::dyn_cast_or_null<clang::VarDecl>(places_.declaration_of(lender));
  return whole != nullptr && whole->hasLocalStorage() && view->hasLocalStorage() &&
         only_operated_on(definition_, *whole, unit_.symbols) && only_operated_on(definition_, *view, unit_.symbols);
}

void Tensors::keep_lent(ir::PlaceId tensor, ir::SiteId site) {
  if (tensor == ir::kNoPlace) return;
  if (const auto lent = lent_.find(tensor); lent != lent_.end()) keep_tensor(lent->second.by, site);
}

bool Tensors::becomes_view_of_itself(ir::PlaceId tensor, ir::PlaceId view, ir::SiteId site) {
  if (view == ir::kNoPlace) return false;
  const auto lent = lent_.find(view);
  if (lent == lent_.end() || !lent->second.surely || lent->second.by != tensor) return false;
  out_.emit_assign(places_.data(tensor), value(places_.data(view)), site);
  return true;
}

void Tensors::share_tensor(ir::PlaceId target, ir::PlaceId from, bool moves, ir::SiteId site) {
  const auto home = [this](ir::PlaceId tensor) { return places_.stream_of(tensor); };
  // From now on somebody else keeps it, for any stream.
  if (moves)
    keep_lent(from, site);
  else
    keep_tensor(from, site);
  out_.emit_assign(places_.data(target), value(places_.data(from)), site);
  out_.emit_assign(home(target), value(home(from)), site);
  if (moves) out_.emit_assign(places_.data(from), {.kind = Operand::Kind::Null}, site);
}

void Tensors::free_tensor(ir::PlaceId tensor, ir::SiteId site) {
  // A variable that lent its block from one that outlives it.
  if (const auto lent = lent_.find(tensor);
      lent != lent_.end() && lent->second.surely && out_[tensor].kind == ir::Place::Kind::Local)
    return;
  ir::Op op{.kind = OpKind::Free, .site = site};
  op.source = value(places_.data(tensor));
  op.stream = value(places_.stream_of(tensor));
  op.memory = MemoryKind::Device;
  op.tensor = true;
  out_.emit(std::move(op));
}

bool Tensors::lists_tensors(clang::QualType type) const {
  const auto* list = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(Symbols::record(type));
  if (list == nullptr || !unit_.symbols.has_block(type)) return false;
  const clang::TemplateArgument& of = list->getTemplateArgs()[0];
  return of.getKind() == clang::TemplateArgument::Type && unit_.symbols.is_tensor(of.getAsType());
}

bool Tensors::makes_tensor(const clang::Expr& expression) const {
  const auto* call = llvm::dyn_cast<clang::CallExpr>(strip(&expression));
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  if (callee == nullptr || callee->getReturnType().isNull()) return false;
  if (unit_.symbols.known(*callee).callee.qualified == "std::get" && call->getNumArgs() == 1)
    return makes_tensor(*call->getArg(0));
  const Model* model = unit_.symbols.known(*callee).model;
  return model != nullptr && !callee->getReturnType()->isReferenceType() && !model->may_alias &&
         (model->action == ActionKind::TensorWork || model->action == ActionKind::TensorMake);
}

ir::PlaceId Tensors::last_of(ir::PlaceId list) {
  if (list == ir::kNoPlace || !unit_.symbols.has_block(out_.type_of(list))) return ir::kNoPlace;
  const clang::QualType of = places_.element_type(address(list));
  if (of.isNull() || !unit_.symbols.is_tensor(of)) return ir::kNoPlace;
  return out_.typed(out_.field(list, ir::name(ir::Hidden::Last), "", ir::TypeKind::Object), of);
}

ir::PlaceId Tensors::list_given(const clang::Expr* given) {
  // cat(TensorList(v)), by a conversion that is not written.
  for (const clang::Expr* at = given; at != nullptr;) {
    at = strip(at->IgnoreImplicit());
    const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(at);
    if (made == nullptr || made->getNumArgs() != 1)
      return out_.kind(at->getType()) == ir::TypeKind::Object && at->isLValue() ? places_.place(at) : ir::kNoPlace;
    at = made->getArg(0);
  }
  return ir::kNoPlace;
}

void Tensors::put_into(ir::PlaceId list, ir::PlaceId element, ir::SiteId site) {
  const ir::PlaceId last = last_of(list);
  if (last == ir::kNoPlace) return;
  const auto put = [&](ir::PlaceId to, ir::PlaceId from) {
    out_.emit_assign(to, element == ir::kNoPlace ? unknown() : value(from), site);
  };
  put(places_.data(last), element == ir::kNoPlace ? element : places_.data(element));
  put(places_.stream_of(last), element == ir::kNoPlace ? element : places_.stream_of(element));
}

void Tensors::may_change(ir::PlaceId element, ir::SiteId site) {
  if (element != ir::kNoPlace && out_[element].kind == ir::Place::Kind::Index)
    put_into(out_[element].base, ir::kNoPlace, site);
}

void Tensors::for_tensors(ir::PlaceId object, clang::QualType type, Each each, int depth) {
  constexpr int kDeepest = 3;
  if (object == ir::kNoPlace || depth > kDeepest || type.isNull()) return;
  type = type.getNonReferenceType();
  if (const auto owner = unit_.symbols.owner(type)) {
    if (owner->tensor) each(object);
    return;
  }
  if (const clang::QualType held = optionals_.held_type(type); !held.isNull())
    return for_tensors(optionals_.held(object, type), held, each, depth + 1);
  const auto elements = tuples_.elements(type);
  for (unsigned i = 0; i < elements.size(); ++i)
    for_tensors(tuples_.element(object, type, i), elements[i], each, depth + 1);
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (!elements.empty() || record == nullptr || !record->hasDefinition() || record->isUnion() ||
      unit_.symbols.in_system_header(*record))
    return;
  for (const clang::FieldDecl* field : record->getDefinition()->fields())
    if (!field->getType()->isReferenceType() && out_.kind(field->getType()) == ir::TypeKind::Object)
      for_tensors(places_.member(object, *field), field->getType(), each, depth + 1);
}

void Tensors::keep_tensor(ir::PlaceId tensor, ir::SiteId site) {
  ir::Op op{.kind = OpKind::KeepAlive, .site = site};
  op.source = value(places_.data(tensor));
  op.stream = unknown();
  out_.emit(std::move(op));
}

void Tensors::keep(ir::PlaceId object, clang::QualType type, ir::SiteId site) {
  for_tensors(object, type, [&](ir::PlaceId tensor) { keep_tensor(tensor, site); });
}

void Tensors::keep_given(const Call& call) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
  if (method != nullptr ? !method->getParent()->isInStdNamespace() : !call.callee->isInStdNamespace()) return;
  // Those that only refer to it.
  const std::string& name = call.known->callee.name;
  if (name == "get" || name == "tie" || name == "forward_as_tuple" || name == "ref" || name == "cref") return;
  for (const clang::Expr* given : call.arguments) {
    if (out_.kind(given->getType()) != ir::TypeKind::Object) continue;
    if (const ir::PlaceId at = places_.place(given); given->isLValue())
      keep(at, given->getType(), call.site);
    else
      keep_lent(at, call.site);
  }
}

llvm::SmallVector<ir::PlaceId, 4> Tensors::made_in_tuple(const Call& call) {
  llvm::SmallVector<ir::PlaceId, 4> made;
  const clang::QualType type = call.callee->getReturnType();
  const auto elements = tuples_.elements(type);
  for (unsigned i = 0; i < elements.size(); ++i)
    if (unit_.symbols.is_tensor(elements[i]) && !elements[i]->isReferenceType())
      made.push_back(tuples_.element(values_.result_place(*call.expression), type, i));
  return made;
}

}  // namespace streamsan::analyzer::host
