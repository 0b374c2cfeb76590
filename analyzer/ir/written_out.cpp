// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over elements, written out round by round.
//
//   for (int i = 0; i < n; ++i) {
//     scale<<<1, 64, 0, lanes[i]>>>(parts[i]);
//     cudaEventRecord(done, lanes[i]);
//   }
//   cudaStreamWaitEvent(main, done);
//
// In a loop the analysis distinguishes the last round from those before it, but behind the loop it knows no element
// from another. Written out, `lanes[0]` and `lanes[1]` are two places like any others. This is done where a loop counts
// by one up to a small constant. Where it counts up to a variable, it is written out as if the variable were 2: what is
// found then is true of a call with that number. Only one variable of a function is given a number, because two may
// depend on each other in ways that the code here does not show (`n` parts for each of `m` lanes).
//
// A loop over slots is begun, not written out whole: as many rounds as bring it back to the slots of the first ones
// (rings.h) come before the end of the loop, which may also be where the head says. Two slots are supposed where their
// number is no constant. What is found then is true of a loop with so many rounds.
//
// counted_loops.h says which loops qualify. Variables that only the body mentions get another identity in each round,
// so that what they hold in one is not mixed with what they hold in the next. Inner loops come first; a loop that would
// grow beyond kMostOps stays as it is.
#include "analyzer/ir/written_out.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analyzer/ir/counted_loops.h"
#include "analyzer/ir/inline.h"
#include "analyzer/ir/rings.h"
#include "analyzer/ir/settled.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

constexpr std::int64_t kSupposed = 2;
constexpr std::size_t kMostOps = 1500, kMostBlocks = 400;

/// Gives variables another identity in all that mentions them.
class Renamer {
 public:
  explicit Renamer(Function& function) : function_(function) {}

  void rename(PlaceId from, PlaceId to) { places_[from] = to; }

  void op(Op& op) {
    op.target = place(op.target);
    for_each_operand(op, [this](Operand& operand) {
      operand.place = place(operand.place);
      operand.offset = expr(operand.offset);
    });
    for (Access& access : op.accesses) access.bytes = expr(access.bytes);
  }

  ExprId expr(ExprId id) {
    if (id == kNoExpr || function_[id].uses.empty()) return id;
    Expr made = function_[id];
    for (PlaceId& use : made.uses) use = place(use);
    return made.uses == function_[id].uses ? id : function_.add(std::move(made));
  }

  PlaceId place(PlaceId id) {
    if (id == kNoPlace) return id;
    if (const auto known = places_.find(id); known != places_.end()) return known->second;
    Place made = function_[id];
    made.base = place(made.base);
    made.index = expr(made.index);
    const bool same = made.base == function_[id].base && made.index == function_[id].index;
    return places_[id] = same ? id : function_.add(std::move(made));
  }

 private:
  Function& function_;
  std::map<PlaceId, PlaceId> places_;
};

class Writer {
 public:
  explicit Writer(Function& function) : function_(function) {}

