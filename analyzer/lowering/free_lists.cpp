// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which containers are free lists.
//
//   void* take() {                                 void put(void* p) { free_.push_back(p); }
//     if (free_.empty()) return allocate();
//     void* p = free_.back();
//     free_.pop_back();
//     return p;
//   }
//
// A free list is known by what is done with it: one function takes an element out of it and hands it out, another puts
// in what it was given, or what the object holds whose method it is (a lease), or what a deleter is given. That a list
// fills itself where it is made is of no account, if what comes out is what went in last. Any other list hands out the
// blocks that it holds besides first. It may hold none besides if blocks are made one by one, where it is empty or where
// none is found, by a key or by a search through all of them, and nowhere else: not by its class beforehand, and not until there are so many. A queue that gives out
// the greatest block is never one. Of a list with keys, such as sizes, the blocks of each key are a list. A key may be
// kept elsewhere while the block is lent, in a map of blocks: it is the one that the block was taken out under.
//
// What this means is said in host_free_lists.cpp. Not recognised, which loses findings only: lists that are linked
// through their blocks, numbers of blocks in place of blocks, lists that are passed to functions.
#include "analyzer/lowering/free_lists.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/lowering/container_calls.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/own_code_visitor.h"
#include "analyzer/lowering/symbols.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using host::strip;

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

/// A pointer, or an object with pointers in it, that can stand for memory. Streams and events are pointers, too: a pool
/// of events gives one out again while somebody waits for it, and is right.
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

class FreeListSearch : public OwnCodeVisitor<FreeListSearch> {
 public:
  using OwnCodeVisitor::OwnCodeVisitor;

