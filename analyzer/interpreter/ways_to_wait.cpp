// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A made-up caller with other users (Caller::Users) may show a conflict between calls of two users. It is the program's
// error only if neither user could have waited for the other. The run shows whether the called functions wait. This
// file looks at the rest: functions in sight that the caller does not call.
//
// WHOSE WORK. The classes of the objects, their bases, classes derived from them, and the classes of objects that they
// are given or refer to: a context that was made before, and is known to others.
//
// WHICH FUNCTIONS MAY WAIT. Methods of these classes that are not private, static ones too; friends, and other
// functions that read their fields: these may wait for, query or record any stream. All other functions may wait for
// the whole device, unless the file only calls them itself. A function without a body in sight may do anything, and so
// may one behind a pointer. A function that starts a host function in a stream notifies other code when the work is
// done, also if the caller calls it. Constructors and destructors do not count: users do not call them between two
// calls.
//
// Errs to silence: it does not ask what a wait is for.
#include "analyzer/interpreter/ways_to_wait.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/interpreter/caller_elements.h"
#include "analyzer/lowering/symbols.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer {

using clang::QualType;

namespace {

bool is_one_of(llvm::StringRef name, const auto& names) { return std::ranges::find(names, name) != names.end(); }

/// Templates of the standard library that only hold objects of their arguments.
bool only_holds(llvm::StringRef name) {
  static constexpr std::array<llvm::StringRef, 32> kPlain = {"vector",
                                                             "deque",
                                                             "list",
                                                             "forward_list",
                                                             "array",
                                                             "pair",
                                                             "tuple",
                                                             "optional",
                                                             "variant",
                                                             "map",
                                                             "multimap",
                                                             "unordered_map",
                                                             "set",
                                                             "multiset",
                                                             "unordered_set",
                                                             "queue",
                                                             "stack",
                                                             "priority_queue",
                                                             "span",
                                                             "basic_string",
                                                             "basic_string_view",
                                                             "unique_ptr",
                                                             "shared_ptr",
                                                             "weak_ptr",
                                                             "complex",
                                                             "bitset",
                                                             "reference_wrapper",
                                                             "duration",
                                                             "time_point",
                                                             "initializer_list",
                                                             "ratio",
                                                             "unordered_multimap"};
  return is_one_of(name, kPlain);
}
/// Template arguments that say how a container works.
bool is_policy(QualType type) {
  static constexpr std::array<llvm::StringRef, 7> kPolicies = {"allocator", "default_delete", "less",       "greater",
                                                               "hash",      "equal_to",       "char_traits"};
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && record->isInStdNamespace() && is_one_of(record->getName(), kPolicies);
}

const clang::CXXRecordDecl* canonical(QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record == nullptr ? nullptr : record->getCanonicalDecl();
}

/// Calls `use` for each class that a type is, refers to or has as a template argument.
template <typename Use>
void for_classes_in(QualType type, const Use& use, int depth = 0) {
  constexpr int kDeepest = 4;
  while (type->isPointerType() || type->isReferenceType()) type = type->getPointeeType();
  const clang::CXXRecordDecl* record = type->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
  if (record == nullptr || depth > kDeepest) return;
  use(*record->getCanonicalDecl());
  if (const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record))
    for (const clang::TemplateArgument& one : instance->getTemplateArgs().asArray())
      if (one.getKind() == clang::TemplateArgument::Type) for_classes_in(one.getAsType(), use, depth + 1);
}

/// Does a field refer to an object that others have, too?
bool refers(QualType type) {
  if (type->isPointerType() || type->isReferenceType()) return true;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && record->isInStdNamespace() &&
         (record->getName() == "shared_ptr" || record->getName() == "weak_ptr" ||
          record->getName() == "reference_wrapper");
}

