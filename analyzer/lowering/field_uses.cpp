// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over all function bodies outside system headers.
//
// A visitor meets a use of a field at the innermost expression, which does not tell what is done with it. So each
// construct that is understood (an assignment, a create call, a conversion to a value) claims the expressions that name
// its fields when it is visited, which is before them; a field that is met unclaimed is in foreign hands.
//
// Functions that run on the device alone have no handles of the host's and are left out (own_code_visitor.h).
#include "analyzer/lowering/field_uses.h"

#include <set>
#include <string>
#include <utility>

#include "analyzer/ir/naming.h"
#include "analyzer/lowering/called_model.h"
#include "analyzer/lowering/device_only.h"
#include "analyzer/lowering/fields.h"
#include "analyzer/lowering/spot_visitor.h"
#include "analyzer/models/host_calls.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

class Collect : public SpotVisitor {
  using Base = SpotVisitor;

 public:
  Collect(const clang::ASTContext& context, const Models& models) : context_(context), models_(models) {
    ShouldVisitTemplateInstantiations = true;
  }

  [[nodiscard]] const Models& models() const override { return models_; }
  FieldUses take() { return std::move(found_); }

  bool TraverseDecl(clang::Decl* declaration) override;
  bool TraverseCompoundStmt(clang::CompoundStmt* block) override;
  bool TraverseCXXForRangeStmt(clang::CXXForRangeStmt* loop) override;

  /// Null tests are no uses.
  void meet_condition(const clang::Expr& condition) override;

  bool VisitFieldDecl(clang::FieldDecl* field) override;
  bool VisitCXXConstructorDecl(clang::CXXConstructorDecl* constructor) override;
  bool VisitVarDecl(clang::VarDecl* variable) override;
  bool VisitInitListExpr(clang::InitListExpr* list) override;
  bool VisitCallExpr(clang::CallExpr* call) override;
  bool VisitBinaryOperator(clang::BinaryOperator* assignment) override;
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) override;
  bool VisitMemberExpr(clang::MemberExpr* expression) override { return unclaimed(expression); }
  bool VisitDeclRefExpr(clang::DeclRefExpr* expression) override { return unclaimed(expression); }

 private:
  [[nodiscard]] bool moves(const clang::CXXRecordDecl* of) const;
  [[nodiscard]] bool tracked(const clang::FieldDecl* field) const;
  /// The MemberExpr or DeclRefExpr in `expression` that names a field or local variable looked at; elements too.
  [[nodiscard]] const clang::Expr* leaf(const clang::Expr* expression) const;
  [[nodiscard]] const clang::ValueDecl* owner_of(const clang::Expr* leaf) const;
  void claim(const clang::Expr* leaf_or_null) { claimed_.insert(leaf_or_null); }
  /// Claimed, and its value is of no interest.
  void overlook(const clang::Expr* leaf_or_null) { claim(leaf_or_null), overlooked_.insert(leaf_or_null); }
  bool destroy(const clang::CallExpr& call, const Model& model);
  bool unclaimed(const clang::Expr* expression);
  bool make(const clang::CallExpr& call);
  bool change_container(const clang::CXXMemberCallExpr& call);
  /// `for (cudaStream_t* s : {&copy_, &compute_})`: what is done by `s` is done with each of them.
  void point_to_listed(const clang::VarDecl& variable, const clang::Expr* range);
  /// Those that `expression`, the loop variable, points to.
  [[nodiscard]] std::vector<const clang::ValueDecl*> listed(const clang::Expr* expression) const;
  void store(const clang::ValueDecl& where, const clang::Expr* value, const clang::Expr* target = nullptr);
  [[nodiscard]] Spot made_here(const clang::Expr* target);
  [[nodiscard]] bool is_empty(const clang::Expr& value) const;

  const clang::ASTContext& context_;
  const Models& models_;
  FieldUses found_;
  std::map<const clang::ValueDecl*, Uses>& uses_ = found_.uses;
  std::map<const clang::VarDecl*, const clang::ValueDecl*> aliases_;
  std::map<const clang::VarDecl*, std::vector<const clang::ValueDecl*>> listed_;
  std::set<const clang::Expr*> claimed_, overlooked_, given_to_model_;
  const clang::Stmt* block_ = nullptr;
};

