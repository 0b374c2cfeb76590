// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Is a launch programmatic? What its configuration says, read off the statements that fill it.
//
//   cudaLaunchAttribute attribute[1];
//   attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
//   attribute[0].val.programmaticStreamSerializationAllowed = 1;
//   config.attrs = attribute;
//   config.numAttrs = 1;
//   cudaLaunchKernelEx(&config, kernel, ...);
//
// The configuration and its attributes are variables of the function that launches. What is assigned to them is found
// by field name, in the order of the source, here and in functions that are given them. The last one in front of the
// launch counts; one under a condition that the launch is not under counts as perhaps, and so does a value that is no
// constant. A configuration that comes from elsewhere is taken not to have the attribute: that errs towards silence.
//
// Programs put all this into a helper that is given the kernel. In its body kernel, stream and arguments are parameters,
// and mean what the caller passes for them; such a call is a launch in the caller. So do the stream and the choice
// whether to overlap, which may come in a structure: its parts are known where the caller's variable is constant.
#include "analyzer/lowering/programmatic.h"

#include <algorithm>
#include <vector>

#include "analyzer/lowering/symbols.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace streamsan::analyzer::host {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using ir::Certainty;

constexpr unsigned kDeepestHelpers = 2;

const clang::Expr* plain(const clang::Expr* expression) {
  while (expression != nullptr) {
    const clang::Expr* inner = expression->IgnoreParenCasts()->IgnoreImplicit();
    if (const auto* unary = dyn_cast<clang::UnaryOperator>(inner);
        unary != nullptr && (unary->getOpcode() == clang::UO_AddrOf || unary->getOpcode() == clang::UO_Deref)) {
      inner = unary->getSubExpr();
    } else if (const auto* call = dyn_cast<clang::CallExpr>(inner); call != nullptr && call->getNumArgs() == 1 &&
                                                                    call->getDirectCallee() != nullptr &&
                                                                    call->getDirectCallee()->isInStdNamespace()) {
      inner = call->getArg(0);  // std::forward, std::move, std::addressof
    } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(inner);
               made != nullptr && made->getNumArgs() == 1) {
      inner = made->getArg(0);
    }
    if (inner == expression) return expression;
    expression = inner;
  }
  return nullptr;
}

/// The variable that `expression` names, or a part of which it names: `attribute[0].val`, `attributes.data()`.
const clang::ValueDecl* root(const clang::Expr* expression) {
  for (const clang::Expr* at = plain(expression); at != nullptr;) {
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(at)) return reference->getDecl();
    if (const auto* member = dyn_cast<clang::MemberExpr>(at)) {
      const clang::Expr* base = plain(member->getBase());
      if (llvm::isa<clang::CXXThisExpr>(base)) return member->getMemberDecl();
      at = base;
    } else if (const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(at)) {
      at = plain(subscript->getBase());
    } else if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(at)) {
      at = operation->getNumArgs() == 0 ? nullptr : plain(operation->getArg(0));
    } else if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(at)) {
      at = plain(call->getImplicitObjectArgument());
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

bool is_attribute(llvm::StringRef name) {
  return name.ends_with("ProgrammaticStreamSerialization") || name.ends_with("PROGRAMMATIC_STREAM_SERIALIZATION");
}

/// The attribute's enumerator is named somewhere in it.
bool names_attribute(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(statement))
    return reference->getDecl()->getIdentifier() != nullptr && is_attribute(reference->getDecl()->getName());
  return std::any_of(statement->child_begin(), statement->child_end(), names_attribute);
}

/// A call of the function that launches, by which its parameters have values.
struct HelperCaller {
  const clang::CallExpr* call = nullptr;
  const clang::FunctionDecl* helper = nullptr;

  /// What the parameter is given; nullptr: it is none of the helper's.
  [[nodiscard]] const clang::Expr* given(const clang::Expr* parameter) const {
    const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(plain(parameter));
    const auto* declared = reference == nullptr ? nullptr : dyn_cast<clang::ParmVarDecl>(reference->getDecl());
    if (call == nullptr || declared == nullptr) return nullptr;
    const unsigned at = declared->getFunctionScopeIndex();
    if (at >= call->getNumArgs() || at >= helper->getNumParams() || helper->getParamDecl(at) != declared)
      return nullptr;
    return call->getArg(at);
  }