/// The pattern of a function or a class that was made from a template.
const clang::FunctionDecl& pattern_of(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* pattern = function.getTemplateInstantiationPattern();
  return *(pattern == nullptr ? &function : pattern)->getCanonicalDecl();
}
const clang::CXXRecordDecl* pattern_of(const clang::CXXRecordDecl& record) {
  const clang::CXXRecordDecl* pattern = record.getTemplateInstantiationPattern();
  return (pattern == nullptr ? &record : pattern)->getCanonicalDecl();
}

/// A class that only holds its fields.
bool is_plain(const clang::CXXRecordDecl& record) {
  return record.isAggregate() &&
         std::ranges::all_of(record.methods(), [](const clang::CXXMethodDecl* each) { return each->isImplicit(); });
}

bool is_handle(Symbols& symbols, QualType type) {
  const ir::TypeKind kind = symbols.kind(type);
  return kind == ir::TypeKind::Stream || kind == ir::TypeKind::Event;
}

bool is_end_or_begin(const clang::FunctionDecl& function) {
  return llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(function);
}

}  // namespace

bool may_wait(Symbols& symbols, QualType type, int depth) {
  constexpr int kDeepest = 4;
  type = type.getNonReferenceType();
  if (is_handle(symbols, type) || depth > kDeepest) return true;
  while (type->isPointerType()) type = type->getPointeeType();
  if (type->isFunctionType()) return true;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return depth > 0 && type->isVoidType();
  const auto each = [&](QualType of) { return may_wait(symbols, of, depth + 1); };
  if (const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
      instance != nullptr && symbols.in_system_header(*record)) {
    const llvm::StringRef name = record->getName();
    if (name == "basic_string" || name == "basic_string_view" || name == "duration" || name == "time_point")
      return false;
    return !only_holds(name) ||
           std::ranges::any_of(instance->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& one) {
             return one.getKind() == clang::TemplateArgument::Type && !is_policy(one.getAsType()) &&
                    each(one.getAsType());
           });
  }
  if (record->getQualifiedNameAsString() == "at::Tensor" || record->getName().ends_with("mutex")) return false;
  if (!record->hasDefinition() || !record->isAggregate()) return true;
  return std::ranges::any_of(record->fields(), [&](const clang::FieldDecl* field) { return each(field->getType()); });
}

/// The facts about one function.
struct WaysToWait::Body {
  bool there = false;    ///< its body is in sight
  bool waits = false;    ///< it waits, queries or records
  bool for_all = false;  ///< it waits for all work of the device, or for unknown work
  bool tells = false;    ///< it starts a host function
  Functions calls;
  std::set<std::string> named;  ///< functions that it calls by name, in a template
  Classes reads;                ///< classes whose fields or private methods it uses
};

struct WaysToWait::Kept {
  std::map<const clang::FunctionDecl*, Body> bodies;
  Classes classes;  ///< classes defined in the file's own code
  /// Functions that wait, themselves or by a callee: for anything, and for all work of the device.
  Functions waiting, waiting_for_all;

  [[nodiscard]] bool is_there(const clang::FunctionDecl& function) const {
    const auto found = bodies.find(&function);
    return found != bodies.end() && found->second.there;
  }
  /// Its body is not in sight, so it may do anything.
  [[nodiscard]] bool is_elsewhere(const clang::FunctionDecl& function) const {
    return !is_there(function) && !function.isImplicit() && !function.isDefaulted() && !function.isPureVirtual() &&
           !function.isDeleted();
  }
  void find_waiting();
};

