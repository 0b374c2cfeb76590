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
#include "analyzer/lowering/host_body.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Analysis/CFG.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;

namespace {

/// Where control goes on. The initialiser of a static local variable runs once, in the first of all calls: here it has
/// run, and what the variable holds is what it held when the function was entered.
std::vector<const clang::CFGBlock*> next_blocks(const clang::CFGBlock& block) {
  std::vector<const clang::CFGBlock*> result;
  for (const clang::CFGBlock::AdjacentBlock& next : block.succs()) result.push_back(next.getReachableBlock());
  const clang::Stmt* branch = block.getTerminatorStmt();
  if (branch != nullptr && llvm::isa<clang::DeclStmt>(branch) && result.size() == 2) result.pop_back();
  std::erase(result, nullptr);
  return result;
}

/// Blocks that can be reached, all predecessors but back edges before each.
std::vector<const clang::CFGBlock*> reverse_post_order(const clang::CFG& graph) {
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
    open.push_back({block, next_blocks(*block)});
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

}  // namespace

const std::string& Unit::usr(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* key = function.getCanonicalDecl();
  const auto [entry, fresh] = usrs.try_emplace(key);
  if (!fresh) return entry->second;
  const std::string base = Symbols::usr(*key);
  std::string unique = base;
  for (int number = 2; !usr_owner.try_emplace(unique, key).second; ++number)
    unique = base + "#" + std::to_string(number);
  return usrs[key] = std::move(unique);
}

Body::Body(Unit& unit, const clang::FunctionDecl& definition)
    : unit_(unit), definition_(definition), scan_(definition) {}

void Body::give_up(const std::string& reason) {
  if (function_.incomplete.empty()) function_.incomplete = reason;
}

ir::Function Body::lower() {
  function_.usr = unit_.usr(definition_);
  function_.name = unit_.symbols.shown(definition_);
  function_.per_thread_default_stream = unit_.options.per_thread_default_stream;
  ir::Site site = unit_.sites.at(definition_.getLocation());
  site.function = function_.name;
  function_.site = function_.add(std::move(site));
  declare_parameters();
  if (!scan_.incomplete.empty()) {
    give_up(scan_.incomplete);
    function_.blocks.resize(1);
    return std::move(function_);
  }
  clang::CFG::BuildOptions options;
  options.AddImplicitDtors = true;
  options.AddTemporaryDtors = true;
  options.AddLifetime = true;
  options.AddInitializers = true;
  options.AddStaticInitBranches = true;
  options.AddCXXNewAllocator = true;
  options.AddCXXDefaultInitExprInCtors = true;
  options.AddCXXDefaultInitExprInAggregates = true;
  options.setAllAlwaysAdd();
  const std::unique_ptr<clang::CFG> graph =
      clang::CFG::buildCFG(&definition_, definition_.getBody(), &unit_.context, options);
  if (graph == nullptr) {
    give_up("no control flow graph can be built");
  } else if (graph->size() > unit_.options.most_cfg_blocks) {
    give_up("too big: " + std::to_string(graph->size()) + " blocks");
  }
  if (!function_.incomplete.empty()) {
    function_.blocks.resize(1);
    return std::move(function_);
  }
  walk(*graph);
  trim();
  mark_loops();
  return std::move(function_);
}

void Body::declare_parameters() {
  for (const clang::ParmVarDecl* parameter : definition_.parameters()) {
    const clang::QualType type = parameter->getType();
    Place place{.kind = Place::Kind::Parameter, .type = kind(type), .name = parameter->getNameAsString()};
    place.number = static_cast<std::uint32_t>(function_.parameters.size());
    if (place.name.empty()) place.name = "parameter " + std::to_string(place.number + 1);
    place.reference = type->isReferenceType();
    const ir::PlaceId id = typed(function_.add(std::move(place)), type);
    function_.parameters.push_back(id);
    variables_[parameter] = id;
  }
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&definition_);
  if (method != nullptr && method->getParent()->isLambda())
    method->getParent()->getCaptureFields(captures_, captured_this_);
}

