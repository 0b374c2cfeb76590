// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analysis of one function: two fix-points, one after the other, and then one pass that looks.
//
// The first fix-point computes what places hold (store.h), the second which accesses are pending (order.h). Each visits
// the blocks until nothing changes, a loop before the code that follows it. The order is computed with the final
// stores: a value that is merged at the head of a loop is so from the first visit on, and no access keeps a name that
// was right only for a first guess. Then the pass looks at each op with the state before it (inspector.h). If two
// accesses do not conflict only because the names of their streams may mean one stream, the order is computed again
// under beliefs (beliefs.h), followed by another pass.
//
// Ops age the state before they run (values.h): the earlier results of an op in a loop become older ones. An edge to a
// block ages the values that are merged there and have changed.
//
// Limits: past EngineOptions::most_block_visits the function is given up. That is done before the limit is met if the
// blocks that are still to be visited once, all that the values have reached, take it past the limit. Where more
// accesses than most_accesses are pending, those that the host has waited for are dropped. Their ops are ignored
// everywhere from then on, so that no hazard is reported from half of the facts. If that does not help, the function is
// given up.
//
// The cost is counted in steps and not in time, so that a run gives the same result on every machine. An op costs as
// many steps as its state has entries, because aging and joining walk through these.
#include "analyzer/analysis/engine.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "analyzer/analysis/beliefs.h"
#include "analyzer/analysis/duties.h"
#include "analyzer/analysis/inspector.h"
#include "analyzer/analysis/last_uses.h"
#include "analyzer/analysis/null_tests.h"
#include "analyzer/analysis/number_tests.h"
#include "analyzer/analysis/order.h"
#include "analyzer/analysis/store.h"
#include "analyzer/analysis/values.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

class Engine {
 public:
  Engine(const ir::Function& function, const ir::Program& program, const EngineOptions& options, const Roles* roles,
         const Duty* duty)
      : function_(function),
        options_(options),
        roles_(roles),
        duty_(duty),
        values_(function, program),
        null_tests_(function),
        number_tests_(function),
        last_uses_(function),
        states_(function.blocks.size()) {}

  Verdict run() {
    number_blocks();
    values_to_fix_point();
    order_to_fix_point();
    Verdict verdict;
    verdict.gave_up = gave_up_;
    if (gave_up_.empty()) {
      std::optional<Beliefs> beliefs;
      if (roles_ != nullptr) beliefs.emplace(values_, *roles_);
      Inspector inspector(values_, sets_, roles_);
      inspect(inspector, beliefs ? &*beliefs : nullptr);
      verdict.hazards = inspector.take();
      verdict.settled = inspector.settled();
      steps_ += inspector.steps();
      verdict.of_callers = beliefs && (inspector.undecided() || duty_ != nullptr);
      if (verdict.of_callers) under(*beliefs, verdict);
    }
    verdict.steps = steps_;
    return verdict;
  }

 private:
  struct State {
    Store store;               ///< at the start of the block
    Store::Merges merges;      ///< the values of `store` that are merged there
    std::optional<Store> end;  ///< the state at its end; none: not reached
    bool ordered = false;      ///< `order` was computed
    Order order;               ///< at the start of the block
    std::uint32_t visits = 0;
    std::vector<std::uint32_t> before;  ///< the blocks that lead here
  };

  void number_blocks() {
    sequence_ = ir::loop_by_loop(function_);
    number_.assign(function_.blocks.size(), 0);
    for (std::uint32_t i = 0; i < sequence_.size(); ++i) number_[sequence_[i]] = i;
  }

  /// `to_come`: visits that are certain to be needed yet, whatever this one shows.
  bool visit_is_allowed(std::uint32_t to_come = 0) {
    if (steps_ > options_.most_steps) {
      gave_up_ = kNoStepsLeft;
      return false;
    }
    if (++visits_ + to_come <= options_.most_block_visits) return true;
    gave_up_ = "more than " + std::to_string(options_.most_block_visits) + " block visits";
    return false;
  }

  /// Ages the earlier results of op `index`, if there are any.
  void age(Store& store, Order* order, std::uint32_t block, OpIndex index) {
    if (!values_.in_loop(block) || !values_.minted(index)) return;
    const Aging aging{.op = index};
    values_.start_aging(aging);
    store.age(values_, aging);
    if (order != nullptr) order->age(values_, sets_, aging);
  }

