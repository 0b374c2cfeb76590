// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a function's CFG.
//
// Blocks become blocks. The CFG holds every subexpression in the order of evaluation; of most nothing is kept, a call
// leaves its result to be found by the expression around it. Blocks are visited so that all predecessors but back edges
// come first, because of results that a later block uses (c ? a : b).
//
// A return is followed, in the CFG, by the destructors of what is left: the value is kept aside and the Return put at
// the end. A block that calls a function that does not return, or throws, has no successors and no Return: nobody sees
// what happens after it. Handlers of exceptions are reached by throw alone; exceptions out of calls are not followed.
//
// Where the code handles that an operation failed, the operation is not in flight: `if (cudaLaunchHostFunc(s, f, data)
// != cudaSuccess) delete data;`.
#include "analyzer/lowering/host_walk.h"

#include <algorithm>

#include "analyzer/lowering/called_model.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_ends.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_free_lists.h"
#include "analyzer/lowering/host_lifetimes.h"
#include "analyzer/lowering/host_maps.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_paths.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/lowering/ways_on.h"
#include "analyzer/models/model.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Analysis/CFG.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;

namespace {

/// Where control goes on. The initialiser of a static local variable runs once, in the first of all calls: here it has
/// run, and what the variable holds is what it held when the function was entered. `first`: it runs now.
std::vector<const clang::CFGBlock*> next_blocks(const clang::CFGBlock& block, bool first) {
  std::vector<const clang::CFGBlock*> result;
  for (const clang::CFGBlock::AdjacentBlock& next : block.succs()) result.push_back(next.getReachableBlock());
  const clang::Stmt* branch = block.getTerminatorStmt();
  if (branch != nullptr && llvm::isa<clang::DeclStmt>(branch) && result.size() == 2)
    result.erase(first ? result.begin() : result.begin() + 1);
  std::erase(result, nullptr);
  return result;
}

/// Blocks that can be reached, all predecessors but back edges before each.
std::vector<const clang::CFGBlock*> reverse_post_order(const clang::CFG& graph, bool first) {
  std::vector<const clang::CFGBlock*> order;
  std::vector<bool> seen(graph.getNumBlockIDs());
  struct Open {
    const clang::CFGBlock* block;
    std::vector<const clang::CFGBlock*> next;
    std::size_t entered = 0;
  };
  std::vector<Open> open;
  const auto enter = [&](const clang::CFGBlock* block) {
    if (seen[block->getBlockID()]) return;
    seen[block->getBlockID()] = true;
    open.push_back({block, next_blocks(*block, first)});
  };
  enter(&graph.getEntry());
  while (!open.empty()) {
    if (Open& last = open.back(); last.entered == last.next.size()) {
      order.push_back(last.block);
      open.pop_back();
    } else {
      enter(last.next[last.entered++]);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

bool leaves_for_good(const clang::CFGBlock& block) {
  if (block.hasNoReturnElement()) return true;
  return std::any_of(block.begin(), block.end(), [](const clang::CFGElement& element) {
    const auto statement = element.getAs<clang::CFGStmt>();
    return statement && llvm::isa<clang::CXXThrowExpr>(statement->getStmt());
  });
}

/// `static cudaError_t copy(...) { return cudaMemcpyAsync(...); }`: it submits work, and returns whether that failed.
bool only_submits(const clang::FunctionDecl& function, const Models& models) {
  const clang::FunctionDecl* definition = nullptr;
  const clang::Stmt* body = function.getBody(definition);
  if (body == nullptr || !llvm::isa<clang::CompoundStmt>(body)) return false;
  const clang::ReturnStmt* only = nullptr;
  for (const clang::Stmt* statement : body->children()) {
    if (statement == nullptr || llvm::isa<clang::NullStmt>(statement)) continue;
    if (only != nullptr || !llvm::isa<clang::ReturnStmt>(statement)) return false;
    only = llvm::cast<clang::ReturnStmt>(statement);
  }
  if (only == nullptr || only->getRetValue() == nullptr) return false;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(only->getRetValue()->IgnoreParenCasts());
  const Model* model = call == nullptr ? nullptr : called_model(models, *call);
  if (model == nullptr || model->action != ActionKind::Effect) return false;
  const api::EffectKind kind = model->effect.kind;
  return kind == api::EffectKind::Copy || kind == api::EffectKind::Fill || kind == api::EffectKind::HostFunction;
}

}  // namespace

Walk::Walk(const Parts& parts)
    : unit_(parts.unit),
      definition_(parts.definition),
      scan_(parts.scan),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      touches_(parts.touches),
      ends_(parts.ends),
      lifetimes_(parts.lifetimes),
      calls_(parts.calls),
      maps_(parts.maps),
      pools_(parts.pools) {}

void Walk::walk(const clang::CFG& graph, bool first) {
  first_call_ = first;
  constexpr std::size_t kNone = SIZE_MAX;
  first_.assign(graph.getNumBlockIDs(), kNone);
  last_.assign(graph.getNumBlockIDs(), kNone);
  const std::vector<const clang::CFGBlock*> order = reverse_post_order(graph, first);
  for (const clang::CFGBlock* block : order)
    first_[block->getBlockID()] = last_[block->getBlockID()] = out_.new_block();
  if (!order.empty()) out_.go_on_in(first_[order.front()->getBlockID()]), pools_.enter();
  for (const clang::CFGBlock* block : order) walk_block(*block);
  terminators_.resize(out_.function().blocks.size());
  for (const clang::CFGBlock* block : order) finish_block(*block);
  if (const std::size_t exit = last_[graph.getExit().getBlockID()]; exit != kNone) {
    ir::Op op{.kind = OpKind::Return, .site = out_.declaration()};
    if (places_.returned_if_any() != ir::kNoPlace) op.source = value(places_.returned_if_any());
    out_.go_on_in(exit);
    out_.emit(std::move(op));
  }
}

void Walk::walk_block(const clang::CFGBlock& block) {
  out_.go_on_in(first_[block.getBlockID()]);
  returned_.reset();
  returned_variable_ = nullptr;
  for (const clang::CFGElement& element : block) walk_element(element);
  if (returned_ && !leaves_for_good(block)) {
    const bool leaves =
        block.succ_size() == 1 && block.succ_begin()->getReachableBlock() == &block.getParent()->getExit();
    if (leaves) {
      out_.emit({.kind = OpKind::Return, .site = out_.declaration(), .source = *returned_});
    } else if (returned_->kind != Operand::Kind::None) {
      out_.emit_assign(places_.returned_if_any(), *returned_, out_.declaration());
    }
  }
  last_[block.getBlockID()] = out_.block();
}

void Walk::finish_block(const clang::CFGBlock& block) {
  const std::size_t from = last_[block.getBlockID()];
  out_.go_on_in(from);
  if (!out_.ops().empty() && out_.ops().back().kind == OpKind::Return) return;
  if (ask_cases(block, from)) return;
  const std::vector<const clang::CFGBlock*> next = next_blocks(block, first_call_);
  for (const clang::CFGBlock* to : next) {
    if (leaves_for_good(block) && to == &block.getParent()->getExit()) continue;
    out_.link(from, first_[to->getBlockID()]);
  }
  const clang::CFGTerminator terminator = block.getTerminator();
  terminators_[from] = terminator.getStmt();
  if (next.size() != 2 || block.succ_size() != 2 || !terminator.isStmtBranch()) return;
  if (const auto* ranged = llvm::dyn_cast_or_null<clang::CXXForRangeStmt>(terminator.getStmt())) {
    out_.function().blocks[from].condition = rounds_left(*ranged);
    return;
  }
  const auto* condition = llvm::dyn_cast_or_null<clang::Expr>(block.getTerminatorCondition());
  if (condition == nullptr || llvm::isa<clang::SwitchStmt>(terminator.getStmt())) return;
  keep_off_failure(block, next);
  const std::optional<ir::Expr> entry = maps_.asks_for_entry(*condition);
  ir::Expr known = entry ? *entry : values_.scalar(condition);
  if (known.uses.empty() && !known.constant) return;
  const ir::ExprId id = out_.add(std::move(known));
  out_.function().blocks[from].condition = id;
}

bool Walk::ask_cases(const clang::CFGBlock& block, std::size_t from) {
  const auto* chosen = llvm::dyn_cast_or_null<clang::SwitchStmt>(block.getTerminatorStmt());
  if (chosen == nullptr) return false;
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(chosen->getCond()->IgnoreParenCasts());
  const auto* parameter = named == nullptr ? nullptr : llvm::dyn_cast<clang::ParmVarDecl>(named->getDecl());
  const ir::PlaceId place = parameter == nullptr ? ir::kNoPlace : places_.known(*parameter);
  if (place == ir::kNoPlace || out_[place].type != ir::TypeKind::Integer) return false;
  const std::string name = out_.spell(place);
  struct Case {
    std::string asked;
    const clang::CFGBlock* block;
  };
  constexpr std::size_t kMostCases = 16;
  std::vector<Case> cases;
  const clang::CFGBlock* otherwise = nullptr;
  for (const clang::CFGBlock* next : next_blocks(block, first_call_)) {
    const auto* label = llvm::dyn_cast_or_null<clang::CaseStmt>(next->getLabel());
    if (label == nullptr) {
      otherwise = next;
      continue;
    }
    const auto low = constant(label->getLHS(), unit_.context);
    const auto high = label->getRHS() == nullptr ? low : constant(label->getRHS(), unit_.context);
    if (!low || !high) return false;
    const std::string from_low = name + " >= " + std::to_string(*low);
    cases.push_back({label->getRHS() == nullptr ? name + " == " + std::to_string(*low)
                                                : from_low + " && " + name + " <= " + std::to_string(*high),
                     next});
  }
  if (cases.empty() || cases.size() > kMostCases) return false;
  if (otherwise == nullptr) {  // all values of an enumeration have a case
    otherwise = cases.back().block;
    cases.pop_back();
  }
  terminators_[from] = chosen;
  for (const Case& one : cases) {
    const bool last = &one == &cases.back();
    const std::size_t rest = last ? first_[otherwise->getBlockID()] : out_.new_block();
    out_.link(from, first_[one.block->getBlockID()]);
    out_.link(from, rest);
    const ir::ExprId asked = out_.add({.text = one.asked, .uses = {place}, .constant = {}});
    out_.function().blocks[from].condition = asked;
    from = rest;
  }
  if (cases.empty()) out_.link(from, first_[otherwise->getBlockID()]);
  terminators_.resize(out_.function().blocks.size());
  return true;
}

const clang::Expr* Walk::asked_in(const clang::CFGBlock& block, const clang::Expr& condition) const {
  const clang::Expr* asked = asked_result(condition, unit_.symbols.models());
  const auto* name = llvm::dyn_cast_or_null<clang::DeclRefExpr>(asked);
  if (name == nullptr) return asked;
  for (const clang::CFGElement& element : llvm::reverse(block)) {
    const auto statement = element.getAs<clang::CFGStmt>();
    if (!statement) continue;
    const clang::Expr* given = nullptr;
    if (const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement->getStmt())) {
      if (declaration->isSingleDecl() && declaration->getSingleDecl() == name->getDecl())
        given = llvm::cast<clang::VarDecl>(name->getDecl())->getInit();
    } else if (const auto* set = llvm::dyn_cast<clang::BinaryOperator>(statement->getStmt())) {
      const auto* target = llvm::dyn_cast<clang::DeclRefExpr>(set->getLHS()->IgnoreParens());
      if (set->isAssignmentOp() && target != nullptr && target->getDecl() == name->getDecl()) given = set->getRHS();
    }
    if (given != nullptr) return given->IgnoreParenCasts();
  }
  return nullptr;
}

bool Walk::uses_memory(const clang::CFGBlock& failed, const clang::CFGBlock& passed) const {
  llvm::DenseSet<const clang::CFGBlock*> seen;
  const auto reach = [&](const clang::CFGBlock& from, auto visit) {
    std::vector<const clang::CFGBlock*> work{&from};
    while (!work.empty()) {
      const clang::CFGBlock* block = work.back();
      work.pop_back();
      if (!seen.insert(block).second) continue;
      if (visit(*block)) return true;
      for (const clang::CFGBlock* next : next_blocks(*block, first_call_)) work.push_back(next);
    }
    return false;
  };
  reach(passed, [](const clang::CFGBlock&) { return false; });
  return reach(failed, [&](const clang::CFGBlock& block) {
    const std::size_t begin = first_[block.getBlockID()];
    if (begin == SIZE_MAX) return false;
    const auto& ops = out_.function().blocks[begin].ops;
    return std::any_of(ops.begin(), ops.end(), may_use_memory);
  });
}

void Walk::keep_off_failure(const clang::CFGBlock& block, llvm::ArrayRef<const clang::CFGBlock*> next) {
  const std::size_t from = last_[block.getBlockID()];
  auto& ops = out_.function().blocks[from].ops;
  const auto last = std::find_if(ops.rbegin(), ops.rend(), [&](const ir::Op& op) {
    const bool sets = op.kind == OpKind::Assign || op.kind == OpKind::Fresh;
    return !sets || op.target == ir::kNoPlace || out_[op.target].type != ir::TypeKind::Integer;
  });
  if (last == ops.rend() || (last->kind != OpKind::Enqueue && last->kind != OpKind::Call)) return;
  const auto& condition = *llvm::cast<clang::Expr>(block.getTerminatorCondition());
  const auto success = tells_success(condition, unit_.symbols.models());
  if (!success || out_.function().blocks[from].successors.size() != 2) return;
  const clang::Expr* asked = asked_in(block, condition);
  const auto* call = llvm::dyn_cast_or_null<clang::CallExpr>(asked);
  if (call == nullptr || out_.site(*call) != last->site) return;
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (last->kind == OpKind::Call && (callee == nullptr || !only_submits(*callee, unit_.symbols.models()))) return;
  const unsigned passed = *success ? 0 : 1;
  if (!uses_memory(*next[1 - passed], *next[passed])) return;
  ir::Op moved = std::move(*last);
  ops.erase(std::next(last).base());
  const std::size_t between = out_.new_block();
  terminators_.resize(out_.function().blocks.size());
  ir::Function& function = out_.function();
  ir::BlockId& way = function.blocks[from].successors[passed];
  function.blocks[between].successors = {way};
  function.blocks[between].ops.push_back(std::move(moved));
  way = ir::BlockId{static_cast<std::uint32_t>(between)};
}

ir::ExprId Walk::rounds_left(const clang::CXXForRangeStmt& loop) {
  const auto* hidden = llvm::dyn_cast_or_null<clang::VarDecl>(loop.getBeginStmt()->getSingleDecl());
  const auto range = hidden == nullptr ? scan_.iterators.end() : scan_.iterators.find(hidden);
  if (range == scan_.iterators.end()) return ir::kNoExpr;
  const ir::PlaceId each = places_.known(*hidden), container = places_.place(range->second->getInit());
  if (each == ir::kNoPlace || container == ir::kNoPlace) return ir::kNoExpr;
  ir::Expr asked{.text = out_.spell(each) + " < ", .uses = {each}, .constant = {}};
  if (const auto fixed = fixed_size(out_.type_of(container))) {
    asked.text += std::to_string(*fixed);
  } else if (const ir::PlaceId size = places_.size(container); size != ir::kNoPlace) {
    asked.text += out_.spell(size);
    asked.uses.push_back(size);
  } else {
    return ir::kNoExpr;
  }
  return out_.add(std::move(asked));
}

/// Objects passed by value end where their function returns, if that is in sight: Clang's graphs have an end for the
/// parameter and one for the argument.
void Walk::note_passed(const clang::Stmt& statement) {
  const clang::FunctionDecl* callee = nullptr;
  llvm::ArrayRef<const clang::Expr*> arguments;
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(&statement)) {
    callee = call->getDirectCallee();
    arguments = llvm::ArrayRef(call->getArgs(), call->getNumArgs());
  } else if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(&statement)) {
    callee = made->getConstructor();
    arguments = llvm::ArrayRef(made->getArgs(), made->getNumArgs());
  } else if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(&statement); list && list->isTransparent()) {
    // Of the same class: what is listed becomes the object.
    if (const auto* bound = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(list->getInit(0)->IgnoreParenImpCasts()))
      passed_.insert(bound);
  }
  if (callee == nullptr || unit_.census.lowered(*callee) == nullptr) return;
  for (const clang::Expr* argument : arguments)
    if (const auto* bound = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(argument->IgnoreParenImpCasts()))
      passed_.insert(bound);
}

