// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the functions of a file; see free_list_search.h.
#include "analyzer/lowering/free_list_search.h"

namespace streamsan::analyzer::free_list {

bool is_below(const clang::Stmt* sought, const clang::Stmt* root) {
  if (root == sought) return true;
  return root != nullptr &&
         std::ranges::any_of(root->children(), [&](const auto* part) { return is_below(sought, part); });
}

bool names(const clang::Stmt* root, const clang::VarDecl* variable) {
  if (root == nullptr) return false;
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(root); name != nullptr && name->getDecl() == variable)
    return true;
  return std::ranges::any_of(root->children(), [&](const auto* part) { return names(part, variable); });
}

bool is_block(Symbols& symbols, clang::QualType type) {
  type = type.getNonReferenceType();
  if (type->isPointerType())
    return symbols.kind(type) == ir::TypeKind::Pointer && !type->getPointeeType()->isFunctionType();
  if (symbols.kind(type) != ir::TypeKind::Object && symbols.kind(type) != ir::TypeKind::Pointer) return false;
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (record == nullptr || !record->hasDefinition()) return false;
  if (record->isInStdNamespace()) return record->getName() == "unique_ptr";
  return std::ranges::any_of(record->fields(), [&](const auto* field) {
    return field->getType()->isPointerType() && symbols.kind(field->getType()) == ir::TypeKind::Pointer;
  });
}

const clang::DeclContext* class_of(const clang::FunctionDecl& function) {
  // A lambda belongs to the function around it.
  const clang::DeclContext* context = function.getDeclContext();
  while (context != nullptr) {
    const auto* record = dyn_cast<clang::CXXRecordDecl>(context);
    if (record != nullptr && !record->isLambda()) return record->getCanonicalDecl();
    context = context->getParent();
  }
  return nullptr;
}

bool is_of_class_around(const clang::FunctionDecl& function, const clang::ValueDecl& member) {
  const auto* record = dyn_cast<clang::CXXRecordDecl>(member.getDeclContext());
  return record != nullptr && class_of(function) == record->getCanonicalDecl();
}

void FreeListSearch::note_allocation(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr) return;
  const Model* model = symbols_.known(*callee).model;
  if (model == nullptr || !model->memory || model->action != ActionKind::Effect || call.getNumArgs() == 0) return;
  const bool on_gpu_side =
      *model->memory == ordering::MemoryKind::Device || *model->memory == ordering::MemoryKind::DeviceAsync ||
      *model->memory == ordering::MemoryKind::Pinned || *model->memory == ordering::MemoryKind::Managed;
  if (!on_gpu_side) return;
  kinds_[class_of(*function_)].add(*model->memory);
  const auto* address = dyn_cast<clang::UnaryOperator>(strip(call.getArg(0)));
  if (address == nullptr || address->getOpcode() != clang::UO_AddrOf) return;
  of().allocates = true;
  if (const auto* member = dyn_cast<clang::MemberExpr>(strip(address->getSubExpr())))
    of_fields_[member->getMemberDecl()].add(*model->memory);
}

/// Anything but allocations, what only handles an error, and the standard library.
bool FreeListSearch::may_wait(const clang::CallExpr& call) const {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr) return true;
  const auto& known = symbols_.known(*callee);
  if (known.model != nullptr) {
    if (known.model->action != ActionKind::Effect)
      return known.model->action == ActionKind::SyncObject || known.model->action == ActionKind::Elapsed;
    return !known.model->memory && known.model->effect.kind != api::EffectKind::EventCreate;
  }
  if (known.callee.in_system_header || known.harmless) return false;
  if (callee->getNumParams() == 0 || isa<clang::CXXMethodDecl>(callee))
    return !is_block(symbols_, callee->getReturnType());
  return std::ranges::any_of(callee->parameters(), [&](const clang::ParmVarDecl* parameter) {
    const clang::QualType type = parameter->getType().getNonReferenceType();
    const bool text = type->isPointerType() && type->getPointeeType()->isCharType();
    return !text && !type->isIntegralOrEnumerationType();
  });
}

const clang::CXXMemberCallExpr* FreeListSearch::found_by(const OfFunction& body, const clang::Expr* iterator) {
  const auto* name = dyn_cast<clang::DeclRefExpr>(strip(iterator));
  for (const auto& [variable, value] : body.set) {
    if (name == nullptr || variable != name->getDecl()) continue;
    llvm::StringRef method;
    const clang::CXXMemberCallExpr* call = method_call(unwrapped(value), &method);
    if (call != nullptr && finds(method)) return call;
  }
  return nullptr;
}