  /// Ages the values that are merged at the start of block `to`, on the edge to it.
  [[nodiscard]] Aging at_edge(const Store& store, std::uint32_t to) const {
    if (!values_.in_loop(to)) return {};
    return {.block = to, .locations = store.changed(states_[to].merges)};
  }

  void values_to_fix_point() {
    for (std::uint32_t block : sequence_)
      for (ir::BlockId successor : function_.blocks[block].successors) {
        auto& before = states_[static_cast<std::uint32_t>(successor)].before;
        if (std::ranges::find(before, block) == before.end()) before.push_back(block);
      }
    std::set<std::uint32_t> work{0};
    std::uint32_t reached = 0;  // The order is computed for each of these, once at least.
    while (!work.empty() && visit_is_allowed(reached)) {
      const std::uint32_t block = sequence_[*work.begin()];
      work.erase(work.begin());
      State& state = states_[block];
      Ends ends;
      std::vector<std::uint32_t> ended;  // by block that ends so
      for (std::uint32_t before : state.before) {
        if (!states_[before].end || !null_tests_.may_go(values_, *states_[before].end, before, block)) continue;
        ends.add(*states_[before].end);
        ended.push_back(before);
        steps_ += states_[before].end->size();
        if (const Aging aging = at_edge(*states_[before].end, block); !aging.locations.empty()) {
          values_.start_aging(aging);
          ends.change(ends.size() - 1).age(values_, aging);
        }
      }
      if (ends.size() > 1) number_tests_.settle(values_, block, ended, ends);
      const Store nothing;  // What the function is entered with.
      if (block == 0) ends.add(nothing);
      if (ends.size() == 0) continue;
      constexpr std::uint32_t kPatience = 8;
      Store start = Store::join(values_, block, ends, last_uses_, state.store, ++state.visits > kPatience);
      if (state.end && start == state.store) continue;
      state.store = start;
      state.merges = start.merges(values_, block);
      for (OpIndex i = 0; i < function_.blocks[block].ops.size(); ++i) {
        const OpIndex index = values_.first_op(block) + i;
        steps_ += 1 + start.size();
        age(start, nullptr, block, index);
        start.apply(values_, index);
      }
      if (state.end && *state.end == start) continue;
      reached += state.end ? 0 : 1;
      state.end = std::move(start);
      for (ir::BlockId successor : function_.blocks[block].successors)
        work.insert(number_[static_cast<std::uint32_t>(successor)]);
    }
  }

  void order_to_fix_point() {
    ignored_.resize(values_.op_count());
    std::set<std::uint32_t> work{0};
    states_[0].ordered = true;
    while (gave_up_.empty() && !work.empty() && visit_is_allowed()) {
      const std::uint32_t block = sequence_[*work.begin()];
      work.erase(work.begin());
      Store store = states_[block].store;
      Order out = states_[block].order;
      for (OpIndex i = 0; i < function_.blocks[block].ops.size(); ++i)
        step(store, out, block, values_.first_op(block) + i);
      if (!keep_small(out)) return;
      for (ir::BlockId successor : function_.blocks[block].successors) {
        const auto to = static_cast<std::uint32_t>(successor);
        if (!null_tests_.may_go(values_, store, block, to)) continue;
        State& state = states_[to];
        Order incoming = out;
        if (const Aging aging = at_edge(store, to); !aging.locations.empty()) {
          values_.start_aging(aging);
          incoming.age(values_, sets_, aging);
        }
        const bool back = number_[block] >= number_[to];
        const bool changed = state.order.join(values_, sets_, incoming, back, !state.ordered);
        if (changed || !state.ordered) work.insert(number_[to]);
        state.ordered = true;
      }
    }
  }

  void step(Store& store, Order& order, std::uint32_t block, OpIndex index) {
    steps_ += 1 + store.size() + order.pending().size();
    age(store, &order, block, index);
    order.apply(values_, sets_, store, index);
    store.apply(values_, index);
  }

  bool keep_small(Order& order) {
    if (order.pending().size() > options_.most_accesses) {
      for (const Pending& p : order.pending())
        if (sets_.has(p.must, kHost)) ignores_ = ignored_[p.op] = true;
    }
    if (ignores_) order.drop(ignored_);
    if (order.pending().size() <= options_.most_accesses) return true;
    gave_up_ = "more than " + std::to_string(options_.most_accesses) + " accesses in flight";
    return false;
  }