bool Collect::TraverseDecl(clang::Decl* declaration) {
  if (declaration == nullptr) return true;
  const clang::SourceManager& sources = context_.getSourceManager();
  if (declaration->getLocation().isValid() && sources.isInSystemHeader(declaration->getLocation())) return true;
  const auto* function = dyn_cast<clang::FunctionDecl>(declaration);
  if (function != nullptr && (function->isDependentContext() || runs_on_device_only(*function))) return true;
  return Base::TraverseDecl(declaration);
}

bool Collect::TraverseCompoundStmt(clang::CompoundStmt* block) {
  const clang::Stmt* outer = std::exchange(block_, block);
  const bool go_on = Base::TraverseCompoundStmt(block);
  block_ = outer;
  return go_on;
}

void Collect::meet_condition(const clang::Expr& condition) {
  const clang::Expr* plain = condition.IgnoreParenImpCasts();
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(plain)) {
    if (!binary->isLogicalOp()) return;
    meet_condition(*binary->getLHS());
    return meet_condition(*binary->getRHS());
  }
  if (const auto* negated = dyn_cast<clang::UnaryOperator>(plain); negated && negated->getOpcode() == clang::UO_LNot) {
    return meet_condition(*negated->getSubExpr());
  }
  overlook(leaf(plain));
}

bool Collect::TraverseCXXForRangeStmt(clang::CXXForRangeStmt* loop) {
  const clang::Expr* range = leaf(loop->getRangeInit());
  clang::VarDecl* variable = loop->getLoopVariable();
  if (variable != nullptr) point_to_listed(*variable, loop->getRangeInit());
  if (range == nullptr || variable == nullptr) {
    return TraverseStmt(loop->getInit()) && TraverseStmt(loop->getRangeStmt()) &&
           TraverseStmt(loop->getLoopVarStmt()) && in_loop(*loop, loop->getBody(), nullptr);
  }
  // The hidden __range and __begin only lead from the field to the loop variable.
  claim(range);
  if (variable->getType()->isReferenceType()) aliases_[variable] = owner_of(range);
  return in_loop(*loop, loop->getBody(), nullptr);
}

void Collect::point_to_listed(const clang::VarDecl& variable, const clang::Expr* range) {
  if (!variable.getType()->isPointerType()) return;
  const clang::Expr* plain = range->IgnoreImplicit();
  if (const auto* standard = dyn_cast<clang::CXXStdInitializerListExpr>(plain)) plain = standard->getSubExpr();
  const auto* list = dyn_cast<clang::InitListExpr>(plain->IgnoreImplicit());
  if (list == nullptr) return;
  std::vector<const clang::Expr*> listed;
  for (const clang::Expr* item : list->inits()) {
    const auto* address = dyn_cast<clang::UnaryOperator>(item->IgnoreParenImpCasts());
    if (address == nullptr || address->getOpcode() != clang::UO_AddrOf) return;
    listed.push_back(leaf(address->getSubExpr()));
    if (listed.back() == nullptr) return;
  }
  for (const clang::Expr* item : listed) {
    claim(item);
    listed_[&variable].push_back(owner_of(item));
  }
}

bool Collect::tracked(const clang::FieldDecl* field) const {
  return field != nullptr && !field->getParent()->isLambda() &&
         !context_.getSourceManager().isInSystemHeader(field->getLocation()) &&
         handle_kind(field->getType(), models_) != ir::TypeKind::Other;
}

bool Collect::VisitFieldDecl(clang::FieldDecl* field) {
  if (!tracked(field) || field->getParent()->isDependentContext()) return true;
  Uses& uses = uses_[field];
  if (field->getType()->isReferenceType()) uses.foreign = true;
  if (const clang::Expr* initial = field->getInClassInitializer(); initial != nullptr && !is_empty(*initial)) {
    uses.foreign = true;
  }
  // A memberwise copy leaves two objects with one handle.
  const auto* record = dyn_cast<clang::CXXRecordDecl>(field->getParent());
  if (record == nullptr) return true;
  for (const clang::CXXMethodDecl* method : record->methods()) {
    const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(method);
    const bool copies = constructor != nullptr ? constructor->isCopyConstructor() : method->isCopyAssignmentOperator();
    if (copies && method->isDefaulted() && !method->isDeleted() && method->isUsed()) uses.copied = true;
  }
  return true;
}