  /// `whole`: these are all rounds.
  bool write_out(const Counted& loop, std::int64_t rounds, bool whole) {
    std::size_t ops = 0, all = 0;
    for (const Block& block : function_.blocks) all += block.ops.size();
    for (const std::size_t block : loop.blocks) ops += function_.blocks[block].ops.size();
    const auto more = static_cast<std::size_t>(rounds);
    if (all + ops * more > kMostOps || function_.blocks.size() + loop.blocks.size() * more > kMostBlocks) return false;
    // Values go from round to round through what a loop over slots mentions.
    const std::vector<PlaceId> own = loop.turns == 0 ? written_inside(loop) : std::vector<PlaceId>();
    const std::vector<Block> body = blocks_of(loop);
    const std::vector<std::size_t> numbers(loop.blocks.begin(), loop.blocks.end());
    const Block before = function_.blocks[loop.head];
    const BlockId inside = before.successors[0];
    // Where each block stands in each round; the first round stands where the loop stood.
    std::vector<std::map<std::size_t, std::size_t>> stands(more);
    for (std::size_t round = 0; round < more; ++round)
      for (const std::size_t block : numbers) {
        stands[round][block] = round == 0 ? block : function_.blocks.size();
        if (round > 0) function_.blocks.emplace_back();
      }
    const std::size_t last_head = function_.blocks.size();
    function_.blocks.emplace_back();
    for (std::size_t round = 0; round < more; ++round) {
      Renamer renamer(function_);
      for (const PlaceId variable : own) renamer.rename(variable, another(variable));
      const PlaceId counter = whole ? another(loop.counter) : loop.counter;
      if (whole) renamer.rename(loop.counter, counter);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        Block block = body[i];
        if (counter != kNoPlace) std::erase_if(block.ops, [&](const Op& op) { return op.target == loop.counter; });
        for (Op& op : block.ops) renamer.op(op);
        block.condition = renamer.expr(block.condition);
        if (numbers[i] == loop.head) {
          if (counter != kNoPlace)
            block.ops.insert(block.ops.begin(), set(counter, loop.first + static_cast<std::int64_t>(round)));
          if (whole) {
            block.successors = {inside};
            block.condition = kNoExpr;
          }
          block.loop_head = false;
        }
        for (BlockId& next : block.successors) {
          if (at(next) == loop.head) {
            next = BlockId{static_cast<std::uint32_t>(round + 1 < more ? stands[round + 1][loop.head] : last_head)};
          } else if (const auto here = stands[round].find(at(next)); here != stands[round].end()) {
            next = BlockId{static_cast<std::uint32_t>(here->second)};
          }
        }
        function_.blocks[stands[round][numbers[i]]] = std::move(block);
      }
    }
    // Without a way out at its head, what comes after the last round is not looked at.
    Block& end = function_.blocks[last_head];
    if (loop.counter != kNoPlace) end.ops.push_back(set(loop.counter, loop.first + rounds));
    for (const BlockId next : before.successors)
      if (!loop.blocks.contains(at(next))) end.successors = {next};
    return true;
  }

  Op set(PlaceId place, std::int64_t number) {
    const ExprId value = function_.add(Expr{.text = std::to_string(number), .uses = {}, .constant = number});
    return {.kind = OpKind::Assign, .target = place, .source = {.kind = Operand::Kind::Number, .offset = value}};
  }

 private:
  [[nodiscard]] std::vector<Block> blocks_of(const Counted& loop) const {
    std::vector<Block> result;
    for (const std::size_t block : loop.blocks) result.push_back(function_.blocks[block]);
    return result;
  }

  /// Variables of the function that only the loop mentions.
  [[nodiscard]] std::vector<PlaceId> written_inside(const Counted& loop) const {
    std::set<PlaceId> inside, outside;
    for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
      std::set<PlaceId>& mentioned = loop.blocks.contains(block) ? inside : outside;
      const auto mention = [&](const auto& self, PlaceId place) -> void {
        for (; place != kNoPlace; place = function_[place].base) {
          if (function_[place].base == kNoPlace) mentioned.insert(place);
          if (function_[place].index != kNoExpr)
            for (const PlaceId use : function_[function_[place].index].uses) self(self, use);
        }
      };
      const auto mention_expr = [&](ExprId expr) {
        if (expr != kNoExpr)
          for (const PlaceId use : function_[expr].uses) mention(mention, use);
      };
      for (const Op& op : function_.blocks[block].ops) {
        mention(mention, op.target);
        for_each_operand(op, [&](const Operand& operand) {
          mention(mention, operand.place);
          mention_expr(operand.offset);
        });
        for (const Access& access : op.accesses) mention_expr(access.bytes);
      }
      mention_expr(function_.blocks[block].condition);
    }
    std::vector<PlaceId> result;
    for (const PlaceId place : inside) {
      const Place::Kind kind = function_[place].kind;
      const bool own = kind == Place::Kind::Local || kind == Place::Kind::Temporary;
      if (own && !outside.contains(place) && place != loop.counter) result.push_back(place);
    }
    return result;
  }

  PlaceId another(PlaceId variable) {
    constexpr std::uint32_t kFirst = 1U << 24U;
    Place made = function_[variable];
    made.number = kFirst + ++made_;
    return function_.add(std::move(made));
  }

  Function& function_;
  std::uint32_t made_ = 0;
};

}  // namespace