  bool VisitVarDecl(clang::VarDecl* variable) {
    if (function_ != nullptr && variable->hasLocalStorage() && variable->hasInit())
      of().set.emplace_back(variable, variable->getInit());
    return true;
  }
  bool VisitReturnStmt(clang::ReturnStmt* statement) {
    if (function_ != nullptr && statement->getRetValue() != nullptr) of().returned.push_back(statement->getRetValue());
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construction) {
    if (function_ == nullptr || construction->getConstructor()->isCopyOrMoveConstructor()) return true;
    if (!symbols_.in_system_header(*construction->getConstructor()))
      of().kept.insert(of().kept.end(), construction->arg_begin(), construction->arg_end());
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* assignment) {
    if (function_ != nullptr && assignment->getOpcode() == clang::BO_LOr) of().either = true;
    if (function_ == nullptr || assignment->getOpcode() != clang::BO_Assign) return true;
    const clang::Expr* target = strip(assignment->getLHS());
    if (const auto* name = dyn_cast<clang::DeclRefExpr>(target)) {
      if (const auto* variable = dyn_cast<clang::VarDecl>(name->getDecl()))
        of().set.emplace_back(variable, assignment->getRHS());
    } else if (isa<clang::MemberExpr, clang::UnaryOperator>(target)) {
      of().kept.push_back(assignment->getRHS());
    }
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) {
    if (function_ == nullptr) return true;
    note_allocation(*call);
    if (may_wait(*call)) of().waits = true;
    // cudaMalloc(&p, bytes)
    for (const clang::Expr* given : call->arguments())
      if (const auto* address = dyn_cast<clang::UnaryOperator>(strip(given));
          address != nullptr && address->getOpcode() == clang::UO_AddrOf)
        if (const auto* name = dyn_cast<clang::DeclRefExpr>(strip(address->getSubExpr())))
          if (const auto* variable = dyn_cast<clang::VarDecl>(name->getDecl()))
            of().set.emplace_back(variable, address);
    if (const clang::FunctionDecl* callee = call->getDirectCallee()) of().called.push_back(callee->getCanonicalDecl());
    llvm::StringRef name;
    const clang::CXXMemberCallExpr* method = method_call(call, &name);
    const Named list = method == nullptr ? Named{} : named_container(method->getImplicitObjectArgument());
    if (list.container == nullptr) return true;
    if (const ListEnd end = end_taken_at(name); end != ListEnd::None)
      of().read.push_back({list, method->getImplicitObjectArgument(), call, end});
    if (name == "empty") of().asked_empty.insert(list.container);
    if (takes_out(name)) of().taken_out.insert(list.container);
    if (const ListEnd end = end_put_at(name); end != ListEnd::None && call->getNumArgs() > 0)
      puts_.push_back({list.container, method->getImplicitObjectArgument(), call, function_, end});
    return true;
  }
  bool VisitCXXNewExpr(clang::CXXNewExpr*) {
    if (function_ != nullptr) of().allocates = true;
    return true;
  }
  /// `*it`, `it->data`, where `it` goes through a list.
  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr* access) {
    if (function_ != nullptr && access->getNumArgs() == 1 &&
        (access->getOperator() == clang::OO_Star || access->getOperator() == clang::OO_Arrow))
      of().dereferenced.push_back(access);
    return true;
  }
  /// `it->second`, where `it` was found in a container.
  bool VisitMemberExpr(clang::MemberExpr* member) {
    if (function_ != nullptr && member->getMemberDecl()->getDeclName().isIdentifier() &&
        is_block(symbols_, member->getType()) &&
        (member->getMemberDecl()->getName() == "second" || member->getMemberDecl()->getName() == "first"))
      of().members.push_back(member);
    return true;
  }

  FreeLists take();

 private:
  struct Read {
    Named list;
    const clang::Expr* container = nullptr;
    const clang::Expr* element = nullptr;
    ListEnd end = ListEnd::None;
    const clang::CXXMemberCallExpr* found = nullptr;  ///< by the key that is its argument
    bool searched = false;                            ///< it is the first that is good enough
  };
  struct Put {
    const clang::ValueDecl* container = nullptr;
    const clang::Expr* named = nullptr;
    const clang::CallExpr* call = nullptr;
    const clang::FunctionDecl* function = nullptr;
    ListEnd end = ListEnd::None;
    const clang::Expr* block = nullptr;
    const clang::Expr* key = nullptr;
    bool own_key = false;
    bool entry = false;
  };
  struct OfFunction {
    const clang::FunctionDecl* function = nullptr;
    std::vector<Read> read;
    llvm::DenseSet<const clang::ValueDecl*> taken_out;
    llvm::DenseSet<const clang::ValueDecl*> asked_empty;
    std::vector<const clang::FunctionDecl*> called;
    std::vector<std::pair<const clang::VarDecl*, const clang::Expr*>> set;
    std::vector<const clang::MemberExpr*> members;
    std::vector<const clang::CXXOperatorCallExpr*> dereferenced;
    std::vector<const clang::Expr*> returned;
    std::vector<const clang::Expr*> kept;  ///< given to a constructor, stored in an object
    bool allocates = false;
    bool waits = false;
    bool either = false;  ///< some condition is `a || b`
  };
  struct Kinds {
    llvm::SmallVector<ordering::MemoryKind, 2> seen;
    void add(ordering::MemoryKind kind) {
      if (std::ranges::find(seen, kind) == seen.end()) seen.push_back(kind);
    }
    [[nodiscard]] std::optional<ordering::MemoryKind> only() const {
      return seen.size() == 1 ? std::optional(seen.front()) : std::nullopt;
    }
  };

  OfFunction& of() {
    OfFunction& body = functions_[function_];
    body.function = function_;
    return body;
  }
  void note_allocation(const clang::CallExpr& call);
  [[nodiscard]] bool may_wait(const clang::CallExpr& call) const;
  /// What the iterator was found in and by; nullptr: it is none.
  [[nodiscard]] static const clang::CXXMemberCallExpr* found_by(const OfFunction& body, const clang::Expr* iterator);
  void read_found(OfFunction& body) const;
  [[nodiscard]] static const clang::Expr* key_of_entry(const clang::Expr* list, const OfFunction& body);
  void read_given(Put& put) const;
  /// `sizes_.find(p)->second`, `sizes_.at(p)`, `sizes_[p]`: what is kept somewhere about this block.
  [[nodiscard]] bool is_kept_about(const OfFunction& body, const clang::Expr* key, const clang::Expr* block) const;
  [[nodiscard]] const clang::Expr* given_back(const Put& put, const clang::Expr* given) const;
  [[nodiscard]] bool gives_last(const OfFunction& body, const Read& read) const;
  [[nodiscard]] bool is_filled_before(const clang::ValueDecl& container) const;
  [[nodiscard]] std::optional<FreeLists::Taking> taking(const OfFunction& body, const Read& read) const;

  llvm::DenseMap<const clang::FunctionDecl*, OfFunction> functions_;
  std::vector<Put> puts_;
  llvm::DenseMap<const clang::DeclContext*, Kinds> kinds_;    ///< by class: of the memory that its functions make
  llvm::DenseMap<const clang::ValueDecl*, Kinds> of_fields_;  ///< made by calls that are given its address
};

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
    if (call == nullptr && (call = found_by(body, node)) != nullptr) inner = call->getMethodDecl()->getName();
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