/// From functions that wait themselves back to all their callers, once for the whole file.
void WaysToWait::Kept::find_waiting() {
  std::map<const clang::FunctionDecl*, Functions> called_by;  // what overrides a method is called by it
  for (const auto& [function, body] : bodies) {
    if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(function))
      for (const clang::CXXMethodDecl* one : method->overridden_methods())
        called_by[function].insert(one->getCanonicalDecl());
    if (body.there)
      for (const clang::FunctionDecl* each : body.calls) called_by[each].insert(function);
  }
  const auto spread = [&](Functions& reached) {
    std::vector<const clang::FunctionDecl*> left(reached.begin(), reached.end());
    while (!left.empty()) {
      const auto callers = called_by.find(left.back());
      left.pop_back();
      if (callers == called_by.end()) continue;
      for (const clang::FunctionDecl* each : callers->second)
        if (reached.insert(each).second) left.push_back(each);
    }
  };
  for (const auto& [function, body] : bodies) {
    if (is_elsewhere(*function) || (body.there && body.waits)) waiting.insert(function);
    if (body.there && body.for_all) waiting_for_all.insert(function);
  }
  for (const auto& [function, callers] : called_by)
    if (is_elsewhere(*function)) waiting.insert(function);
  spread(waiting);
  spread(waiting_for_all);
}

class WaysToWait::Walk : public clang::DynamicRecursiveASTVisitor {
  using Base = clang::DynamicRecursiveASTVisitor;

 public:
  Walk(Symbols& symbols, Kept& kept) : symbols_(symbols), kept_(kept) { ShouldVisitTemplateInstantiations = true; }

  // Clang's names.
  bool TraverseDecl(clang::Decl* declaration) override {
    if (declaration == nullptr) return true;
    if (declaration->getLocation().isValid() && symbols_.in_system_header(*declaration)) return true;
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (function == nullptr) return Base::TraverseDecl(declaration);
    if (runs_on_device_only(*function)) return true;
    Body& body = kept_.bodies[&pattern_of(*function)];
    body.there = body.there || function->doesThisDeclarationHaveABody();
    Body* const before = std::exchange(body_, &body);
    Base::TraverseDecl(declaration);
    body_ = before;
    return true;
  }
  bool VisitCXXRecordDecl(clang::CXXRecordDecl* record) override {
    if (record->isThisDeclarationADefinition()) kept_.classes.insert(record->getCanonicalDecl());
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override { return names(*name->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* member) override {
    if (const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl()); field != nullptr && body_)
      if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(field->getParent()))
        body_->reads.insert(pattern_of(*record));
    return names(*member->getMemberDecl());
  }
  bool VisitOverloadExpr(clang::OverloadExpr* several) override {
    for (const clang::NamedDecl* one : several->decls()) names(*one->getUnderlyingDecl());
    return true;
  }
  /// A call in a template: the function depends on the arguments.
  bool VisitCXXDependentScopeMemberExpr(clang::CXXDependentScopeMemberExpr* member) override {
    if (body_ != nullptr) body_->named.insert(member->getMember().getAsString());
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override { return names(*made->getConstructor()); }
  bool VisitCallExpr(clang::CallExpr* call) override {
    if (body_ == nullptr || call->isTypeDependent() || llvm::isa<clang::CUDAKernelCallExpr>(call)) return true;
    body_->waits = body_->waits || call->getDirectCallee() == nullptr;
    return true;
  }
  /// A flag that somebody else sets.
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* read) override {
    if (body_ != nullptr && read->getCastKind() == clang::CK_LValueToRValue &&
        read->getSubExpr()->getType().isVolatileQualified())
      body_->waits = true;
    return true;
  }

 private:
  bool names(const clang::NamedDecl& declared) {
    const clang::NamedDecl* at = &declared;
    if (const auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(at)) at = pattern->getTemplatedDecl();
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(at);
    if (function != nullptr && body_ != nullptr) meet(*function);
    return true;
  }