bool Collect::VisitCXXConstructorDecl(clang::CXXConstructorDecl* constructor) {
  if (!constructor->isThisDeclarationADefinition() || constructor->isDefaulted()) return true;
  for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
    const clang::FieldDecl* field = initializer->getMember();
    if (initializer->isWritten() && tracked(field)) store(*field, initializer->getInit());
  }
  return true;
}

bool Collect::VisitVarDecl(clang::VarDecl* variable) {
  const clang::QualType type = variable->getType();
  if (type->isReferenceType()) {
    const clang::Expr* named = variable->hasInit() ? leaf(variable->getInit()) : nullptr;
    if (named != nullptr && !type->getPointeeType().isConstQualified()) {
      claim(named);
      aliases_[variable] = owner_of(named);
    }
  } else if (variable->isLocalVarDecl() && handle_kind(type, models_) != ir::TypeKind::Other) {
    uses_[variable];
    if (variable->hasInit()) store(*variable, variable->getInit());
  }
  return true;
}

bool Collect::VisitInitListExpr(clang::InitListExpr* list) {
  // Of the two forms of one list the visitor may show one or both. The semantic one has a value for each field.
  if (!list->isSyntacticForm()) return true;
  if (list->getSemanticForm() != nullptr) list = list->getSemanticForm();
  const auto* record = list->getType()->getAsCXXRecordDecl();
  if (record == nullptr || record->isUnion()) return true;
  unsigned next = record->getNumBases();
  for (const clang::FieldDecl* field : record->fields()) {
    if (field->isUnnamedBitField()) continue;
    if (next >= list->getNumInits()) break;
    const clang::Expr* value = list->getInit(next++);
    if (tracked(field) && !isa<clang::CXXDefaultInitExpr>(value)) store(*field, value);
  }
  return true;
}

const clang::ValueDecl* Collect::owner_of(const clang::Expr* named) const {
  if (const auto* member = dyn_cast<clang::MemberExpr>(named)) {
    const auto* field = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    return tracked(field) ? field : nullptr;
  }
  const auto* variable = dyn_cast<clang::VarDecl>(llvm::cast<clang::DeclRefExpr>(named)->getDecl());
  if (const auto alias = aliases_.find(variable); alias != aliases_.end()) return alias->second;
  return uses_.contains(variable) ? variable : nullptr;
}

const clang::Expr* Collect::leaf(const clang::Expr* expression) const {
  expression = expression->IgnoreParenImpCasts();
  if (isa<clang::MemberExpr, clang::DeclRefExpr>(expression)) {
    return owner_of(expression) != nullptr ? expression : nullptr;
  }
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(expression)) return leaf(element->getBase());
  if (const auto* element = dyn_cast<clang::CXXOperatorCallExpr>(expression)) {
    return element->getOperator() == clang::OO_Subscript ? leaf(element->getArg(0)) : nullptr;
  }
  if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(expression)) {
    const clang::CXXMethodDecl* method = call->getMethodDecl();
    if (method == nullptr || method->getIdentifier() == nullptr) return nullptr;
    static const std::set<llvm::StringRef> kElements = {"at", "front", "back", "data"};
    return kElements.contains(method->getName()) ? leaf(call->getImplicitObjectArgument()) : nullptr;
  }
  if (const auto* sum = dyn_cast<clang::BinaryOperator>(expression); sum && sum->getOpcode() == clang::BO_Add) {
    return leaf(sum->getLHS());
  }
  return nullptr;
}

bool Collect::moves(const clang::CXXRecordDecl* of) const {
  const auto* method = dyn_cast_or_null<clang::CXXMethodDecl>(function());
  if (method == nullptr || method->getParent() != of) return false;
  const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(method);
  return constructor != nullptr ? constructor->isMoveConstructor() : method->isMoveAssignmentOperator();
}

