// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device function from its begin to its Summary, and its statements: every access, once, with what decides whether it
// happens.
//
// A read is an lvalue-to-rvalue conversion or the copy of an object; a write is an assignment. Taking an address,
// binding a reference and forming an offset are none. `data` tells accesses that memory decides about (`if (mask[i])`,
// a row of a sparse matrix) from those that only the launch decides about (`if (i < n)`), which a launch with a sane
// size performs.
#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/lowering/device_body.h"
#include "analyzer/lowering/device_limits.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/AST/Type.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;
using clang::isa;

/// Leaves the statements after it unreached on some path.
bool jumps(const clang::Stmt* statement) {
  if (statement == nullptr || isa<clang::LambdaExpr>(statement)) return false;
  if (isa<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt, clang::GotoStmt>(statement)) return true;
  return std::any_of(statement->child_begin(), statement->child_end(), jumps);
}

/// The same of the statement as a whole: what leaves a loop or a switch in it alone does not count.
bool jumps_out(const clang::Stmt* statement, bool in_loop = false) {
  if (statement == nullptr || isa<clang::LambdaExpr>(statement)) return false;
  if (isa<clang::ReturnStmt, clang::GotoStmt>(statement)) return true;
  if (isa<clang::BreakStmt, clang::ContinueStmt>(statement)) return !in_loop;
  const bool inside =
      in_loop ||
      isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt, clang::SwitchStmt>(statement);
  return std::any_of(statement->child_begin(), statement->child_end(),
                     [&](const clang::Stmt* child) { return jumps_out(child, inside); });
}

}  // namespace

Body::Body(Summaries& summaries, const clang::FunctionDecl& definition)
    : summaries_(summaries),
      function_(definition),
      context_(definition.getASTContext()),
      bounds_(definition, &moved_),
      marks_(summaries.marks(definition)) {
  for (const clang::ParmVarDecl* parameter : definition.parameters()) memory_.add_parameter(parameter);
  memory_.add_parameter(&kThis);
  add_device_variables(definition.getBody());
  if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&definition);
      method && method->getParent()->isLambda()) {
    method->getParent()->getCaptureFields(captures_, captured_this_);
  }
}

void Body::add_device_variables(const clang::Stmt* statement) {
  if (statement == nullptr) return;
  const auto* name = dyn_cast<clang::DeclRefExpr>(statement);
  if (const clang::VarDecl* shared = name == nullptr ? nullptr : device_variable(*name->getDecl()))
    memory_.add_parameter(shared);
  for (const clang::Stmt* child : statement->children()) add_device_variables(child);
}

bool Body::round() {
  effects_.clear();
  asked_.clear();
  learned_ = false;
  flow_ = {};
  exits_ = kNowhere;
  triggers_ = touches_after_trigger_ = false;
  ends_ = 0;
  walk_initializers(false);
  walk(function_.getBody(), false);
  exits_ |= flow_;
  if (memory_.overflowed()) unknown_ = true;
  const bool grew = memory_.grew();
  return grew || learned_;
}