  /// What a part of the parameter was initialised with, if the caller's variable is constant or a temporary.
  [[nodiscard]] const clang::Expr* given_part(const clang::MemberExpr& part) const {
    const auto* field = dyn_cast<clang::FieldDecl>(part.getMemberDecl());
    const clang::Expr* whole = plain(given(part.getBase()));
    if (const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(whole)) {
      const auto* variable = dyn_cast<clang::VarDecl>(reference->getDecl());
      const bool constant = variable != nullptr && variable->getType().isConstQualified() && variable->hasInit();
      whole = constant ? plain(variable->getInit()) : nullptr;
    }
    const auto* list = dyn_cast_or_null<clang::InitListExpr>(whole);
    if (list == nullptr || field == nullptr || list->getType()->getAsRecordDecl() != field->getParent() ||
        field->getParent()->isUnion())
      return nullptr;
    const clang::InitListExpr& all =
        list->isSemanticForm() || list->getSemanticForm() == nullptr ? *list : *list->getSemanticForm();
    return field->getFieldIndex() < all.getNumInits() ? all.getInit(field->getFieldIndex()) : nullptr;
  }
};

Certainty truth(const clang::Expr* value, const clang::ASTContext& context, const HelperCaller& caller) {
  clang::Expr::EvalResult known;
  if (value == nullptr) return Certainty::No;
  if (value->isValueDependent()) return Certainty::Perhaps;
  if (value->EvaluateAsInt(known, context)) return known.Val.getInt().isZero() ? Certainty::No : Certainty::Yes;
  const clang::Expr* inner = value->IgnoreParenImpCasts();
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(inner)) {
    const Certainty chosen = truth(choice->getCond(), context, caller);
    const Certainty one = truth(choice->getTrueExpr(), context, caller);
    const Certainty other = truth(choice->getFalseExpr(), context, caller);
    return chosen == Certainty::Yes ? one : chosen == Certainty::No ? other : one == other ? one : Certainty::Perhaps;
  }
  const auto* part = dyn_cast<clang::MemberExpr>(inner);
  const clang::Expr* given = part != nullptr ? caller.given_part(*part) : caller.given(inner);
  // The caller's own parameters are anything.
  return given == nullptr ? Certainty::Perhaps : truth(given, context, HelperCaller());
}

enum class Part : std::uint8_t { Attributes, Count, Id, Allowed };

/// `part` of the variable gets a value.
struct Setting {
  const clang::ValueDecl* variable = nullptr;
  Part part = Part::Id;
  Certainty value = Certainty::No;
  const clang::ValueDecl* target = nullptr;      ///< Attributes: the variable pointed to
  std::vector<const clang::Stmt*> conditions{};  ///< that it stands under
};

/// All settings of a function, in source order, up to one expression.
class Settings {
 public:
  Settings(const clang::ASTContext& context, const clang::Stmt* until, const HelperCaller& caller)
      : context_(context), until_(until), caller_(caller) {}

  void collect(const clang::Stmt* body) { walk(body); }

  /// What `part` of the variable is at the launch. `perhaps` is set if a condition decides about that.
  [[nodiscard]] const Setting* last(const clang::ValueDecl* variable, Part part, bool& perhaps) const {
    const Setting* result = nullptr;
    bool under_condition = false;
    for (const Setting& setting : settings_) {
      if (setting.variable != variable || setting.part != part) continue;
      const bool surely = std::ranges::all_of(setting.conditions, [&](const clang::Stmt* condition) {
        return std::ranges::find(launch_conditions_, condition) != launch_conditions_.end();
      });
      if (part == Part::Id && setting.value == Certainty::No && result != nullptr) continue;  // another attribute's
      under_condition = !surely && (under_condition || result == nullptr || result->value != setting.value);
      result = &setting;
    }
    perhaps = perhaps || under_condition;
    return result;
  }

