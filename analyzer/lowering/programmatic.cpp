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
// Functions that make the configuration are walked in the same way, with their parameters meaning what this call gives
// them: `cudaLaunchConfig_t c = dependent(attribute, grid, stream, true)`. What a function returns, and what is copied,
// takes over all that was set so far. A class that keeps configuration and attributes together is one variable here:
// its constructor and its methods set parts of the object that they are called on. A function that is given such an
// object, and a method of it, do not show how it was made: there it is what all of its constructors say, and perhaps
// that if another method may change it.
//
// Launches through helpers are in launch_helpers.cpp.
#include "analyzer/lowering/programmatic.h"

#include <algorithm>
#include <vector>

#include "analyzer/lowering/launch_arguments.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::host {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using ir::Certainty;

constexpr unsigned kDeepestHelpers = 2;

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

/// It is more than read somewhere in there.
bool is_changed(const clang::Stmt* statement, const clang::VarDecl& variable) {
  if (statement == nullptr) return false;
  const auto* cast = dyn_cast<clang::ImplicitCastExpr>(statement);
  const bool read = cast != nullptr && cast->getCastKind() == clang::CK_LValueToRValue;
  const auto* named =
      dyn_cast<clang::DeclRefExpr>(read ? cast->getSubExpr()->IgnoreParens() : llvm::cast<clang::Stmt>(statement));
  if (named != nullptr) return !read && named->getDecl() == &variable;
  return std::any_of(statement->child_begin(), statement->child_end(),
                     [&](const clang::Stmt* child) { return is_changed(child, variable); });
}

/// What a local variable holds for good.
const clang::Expr* kept_in(const clang::Expr& value) {
  const auto* named = dyn_cast<clang::DeclRefExpr>(&value);
  const auto* local = named == nullptr ? nullptr : dyn_cast<clang::VarDecl>(named->getDecl());
  if (local == nullptr || !local->isLocalVarDecl() || !local->hasLocalStorage() || !local->hasInit()) return nullptr;
  const auto* function = dyn_cast<clang::FunctionDecl>(local->getDeclContext());
  return function == nullptr || is_changed(function->getBody(), *local) ? nullptr : local->getInit();
}

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
  if (given != nullptr) return truth(given, context, caller.outer == nullptr ? HelperCaller() : *caller.outer);
  const clang::Expr* kept = kept_in(*inner);
  return kept == nullptr ? Certainty::Perhaps : truth(kept, context, caller);
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

/// Of the toolkit's own structures, by which a launch is described; or one that has such a part.
bool describes_launch(clang::QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return false;
  if (record->getName().contains_insensitive("Launch")) return true;
  return record->hasDefinition() && std::ranges::any_of(record->fields(), [](const clang::FieldDecl* field) {
           const clang::Type* part = field->getType()->getBaseElementTypeUnsafe();
           const clang::RecordDecl* of = part->getAsRecordDecl();
           return of != nullptr && (of->getName().starts_with("cudaLaunch") || of->getName().starts_with("CUlaunch"));
         });
}

/// All settings of a function, in source order, up to one expression.
class Settings {
 public:
  Settings(const clang::ASTContext& context, const clang::Stmt* until, const HelperCaller& caller)
      : context_(context), until_(until), caller_(&caller) {}