  void meet(const clang::FunctionDecl& function) {
    const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
    const bool of_lambda = method != nullptr && method->getParent()->isLambda();  // its body is this one's
    if (of_lambda || runs_on_device_only(function) || function.getBuiltinID() != 0) return;
    const Symbols::Known& known = symbols_.known(function);
    if (method != nullptr && method->getAccess() == clang::AS_private)
      body_->reads.insert(pattern_of(*method->getParent()));
    if (known.model != nullptr) {
      meet(*known.model);
    } else if (known.callee.in_system_header) {
      body_->waits = body_->waits || is_of_threads(function);
    } else if (!known.harmless) {
      body_->calls.insert(&pattern_of(function));
    }
  }
  void meet(const Model& model) {
    using enum api::EffectKind;
    const api::EffectKind kind = model.effect.kind;
    if (model.action != ActionKind::Effect) {
      body_->waits = body_->waits || model.action == ActionKind::SyncObject || model.action == ActionKind::Elapsed;
      return;
    }
    static constexpr std::array kWaits = {SyncStream, SyncEvent,   QueryStream,   QueryEvent,  EventRecord,
                                          EventWait,  SyncContext, ContextRecord, ContextWait, StreamJoinsAll};
    static constexpr std::array kForAll = {SyncContext, ContextRecord, ContextWait, StreamJoinsAll};
    body_->waits = body_->waits || std::ranges::find(kWaits, kind) != kWaits.end();
    body_->for_all = body_->for_all || std::ranges::find(kForAll, kind) != kForAll.end();
    body_->tells = body_->tells || kind == HostFunction;
  }
  /// The call may wait for another thread, or query it.
  static bool is_of_threads(const clang::FunctionDecl& function) {
    const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
    if (method == nullptr || is_end_or_begin(function)) return false;
    const llvm::StringRef name = method->getParent()->getName();
    const std::string called = function.getNameAsString();
    const bool asks = called == "load" || called == "exchange" || called.starts_with("compare_exchange") ||
                      called.starts_with("test") || llvm::isa<clang::CXXConversionDecl>(method);
    return name.contains("future") || (name.contains("atomic") && asks) || name.contains("semaphore") ||
           name == "function" || called.starts_with("wait") || called.ends_with("wait") || called == "join";
  }

  Symbols& symbols_;
  Kept& kept_;
  Body* body_ = nullptr;
};

WaysToWait::WaysToWait(Symbols& symbols) : symbols_(symbols), kept_(std::make_unique<Kept>()) {
  Walk(symbols, *kept_).TraverseDecl(symbols.context().getTranslationUnitDecl());
  std::map<std::string, Functions> by_name;
  for (const auto& [function, body] : kept_->bodies) by_name[function->getNameAsString()].insert(function);
  for (auto& [function, body] : kept_->bodies)
    for (const std::string& name : body.named)
      if (const auto found = by_name.find(name); found != by_name.end())
        body.calls.insert(found->second.begin(), found->second.end());
  kept_->find_waiting();
}
WaysToWait::~WaysToWait() = default;

/// Does the function wait, or one that it calls?
bool WaysToWait::waits(const clang::FunctionDecl& function, bool for_all) const {
  const clang::FunctionDecl* const at = &pattern_of(function);
  const Functions& waiting = for_all ? kept_->waiting_for_all : kept_->waiting;
  return waiting.contains(at) || (!for_all && kept_->is_elsewhere(*at));
}

/// Adds the classes that these are related to, until there are no more.
void WaysToWait::add_related(Classes& classes) const {
  for (std::size_t before = 0; before != classes.size();) {
    before = classes.size();
    Classes more;
    const auto add = [&](const clang::CXXRecordDecl& record) {
      if (!record.hasDefinition() || symbols_.in_system_header(record) || is_plain(*record.getDefinition())) return;
      more.insert(record.getCanonicalDecl());
      more.insert(pattern_of(record));
    };
    for (const clang::CXXRecordDecl* each : classes) {
      const clang::CXXRecordDecl* record = each->getDefinition();
      if (record == nullptr) continue;
      for (const clang::CXXBaseSpecifier& base : record->bases())
        if (const clang::CXXRecordDecl* one = canonical(base.getType())) add(*one);
      for (const clang::CXXConstructorDecl* constructor : record->ctors())
        for (const clang::ParmVarDecl* parameter : constructor->parameters())
          if (refers(parameter->getType())) for_classes_in(parameter->getType(), add);
      for (const clang::FieldDecl* field : record->fields())
        if (refers(field->getType())) for_classes_in(field->getType(), add);
    }
    for (const clang::CXXRecordDecl* record : kept_->classes)
      if (record->hasDefinition() && !record->isDependentContext() &&
          std::ranges::any_of(classes, [&](const auto* base) {
            return base->hasDefinition() && record->getDefinition()->isDerivedFrom(base);
          }))
        add(*record);
    classes.merge(more);
  }
}