 private:
  void walk(const clang::Stmt* statement) {
    if (statement == nullptr || done_) return;
    if (statement == until_) {
      launch_conditions_ = conditions_;
      done_ = true;
      return;
    }
    if (llvm::isa<clang::LambdaExpr>(statement)) return;
    if (const auto* condition = dyn_cast<clang::IfStmt>(statement)) {
      walk(condition->getInit());
      walk(condition->getCond());
      // `if !consteval` has no condition, and holds where the program runs.
      const Certainty asked =
          condition->isNegatedConsteval() ? Certainty::Yes : truth(condition->getCond(), context_, caller_);
      const bool holds = asked == Certainty::Yes, known = asked != Certainty::Perhaps;
      for (const clang::Stmt* branch : {condition->getThen(), condition->getElse()}) {
        if (branch == nullptr || (known && holds != (branch == condition->getThen()))) continue;
        if (known) {
          walk(branch);
        } else {
          under(branch);
        }
      }
      return;
    }
    if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::SwitchStmt, clang::CXXForRangeStmt,
                  clang::AbstractConditionalOperator>(statement)) {
      conditions_.push_back(statement);
      for (const clang::Stmt* child : statement->children()) walk(child);
      if (!done_) conditions_.pop_back();
      return;
    }
    if (const auto* declarations = dyn_cast<clang::DeclStmt>(statement))
      for (const clang::Decl* declaration : declarations->decls())
        if (const auto* variable = dyn_cast<clang::VarDecl>(declaration); variable != nullptr && variable->hasInit())
          initial(*variable, *variable->getInit());
    for (const clang::Stmt* child : statement->children()) walk(child);
    if (done_) return;
    if (const auto* binary = dyn_cast<clang::BinaryOperator>(statement); binary != nullptr && binary->isAssignmentOp())
      assignment(*binary->getLHS(), binary->getRHS());
    if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(statement);
        operation != nullptr && operation->getOperator() == clang::OO_Equal && operation->getNumArgs() == 2)
      assignment(*operation->getArg(0), operation->getArg(1));
    if (const auto* call = dyn_cast<clang::CallExpr>(statement)) pass(*call);
  }

  void under(const clang::Stmt* branch) {
    conditions_.push_back(branch);
    walk(branch);
    if (!done_) conditions_.pop_back();
  }

  void set(const clang::ValueDecl* variable, llvm::StringRef field, const clang::Expr* value) {
    variable = renamed(variable);
    if (variable == nullptr) return;
    Setting setting{.variable = variable, .conditions = conditions_};
    if (field == "attrs") {
      setting.part = Part::Attributes;
      setting.target = renamed(root(value));
      setting.value = setting.target != nullptr ? Certainty::Yes : Certainty::No;
    } else if (field == "numAttrs") {
      setting.part = Part::Count;
      setting.value = truth(value, context_, caller_);
    } else if (field == "id") {
      setting.part = Part::Id;
      setting.value = names_attribute(value) ? Certainty::Yes : Certainty::No;
    } else if (field == "programmaticStreamSerializationAllowed") {
      setting.part = Part::Allowed;
      setting.value = truth(value, context_, caller_);
    } else {
      return;
    }
    settings_.push_back(std::move(setting));
  }

  void assignment(const clang::Expr& to, const clang::Expr* value) {
    const auto* member = dyn_cast<clang::MemberExpr>(to.IgnoreParenImpCasts());
    if (member != nullptr) return set(root(&to), member->getMemberDecl()->getName(), value);
    if (const auto* list = dyn_cast_or_null<clang::InitListExpr>(plain(value))) parts(root(&to), *list);
  }

  void initial(const clang::VarDecl& variable, const clang::Expr& value) {
    const auto* list = dyn_cast<clang::InitListExpr>(value.IgnoreParenImpCasts());
    if (list != nullptr) parts(&variable, *list);
    if (variable.getType()->isReferenceType() || variable.getType()->isPointerType()) {
      const clang::ValueDecl* named = root(&value);
      const clang::CXXRecordDecl* record = variable.getType()->getPointeeCXXRecordDecl();
      if (record == nullptr) record = variable.getType().getNonReferenceType()->getAsCXXRecordDecl();
      if (named != nullptr && record != nullptr && record->getName().contains_insensitive("Launch"))
        names_.push_back({&variable, renamed(named)});
    }
  }

  void parts(const clang::ValueDecl* variable, const clang::InitListExpr& list) {
    if (variable == nullptr) return;
    const clang::InitListExpr& all =
        list.isSemanticForm() || list.getSemanticForm() == nullptr ? list : *list.getSemanticForm();
    const auto* record = all.getType()->getAsRecordDecl();
    if (record == nullptr) {
      for (const clang::Expr* item : all.inits())
        if (const auto* inner = dyn_cast_or_null<clang::InitListExpr>(plain(item))) parts(variable, *inner);
      return;
    }
    if (record->isUnion()) {
      if (const clang::FieldDecl* field = all.getInitializedFieldInUnion(); field != nullptr && all.getNumInits() == 1)
        set(variable, field->getName(), all.getInit(0));
      return;
    }
    unsigned next = 0;
    for (const clang::FieldDecl* field : record->fields()) {
      if (next >= all.getNumInits()) break;
      const clang::Expr* item = all.getInit(next++);
      if (item == nullptr || llvm::isa<clang::ImplicitValueInitExpr>(item)) continue;
      if (const auto* inner = dyn_cast<clang::InitListExpr>(item->IgnoreParenImpCasts())) {
        parts(variable, *inner);
      } else {
        set(variable, field->getName(), item);
      }
    }
  }

  /// A function that is given one of the variables may set it.
  void pass(const clang::CallExpr& call) {
    const clang::FunctionDecl* definition = nullptr;
    if (call.getDirectCallee() == nullptr || call.getDirectCallee()->getBody(definition) == nullptr) return;
    if (deep_ >= kDeepestHelpers || definition->isDependentContext()) return;
    const std::size_t known = names_.size();
    const bool operation = llvm::isa<clang::CXXOperatorCallExpr>(call) && llvm::isa<clang::CXXMethodDecl>(definition);
    for (unsigned i = 0; i < definition->getNumParams(); ++i) {
      const unsigned given = i + (operation ? 1 : 0);
      if (given >= call.getNumArgs()) break;
      const clang::ParmVarDecl* parameter = definition->getParamDecl(i);
      const clang::QualType type = parameter->getType();
      if (!type->isReferenceType() && !type->isPointerType()) continue;
      const clang::RecordDecl* record = type->getPointeeType()->getAsRecordDecl();
      if (record == nullptr || !record->getName().contains_insensitive("Launch")) continue;
      if (const clang::ValueDecl* variable = root(call.getArg(given))) names_.push_back({parameter, renamed(variable)});
    }
    if (names_.size() == known) return;
    ++deep_;
    walk(definition->getBody());
    --deep_;
    names_.resize(known);
  }

  [[nodiscard]] const clang::ValueDecl* renamed(const clang::ValueDecl* variable) const {
    for (auto name = names_.rbegin(); name != names_.rend(); ++name)
      if (name->first == variable) return name->second;
    return variable;
  }

  const clang::ASTContext& context_;
  const clang::Stmt* until_;
  HelperCaller caller_;
  bool done_ = false;
  unsigned deep_ = 0;
  std::vector<const clang::Stmt*> conditions_, launch_conditions_;
  std::vector<Setting> settings_;
  std::vector<std::pair<const clang::ValueDecl*, const clang::ValueDecl*>> names_;  ///< parameters, references
};