bool Collect::is_empty(const clang::Expr& value) const {
  const clang::Expr* plain = value.IgnoreParenImpCasts();
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(plain)) {
    // std::vector<cudaStream_t>(n), and the default; with a second argument it holds copies of one handle.
    const bool one_size = construction->getNumArgs() != 0 && construction->getArg(0)->getType()->isIntegerType();
    for (unsigned i = one_size ? 1 : 0; i < construction->getNumArgs(); ++i) {
      if (!construction->getArg(i)->isDefaultArgument()) return false;
    }
    return true;
  }
  if (const auto* list = dyn_cast<clang::InitListExpr>(plain)) {
    return llvm::all_of(list->inits(), [&](const clang::Expr* item) { return is_empty(*item); });
  }
  if (const auto* fresh = dyn_cast<clang::CXXNewExpr>(plain)) return !fresh->hasInitializer();
  if (isa<clang::ImplicitValueInitExpr, clang::CXXScalarValueInitExpr>(plain)) return true;
  // A constant handle such as cudaStreamPerThread is an integer cast by hand; only zero is null.
  return plain->isNullPointerConstant(const_cast<clang::ASTContext&>(context_),
                                      clang::Expr::NPC_ValueDependentIsNotNull) != clang::Expr::NPCK_NotNull;
}

/// Where `target` is filled. The field of another object in each round of a loop is filled in all of them; absent: of a
/// new one.
Spot Collect::made_here(const clang::Expr* target) {
  const clang::Expr* object = target;
  while (const auto* member = dyn_cast_or_null<clang::MemberExpr>(object)) {
    object = member->getBase()->IgnoreParenImpCasts();
  }
  const auto* name = dyn_cast_or_null<clang::DeclRefExpr>(object);
  const bool same = object != nullptr &&
                    (isa<clang::CXXThisExpr>(object) || (name != nullptr && isa<clang::ParmVarDecl>(name->getDecl())));
  Spot spot = here();
  if (!same) std::erase_if(spot.branches, [](const Branch& branch) { return branch.way == Way::Loop; });
  return spot;
}

void Collect::store(const clang::ValueDecl& where, const clang::Expr* value, const clang::Expr* target) {
  Uses& uses = uses_[&where];
  if (is_empty(*value)) return;
  const clang::Expr* plain = value->IgnoreParenImpCasts();
  const auto* field = dyn_cast<clang::FieldDecl>(&where);
  const auto* record = field != nullptr ? dyn_cast<clang::CXXRecordDecl>(field->getParent()) : nullptr;
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(plain);
      construction && construction->getNumArgs() == 1) {
    plain = construction->getArg(0)->IgnoreParenImpCasts();
  }
  if (const auto* call = dyn_cast<clang::CallExpr>(plain)) {
    const bool exchange = call->isCallToStdMove() || (call->getDirectCallee() != nullptr && call->getNumArgs() == 2 &&
                                                      call->getDirectCallee()->isInStdNamespace() &&
                                                      call->getDirectCallee()->getNameAsString() == "exchange");
    const clang::Expr* from = exchange ? leaf(call->getArg(0)) : nullptr;
    const bool leaves_empty = call->isCallToStdMove() ? moves(record) : exchange && is_empty(*call->getArg(1));
    if (from != nullptr && owner_of(from) == &where && leaves_empty) return claim(from);
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (!exchange && callee != nullptr && ir::gives_new(callee->getNameAsString())) {
      uses.taken.push_back(call->getBeginLoc().getRawEncoding());
      return;
    }
  } else if (const clang::Expr* from = leaf(plain)) {
    if (owner_of(from) == &where && record != nullptr && moves(record)) return;
    const auto* local = dyn_cast<clang::VarDecl>(owner_of(from));
    if (local != nullptr && field != nullptr) {
      ++uses_[local].given_away;
      found_.handovers.push_back({field, local, block_, made_here(target)});
      return;
    }
    if (local != nullptr) ++uses_[local].given_away;
  }
  uses.foreign = true;
}

