// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Separates paths by what is known of integers.
//
//   bool dirty = false;                       for (int i = 0; i < n; ++i) {
//   if (a) { launch(s); dirty = true; }         if (i > 0) cudaStreamWaitEvent(s, done);
//   if (dirty) cudaStreamSynchronize(s);        ...
//
// The analysis joins what it knows where two branches meet. So it takes the sync on the left, and the wait on the
// right, for one that happens on some paths. Here a block gets one copy for each thing that may be known, on entering
// it, of the integers that later branches test; in a copy where the outcome of a branch is known, the branch is
// removed. A literal argument decides branches of an inlined callee in the same way.
//
// What can be known is the interval (range.h) of a variable after a constant was assigned to it, and the outcome of a
// condition that is tested again before anything in it has changed. Nothing is known of a variable that unknown code
// may have written, or whose address was taken. A number in a global or static variable of its own is taken to be left
// alone by unknown code, from one test to the next in the same round of a loop: two tests of one flag (`if
// (on_device()) allocate(); unknown(); if (on_device()) wait();`) are not thought to differ. That loses findings where
// it does change, and makes none. A volatile one may change at each read. Of a loop's counter only "0" and "at least
// 1" are kept apart: so the first round is separated from the others, and these not from each other. If the loop's own
// condition ends it after at most kFewRounds, each round is a copy: `for (i = 0; i < 2; ++i) if (i) a(); else b();`
// does each of them once.
//
// What is known is forgotten where no later branch asks for it. A block has at most kMostCopies, the last of which is
// entered with nothing known; a function that would grow out of proportion stays as it is. Counting the rounds of a
// loop, which is all that most conditions do, decides nothing and costs nothing.
//
// A finding in one copy of an op is one on all paths only if the other copies agree; the analysis sees to that by
// Op::origin.
#include "analyzer/ir/paths.h"

#include <algorithm>
#include <bitset>
#include <cctype>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/ir/changes.h"
#include "analyzer/ir/inline.h"
#include "analyzer/ir/polynomial.h"
#include "analyzer/ir/range.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

constexpr std::size_t kMostCopies = 8, kMostKeys = 48;
constexpr std::int64_t kFewRounds = 3;