/// A launch by a configuration, which may have attributes.
bool is_launch(Symbols& symbols, const clang::FunctionDecl& callee) {
  const Model* model = symbols.known(callee).model;
  return model != nullptr && model->effect.kind == api::EffectKind::LaunchConfig;
}

/// The helper does nothing else in streams: its other calls of the API have no effect there.
bool only_launches(Symbols& symbols, const clang::Stmt* statement) {
  if (statement == nullptr) return true;
  if (llvm::isa<clang::CUDAKernelCallExpr>(statement)) return false;
  if (const auto* call = dyn_cast<clang::CallExpr>(statement))
    if (const clang::FunctionDecl* callee = call->getDirectCallee(); callee != nullptr && callee->getIdentifier()) {
      const Model* model = symbols.known(*callee).model;
      const bool in_api = model != nullptr && model->of_api != ir::Api::None;
      if (in_api && model->action != ActionKind::Nothing && !is_launch(symbols, *callee)) return false;
    }
  return std::all_of(statement->child_begin(), statement->child_end(),
                     [&](const clang::Stmt* child) { return only_launches(symbols, child); });
}

void find_launches(Symbols& symbols, const clang::Stmt* statement, std::vector<const clang::CallExpr*>& found) {
  if (statement == nullptr) return;
  if (const auto* call = dyn_cast<clang::CallExpr>(statement);
      call != nullptr && call->getDirectCallee() != nullptr && is_launch(symbols, *call->getDirectCallee()))
    found.push_back(call);
  for (const clang::Stmt* child : statement->children()) find_launches(symbols, child, found);
}