bool Collect::destroy(const clang::CallExpr& call, const Model& model) {
  const api::Effect& effect = model.effect;
  if (effect.kind != api::EffectKind::StreamDestroy && effect.kind != api::EffectKind::EventDestroy) return false;
  if (effect.object < 0 || static_cast<unsigned>(effect.object) >= call.getNumArgs()) return false;
  const clang::Expr* handle = leaf(call.getArg(static_cast<unsigned>(effect.object)));
  if (handle == nullptr) return false;
  overlook(handle);
  uses_[owner_of(handle)].destroyed.push_back(here());
  return true;
}

bool Collect::make(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr || callee->getIdentifier() == nullptr) return false;
  if (host_call(callee->getName()) == HostCall::PushConfiguration)
    for (const clang::Expr* argument : call.arguments()) given_to_model_.insert(leaf(argument));
  const Model* model = called_model(models_, call);
  if (model != nullptr)
    for (const clang::Expr* argument : call.arguments()) given_to_model_.insert(leaf(argument));
  if (model == nullptr || model->action != ActionKind::Effect) return false;
  if (destroy(call, *model)) return true;
  const api::Effect& effect = model->effect;
  const bool stream = effect.kind == api::EffectKind::StreamCreate;
  if ((!stream && effect.kind != api::EffectKind::EventCreate) || effect.object < 0) return false;
  if (static_cast<unsigned>(effect.object) >= call.getNumArgs()) return false;

  const clang::Expr* out = call.getArg(static_cast<unsigned>(effect.object))->IgnoreParenCasts();
  if (const auto* address = dyn_cast<clang::UnaryOperator>(out); address && address->getOpcode() == clang::UO_AddrOf) {
    out = address->getSubExpr();
  }
  std::vector<const clang::ValueDecl*> owners = listed(out);
  const clang::Expr* made = owners.empty() ? leaf(out) : nullptr;
  if (made != nullptr) owners.push_back(owner_of(made));
  if (owners.empty()) return true;
  claim(made != nullptr ? made : out);
  Making making{model->stream_kind, model->timing, made_here(made), call.getBeginLoc().getRawEncoding()};
  clang::Expr::EvalResult flags;
  if (effect.flags >= 0 && static_cast<unsigned>(effect.flags) < call.getNumArgs() &&
      call.getArg(static_cast<unsigned>(effect.flags))->EvaluateAsInt(flags, context_)) {
    constexpr unsigned kNonBlocking = 1;
    constexpr unsigned kDisableTiming = 2;
    const std::uint64_t bits = flags.Val.getInt().getZExtValue();
    if (stream) {
      making.stream_kind =
          (bits & kNonBlocking) != 0 ? ordering::StreamKind::NonBlocking : ordering::StreamKind::Blocking;
    } else {
      making.timing = (bits & kDisableTiming) == 0;
    }
  }
  for (const clang::ValueDecl* owner : owners) {
    uses_[owner].makings.push_back(making);
    uses_[owner].made_in = block_;
  }
  return true;
}

std::vector<const clang::ValueDecl*> Collect::listed(const clang::Expr* expression) const {
  const auto* name = dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
  const auto found = name != nullptr ? listed_.find(dyn_cast<clang::VarDecl>(name->getDecl())) : listed_.end();
  return found != listed_.end() ? found->second : std::vector<const clang::ValueDecl*>();
}

/// A member function of a vector of handles. False: not one that is known.
bool Collect::change_container(const clang::CXXMemberCallExpr& call) {
  const clang::Expr* object = leaf(call.getImplicitObjectArgument());
  const clang::CXXMethodDecl* method = call.getMethodDecl();
  if (object == nullptr || method == nullptr || method->getIdentifier() == nullptr) return false;
  if (!method->getParent()->isInStdNamespace()) return false;
  static const std::set<llvm::StringRef> kAdd = {"push_back", "emplace_back"};
  static const std::set<llvm::StringRef> kClear = {"resize", "reserve",       "clear", "pop_back",
                                                   "erase",  "shrink_to_fit", "size",  "empty"};
  static const std::set<llvm::StringRef> kElement = {"at", "front", "back", "data"};
  const clang::ValueDecl& where = *owner_of(object);
  const llvm::StringRef name = method->getName();
  if (kElement.contains(name)) return true;  // as good as what is done with the element
  claim(object);
  if (kAdd.contains(name) && call.getNumArgs() == 1) {
    store(where, call.getArg(0));
  } else if (name == "resize" && call.getNumArgs() == 2 && !is_empty(*call.getArg(1))) {
    uses_[&where].foreign = true;
  } else if (!kClear.contains(name) && !method->isConst()) {
    uses_[&where].foreign = true;
  }
  return true;
}