std::optional<WrittenOut> write_out_loops(const Function& closed) {
  if (closed.blocks.empty()) return std::nullopt;
  Function function = closed;
  name_what_is_pointed_to(function);
  std::vector<Counted> loops = counted_loops(function);
  if (loops.empty()) return std::nullopt;
  // The one number that most loops count to.
  std::map<PlaceId, std::size_t> times;
  for (const Counted& loop : loops)
    if (loop.number != kNoPlace) ++times[loop.number];
  PlaceId number = kNoPlace;
  for (const auto& [place, count] : times)
    if (number == kNoPlace || count > times[number]) number = place;
  std::int64_t supposed = kSupposed;
  for (const Counted& loop : loops)
    if (loop.number != kNoPlace && loop.number == number) supposed = std::max(supposed, loop.turns);
  const auto all_rounds = [&](const Counted& loop) -> std::int64_t {
    if (loop.counter == kNoPlace || loop.first < 0) return 0;
    const std::int64_t rounds = loop.end ? *loop.end - loop.first : loop.number == number ? supposed - loop.first : 0;
    return rounds <= kMostRounds ? rounds : 0;
  };
  WrittenOut result{.function = function, .supposed = {}, .site = {}};
  Writer writer(result.function);
  const auto tell = [&](const std::string& what, const Counted& loop) {
    if (result.supposed.find(what) == std::string::npos)
      result.supposed += (result.supposed.empty() ? "" : " and ") + what;
    for (const std::size_t block : loop.blocks)
      for (const Op& op : function.blocks.size() > block ? function.blocks[block].ops : std::vector<Op>())
        if (result.site.line == 0 && op.site != kNoSite && is_ordered(op)) result.site = function[op.site];
  };
  bool any = false, counted = false;
  for (std::set<std::size_t> done; true;) {
    // More blocks come behind the others with each loop that is written out.
    loops = counted_loops(result.function);
    const auto next = std::ranges::find_if(loops, [&](const Counted& loop) {
      return (all_rounds(loop) > 0 || loop.turns > 0) && !done.contains(loop.head);
    });
    if (next == loops.end()) break;
    done.insert(next->head);
    const bool whole = all_rounds(*next) > 0;
    if (!writer.write_out(*next, whole ? all_rounds(*next) : next->turns, whole)) continue;
    any = true;
    if (next->slots != kNoPlace) {
      // One thing has one number: as many slots as the loops count to, if they count to that.
      const std::string slots = as_written(function, next->slots);
      const bool same = number != kNoPlace && slots == as_written(function, number);
      suppose(result.function, next->slots, same ? supposed : kSupposedSlots);
      tell("'" + slots + "' is " + std::to_string(same ? supposed : kSupposedSlots), *next);
    }
    if (!whole) {
      tell("the loop has " + std::to_string(next->turns) + " rounds", *next);
    } else if (next->number != kNoPlace) {
      counted = true;
      tell("'" + as_written(function, number) + "' is " + std::to_string(supposed), *next);
    }
  }
  if (!any) return std::nullopt;
  if (counted) {
    auto& begin = result.function.blocks[0].ops;
    begin.insert(begin.begin(), writer.set(number, supposed));
  }
  join_blocks(result.function);
  return result;
}

}  // namespace streamsan::analyzer::ir