std::size_t Body::new_block() {
  function_.blocks.emplace_back();
  return function_.blocks.size() - 1;
}

void Body::walk(const clang::CFG& graph) {
  constexpr std::size_t kNone = SIZE_MAX;
  first_.assign(graph.getNumBlockIDs(), kNone);
  last_.assign(graph.getNumBlockIDs(), kNone);
  const std::vector<const clang::CFGBlock*> order = reverse_post_order(graph);
  for (const clang::CFGBlock* block : order) first_[block->getBlockID()] = last_[block->getBlockID()] = new_block();
  for (const clang::CFGBlock* block : order) walk_block(*block);
  terminators_.resize(function_.blocks.size());
  for (const clang::CFGBlock* block : order) finish_block(*block);
  if (const std::size_t exit = last_[graph.getExit().getBlockID()]; exit != kNone) {
    ir::Op op{.kind = OpKind::Return, .site = function_.site};
    if (result_ != ir::kNoPlace) op.source = value(result_);
    block_ = exit;
    emit(std::move(op));
  }
}

void Body::walk_block(const clang::CFGBlock& block) {
  block_ = first_[block.getBlockID()];
  returned_.reset();
  returned_variable_ = nullptr;
  for (const clang::CFGElement& element : block) walk_element(element);
  if (returned_ && !leaves_for_good(block)) {
    const bool leaves =
        block.succ_size() == 1 && block.succ_begin()->getReachableBlock() == &block.getParent()->getExit();
    if (leaves) {
      emit({.kind = OpKind::Return, .site = function_.site, .source = *returned_});
    } else if (returned_->kind != Operand::Kind::None) {
      emit_assign(result_, *returned_, function_.site);
    }
  }
  last_[block.getBlockID()] = block_;
}

bool Body::leaves_for_good(const clang::CFGBlock& block) {
  if (block.hasNoReturnElement()) return true;
  return std::any_of(block.begin(), block.end(), [](const clang::CFGElement& element) {
    const auto statement = element.getAs<clang::CFGStmt>();
    return statement && llvm::isa<clang::CXXThrowExpr>(statement->getStmt());
  });
}

void Body::finish_block(const clang::CFGBlock& block) {
  ir::Block& from = function_.blocks[last_[block.getBlockID()]];
  if (!from.ops.empty() && from.ops.back().kind == OpKind::Return) return;
  const std::vector<const clang::CFGBlock*> next = next_blocks(block);
  for (const clang::CFGBlock* to : next) {
    if (leaves_for_good(block) && to == &block.getParent()->getExit()) continue;
    from.successors.push_back(ir::BlockId{static_cast<std::uint32_t>(first_[to->getBlockID()])});
  }
  const clang::CFGTerminator terminator = block.getTerminator();
  terminators_[last_[block.getBlockID()]] = terminator.getStmt();
  if (next.size() != 2 || block.succ_size() != 2 || !terminator.isStmtBranch()) return;
  const auto* condition = llvm::dyn_cast_or_null<clang::Expr>(block.getTerminatorCondition());
  if (condition == nullptr || llvm::isa<clang::SwitchStmt>(terminator.getStmt())) return;
  block_ = last_[block.getBlockID()];
  ir::Expr known = scalar(condition);
  if (known.uses.empty() && !known.constant) return;
  const ir::ExprId id = function_.add(std::move(known));
  function_.blocks[block_].condition = id;
}