bool Collect::VisitCallExpr(clang::CallExpr* call) {
  if (make(*call)) return true;
  if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(call); member && change_container(*member)) return true;
  if (const auto* assignment = dyn_cast<clang::CXXOperatorCallExpr>(call)) {
    const clang::Expr* target = assignment->getOperator() == clang::OO_Equal ? leaf(assignment->getArg(0)) : nullptr;
    if (target == nullptr) return true;
    claim(target);
    store(*owner_of(target), assignment->getArg(1));
    return true;
  }
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (callee != nullptr && callee->hasBody()) found_.calls.emplace_back(callee->getCanonicalDecl(), here());
  if (callee == nullptr || !callee->isInStdNamespace() || callee->getIdentifier() == nullptr) return true;
  const clang::Expr* first = call->getNumArgs() == 2 ? leaf(call->getArg(0)) : nullptr;
  if (first == nullptr) return true;
  if (callee->getName() == "swap") {
    const clang::Expr* second = leaf(call->getArg(1));
    if (second != nullptr && owner_of(first) == owner_of(second)) {
      claim(first);
      claim(second);
    }
  } else if (callee->getName() == "exchange") {
    claim(first);
    store(*owner_of(first), call->getArg(1));
  }
  return true;
}

bool Collect::VisitBinaryOperator(clang::BinaryOperator* assignment) {
  if (assignment->isEqualityOp()) {
    for (const clang::Expr* side : {assignment->getLHS(), assignment->getRHS()}) overlook(leaf(side));
  }
  const clang::Expr* target = assignment->isAssignmentOp() ? leaf(assignment->getLHS()) : nullptr;
  if (target == nullptr) return true;
  claim(target);
  if (!failing() && is_empty(*assignment->getRHS())) uses_[owner_of(target)].cleared.push_back(here());
  store(*owner_of(target), assignment->getRHS(), target);
  return true;
}

bool Collect::VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) {
  const bool read = cast->getCastKind() == clang::CK_LValueToRValue;
  // `*s` of such a loop is read; other uses of `s` may do anything.
  if (const auto* at = dyn_cast<clang::UnaryOperator>(cast->getSubExpr()->IgnoreParens());
      read && at != nullptr && at->getOpcode() == clang::UO_Deref) {
    for (const clang::ValueDecl* owner : listed(at->getSubExpr())) {
      claim(at->getSubExpr()->IgnoreParenImpCasts());
      uses_[owner].readings.push_back(here());
      uses_[owner].passed_on = true;
    }
  }
  const bool made_const = cast->getCastKind() == clang::CK_NoOp && cast->getType().isConstQualified();
  if (read || made_const) {
    if (const clang::Expr* named = leaf(cast->getSubExpr())) {
      claim(named);
      if (overlooked_.contains(named)) return true;
      uses_[owner_of(named)].readings.push_back(here());
      uses_[owner_of(named)].passed_on |= !given_to_model_.contains(named);
    }
  }
  return true;
}

bool Collect::unclaimed(const clang::Expr* expression) {
  if (!claimed_.contains(expression))
    for (const clang::ValueDecl* listed_owner : listed(expression)) uses_[listed_owner].foreign = true;
  // In a const member function there is nothing to be feared.
  if (context_.getBaseElementType(expression->getType()).isConstQualified()) return true;
  const clang::ValueDecl* owner = owner_of(expression);
  if (owner != nullptr && !claimed_.contains(expression)) uses_[owner].foreign = true;
  return true;
}

}  // namespace

FieldUses collect_field_uses(clang::ASTContext& context, const Models& models) {
  Collect collect(context, models);
  collect.TraverseDecl(context.getTranslationUnitDecl());
  return collect.take();
}

}  // namespace streamsan::analyzer