bool is_assigned(const clang::Stmt* statement, const clang::VarDecl& variable) {
  if (statement == nullptr) return false;
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(statement); binary != nullptr && binary->isAssignmentOp())
    if (const auto* named = dyn_cast<clang::DeclRefExpr>(binary->getLHS()->IgnoreParenImpCasts());
        named != nullptr && named->getDecl() == &variable)
      return true;
  return std::any_of(statement->child_begin(), statement->child_end(),
                     [&](const clang::Stmt* child) { return is_assigned(child, variable); });
}

/// What is assigned to `config.stream`.
const clang::Expr* stream_of(const clang::Stmt* statement, const clang::ValueDecl* config, bool& twice) {
  const clang::Expr* found = nullptr;
  const auto take = [&](const clang::Expr* value) {
    twice = twice || (found != nullptr && value != nullptr);
    if (value != nullptr) found = value;
  };
  if (statement == nullptr) return nullptr;
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(statement); binary != nullptr && binary->isAssignmentOp()) {
    const auto* member = dyn_cast<clang::MemberExpr>(binary->getLHS()->IgnoreParenImpCasts());
    if (member != nullptr && member->getMemberDecl()->getName() == "stream" && root(member) == config)
      take(binary->getRHS());
  }
  if (const auto* declarations = dyn_cast<clang::DeclStmt>(statement))
    for (const clang::Decl* declaration : declarations->decls())
      if (const auto* variable = dyn_cast<clang::VarDecl>(declaration); variable == config && variable->hasInit())
        if (const auto* list = dyn_cast<clang::InitListExpr>(variable->getInit()->IgnoreParenImpCasts()))
          if (const auto* record = list->getType()->getAsRecordDecl())
            for (const clang::FieldDecl* field : record->fields())
              if (field->getName() == "stream" && field->getFieldIndex() < list->getNumInits()) {
                const clang::Expr* item = list->getInit(field->getFieldIndex());
                if (item != nullptr && !llvm::isa<clang::ImplicitValueInitExpr>(item)) take(item);
              }
  for (const clang::Stmt* child : statement->children()) take(stream_of(child, config, twice));
  return found;
}

Certainty programmatic(const clang::FunctionDecl& function, const clang::Expr& launch, const clang::Expr& config,
                       const HelperCaller& caller) {
  const clang::ValueDecl* variable = root(&config);
  if (variable == nullptr || !function.hasBody()) return Certainty::No;
  Settings settings(function.getASTContext(), &launch, caller);
  settings.collect(function.getBody());
  bool perhaps = false;
  const Setting* attributes = settings.last(variable, Part::Attributes, perhaps);
  const Setting* count = settings.last(variable, Part::Count, perhaps);
  if (attributes == nullptr || attributes->target == nullptr || count == nullptr) return Certainty::No;
  const Setting* id = settings.last(attributes->target, Part::Id, perhaps);
  const Setting* allowed = settings.last(attributes->target, Part::Allowed, perhaps);
  if (id == nullptr || allowed == nullptr) return Certainty::No;
  Certainty result = std::min(allowed->value, count->value);
  if (id->value == Certainty::No) result = Certainty::No;
  return perhaps ? std::min(result, Certainty::Perhaps) : result;
}

}  // namespace