void Body::walk_element(const clang::CFGElement& element) {
  switch (element.getKind()) {
    case clang::CFGElement::Statement:
    case clang::CFGElement::Constructor:
    case clang::CFGElement::CXXRecordTypedCall:
      return statement(*element.castAs<clang::CFGStmt>().getStmt());
    case clang::CFGElement::Initializer: {
      const clang::CXXCtorInitializer* initializer = element.castAs<clang::CFGInitializer>().getInitializer();
      if (const clang::FieldDecl* field = initializer->getAnyMember())
        initialize(member(this_place(), *field), initializer->getInit());
      return;
    }
    case clang::CFGElement::NewAllocator:
      return allocate_new(*element.castAs<clang::CFGNewAllocator>().getAllocatorExpr());
    case clang::CFGElement::LifetimeEnds: {
      const auto end = element.castAs<clang::CFGLifetimeEnds>();
      return end_of_scope(*end.getVarDecl(), end.getTriggerStmt());
    }
    case clang::CFGElement::AutomaticObjectDtor: {
      const auto end = element.castAs<clang::CFGAutomaticObjDtor>();
      const clang::VarDecl* variable = end.getVarDecl();
      if (variable == returned_variable_) return;
      return destroy(this->variable(*variable), variable->getType(), scope_end(end.getTriggerStmt()), variable);
    }
    case clang::CFGElement::MemberDtor: {
      const clang::FieldDecl* field = element.castAs<clang::CFGMemberDtor>().getFieldDecl();
      return destroy(member(this_place(), *field), field->getType(), scope_end(nullptr));
    }
    case clang::CFGElement::BaseDtor: {
      const clang::CXXBaseSpecifier* base = element.castAs<clang::CFGBaseDtor>().getBaseSpecifier();
      return destroy(this_place(), base->getType(), scope_end(nullptr));
    }
    case clang::CFGElement::TemporaryDtor: {
      const clang::CXXBindTemporaryExpr* bound = element.castAs<clang::CFGTemporaryDtor>().getBindTemporaryExpr();
      const ir::PlaceId object = place(bound->getSubExpr());
      // What was returned, or became a variable, is no temporary that ends here.
      if (object != ir::kNoPlace && function_[object].kind == Place::Kind::Temporary)
        destroy(object, bound->getType(), site(*bound));
      return;
    }
    default:
      return;
  }
}

void Body::mark_loops() {
  enum class Mark : std::uint8_t { New, Open, Done };
  std::vector<Mark> marks(function_.blocks.size(), Mark::New);
  std::vector<std::pair<std::size_t, std::size_t>> stack{{0, 0}};
  marks[0] = Mark::Open;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    const auto& successors = function_.blocks[block].successors;
    if (next == successors.size()) {
      marks[block] = Mark::Done;
      stack.pop_back();
      continue;
    }
    const auto to = static_cast<std::size_t>(successors[next++]);
    if (marks[to] == Mark::Open) function_.blocks[to].loop_head = true;
    if (marks[to] != Mark::New) continue;
    marks[to] = Mark::Open;
    stack.emplace_back(to, 0);
  }
}

ir::Op& Body::emit(ir::Op op) {
  function_.blocks[block_].ops.push_back(std::move(op));
  return function_.blocks[block_].ops.back();
}

void Body::emit_assign(ir::PlaceId target, Operand source, ir::SiteId site) {
  if (target == ir::kNoPlace || kind(target) == TypeKind::Other) return;
  if (source.kind == Operand::Kind::Unknown || source.kind == Operand::Kind::None) return emit_fresh(target, site);
  if (source.kind == Operand::Kind::Value && source.place == target && source.offset == ir::kNoExpr) return;
  emit({.kind = OpKind::Assign, .site = site, .target = target, .source = source});
}

void Body::emit_fresh(ir::PlaceId target, ir::SiteId site) {
  if (target == ir::kNoPlace || kind(target) == TypeKind::Other) return;
  emit({.kind = OpKind::Fresh, .site = site, .target = target});
}

ir::SiteId Body::site(const clang::Stmt& what, const std::string& text) {
  const auto [entry, fresh] = sites_.try_emplace(&what, ir::kNoSite);
  if (!fresh) {
    ir::Site& known = function_.sites[static_cast<std::size_t>(entry->second)];
    if (known.text.empty()) known.text = text;
    return entry->second;
  }
  const auto enclosing = scan_.statements.find(&what);
  ir::Site site = unit_.sites.of(what, enclosing == scan_.statements.end() ? nullptr : enclosing->second);
  site.function = function_.name;
  site.text = text;
  const ir::SiteId id = function_.add(std::move(site));
  return sites_[&what] = id;
}

}  // namespace streamsan::analyzer::host