Summary Body::summary() const {
  Summary result;
  result.effects = effects_;
  result.unknown = unknown_;
  result.moved = moved_;
  result.ends = ends_ != 0;
  result.exits = exits_;
  result.triggers_first = triggers_first_;
  result.triggers = triggers_;
  result.touches_after_trigger = touches_after_trigger_;
  const auto of_caller = [&](const Paths& paths) {
    Paths kept;
    for (const Path& path : paths) {
      if (memory_.is_parameter(path)) kept.insert(path);
    }
    return kept;
  };
  // Only what lies behind a pointer or reference is still there after the call.
  const auto outlives = [&](const Path& path) { return memory_.is_parameter(path) && path.depth() != 0; };
  const auto add = [](Paths& to, Paths what) { to.merge(what); };

  for (const auto& [place, values] : memory_.stored()) {
    if (outlives(place)) add(result.stores[place], of_caller(values));
  }
  // Fields of an object of this function, once it was copied to one of the caller's.
  const auto fields_of = [&](const Path& object, const auto& take) {
    for (const auto& [place, values] : memory_.stored()) {
      if (place.base != object.base || place.steps.size() < object.steps.size()) continue;
      const auto rest = place.steps.begin() + static_cast<std::ptrdiff_t>(object.steps.size());
      if (std::equal(object.steps.begin(), object.steps.end(), place.steps.begin())) {
        take(std::vector<const clang::FieldDecl*>(rest, place.steps.end()), of_caller(values));
      }
    }
  };
  for (const auto& [place, sources] : memory_.copied()) {
    if (!outlives(place)) continue;
    for (const Path& source : sources) {
      if (memory_.is_parameter(source)) {
        result.copies[place].insert(source);
        continue;
      }
      fields_of(source, [&](const std::vector<const clang::FieldDecl*>& fields, Paths values) {
        Path field = place;
        field.steps.insert(field.steps.end(), fields.begin(), fields.end());
        add(result.stores[field], std::move(values));
      });
    }
  }

  for (const clang::ParmVarDecl* parameter : function_.parameters()) {
    if (deciders_.contains(parameter)) result.deciders.insert(parameter->getFunctionScopeIndex());
  }
  result.returns = of_caller(returns_);
  if (!function_.getReturnType()->isRecordType()) return result;
  Paths objects = returns_;
  for (const Path& object : returns_) {
    if (const auto found = memory_.copied().find(object); found != memory_.copied().end()) {
      objects.insert(found->second.begin(), found->second.end());
    }
  }
  add(result.returns, of_caller(objects));
  for (const Path& object : objects) {
    if (memory_.is_parameter(object)) continue;
    fields_of(object, [&](const std::vector<const clang::FieldDecl*>& fields, Paths values) {
      add(result.returned_fields[fields], std::move(values));
    });
  }
  return result;
}

void Body::touch(const Paths& places, ir::Mode mode, bool data) {
  for (const Path& path : places) {
    const bool behind_pointer = path.depth() != 0;
    if (!memory_.is_parameter(path) || (!behind_pointer && mode != ir::Mode::Unknown)) continue;
    Effect& effect = effects_[path];
    effect.reads |= mode == ir::Mode::Read || mode == ir::Mode::ReadWrite;
    effect.writes |= mode == ir::Mode::Write || mode == ir::Mode::ReadWrite;
    effect.atomics |= mode == ir::Mode::Atomic;
    effect.unknown |= mode == ir::Mode::Unknown;
    effect.always |= !data;
    effect.begin.add(begins_, bounds_.choices());
    if (flow_.before) effect.early_begin.add(early_begins_.value_or(begins_), bounds_.choices());
    note_early(effect, mode);
    touches_after_trigger_ |= triggers_;
  }
}

void Body::touch_place(const clang::Expr& glvalue, ir::Mode mode, bool data) {
  begins_ = bounds_.place(&glvalue);
  touch(place(&glvalue), mode, data);
  begins_ = std::nullopt;
}

void Body::assign(const Paths& places, clang::QualType type, const clang::Expr* source) {
  if (source == nullptr) return;
  if (type->isReferenceType()) {
    memory_.store(places, place(source));
  } else if (const auto* list = dyn_cast<clang::InitListExpr>(source); list != nullptr && type->isArrayType()) {
    const clang::QualType element = context_.getAsArrayType(type)->getElementType();
    for (const clang::Expr* item : list->inits()) assign(places, element, item);
  } else if (type->isRecordType()) {
    memory_.copy(places, place(source));
  } else {
    memory_.store(places, value(source));
    if (type->isPointerType()) note_moved(places, bounds_.pointer(source));
  }
  for (const Path& path : places) {
    if (path.depth() == 0 && given_[path.base].insert(source).second && deciders_.contains(path.base))
      note_deciders(source);
  }
  if (on_data(source)) note_data(places);
}