  void collect(const clang::Stmt* body) { walk(body); }
  /// `object` was made by that. nullptr: by its own names, in a method of it.
  void made_by(const clang::CXXConstructorDecl& constructor, const clang::ValueDecl* object) {
    const std::size_t known = names_.size();
    if (object != nullptr) name_fields(*constructor.getParent(), *object);
    walk_function(constructor);
    names_.resize(known);
  }

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
          condition->isNegatedConsteval() ? Certainty::Yes : truth(condition->getCond(), context_, *caller_);
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
    if (const auto* unary = dyn_cast<clang::UnaryOperator>(statement); unary != nullptr && unary->isIncrementOp())
      count(*unary->getSubExpr());
    if (const auto* back = dyn_cast<clang::ReturnStmt>(statement); back != nullptr && back->getRetValue() != nullptr)
      take(result_, *back->getRetValue());
    if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(statement);
        operation != nullptr && operation->getOperator() == clang::OO_Equal && operation->getNumArgs() == 2)
      assignment(*operation->getArg(0), operation->getArg(1));
    if (const auto* call = dyn_cast<clang::CallExpr>(statement)) pass(*call);
  }

  /// `config.numAttrs++`
  void count(const clang::Expr& counted) {
    const auto* member = dyn_cast<clang::MemberExpr>(counted.IgnoreParenImpCasts());
    const clang::ValueDecl* of = member == nullptr ? nullptr : renamed(root(member));
    if (of != nullptr && member->getMemberDecl()->getName() == "numAttrs")
      settings_.push_back({.variable = of, .part = Part::Count, .value = Certainty::Yes, .conditions = conditions_});
  }

  /// All of the variable becomes `value`: a list, what a function returns, or another variable.
  void take(const clang::ValueDecl* variable, const clang::Expr& value) {
    variable = renamed(variable);
    if (variable == nullptr || !describes_launch(value.getType())) return;
    const clang::Expr* inner = value.IgnoreParenCasts()->IgnoreImplicit();
    const auto* made = dyn_cast<clang::CXXConstructExpr>(inner);
    if (made != nullptr && !made->getConstructor()->isCopyOrMoveConstructor()) return construct(*variable, *made);
    inner = plain(&value);
    if (const auto* list = dyn_cast_or_null<clang::InitListExpr>(inner)) return parts(variable, *list);
    if (const auto* called = dyn_cast_or_null<clang::CallExpr>(inner)) return pass(*called, variable);
    const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(inner);
    const clang::ValueDecl* from = reference == nullptr ? nullptr : renamed(reference->getDecl());
    if (from == nullptr || from == variable) return;
    const std::size_t until_now = settings_.size();
    for (std::size_t i = 0; i < until_now; ++i) {
      if (settings_[i].variable != from) continue;
      Setting copy = settings_[i];
      copy.variable = variable;
      if (copy.target == from) copy.target = variable;
      copy.conditions.insert(copy.conditions.end(), conditions_.begin(), conditions_.end());
      settings_.push_back(std::move(copy));
    }
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
      setting.value = truth(value, context_, *caller_);
    } else if (field == "id") {
      setting.part = Part::Id;
      setting.value = names_attribute(value) ? Certainty::Yes : Certainty::No;
    } else if (field == "programmaticStreamSerializationAllowed") {
      setting.part = Part::Allowed;
      setting.value = truth(value, context_, *caller_);
    } else {
      return;
    }
    settings_.push_back(std::move(setting));
  }

  void assignment(const clang::Expr& to, const clang::Expr* value) {
    const auto* member = dyn_cast<clang::MemberExpr>(to.IgnoreParenImpCasts());
    if (member != nullptr) return set(root(&to), member->getMemberDecl()->getName(), value);
    if (const auto* list = dyn_cast_or_null<clang::InitListExpr>(plain(value))) return parts(root(&to), *list);
    if (value != nullptr) take(root(&to), *value);
  }

  void initial(const clang::VarDecl& variable, const clang::Expr& value) {
    const auto* list = dyn_cast<clang::InitListExpr>(value.IgnoreParenImpCasts());
    if (list != nullptr) {
      parts(&variable, *list);
    } else if (variable.getType()->isRecordType()) {
      take(&variable, value);
    }
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

  /// A function that is given one of the variables, or is a method of one, may set it; `result` gets what it returns.
  void pass(const clang::CallExpr& call, const clang::ValueDecl* result = nullptr) {
    const clang::FunctionDecl* definition = nullptr;
    if (call.getDirectCallee() == nullptr || call.getDirectCallee()->getBody(definition) == nullptr) return;
    const bool operation = llvm::isa<clang::CXXOperatorCallExpr>(call) && llvm::isa<clang::CXXMethodDecl>(definition);
    const auto* method = dyn_cast<clang::CXXMemberCallExpr>(&call);
    enter(*definition, arguments_of(call).drop_front(operation ? 1 : 0),
          method == nullptr ? nullptr : root(method->getImplicitObjectArgument()), result);
  }

  void construct(const clang::ValueDecl& variable, const clang::CXXConstructExpr& made) {
    const clang::FunctionDecl* definition = nullptr;
    if (made.getConstructor()->getBody(definition) == nullptr) return;
    enter(*definition, {made.getArgs(), made.getNumArgs()}, &variable, nullptr);
  }

  void enter(const clang::FunctionDecl& definition, llvm::ArrayRef<const clang::Expr*> arguments,
             const clang::ValueDecl* object, const clang::ValueDecl* result) {
    if (deep_ >= kDeepestHelpers || definition.isDependentContext()) return;
    const std::size_t known = names_.size();
    for (unsigned i = 0; i < definition.getNumParams() && i < arguments.size(); ++i) {
      const clang::ParmVarDecl* parameter = definition.getParamDecl(i);
      const clang::QualType type = parameter->getType();
      if ((!type->isReferenceType() && !type->isPointerType()) || !describes_launch(type->getPointeeType())) continue;
      if (const clang::ValueDecl* variable = root(arguments[i])) names_.push_back({parameter, renamed(variable)});
    }
    const auto* method = dyn_cast<clang::CXXMethodDecl>(&definition);
    if (object != nullptr && method != nullptr && describes_launch(object->getType()))
      name_fields(*method->getParent(), *renamed(object));
    if (names_.size() == known && result == nullptr) return;
    const HelperCaller here{.helper = &definition, .arguments = arguments, .outer = caller_};
    const HelperCaller* outer = std::exchange(caller_, &here);
    const clang::ValueDecl* outer_result = std::exchange(result_, result);
    ++deep_;
    walk_function(definition);
    --deep_;
    result_ = outer_result;
    caller_ = outer;
    names_.resize(known);
  }

  void name_fields(const clang::CXXRecordDecl& record, const clang::ValueDecl& object) {
    for (const clang::FieldDecl* field : record.fields()) names_.push_back({field, &object});
  }

  void walk_function(const clang::FunctionDecl& definition) {
    if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(&definition))
      for (const clang::CXXCtorInitializer* part : constructor->inits())
        if (const clang::FieldDecl* field = part->getMember())
          if (const auto* list = dyn_cast_or_null<clang::InitListExpr>(plain(part->getInit()))) parts(field, *list);
    walk(definition.getBody());
  }

  [[nodiscard]] const clang::ValueDecl* renamed(const clang::ValueDecl* variable) const {
    for (auto name = names_.rbegin(); name != names_.rend(); ++name)
      if (name->first == variable) return name->second;
    return variable;
  }

  const clang::ASTContext& context_;
  const clang::Stmt* until_;
  const HelperCaller* caller_;
  const clang::ValueDecl* result_ = nullptr;  ///< in a function that is called: the variable that gets its result
  bool done_ = false;
  unsigned deep_ = 0;
  std::vector<const clang::Stmt*> conditions_, launch_conditions_;
  std::vector<Setting> settings_;
  std::vector<std::pair<const clang::ValueDecl*, const clang::ValueDecl*>> names_;  ///< parameters, references
};