/// `f(x)`, `i++`: another value each time.
bool has_effects_or_calls(const std::string& text) {
  if (text.find("++") != std::string::npos || text.find("--") != std::string::npos) return true;
  for (std::size_t open = text.find('('); open != std::string::npos; open = text.find('(', open + 1)) {
    const char before = open == 0 ? ' ' : text[open - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_' || before == '>') return true;
  }
  return false;
}

/// What a branch asks.
struct Question {
  std::string text;  ///< uses written $0, $1
  std::vector<PlaceId> uses;
  bool negated = false;           ///< asked is the contrary of `text`
  std::size_t answer = SIZE_MAX;  ///< the key that keeps the outcome; none: it is not asked twice
};

/// One thing that may be known: of a place, its interval; of a text with its uses, whether it holds.
struct Key {
  PlaceId place = kNoPlace;
  std::string text;
  std::vector<PlaceId> uses;
};

using Known = std::vector<std::pair<std::size_t, Range>>;  ///< by key; sorted
using Live = std::bitset<kMostKeys>;

class Questions {
 public:
  explicit Questions(const Function& function) : function_(function), asked_(function.blocks.size()) {
    find_exposed();
    std::map<std::pair<std::string, std::vector<PlaceId>>, std::size_t> times;
    for (std::size_t block = 0; block < function.blocks.size(); ++block) {
      const Block& here = function.blocks[block];
      if (here.condition == kNoExpr || here.successors.size() != 2) continue;
      const Expr& condition = function[here.condition];
      // What a call returned is a variable, and spelled like the call.
      Question question{numbered(function, condition), condition.uses};
      if (has_effects_or_calls(question.text) ||
          !std::ranges::all_of(condition.uses, [&](PlaceId use) { return stays_put(use) && !others_may_write(use); }))
        continue;
      while (question.text.starts_with('!') && is_simple(question.text.substr(1))) {
        question.text.erase(0, 1);
        question.negated = !question.negated;
      }
      ++times[{question.text, question.uses}];
      asked_[block] = std::move(question);
    }
    choose_keys(times);
  }

  [[nodiscard]] bool any() const { return !keys_.empty(); }
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }
  [[nodiscard]] const Question* at_end_of(std::size_t block) const {
    return asked_[block].text.empty() ? nullptr : &asked_[block];
  }
  [[nodiscard]] std::size_t of(PlaceId place) const {
    const auto found = by_place_.find(place);
    return found == by_place_.end() ? SIZE_MAX : found->second;
  }

 private:
  /// `flag`, `(a && b)`
  static bool is_simple(const std::string& text) {
    if (text.starts_with('(')) {
      int depth = 0;
      for (std::size_t i = 0; i < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (depth == 0) return i + 1 == text.size();
      }
      return false;
    }
    return std::ranges::all_of(text,
                               [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '$'; });
  }

  /// Variables whose address is somewhere: who has it may write them where no op shows it.
  void find_exposed() {
    exposed_.resize(function_.places.size());
    for (const Block& block : function_.blocks)
      for (const Op& op : block.ops)
        for_each_operand(op, [&](const Operand& operand) {
          if (operand.kind != Operand::Kind::Address || operand.place == kNoPlace) return;
          const bool is_touch = op.kind == OpKind::HostAccess || op.kind == OpKind::EndOfLife;
          const bool is_integer = function_[operand.place].type == TypeKind::Integer;
          const Root of = root(function_, operand.place);
          if (is_integer || (!is_touch && !of.through_pointer && is_own(function_[of.place])))
            exposed_[at(operand.place)] = true;
        });
  }
  [[nodiscard]] bool others_may_write(PlaceId place) const {
    // What a pointer to integers points to may be written by work, by other threads and under other names.
    const Place& of = function_[place];
    if (of.kind == Place::Kind::Deref || (of.kind == Place::Kind::Index && root(function_, place).through_pointer))
      return true;
    for (; place != kNoPlace; place = function_[place].base)
      if (exposed_[at(place)]) return true;
    return false;
  }

  /// A path that means one place: no index that moves.
  [[nodiscard]] bool stays_put(PlaceId place) const {
    for (; place != kNoPlace; place = function_[place].base) {
      const Place& here = function_[place];
      if (here.kind == Place::Kind::Index && (here.index == kNoExpr || !function_[here.index].constant)) return false;
    }
    return true;
  }

  /// Places that are given constants and asked for, other than to count rounds; and questions that are asked twice.
  void choose_keys(const std::map<std::pair<std::string, std::vector<PlaceId>>, std::size_t>& times) {
    std::vector<bool> constant(function_.places.size());
    for (const Block& block : function_.blocks)
      for (const Op& op : block.ops)
        if (op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Number &&
            function_[op.source.offset].constant)
          constant[at(op.target)] = true;
    // What is copied from such a place may be as constant: a parameter of a callee.
    for (bool changed = true; changed;) {
      changed = false;
      for (const Block& block : function_.blocks)
        for (const Op& op : block.ops) {
          const bool copied = op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Value &&
                              op.source.offset == kNoExpr && op.source.place != kNoPlace &&
                              constant[at(op.source.place)];
          if (!copied || constant[at(op.target)] || function_[op.target].type != TypeKind::Integer) continue;
          constant[at(op.target)] = changed = true;
        }
    }
    std::vector<PlaceId> wanted;
    for (std::size_t block = 0; block < asked_.size(); ++block) {
      Question& question = asked_[block];
      if (question.text.empty()) continue;
      if (!function_.blocks[block].loop_head)
        for (const PlaceId use : question.uses)
          if (constant[at(use)]) wanted.push_back(use);
      if (times.at({question.text, question.uses}) < 2 || keys_.size() == kMostKeys) continue;
      const auto same = std::ranges::find_if(
          keys_, [&](const Key& key) { return key.text == question.text && key.uses == question.uses; });
      question.answer = static_cast<std::size_t>(same - keys_.begin());
      if (same == keys_.end()) keys_.push_back({kNoPlace, question.text, question.uses});
    }
    // And what those are copied from.
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (by_place_.contains(wanted[i]) || keys_.size() == kMostKeys) continue;
      by_place_[wanted[i]] = keys_.size();
      keys_.push_back({wanted[i], {}, {}});
      for (const Block& block : function_.blocks)
        for (const Op& op : block.ops) {
          if (op.kind != OpKind::Assign || op.target != wanted[i]) continue;
          if (op.source.kind == Operand::Kind::Value && constant[at(op.source.place)] && stays_put(op.source.place) &&
              !others_may_write(op.source.place))
            wanted.push_back(op.source.place);
          if (op.source.kind != Operand::Kind::Number) continue;
          for (const PlaceId use : function_[op.source.offset].uses)
            if (constant[at(use)] && stays_put(use) && !others_may_write(use)) wanted.push_back(use);
        }
    }
  }

  const Function& function_;
  std::vector<Question> asked_;  ///< by block
  std::vector<Key> keys_;
  std::map<PlaceId, std::size_t> by_place_;
  std::vector<bool> exposed_;  ///< by place
};