WaysToWait::Functions WaysToWait::reached_by(const Functions& called) const {
  Functions reached;
  std::vector<const clang::FunctionDecl*> left(called.begin(), called.end());
  while (!left.empty()) {
    const clang::FunctionDecl& at = pattern_of(*left.back());
    left.pop_back();
    if (!reached.insert(&at).second) continue;
    if (const auto found = kept_->bodies.find(&at); found != kept_->bodies.end())
      left.insert(left.end(), found->second.calls.begin(), found->second.calls.end());
  }
  return reached;
}

/// Those of the classes themselves have been looked at.
bool WaysToWait::lets_wait(QualType type, const Classes& classes) const {
  bool of_theirs = false;
  for_classes_in(type, [&](const clang::CXXRecordDecl& record) { of_theirs |= classes.contains(&record); });
  return !of_theirs && may_wait(symbols_, type);
}

/// Callers of the function get something to wait by, or pass a callback.
bool WaysToWait::gives(const clang::FunctionDecl& function, const Classes& classes) const {
  return lets_wait(function.getReturnType(), classes) ||
         std::ranges::any_of(function.parameters(), [&](const clang::ParmVarDecl* parameter) {
           const QualType type = parameter->getType();
           const bool out = type->isReferenceType() || type->isPointerType();
           return type->isFunctionPointerType() || is_named(type.getNonReferenceType(), "function") ||
                  (out && !type->getPointeeType().isConstQualified() && lets_wait(type, classes));
         });
}

WaysToWait::Offer WaysToWait::offered(const clang::CXXRecordDecl& user, Classes classes, const Functions& called,
                                      const Functions& used) const {
  bool own_handles = false;
  const auto by_another = [&](const clang::CXXRecordDecl& record) {
    const bool by_user = pattern_of(record) == pattern_of(user) || user.isDerivedFrom(&record);
    own_handles |= by_user;
    return !by_user;
  };
  for (const clang::CXXRecordDecl* record : classes)
    for (const clang::FieldDecl* field : record->getDefinition()->fields())
      if (field->getAccess() == clang::AS_public && lets_wait(field->getType(), classes) && by_another(*record))
        return Offer::Anything;
  add_related(classes);
  const Functions reached = reached_by(called);
  const bool any = std::ranges::any_of(kept_->bodies, [&](const auto& each) {
    const auto& [function, body] = each;
    const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
    const bool own = method != nullptr && classes.contains(method->getParent()->getCanonicalDecl());
    bool inside = own || std::ranges::any_of(body.reads, [&](const auto* one) { return classes.contains(one); });
    if (!body.there)
      for (const clang::ParmVarDecl* parameter : function->parameters())
        for_classes_in(parameter->getType(), [&](const auto& record) { inside |= classes.contains(&record); });
    if (inside && body.tells) return true;
    if (function->getAccess() == clang::AS_private || function->isDeleted() || function->isImplicit()) return false;
    if (is_end_or_begin(*function) && (own || !inside)) return false;
    const bool for_file = used.contains(function);
    const bool takes_away = for_file && (method == nullptr || !method->isConst());  // whoever is first
    if (inside && !takes_away && gives(*function, classes) && (!own || by_another(*method->getParent()))) return true;
    return !reached.contains(function) && (inside || !for_file) && waits(*function, /*for_all=*/!inside);
  });
  return any ? Offer::Anything : own_handles ? Offer::OwnHandles : Offer::Nothing;
}

}  // namespace streamsan::analyzer