/// What the settings make of a launch that is configured by `variable`.
Certainty answer(const Settings& settings, const clang::ValueDecl* variable) {
  bool perhaps = false;
  const Setting* attributes = settings.last(variable, Part::Attributes, perhaps);
  const Setting* count = settings.last(variable, Part::Count, perhaps);
  if (attributes == nullptr || attributes->target == nullptr || count == nullptr) return Certainty::No;
  // `config.attrs[0].id` says it of the attributes, too.
  const auto of_attribute = [&](Part part) {
    const Setting* own = settings.last(attributes->target, part, perhaps);
    return own != nullptr ? own : settings.last(variable, part, perhaps);
  };
  const Setting* id = of_attribute(Part::Id);
  const Setting* allowed = of_attribute(Part::Allowed);
  if (id == nullptr || allowed == nullptr) return Certainty::No;
  Certainty result = std::min(allowed->value, count->value);
  if (id->value == Certainty::No) result = Certainty::No;
  return perhaps ? std::min(result, Certainty::Perhaps) : result;
}

/// The class that keeps the configuration, if the function does not show how the object was made; or nullptr.
const clang::CXXRecordDecl* keeper(const clang::ValueDecl& variable) {
  if (const auto* field = dyn_cast<clang::FieldDecl>(&variable))
    return dyn_cast<clang::CXXRecordDecl>(field->getParent());
  if (!llvm::isa<clang::ParmVarDecl>(variable)) return nullptr;
  const clang::QualType type = variable.getType().getNonReferenceType();
  const clang::CXXRecordDecl* record =
      type->isPointerType() ? type->getPointeeCXXRecordDecl() : type->getAsCXXRecordDecl();
  return record == nullptr ? nullptr : record->getDefinition();
}

bool may_change(const clang::CXXMethodDecl& method, const clang::FunctionDecl& but) {
  return method.isUserProvided() && !method.isConst() && &method != &but &&
         !llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(method);
}

}  // namespace

Certainty programmatic(const clang::FunctionDecl& function, const clang::Expr& launch, const clang::Expr& config,
                       const HelperCaller& caller) {
  const clang::ValueDecl* variable = root(&config);
  if (variable == nullptr || !function.hasBody()) return Certainty::No;
  const auto asked = [&](const clang::CXXConstructorDecl* maker) {
    Settings settings(function.getASTContext(), &launch, caller);
    if (maker != nullptr) settings.made_by(*maker, llvm::isa<clang::FieldDecl>(variable) ? nullptr : variable);
    settings.collect(function.getBody());
    return answer(settings, variable);
  };
  const Certainty here = asked(nullptr);
  const clang::CXXRecordDecl* record = here == Certainty::No ? keeper(*variable) : nullptr;
  if (record == nullptr || record->isDependentContext()) return here;
  std::optional<Certainty> all;
  for (const clang::CXXConstructorDecl* each : record->ctors()) {
    const clang::FunctionDecl* definition = nullptr;
    if (!each->isUserProvided() || each->isCopyOrMoveConstructor()) continue;
    if (each->getBody(definition) == nullptr) return here;
    const Certainty one = asked(llvm::cast<clang::CXXConstructorDecl>(definition));
    all = !all || *all == one ? one : Certainty::Perhaps;
  }
  if (!all) return here;
  const bool changes =
      std::ranges::any_of(record->methods(), [&](const auto* method) { return may_change(*method, function); }) ||
      record->hasFriends() ||
      llvm::any_of(record->decls(), [](const auto* each) { return llvm::isa<clang::FunctionTemplateDecl>(each); }) ||
      std::ranges::any_of(record->fields(), [](const auto* field) {
        return field->getAccess() != clang::AS_private && !field->getType().isConstQualified();
      });
  return changes ? std::min(*all, Certainty::Perhaps) : *all;
}

Certainty programmatic(const clang::FunctionDecl& function, const clang::Expr& launch, const clang::Expr& config) {
  return programmatic(function, launch, config, HelperCaller());
}

}  // namespace streamsan::analyzer::host