void Body::assign_fields(const clang::Expr& list) {
  const auto* record = list.getType()->getAsCXXRecordDecl();
  const auto* items = dyn_cast<clang::InitListExpr>(&list);
  if (record == nullptr || items == nullptr || record->isUnion()) return;
  unsigned next = record->getNumBases();  // of an aggregate with bases: these come first
  for (const clang::FieldDecl* field : record->fields()) {
    if (field->isUnnamedBitField()) continue;
    if (next >= items->getNumInits()) break;
    assign(step({Path{&list, {}}}, field), field->getType(), items->getInit(next++));
  }
}

/// Blocks are walked round by round, and once more for each loop around them.
bool Body::is_left_by(const clang::Stmt& statement) {
  const auto [known, fresh] = left_by_.try_emplace(&statement, false);
  if (fresh) known->second = jumps_out(&statement);
  return known->second;
}

void Body::walk_block(const clang::CompoundStmt& block, bool data) {
  const clang::SourceManager& sources = context_.getSourceManager();
  const auto offset = [&](clang::SourceLocation location) { return sources.getFileOffset(location); };
  unsigned reached = marks_.empty() ? 0 : offset(sources.getExpansionLoc(block.getBeginLoc()));
  const Bounds::Mark assumed = bounds_.mark();
  for (const clang::Stmt* child : block.body()) {
    if (!marks_.empty()) {
      // A macro that is nothing on the host is one with all that is written in it.
      const auto range = sources.getExpansionRange(child->getSourceRange());
      const bool written = child->getBeginLoc().isFileID();
      pass_marks(reached, offset(written ? range.getBegin() : range.getEnd()) + 1);
      reached = offset(range.getEnd()) + 1;
    }
    const unsigned ended = ends_;
    walk(child, data);
    const auto* condition = dyn_cast<clang::IfStmt>(child);
    if (condition != nullptr && condition->isConsteval()) condition = nullptr;
    if (!data && condition != nullptr && on_data(condition->getCond()) && jumps(condition)) data = true;
    if (condition != nullptr && leaves(condition->getThen()) && !jumps(condition->getElse())) {
      bounds_.assume(condition->getCond(), false);
    } else if (ended != ends_ || is_left_by(*child)) {
      bounds_.guard_all();
    }
  }
  bounds_.forget(assumed);
  if (!marks_.empty()) pass_marks(reached, offset(sources.getExpansionLoc(block.getEndLoc())));
}

void Body::walk_children(const clang::Stmt& statement, bool data) {
  for (const clang::Stmt* child : statement.children()) walk(child, data);
}

void Body::walk(const clang::Stmt* statement, bool data) {
  if (statement == nullptr) return;
  const auto* as_expression = dyn_cast<clang::Expr>(statement);
  const bool broken = as_expression != nullptr && as_expression->containsErrors();
  if (broken || !summaries_.spend()) {
    unknown_ = true;
    return;
  }
  if (isa<clang::UnaryExprOrTypeTraitExpr, clang::CXXNoexceptExpr, clang::CXXTypeidExpr>(statement)) return;
  if (const auto* block = dyn_cast<clang::CompoundStmt>(statement)) return walk_block(*block, data);
  if (walk_control(*statement, data) || walk_jump(*statement)) return;
  if (const auto* declarations = dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* declaration : declarations->decls()) {
      if (const auto* value_declaration = dyn_cast<clang::VarDecl>(declaration))
        walk_declaration(*value_declaration, data);
    }
    return;
  }
  if (const auto* given = dyn_cast<clang::ReturnStmt>(statement)) return walk_return(given->getRetValue(), data);
  if (const auto* lambda = dyn_cast<clang::LambdaExpr>(statement)) {
    for (const clang::Expr* capture : lambda->capture_inits()) walk(capture, data);
    return walk_lambda(*lambda);
  }
  if (const auto* pseudo = dyn_cast<clang::PseudoObjectExpr>(statement)) return walk(pseudo->getResultExpr(), data);
  if (const auto* opaque = dyn_cast<clang::OpaqueValueExpr>(statement)) return walk(opaque->getSourceExpr(), data);
  if (const auto* given = dyn_cast<clang::CXXDefaultArgExpr>(statement)) return walk(given->getExpr(), data);
  if (const auto* given = dyn_cast<clang::CXXDefaultInitExpr>(statement)) return walk(given->getExpr(), data);

  walk_children(*statement, data);
  if (const auto* expression = dyn_cast<clang::Expr>(statement)) return access(*expression, data);
  if (isa<clang::AsmStmt>(statement)) walk_assembly(*statement, data);
}