void Walk::walk_element(const clang::CFGElement& element) {
  switch (element.getKind()) {
    case clang::CFGElement::Statement:
    case clang::CFGElement::Constructor:
    case clang::CFGElement::CXXRecordTypedCall: {
      const clang::Stmt& lowered = *element.castAs<clang::CFGStmt>().getStmt();
      note_passed(lowered);
      pools_.before(lowered);
      statement(lowered);
      return pools_.after(lowered);
    }
    case clang::CFGElement::Initializer: {
      const clang::CXXCtorInitializer* initializer = element.castAs<clang::CFGInitializer>().getInitializer();
      if (const clang::FieldDecl* field = initializer->getAnyMember())
        assignments_.initialize(places_.member(places_.this_place(), *field), initializer->getInit());
      return;
    }
    case clang::CFGElement::NewAllocator:
      return lifetimes_.allocate_new(*element.castAs<clang::CFGNewAllocator>().getAllocatorExpr());
    case clang::CFGElement::LifetimeEnds: {
      const auto end = element.castAs<clang::CFGLifetimeEnds>();
      if (end.getVarDecl() != returned_variable_) ends_.end_of_scope(*end.getVarDecl(), end.getTriggerStmt());
      return;
    }
    case clang::CFGElement::AutomaticObjectDtor: {
      const auto end = element.castAs<clang::CFGAutomaticObjDtor>();
      const clang::VarDecl* variable = end.getVarDecl();
      if (variable == returned_variable_) return;
      return lifetimes_.destroy(places_.variable(*variable), variable->getType(), ends_.scope_end(end.getTriggerStmt()),
                                variable);
    }
    case clang::CFGElement::MemberDtor: {
      const clang::FieldDecl* field = element.castAs<clang::CFGMemberDtor>().getFieldDecl();
      return lifetimes_.destroy_member(places_.member(places_.this_place(), *field), *field, ends_.body_end());
    }
    case clang::CFGElement::BaseDtor: {
      const clang::CXXBaseSpecifier* base = element.castAs<clang::CFGBaseDtor>().getBaseSpecifier();
      return lifetimes_.destroy(places_.this_place(), base->getType(), ends_.body_end());
    }
    case clang::CFGElement::TemporaryDtor: {
      const clang::CXXBindTemporaryExpr* bound = element.castAs<clang::CFGTemporaryDtor>().getBindTemporaryExpr();
      const ir::PlaceId object = places_.place(bound->getSubExpr());
      // What was returned, or became a variable, is no temporary that ends here.
      if (!passed_.contains(bound) && object != ir::kNoPlace && out_[object].kind == Place::Kind::Temporary)
        lifetimes_.destroy(object, bound->getType(), out_.site(*bound));
      return;
    }
    default:
      return;
  }
}

}  // namespace streamsan::analyzer::host