std::optional<FreeLists::Taking> FreeListSearch::taking(const OfFunction& body, const Read& read) const {
  const clang::QualType type = read.element->getType().getNonReferenceType();
  if (!is_block(symbols_, type) || !body.taken_out.contains(read.list.container)) return std::nullopt;
  FreeLists::Taking taking{
      .container = read.container, .through = read.list.through, .element = read.element, .found = read.found};
  taking.key_of_entry = key_of_entry(read.container, body);
  taking.type = type;
  for (const auto& [variable, value] : body.set)
    if (is_below(read.element, value) && is_block(symbols_, variable->getType())) {
      taking.blocks.insert(variable);
      taking.values.insert(value);
    }
  const auto leaves = [&](const clang::Expr* value) {
    return is_below(read.element, value) ||
           std::ranges::any_of(taking.blocks, [&](const clang::VarDecl* variable) { return names(value, variable); });
  };
  if (!std::ranges::any_of(body.returned, leaves) && !std::ranges::any_of(body.kept, leaves)) return std::nullopt;
  taking.returned.insert(read.element);
  taking.waits = body.waits;
  if (taking.waits) return taking;
  // What is made where the list is empty goes out the same way.
  const clang::ASTContext& context = symbols_.context();
  for (const auto& [variable, value] : body.set)
    if (context.hasSameUnqualifiedType(variable->getType(), type) &&
        std::ranges::any_of(body.returned, [&](const clang::Expr* out) { return names(out, variable); }))
      taking.blocks.insert(variable);
  for (const clang::Expr* value : body.returned)
    if (const clang::Expr* at = strip(value);
        isa<clang::CallExpr>(at) && context.hasSameUnqualifiedType(at->getType(), type))
      taking.returned.insert(at);
  return taking;
}

/// Blocks that the class of the list puts into it on its own: it may hold more than those that have come back.
bool FreeListSearch::is_filled_before(const clang::ValueDecl& container) const {
  llvm::DenseSet<const clang::FunctionDecl*> putting, taking;
  for (const auto& [function, body] : functions_)
    if (body.taken_out.contains(&container)) taking.insert(function->getCanonicalDecl());
  for (const Put& put : puts_) {
    if (put.container != &container) continue;
    if (put.block == nullptr) return true;
    putting.insert(put.function->getCanonicalDecl());
  }
  return std::ranges::any_of(functions_, [&](const auto& known) {
    // Who takes one out, too, gives back what is lent.
    const auto& [function, body] = known;
    bool puts = false, takes = body.taken_out.contains(&container);
    for (const clang::FunctionDecl* callee : body.called) {
      puts = puts || putting.contains(callee);
      takes = takes || taking.contains(callee);
    }
    return puts && !takes && is_of_class_around(*function, container);
  });
}

/// What comes out is what went in last; or may be that, as the list may hold no other.
bool FreeListSearch::gives_last(const OfFunction& body, const Read& read) const {
  const clang::ValueDecl& container = *read.list.container;
  if (is_sorted_queue(container)) return false;
  const bool last_first = read.end != ListEnd::ByKey && std::ranges::all_of(puts_, [&](const Put& put) {
                            return put.container != &container || put.block == nullptr || put.end == read.end;
                          });
  if (last_first) return true;
  const bool made_if_none =
      read.found != nullptr || read.searched || (body.asked_empty.contains(&container) && !body.either);
  return body.allocates && made_if_none && !is_filled_before(container);
}

FreeLists FreeListSearch::take() {
  FreeLists found;
  llvm::DenseMap<const clang::ValueDecl*, llvm::SmallVector<const Put*, 2>> given;
  for (Put& put : puts_) {
    read_given(put);
    if (put.block != nullptr) given[put.container].push_back(&put);
  }
  if (given.empty()) return found;
  llvm::DenseMap<const clang::ValueDecl*, llvm::SmallVector<FreeLists::Taking*, 2>> lists;
  for (auto& [function, body] : functions_) {
    read_found(body);
    for (const Read& read : body.read) {
      const auto puts = given.find(read.list.container);
      if (puts == given.end() || found.takings.contains(function) || !gives_last(body, read)) continue;
      std::optional<FreeLists::Taking> known = taking(body, read);
      if (!known) continue;
      if (const auto kinds = kinds_.find(class_of(*function)); kinds != kinds_.end())
        known->memory = kinds->second.only();
      found.takings.try_emplace(function, std::move(*known));
    }
  }
  for (auto& [function, taking] : found.takings) lists[named_container(taking.container).container].push_back(&taking);
  for (const auto& [container, takings] : lists) {
    const auto& puts = given[container];
    // By key only if all who use the list say one.
    const bool keyed = std::ranges::all_of(takings, [](const auto* taking) { return taking->found != nullptr; }) &&
                       std::ranges::all_of(puts, [](const Put* put) { return put->key != nullptr; });
    if (!keyed)
      for (FreeLists::Taking* taking : takings) taking->found = nullptr;
    for (const Put* put : puts)
      found.givings[put->call] = {.container = put->named,
                                  .block = put->block,
                                  .key = keyed ? put->key : nullptr,
                                  .own_key = put->own_key && (keyed || put->entry),
                                  .entry = put->entry};
  }
  for (const auto& [field, kinds] : of_fields_)
    if (const auto kind = kinds.only()) found.made[field] = *kind;
  return found;
}

}  // namespace

FreeLists find_free_lists(Symbols& symbols) {
  FreeListSearch search(symbols);
  search.TraverseDecl(symbols.context().getTranslationUnitDecl());
  return search.take();
}

}  // namespace streamsan::analyzer