void Body::walk_under(const clang::Expr* condition, bool holds, const clang::Stmt* statement, bool data) {
  const Bounds::Mark assumed = bounds_.mark();
  bounds_.assume(condition, holds);
  walk(statement, data);
  bounds_.forget(assumed);
}

/// Statements and operators that decide what else runs. False: `statement` is none.
bool Body::walk_control(const clang::Stmt& statement, bool data) {
  if (const auto* condition = dyn_cast<clang::IfStmt>(&statement)) {
    walk(condition->getInit(), data);
    // The device never computes constants for the compiler.
    if (condition->isConsteval()) {
      walk(condition->isNegatedConsteval() ? condition->getThen() : condition->getElse(), data);
      return true;
    }
    walk(condition->getConditionVariableDeclStmt(), data);
    walk(condition->getCond(), data);
    bool holds = false;
    const bool known =
        !condition->getCond()->isValueDependent() && condition->getCond()->EvaluateAsBooleanCondition(holds, context_);
    const bool inside = decides(condition->getCond()) || data;
    const Flow asked = flow_;
    if (!known || holds) walk_under(condition->getCond(), true, condition->getThen(), inside);
    if (known && holds) return true;
    const Flow then = known ? kNowhere : std::exchange(flow_, asked);
    walk_under(condition->getCond(), false, condition->getElse(), inside);
    flow_ |= then;
    return true;
  }
  if (const auto* choice = dyn_cast<clang::AbstractConditionalOperator>(&statement)) {
    walk(choice->getCond(), data);
    bool holds = false;
    const bool known =
        !choice->getCond()->isValueDependent() && choice->getCond()->EvaluateAsBooleanCondition(holds, context_);
    const bool inside = decides(choice->getCond()) || data;
    const Flow asked = flow_;
    if (!known || holds) walk_under(choice->getCond(), true, choice->getTrueExpr(), inside);
    if (known && holds) return true;
    const Flow then = known ? kNowhere : std::exchange(flow_, asked);
    walk_under(choice->getCond(), false, choice->getFalseExpr(), inside);
    flow_ |= then;
    return true;
  }
  if (const auto* logical = dyn_cast<clang::BinaryOperator>(&statement); logical && logical->isLogicalOp()) {
    walk(logical->getLHS(), data);
    const Flow asked = flow_;
    walk_under(logical->getLHS(), logical->getOpcode() == clang::BO_LAnd, logical->getRHS(),
               decides(logical->getLHS()) || data);
    flow_ |= asked;
    return true;
  }
  if (isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(statement)) {
    walk_loop(statement, data);
    return true;
  }
  if (const auto* choice = dyn_cast<clang::SwitchStmt>(&statement)) {
    walk(choice->getInit(), data);
    walk(choice->getConditionVariableDeclStmt(), data);
    walk(choice->getCond(), data);
    Ways ways{.cases = flow_};
    breaks_.push_back(&ways);
    const Flow asked = std::exchange(flow_, kNowhere);
    const Bounds::Mark assumed = bounds_.mark();
    bounds_.guard(choice->getCond(), true);
    walk(choice->getBody(), decides(choice->getCond()) || data);
    bounds_.forget(assumed);
    breaks_.pop_back();
    flow_ |= ways.breaks;
    if (!ways.has_default) flow_ |= asked;
    return true;
  }
  return false;
}

void Body::walk_declaration(const clang::ValueDecl& declaration, bool data) {
  const auto& variable_declaration = llvm::cast<clang::VarDecl>(declaration);
  const clang::Expr* initial = variable_declaration.getInit();
  if (initial == nullptr) return;
  walk(initial, data);
  assign({Path{&declaration, {}}}, declaration.getType(), initial);
}