  /// Adds the findings of the second run, which assumes that unproved pairs of streams differ.
  void under(Beliefs& beliefs, Verdict& verdict) {
    beliefs.conclude();
    values_.believe(&beliefs);
    values_.mark_work(duty_ != nullptr);
    for (State& state : states_) {
      state.ordered = false;
      state.order = {};
    }
    ignores_ = false;
    ignored_.clear();
    order_to_fix_point();
    if (gave_up_.empty()) {
      Inspector inspector(values_, sets_, roles_, &beliefs);
      std::optional<Duties> duties;
      if (duty_ != nullptr) duties.emplace(values_, sets_, *roles_, beliefs, *duty_);
      inspect(inspector, nullptr, duties ? &*duties : nullptr);
      add(inspector.take(), beliefs, verdict.hazards);
      verdict.settled.insert(verdict.settled.end(), inspector.settled().begin(), inspector.settled().end());
      steps_ += inspector.steps();
      if (duties) verdict.duties = duties->take();
    }
    gave_up_.clear();
    values_.believe(nullptr);
    values_.mark_work(false);
  }

  static void add(std::vector<Hazard> believed, const Beliefs& beliefs, std::vector<Hazard>& hazards) {
    const auto same_site = [](const Where& a, const Where& b) {
      return std::tie(a.site.file, a.site.line, a.site.column, a.site.begin) ==
             std::tie(b.site.file, b.site.line, b.site.column, b.site.begin);
    };
    for (Hazard& hazard : believed) {
      if (hazard.level == Level::Maybe || group(hazard.check) != Group::Correctness) continue;
      const auto same = [&](const Hazard& known) {
        return same_site(known.later.where, hazard.later.where) &&
               known.earlier.has_value() == hazard.earlier.has_value() &&
               (!known.earlier || same_site(known.earlier->where, hazard.earlier->where));
      };
      const auto sure = [&](const Hazard& known) { return same(known) && known.level != Level::Maybe; };
      if (std::ranges::any_of(hazards, sure)) continue;
      if (hazard.level == Level::Definite) hazard.level = Level::Likely;
      if (hazard.evidence.empty())
        if (auto evidence = beliefs.any()) hazard.evidence.push_back(std::move(*evidence));
      if (hazard.evidence.empty()) continue;
      std::erase_if(hazards, same);
      hazards.push_back(std::move(hazard));
    }
  }

  void inspect(Inspector& inspector, Beliefs* beliefs, Duties* duties = nullptr) {
    for (std::uint32_t block : sequence_) {
      if (!states_[block].ordered) continue;
      Store store = states_[block].store;
      Order order = states_[block].order;
      order.drop(ignored_);
      for (std::uint32_t i = 0; i < function_.blocks[block].ops.size(); ++i) {
        const OpIndex index = values_.first_op(block) + i;
        age(store, &order, block, index);
        if (beliefs != nullptr) beliefs->see(values_, store, index);
        if (duties != nullptr) duties->at(store, order, index);
        inspector.at(store, order, block, i);
        order.apply(values_, sets_, store, index);
        if (ignores_) order.drop(ignored_);
        store.apply(values_, index);
      }
    }
  }

  const ir::Function& function_;
  const EngineOptions& options_;
  const Roles* roles_;
  const Duty* duty_;
  Values values_;
  NullTests null_tests_;
  NumberTests number_tests_;
  LastUses last_uses_;
  Sets sets_;
  std::vector<State> states_;
  std::vector<std::uint32_t> sequence_;  ///< reachable blocks, loop by loop
  std::vector<std::uint32_t> number_;    ///< the position of each block in it
  std::vector<bool> ignored_;            ///< by op: its accesses were dropped by keep_small()
  bool ignores_ = false;
  std::uint32_t visits_ = 0;
  std::uint64_t steps_ = 0;
  std::string gave_up_;
};

}  // namespace

Verdict analyze(const ir::Function& function, const ir::Program& program, const EngineOptions& options,
                const Roles* roles, const Duty* duty) {
  if (function.blocks.empty()) return {};
  if (!function.incomplete.empty()) return {.hazards = {}, .gave_up = function.incomplete};
  return Engine(function, program, options, roles, duty).run();
}

}  // namespace streamsan::analyzer