/// Keys are numbers: what else tells blocks apart is not compared.
const clang::CXXMemberCallExpr* by_key(const clang::CXXMemberCallExpr& call) {
  const bool names_key = finds_by_key(call.getMethodDecl()->getName()) && call.getNumArgs() == 1;
  return names_key && call.getArg(0)->getType().getNonReferenceType()->isIntegralOrEnumerationType() ? &call : nullptr;
}

/// Of `free_[size]`, or of a reference to that; nullptr: the list is none of many.
const clang::Expr* FreeListSearch::key_of_entry(const clang::Expr* list, const OfFunction& body) {
  const clang::Expr* at = strip(list);
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(at))
    for (const auto& [variable, value] : body.set)
      if (variable == name->getDecl() && variable->getType()->isReferenceType()) at = strip(value);
  const auto* index = dyn_cast<clang::CXXOperatorCallExpr>(at);
  const bool of_map = index != nullptr && index->getOperator() == clang::OO_Subscript &&
                      index->getArg(1)->getType().getNonReferenceType()->isIntegralOrEnumerationType();
  return of_map ? index->getArg(1) : nullptr;
}

void FreeListSearch::read_found(OfFunction& body) const {
  for (const clang::MemberExpr* member : body.members) {
    const clang::Expr* base = strip(member->getBase());
    if (const auto* arrow = dyn_cast<clang::CXXOperatorCallExpr>(base)) base = arrow->getArg(0);
    const clang::CXXMemberCallExpr* call = found_by(body, base);
    if (call == nullptr) continue;
    const Named list = named_container(call->getImplicitObjectArgument());
    if (list.container != nullptr)
      body.read.push_back({list, call->getImplicitObjectArgument(), member, ListEnd::ByKey, by_key(*call)});
  }
  // The first one that is good enough: by its size, if the function is given one, which need not be that of another.
  const auto is_number = [](const clang::ParmVarDecl* parameter) {
    return parameter->getType().getNonReferenceType()->isIntegralOrEnumerationType();
  };
  for (const clang::CXXOperatorCallExpr* access : body.dereferenced) {
    if (body.function == nullptr || llvm::any_of(body.function->parameters(), is_number)) break;
    const bool star = access->getOperator() == clang::OO_Star;
    const clang::CXXMemberCallExpr* call = found_by(body, access->getArg(0));
    llvm::StringRef method;
    if (call == nullptr || !star || method_call(call, &method) == nullptr || finds_by_key(method)) continue;
    const Named list = named_container(call->getImplicitObjectArgument());
    if (list.container != nullptr)
      body.read.push_back({list, call->getImplicitObjectArgument(), access, ListEnd::ByKey, nullptr, true});
  }
  // free_.extract(it).mapped()
  std::vector<const clang::Expr*> values(body.returned);
  for (const auto& [variable, value] : body.set) values.push_back(value);
  for (const clang::Expr* value : values) {
    llvm::StringRef outer, inner;
    const clang::CXXMemberCallExpr* mapped = method_call(unwrapped(value), &outer);
    if (mapped == nullptr || (outer != "mapped" && outer != "value")) continue;
    const clang::Expr* node = strip(mapped->getImplicitObjectArgument());
    const clang::CXXMemberCallExpr* call = method_call(node, &inner);
    // auto node = free_.extract(size)
    if (call == nullptr) {
      call = found_by(body, node);
      if (call != nullptr) inner = call->getMethodDecl()->getName();
    }
    if (call == nullptr || inner != "extract" || call->getNumArgs() != 1) continue;
    const Named list = named_container(call->getImplicitObjectArgument());
    if (list.container == nullptr) continue;
    const clang::CXXMemberCallExpr* iterator = found_by(body, call->getArg(0));
    const clang::CXXMemberCallExpr* found = by_key(iterator == nullptr ? *call : *iterator);
    body.read.push_back({list, call->getImplicitObjectArgument(), mapped, ListEnd::ByKey, found});
  }
}