void Body::walk_initializers(bool data) {
  const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(&function_);
  if (constructor == nullptr) return;
  const Paths object{Path{&kThis, {nullptr}}};
  for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
    walk(initializer->getInit(), data);
    if (const clang::FieldDecl* field = initializer->getAnyMember()) {
      assign(step(object, field), field->getType(), initializer->getInit());
    } else {
      memory_.copy(object, place(initializer->getInit()));
    }
  }
}

void Body::walk_assembly(const clang::Stmt& statement, bool data) {
  const auto* assembly = dyn_cast<clang::GCCAsmStmt>(&statement);
  if (assembly == nullptr) return;
  at_ = statement.getBeginLoc();
  begins_ = std::nullopt;
  const std::string text = assembly->getAsmString();
  pass(grid_assembly(text));
  pass_barrier(text);
  ends_ += ends_thread(statement) ? 1 : 0;
  if (llvm::StringRef(text).ltrim().starts_with("prefetch")) return;
  for (const clang::Expr* output : assembly->outputs()) touch(place(output), ir::Mode::Unknown, data);
  for (const clang::Expr* input : assembly->inputs()) {
    // Operands are not converted to values: a glvalue is read, and a pointer read may be followed.
    const bool pointer = input->getType()->isPointerType();
    if (input->isGLValue()) touch(place(input), ir::Mode::Read, data);
    touch(input->isGLValue() ? memory_.load(place(input), pointer) : value(input), ir::Mode::Unknown, data);
  }
}

void Body::walk_return(const clang::Expr* given, bool data) {
  if (given != nullptr) {
    walk(given, data);
    const clang::QualType type = function_.getReturnType();
    returns_.merge(type->isReferenceType() || type->isRecordType() ? place(given) : value(given));
  }
  exits_ |= std::exchange(flow_, kNowhere);
}

/// What `expression` itself does; its operands were walked before.
void Body::access(const clang::Expr& expression, bool data) {
  at_ = expression.getExprLoc();
  begins_ = std::nullopt;
  if (const auto* cast = dyn_cast<clang::CastExpr>(&expression)) {
    if (cast->getCastKind() != clang::CK_LValueToRValue) return;
    begins_ = bounds_.place(cast->getSubExpr());
    return touch(place(cast->getSubExpr()), ir::Mode::Read, decides_address(cast->getSubExpr()) || data);
  }
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(&expression); binary && binary->isAssignmentOp()) {
    const Paths target = place(binary->getLHS());
    const bool compound = binary->isCompoundAssignmentOp();
    begins_ = bounds_.place(binary->getLHS());
    touch(target, compound ? ir::Mode::ReadWrite : ir::Mode::Write, decides_address(binary->getLHS()) || data);
    if (!compound) return assign(target, binary->getLHS()->getType(), binary->getRHS());
    if (binary->getLHS()->getType()->isPointerType() && continues_.empty())
      note_moved(target, binary->getOpcode() == clang::BO_AddAssign ? bounds_.number(binary->getRHS()) : moved_bound());
    if (on_data(binary->getRHS())) note_data(target);
    return;
  }
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(&expression); unary && unary->isIncrementDecrementOp()) {
    begins_ = bounds_.place(unary->getSubExpr());
    if (unary->getType()->isPointerType() && continues_.empty()) note_moved(place(unary->getSubExpr()), moved_bound());
    return touch(place(unary->getSubExpr()), ir::Mode::ReadWrite, decides_address(unary->getSubExpr()) || data);
  }
  if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(&expression)) {
    if (!temporary->getType()->isRecordType()) {
      assign({Path{temporary, {}}}, temporary->getType(), temporary->getSubExpr());
    }
    return;
  }
  if (const auto* call = dyn_cast<clang::CallExpr>(&expression)) return walk_call(*call, data);
  if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&expression)) {
    return walk_construction(*construction, data);
  }
  if (isa<clang::InitListExpr>(expression)) return assign_fields(expression);
  if (const auto* atomic = dyn_cast<clang::AtomicExpr>(&expression)) {
    begins_ = bounds_.pointer(atomic->getPtr());
    touch(value(atomic->getPtr()), ir::Mode::Atomic, data);
  }
}

}  // namespace streamsan::analyzer::device