class Splitter {
 public:
  Splitter(Function& function, const Questions& questions) : function_(function), questions_(questions) {
    std::uint32_t number = 0;
    for (const Block& block : function.blocks) {
      first_op_.push_back(number);
      number += static_cast<std::uint32_t>(block.ops.size());
    }
  }

  void run() {
    find_live();
    const auto edges = back_edges(function_);
    back_edges_.insert(edges.begin(), edges.end());
    enter(BlockId{0}, {});
    const std::size_t most = function_.blocks.size() * 3 + 64;
    for (std::size_t next = 0; next < made_.size(); ++next) {
      if (made_.size() > most) return;
      leave(next);
    }
    if (made_.size() == reached_.size() && !decided_) return;
    build();
  }

 private:
  struct Copy {
    BlockId of;
    Known entry;
    std::vector<BlockId> successors;
    ExprId condition = kNoExpr;
  };

  /// Keys that a branch may ask for before what they are about is written.
  void find_live() {
    const std::size_t count = function_.blocks.size();
    std::vector<Live> asked(count);
    live_.assign(count, {});
    for (std::size_t block = 0; block < count; ++block) {
      if (const Question* question = questions_.at_end_of(block))
        for (std::size_t key = 0; key < questions_.keys().size(); ++key) {
          const Key& known = questions_.keys()[key];
          asked[block][key] = known.place == kNoPlace
                                  ? question->answer == key
                                  : std::ranges::find(question->uses, known.place) != question->uses.end();
        }
    }
    // A copy asks for what it copies; a write that is no copy ends it. Written backwards, op by op, at each visit.
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t block = count; block-- > 0;) {
        Live live = asked[block];
        for (const BlockId next : function_.blocks[block].successors) live |= live_[at(next)];
        const auto& ops = function_.blocks[block].ops;
        for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
          if (op->kind != OpKind::Assign && op->kind != OpKind::Fresh) continue;
          const std::size_t key = questions_.of(op->target);
          if (key == SIZE_MAX) continue;
          const bool was = live[key];
          live[key] = false;
          if (!was || op->kind != OpKind::Assign) continue;
          for_each_use(*op, [&](PlaceId use) {
            if (const std::size_t from = questions_.of(use); from != SIZE_MAX) live[from] = true;
          });
        }
        changed = changed || live != live_[block];
        live_[block] = live;
      }
    }
  }

  template <typename Visit>
  void for_each_use(const Op& op, Visit visit) const {
    if (op.source.kind == Operand::Kind::Value) visit(op.source.place);
    if (op.source.kind == Operand::Kind::Number) std::ranges::for_each(function_[op.source.offset].uses, visit);
  }

  static void set(Known& known, std::size_t key, const Range& range) {
    const auto here = std::ranges::lower_bound(known, key, {}, &Known::value_type::first);
    const bool there = here != known.end() && here->first == key;
    if (range.any()) {
      if (there) known.erase(here);
    } else if (there) {
      here->second = range;
    } else {
      known.insert(here, {key, range});
    }
  }

  static const Range* get(const Known& known, std::size_t key) {
    const auto here = std::ranges::lower_bound(known, key, {}, &Known::value_type::first);
    return here != known.end() && here->first == key ? &here->second : nullptr;
  }

  [[nodiscard]] Range evaluate(const std::string& text, const std::vector<PlaceId>& uses, const Known& known) const {
    return ir::evaluate(text, [&](std::string_view word) -> std::optional<Range> {
      if (word == "true") return Range::one(1);
      if (word == "false") return Range::one(0);
      for (std::size_t i = 0; i < uses.size(); ++i)
        if (word == "$" + std::to_string(i)) {
          const Range* range = get(known, questions_.of(uses[i]));
          return range == nullptr ? std::nullopt : std::optional(*range);
        }
      return std::nullopt;
    });
  }

  /// What is known of places that are touched is forgotten.
  template <typename Touches>
  void forget_if(Known& known, const Touches& touches) const {
    std::erase_if(known, [&](const auto& entry) {
      const Key& key = questions_.keys()[entry.first];
      return key.place != kNoPlace ? touches(key.place) : std::ranges::any_of(key.uses, touches);
    });
  }
  [[nodiscard]] bool is_flag(PlaceId place) const {
    const Place& of = function_[place];
    return of.kind == Place::Kind::Global && of.type == TypeKind::Integer && !of.name.starts_with('$');
  }
  static bool is_unknown_code(const Op& op) { return op.kind == OpKind::MaySync || op.kind == OpKind::Escape; }

  /// What `op` may write.
  void forget(Known& known, const Op& op) const {
    const bool leaves_flags = is_unknown_code(op) && op.name != kVolatileRead;
    forget_if(known,
              [&](PlaceId place) { return may_change(function_, op, place) && !(leaves_flags && is_flag(place)); });
  }

  /// The loop of this back edge runs unknown code: the next round may find other flags.
  [[nodiscard]] bool may_poll(BlockId from, BlockId head) {
    const auto [known, is_new] = polls_.try_emplace({at(from), at(head)});
    if (!is_new) return known->second;
    std::vector<bool> end(function_.blocks.size());
    end[at(from)] = true;
    const std::vector<bool> round =
        leading_to(function_, std::move(end), [&](std::size_t, std::size_t to) { return to != at(head); });
    for (std::size_t block = 0; block < round.size() && !known->second; ++block)
      known->second =
          (round[block] || block == at(head)) && std::ranges::any_of(function_.blocks[block].ops, is_unknown_code);
    return known->second;
  }

  void run(Known& known, const Op& op) const {
    if (op.target == kNoPlace && op.kind != OpKind::MaySync && op.kind != OpKind::Escape) return;
    Range now;
    const std::size_t key = op.target == kNoPlace ? SIZE_MAX : questions_.of(op.target);
    if (key != SIZE_MAX && op.kind == OpKind::Assign) {
      if (op.source.kind == Operand::Kind::Number) {
        const Expr& expr = function_[op.source.offset];
        // The type is not known: below 0, it may be a great number.
        now = !expr.constant        ? evaluate(numbered(function_, expr), expr.uses, known)
              : *expr.constant >= 0 ? Range::one(*expr.constant)
                                    : Range{};
      } else if (op.source.kind == Operand::Kind::Value && op.source.offset == kNoExpr) {
        if (const Range* from = get(known, questions_.of(op.source.place))) now = *from;
      }
    }
    forget(known, op);
    if (key != SIZE_MAX) set(known, key, now);
  }

  /// The copy of `block` that is entered with this.
  BlockId enter(BlockId block, Known known) {
    std::erase_if(known, [&](const auto& entry) { return !live_[at(block)][entry.first]; });
    reached_.insert({at(block), true});
    auto& copies = copies_[at(block)];
    const auto same = copies.find(known);
    if (same != copies.end()) return same->second;
    if (copies.size() + 1 >= kMostCopies && !known.empty()) return enter(block, {});
    const BlockId made{static_cast<std::uint32_t>(made_.size())};
    copies.emplace(known, made);
    made_.push_back({block, std::move(known), {}, kNoExpr});
    return made;
  }

  /// The condition of the loop with this head is about the variable of `key` alone, and its outcome is the same from
  /// kFewRounds on.
  [[nodiscard]] bool counts_few(BlockId head, std::size_t key) const {
    const Question* question = questions_.at_end_of(at(head));
    if (question == nullptr || question->uses.size() != 1 || questions_.of(question->uses[0]) != key) return false;
    return evaluate(question->text, question->uses, {{key, {kFewRounds, Range::kMost}}}).truth().has_value();
  }

  /// From round to round of the loop with this head.
  void widen(Known& known, BlockId head) const {
    for (auto& [key, range] : known) {
      if (range.low >= 0 && range.number() && range.low <= kFewRounds && counts_few(head, key)) continue;
      if (range.low >= 1) {
        range = {1, Range::kMost};
      } else if (range != Range::one(0)) {
        range = {};
      }
    }
    std::erase_if(known, [](const auto& entry) { return entry.second.any(); });
  }

  void leave(std::size_t number) {
    const BlockId from = made_[number].of;
    const Block& block = function_.blocks[at(from)];
    Known known = made_[number].entry;
    for (const Op& op : block.ops) run(known, op);
    const Question* question = questions_.at_end_of(at(from));
    std::optional<bool> holds;
    if (question != nullptr) {
      const Range* before = get(known, question->answer);
      holds = (before != nullptr ? *before : evaluate(question->text, question->uses, known)).truth();
    }
    std::vector<BlockId> successors;
    for (std::size_t i = 0; i < block.successors.size(); ++i) {
      const bool outcome = (i == 0) != (question != nullptr && question->negated);
      if (holds && *holds != outcome) continue;
      Known on = known;
      if (question != nullptr && question->answer != SIZE_MAX) set(on, question->answer, Range::one(outcome ? 1 : 0));
      const std::size_t plain =
          question != nullptr && question->text == "$0" ? questions_.of(question->uses[0]) : SIZE_MAX;
      if (plain != SIZE_MAX && !outcome) set(on, plain, Range::one(0));
      if (back_edges_.contains({at(from), at(block.successors[i])})) {
        widen(on, block.successors[i]);
        if (!on.empty() && may_poll(from, block.successors[i]))
          forget_if(on, [&](PlaceId place) { return is_flag(place); });
      }
      successors.push_back(enter(block.successors[i], std::move(on)));
    }
    decided_ = decided_ || holds.has_value();
    made_[number].condition = holds ? kNoExpr : block.condition;
    made_[number].successors = std::move(successors);
  }

  void build() {
    std::vector<Block> blocks;
    blocks.reserve(made_.size());
    for (Copy& copy : made_) {
      const Block& from = function_.blocks[at(copy.of)];
      Block& block = blocks.emplace_back(Block{.ops = from.ops, .successors = std::move(copy.successors)});
      block.condition = copy.condition;
      block.loop_head = from.loop_head;
      std::uint32_t number = first_op_[at(copy.of)];
      for (Op& op : block.ops) op.origin = number++;
    }
    function_.blocks = std::move(blocks);
    join_blocks(function_);
  }

  Function& function_;
  const Questions& questions_;
  std::vector<std::uint32_t> first_op_;
  std::vector<Live> live_;
  std::set<std::pair<std::size_t, std::size_t>> back_edges_;
  std::map<std::pair<std::size_t, std::size_t>, bool> polls_;  ///< may_poll()
  std::map<std::size_t, bool> reached_;
  std::map<std::size_t, std::map<Known, BlockId>> copies_;
  std::vector<Copy> made_;
  bool decided_ = false;
};

}  // namespace

void tell_paths_apart(Function& function) {
  if (function.blocks.empty()) return;
  const Questions questions(function);
  if (questions.any()) Splitter(function, questions).run();
}

}  // namespace streamsan::analyzer::ir