/// Block and key, if what is put into the list comes from outside of the function.
void FreeListSearch::read_given(Put& put) const {
  if (isa<clang::CXXConstructorDecl>(put.function) && is_of_class_around(*put.function, *put.container)) return;
  // free_.emplace(size, p), free_.insert({size, p}), free_.push_back({p})
  const bool by_key = put.end == ListEnd::ByKey;
  const clang::Expr* last = put.call->getArg(by_key ? put.call->getNumArgs() - 1 : 0);
  const llvm::ArrayRef<const clang::Expr*> parts = parts_of(last);
  if (parts.size() == 2 && !by_key) return;
  put.block = given_back(put, parts.back());
  if (by_key && put.call->getNumArgs() == 2 && parts.size() == 1) put.key = put.call->getArg(0);
  if (by_key && put.call->getNumArgs() == 1 && parts.size() == 2) put.key = parts.front();
  const auto body = functions_.find(put.function);
  if (put.block == nullptr || body == functions_.end()) return;
  if (put.key != nullptr) {
    put.own_key = is_kept_about(body->second, put.key, put.block);
  } else if (const clang::Expr* key = key_of_entry(put.named, body->second); key != nullptr) {
    put.own_key = put.entry = is_kept_about(body->second, key, put.block);
  }
}

bool FreeListSearch::is_kept_about(const OfFunction& body, const clang::Expr* key, const clang::Expr* block) const {
  const auto* wanted = dyn_cast_or_null<clang::DeclRefExpr>(block == nullptr ? nullptr : unwrapped(block));
  const clang::Expr* at = unwrapped(key);
  // size_t size = sizes_[p];
  if (const auto* name = dyn_cast_or_null<clang::DeclRefExpr>(at))
    for (const auto& [variable, value] : body.set)
      if (variable == name->getDecl() && !isa<clang::ParmVarDecl>(variable)) at = unwrapped(value);
  while (const auto* member = dyn_cast_or_null<clang::MemberExpr>(at)) {
    const clang::Expr* base = strip(member->getBase());
    if (const auto* arrow = dyn_cast<clang::CXXOperatorCallExpr>(base); arrow != nullptr && arrow->getNumArgs() == 1)
      base = strip(arrow->getArg(0));
    const clang::CXXMemberCallExpr* found = found_by(body, base);
    at = found != nullptr ? found : base;
  }
  const clang::Expr* under = nullptr;
  llvm::StringRef method;
  if (const clang::CXXMemberCallExpr* call = method_call(at, &method)) {
    if ((method == "at" || method == "find") && call->getNumArgs() == 1) under = call->getArg(0);
  } else if (const auto* index = dyn_cast_or_null<clang::CXXOperatorCallExpr>(at)) {
    if (index->getOperator() == clang::OO_Subscript) under = index->getArg(1);
  }
  const auto* name = dyn_cast_or_null<clang::DeclRefExpr>(under == nullptr ? nullptr : unwrapped(under));
  return wanted != nullptr && name != nullptr && name->getDecl() == wanted->getDecl();
}

/// The block, if it comes from outside of the function; else nullptr.
const clang::Expr* FreeListSearch::given_back(const Put& put, const clang::Expr* given) const {
  const clang::Expr* at = unwrapped(given);
  if (!is_block(symbols_, at->getType())) return nullptr;
  // live_.find(p)->first
  if (const auto* member = dyn_cast<clang::MemberExpr>(at); member != nullptr &&
                                                            member->getMemberDecl()->getDeclName().isIdentifier() &&
                                                            member->getMemberDecl()->getName() == "first") {
    const clang::Expr* base = strip(member->getBase());
    if (const auto* arrow = dyn_cast<clang::CXXOperatorCallExpr>(base)) base = arrow->getArg(0);
    const auto body = functions_.find(put.function);
    const clang::CXXMemberCallExpr* call = body == functions_.end() ? nullptr : found_by(body->second, base);
    if (call == nullptr || call->getNumArgs() != 1) return nullptr;
    given = call->getArg(0);
    at = unwrapped(given);
  }
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(at))
    return isa<clang::ParmVarDecl>(name->getDecl()) ? given : nullptr;
  const auto* member = dyn_cast<clang::MemberExpr>(at);
  if (member == nullptr || !isa<clang::FieldDecl>(member->getMemberDecl())) return nullptr;
  const clang::Expr* base = strip(member->getBase());
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(base))
    return isa<clang::ParmVarDecl>(name->getDecl()) ? given : nullptr;
  // What a pool itself holds besides, it does not lend.
  return isa<clang::CXXThisExpr>(base) && member->getMemberDecl()->getDeclContext() != put.container->getDeclContext()
             ? given
             : nullptr;
}

}  // namespace streamsan::analyzer::free_list