Certainty programmatic(const clang::FunctionDecl& function, const clang::Expr& launch, const clang::Expr& config) {
  return programmatic(function, launch, config, HelperCaller());
}

const clang::FunctionDecl* kernel_in_variable(const clang::FunctionDecl& function, const clang::Expr& pointer) {
  const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(plain(&pointer));
  const auto* variable = reference == nullptr ? nullptr : dyn_cast<clang::VarDecl>(reference->getDecl());
  if (variable == nullptr || !variable->hasLocalStorage() || !variable->hasInit() || !function.hasBody() ||
      is_assigned(function.getBody(), *variable))
    return nullptr;
  const auto* named = dyn_cast_or_null<clang::DeclRefExpr>(plain(variable->getInit()));
  const auto* kernel = named == nullptr ? nullptr : dyn_cast<clang::FunctionDecl>(named->getDecl());
  return kernel != nullptr && kernel->hasAttr<clang::CUDAGlobalAttr>() ? kernel : nullptr;
}

std::optional<HelperLaunch> helper_launch(Symbols& symbols, const clang::CallExpr& call) {
  const clang::FunctionDecl* helper = nullptr;
  if (call.getDirectCallee() == nullptr || llvm::isa<clang::CXXOperatorCallExpr>(call) ||
      call.getDirectCallee()->getBody(helper) == nullptr || is_launch(symbols, *helper) || helper->isDependentContext())
    return std::nullopt;
  HelperLaunch result;
  const clang::ParmVarDecl* slot = nullptr;
  for (unsigned i = 0; i < call.getNumArgs() && i < helper->getNumParams(); ++i) {
    const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(plain(call.getArg(i)));
    const auto* kernel = reference == nullptr ? nullptr : dyn_cast<clang::FunctionDecl>(reference->getDecl());
    if (kernel == nullptr || !kernel->hasAttr<clang::CUDAGlobalAttr>()) continue;
    if (slot != nullptr) return std::nullopt;
    slot = helper->getParamDecl(i);
    result.kernel = kernel;
  }
  if (slot == nullptr) return std::nullopt;
  std::vector<const clang::CallExpr*> launches;
  find_launches(symbols, helper->getBody(), launches);
  if (launches.size() != 1 || launches[0]->getNumArgs() < 2 || root(launches[0]->getArg(1)) != slot)
    return std::nullopt;
  const clang::CallExpr& launch = *launches[0];
  // The one whose arguments are the kernel's.
  const Model* model = symbols.known(*launch.getDirectCallee()).model;
  if (model->first_kernel_argument < 0 || !only_launches(symbols, helper->getBody())) return std::nullopt;
  const HelperCaller caller{&call, helper};
  const clang::ValueDecl* config = root(launch.getArg(0));
  bool twice = false;
  const clang::Expr* stream = plain(stream_of(helper->getBody(), config, twice));
  const auto* part = dyn_cast_or_null<clang::MemberExpr>(stream);
  if (part != nullptr && part->isArrow()) return std::nullopt;
  result.stream = caller.given(part != nullptr ? part->getBase() : stream);
  if (part != nullptr && llvm::isa_and_nonnull<clang::InitListExpr>(plain(result.stream))) {
    result.stream = caller.given_part(*part);
  } else if (part != nullptr) {
    result.stream_field = part->getMemberDecl();
  }
  if (config == nullptr || result.stream == nullptr || twice) return std::nullopt;
  for (unsigned i = 2; i < launch.getNumArgs(); ++i) {
    const clang::Expr* argument = caller.given(launch.getArg(i));
    if (argument == nullptr) return std::nullopt;
    result.arguments.push_back(argument);
  }
  result.programmatic = programmatic(*helper, launch, *launch.getArg(0), caller);
  return result;
}

}  // namespace streamsan::analyzer::host
