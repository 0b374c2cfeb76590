// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where in a kernel the wait for the grid in front has happened.
//
// A Flow follows the statements in their order: it splits at branches, joins behind them, and knows for each access
// whether some path that leads there has waited, and whether some path has not. A loop is walked once, as its first
// round: what that does before a wait is done before a wait. A callee's summary says the same for a call before any
// wait.
//
// Threads are not distinguished. But if some of them wait and all then meet at a barrier, all have waited: the barrier
// shows them what the waiting thread waited for. So a barrier, or any call with a name like one, turns a wait on some
// paths into a wait on all. Code of which nothing is known may wait.
#include <algorithm>

#include "analyzer/lowering/device_body.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::device {

using clang::dyn_cast;

void Body::pass(GridCall call) {
  switch (call) {
    case GridCall::None:
      return;
    case GridCall::Wait:
      if (flow_.reached()) flow_ = kWaited;
      return;
    case GridCall::PerhapsWait:
      flow_.after |= flow_.before;
      return;
    case GridCall::Trigger:
      triggers_ = true;
      if (flow_.before)
        triggers_first_ = std::max(triggers_first_, flow_.after ? ir::Certainty::Perhaps : ir::Certainty::Yes);
      return;
  }
}

void Body::pass_barrier(llvm::StringRef name) {
  if (flow_ != kPerhapsWaited) return;
  if (name.contains_insensitive("sync") || name.contains_insensitive("wait") || name.contains_insensitive("barrier") ||
      name.starts_with("bar."))
    flow_ = kWaited;
}

void Body::pass_marks(unsigned from, unsigned to) {
  const auto first = std::ranges::lower_bound(marks_, from, {}, &Mark::offset);
  for (auto mark = first; mark != marks_.end() && mark->offset < to; ++mark) pass(mark->call);
}

void Body::note_early(Effect& effect, ir::Mode mode) const {
  if (!flow_.before) return;
  std::uint8_t bits = 0;
  if (mode == ir::Mode::Read || mode == ir::Mode::ReadWrite) bits |= kEarlyRead;
  if (mode == ir::Mode::Write || mode == ir::Mode::ReadWrite) bits |= kEarlyWrite;
  if (mode == ir::Mode::Atomic) bits |= kEarlyAtomic;
  if (mode == ir::Mode::Unknown) bits |= kEarlyUnknown;
  const bool surer = !flow_.after && effect.early == 0;
  if (surer || effect.early_at.isInvalid()) effect.early_at = at_;
  (flow_.after ? effect.perhaps_early : effect.early) |= bits;
}

Flow Body::flow_in(const Flow& here, const Effect& effect, std::uint8_t bit) {
  if (!here.reached()) return kNowhere;
  if ((effect.early & bit) != 0) return here;
  return (effect.perhaps_early & bit) != 0 && here.before ? kPerhapsWaited : kWaited;
}

void Body::walk_loop(const clang::Stmt& loop, bool data) {
  const Bounds::Mark assumed = bounds_.mark();
  Ways ways;
  breaks_.push_back(&ways);
  continues_.push_back(&ways);
  if (const auto* counted = dyn_cast<clang::ForStmt>(&loop)) {
    walk(counted->getInit(), data);
    walk(counted->getConditionVariableDeclStmt(), data);
    walk(counted->getCond(), data);
    const Flow entered = flow_;
    const bool inside = decides(counted->getCond()) || data;
    bounds_.guard(counted->getCond(), true);
    walk(counted->getBody(), inside);
    flow_ |= ways.continues;
    walk(counted->getInc(), inside);
    flow_ |= counted->getCond() == nullptr ? ways.breaks : ways.breaks | entered;
  } else if (const auto* conditional = dyn_cast<clang::WhileStmt>(&loop)) {
    walk(conditional->getConditionVariableDeclStmt(), data);
    walk(conditional->getCond(), data);
    const Flow entered = flow_;
    bounds_.guard(conditional->getCond(), true);
    walk(conditional->getBody(), decides(conditional->getCond()) || data);
    bool holds = false;
    const clang::Expr* condition = conditional->getCond();
    const bool endless =
        !condition->isValueDependent() && condition->EvaluateAsBooleanCondition(holds, context_) && holds;
    flow_ = endless ? ways.breaks : flow_ | ways.continues | ways.breaks | entered;
  } else {
    const Flow entered = flow_;
    walk_children(loop, data);
    flow_ |= ways.continues | ways.breaks;
    if (llvm::isa<clang::CXXForRangeStmt>(loop)) flow_ |= entered;
  }
  breaks_.pop_back();
  continues_.pop_back();
  bounds_.forget(assumed);
}

/// What leaves the order of statements, or comes from elsewhere. True: there is nothing more to walk in it.
bool Body::walk_jump(const clang::Stmt& statement) {
  if (llvm::isa<clang::BreakStmt>(statement)) {
    if (!breaks_.empty()) breaks_.back()->breaks |= flow_;
    flow_ = kNowhere;
    return true;
  }
  if (llvm::isa<clang::ContinueStmt>(statement)) {
    if (!continues_.empty()) continues_.back()->continues |= flow_;
    flow_ = kNowhere;
    return true;
  }
  if (llvm::isa<clang::GotoStmt, clang::IndirectGotoStmt>(statement)) {
    flow_ = kNowhere;
    return true;
  }
  if (llvm::isa<clang::LabelStmt>(statement)) flow_ = kPerhapsWaited;
  if (llvm::isa<clang::SwitchCase>(statement) && !breaks_.empty()) {
    flow_ |= breaks_.back()->cases;
    breaks_.back()->has_default |= llvm::isa<clang::DefaultStmt>(statement);
  }
  return false;
}

}  // namespace streamsan::analyzer::device
