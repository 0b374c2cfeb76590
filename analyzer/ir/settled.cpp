// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two things that a function shows when it is read from the top, which the passes over its text need.
//
//   std::vector<float*> parts;                          Writer w(pool);          // Pool& pool_;
//   for (int i = 0; i < 3; ++i) parts.push_back(...);   w.flush();               // for (auto& p : pool_.parts) ...
//   for (float* p : parts) ...
//
// How many elements `parts` has is counted where they are put in. Once the first loop is written out that is a
// constant, and so the second one can be written out, too. And what a reference in an object means is known where the
// object is made in sight: `w.pool_->parts` is `pool.parts`, by one name for all who use it.
//
// A number is followed through assignments, sums and the like, block after block until nothing changes; what one way
// makes another than the other is not known. Only variables of the function, and fields of these. A pointer counts if
// one op writes it, with the address of a variable, and nobody else can: its address is given to no unknown code.
#include "analyzer/ir/settled.h"

#include <algorithm>
#include <string>

#include "analyzer/ir/changes.h"
#include "analyzer/ir/polynomial.h"
#include "analyzer/ir/range.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

/// A variable of the function, or a field in one: it has one name, and means the same everywhere.
bool is_plain_path(const Function& function, PlaceId place) {
  for (; function[place].base != kNoPlace; place = function[place].base)
    if (function[place].kind != Place::Kind::Field) return false;
  return is_own(function[place]);
}

class Constants {
 public:
  Constants(const Function& function, PlaceId wanted) : function_(function) {
    follow(wanted);
    for (std::size_t i = 0; i < followed_.size() && followed_.size() <= kMost; ++i)
      for (const Block& block : function.blocks)
        for (const Op& op : block.ops) {
          if (op.kind != OpKind::Assign) continue;
          if (op.target != followed_[i]) {
            follow(copied_from(op, followed_[i]));
            continue;
          }
          if (op.source.kind == Operand::Kind::Value) follow(op.source.place);
          if (op.source.kind == Operand::Kind::Number)
            for (const PlaceId use : function[op.source.offset].uses) follow(use);
        }
    find_changes();
  }

  /// At the end of each block that has one.
  void run() {
    if (followed_.empty() || followed_.size() > kMost) return;
    ends_.resize(function_.blocks.size());
    starts_.resize(function_.blocks.size());
    Held nothing(followed_.size());
    std::vector<std::size_t> work{0};
    starts_[0] = nothing;
    constexpr std::size_t kMostVisits = 4000;
    for (std::size_t visits = 0; !work.empty(); ++visits) {
      if (visits == kMostVisits) return ends_.assign(ends_.size(), std::nullopt);
      const std::size_t block = work.back();
      work.pop_back();
      Held held = *starts_[block];
      for (const Change& change : changes_[block]) apply(held, change);
      if (ends_[block] == held) continue;
      ends_[block] = held;
      for (const BlockId next : function_.blocks[block].successors)
        if (join(starts_[at(next)], held)) work.push_back(at(next));
    }
  }

  [[nodiscard]] std::optional<std::int64_t> at_end(std::size_t block, PlaceId place) const {
    const auto which = std::ranges::find(followed_, place);
    if (which == followed_.end() || block >= ends_.size() || !ends_[block]) return std::nullopt;
    return (*ends_[block])[static_cast<std::size_t>(which - followed_.begin())];
  }

 private:
  static constexpr std::size_t kMost = 32;
  using Held = std::vector<std::optional<std::int64_t>>;  ///< by followed place

  void follow(PlaceId place) {
    if (place == kNoPlace || std::ranges::find(followed_, place) != followed_.end()) return;
    if (function_[place].type == TypeKind::Integer && is_plain_path(function_, place)) followed_.push_back(place);
  }

  /// True: something changed.
  static bool join(std::optional<Held>& start, const Held& held) {
    if (!start) {
      start = held;
      return true;
    }
    bool changed = false;
    for (std::size_t i = 0; i < held.size(); ++i)
      if ((*start)[i] && (*start)[i] != held[i]) {
        (*start)[i].reset();
        changed = true;
      }
    return changed;
  }

  [[nodiscard]] std::optional<std::int64_t> value(const Held& held, PlaceId place) const {
    const auto which = std::ranges::find(followed_, place);
    return which == followed_.end() ? std::nullopt : held[static_cast<std::size_t>(which - followed_.begin())];
  }

  [[nodiscard]] std::optional<std::int64_t> assigned(const Held& held, const Op& op) const {
    if (op.source.kind == Operand::Kind::Value && op.source.offset == kNoExpr) return value(held, op.source.place);
    if (op.source.kind != Operand::Kind::Number) return std::nullopt;
    const Expr& expr = function_[op.source.offset];
    if (expr.constant) return expr.constant;
    const auto range_of = [&](std::string_view word) -> std::optional<Range> {
      for (std::size_t i = 0; i < expr.uses.size(); ++i)
        if (word == "$" + std::to_string(i))
          if (const auto known = value(held, expr.uses[i])) return Range::one(*known);
      return std::nullopt;
    };
    return evaluate(numbered(function_, expr), range_of).number();
  }

  /// Where a whole object is copied: what becomes `place`, a field in it; kNoPlace: nothing that has a name.
  [[nodiscard]] PlaceId copied_from(const Op& op, PlaceId place) const {
    if (op.source.kind != Operand::Kind::Value || op.target == kNoPlace) return kNoPlace;
    std::vector<PlaceId> fields;
    for (PlaceId part = place; part != op.target; part = function_[part].base) {
      if (part == kNoPlace) return kNoPlace;
      fields.push_back(part);
    }
    PlaceId from = op.source.place;
    for (auto field = fields.rbegin(); field != fields.rend(); ++field) {
      Place part = function_[*field];
      part.base = from;
      const auto known = std::ranges::find(function_.places, part);
      if (known == function_.places.end()) return kNoPlace;
      from = PlaceId{static_cast<std::uint32_t>(known - function_.places.begin())};
    }
    return from;
  }

  /// What one op does to those that are followed.
  struct Change {
    const Op* op;
    std::optional<std::size_t> target;                     ///< the one that it writes
    std::vector<std::pair<std::size_t, PlaceId>> changed;  ///< what else it may change, and what is copied into that
  };

  /// Most ops change none: they are not looked at again, however often their block is.
  void find_changes() {
    if (followed_.empty() || followed_.size() > kMost) return;
    changes_.resize(function_.blocks.size());
    for (std::size_t block = 0; block < changes_.size(); ++block)
      for (const Op& op : function_.blocks[block].ops) {
        if (op.target == kNoPlace && op.kind != OpKind::Escape && op.kind != OpKind::HostAccess) continue;
        Change change{.op = &op, .target = {}, .changed = {}};
        for (std::size_t i = 0; i < followed_.size(); ++i)
          if (op.target == followed_[i])
            change.target = i;
          else if (may_change(function_, op, followed_[i]))
            change.changed.emplace_back(i, op.kind == OpKind::Assign ? copied_from(op, followed_[i]) : kNoPlace);
        if (change.target || !change.changed.empty()) changes_[block].push_back(std::move(change));
      }
  }

  void apply(Held& held, const Change& change) const {
    const Held before = held;
    if (change.target)
      held[*change.target] = change.op->kind == OpKind::Assign ? assigned(before, *change.op) : std::nullopt;
    for (const auto& [i, from] : change.changed) held[i] = value(before, from);
  }

  const Function& function_;
  std::vector<PlaceId> followed_;
  std::vector<std::vector<Change>> changes_;        ///< by block
  std::vector<std::optional<Held>> starts_, ends_;  ///< by block
};

/// Puts one place in front of what was reached through a pointer.
class Namer {
 public:
  Namer(Function& function, std::map<PlaceId, PlaceId> pointed) : function_(function), pointed_(std::move(pointed)) {}

  PlaceId place(PlaceId id) {
    if (id == kNoPlace) return id;
    if (const auto known = places_.find(id); known != places_.end()) return known->second;
    places_[id] = id;  // a pointer that leads to itself
    Place made = function_[id];
    if (made.kind == Place::Kind::Deref)
      if (const auto to = pointed_.find(place(made.base)); to != pointed_.end()) return places_[id] = place(to->second);
    made.base = place(made.base);
    made.index = expr(made.index);
    const bool same = made.base == function_[id].base && made.index == function_[id].index;
    return places_[id] = same ? id : function_.add(std::move(made));
  }

  ExprId expr(ExprId id) {
    if (id == kNoExpr || function_[id].uses.empty()) return id;
    Expr made = function_[id];
    bool same = true;
    for (PlaceId& use : made.uses) {
      const PlaceId now = place(use);
      same = same && now == use;
      use = now;
    }
    if (same) return id;
    // The text spells what it reads.
    const Expr& old = function_[id];
    std::string text = numbered(function_, old);
    for (std::size_t i = made.uses.size(); i-- > 0;) {
      const std::string word = "$" + std::to_string(i), name = function_.spell(made.uses[i]);
      for (std::size_t found = text.find(word); found != std::string::npos;
           found = text.find(word, found + name.size()))
        text.replace(found, word.size(), name);
    }
    made.text = std::move(text);
    return function_.add(std::move(made));
  }

  void run() {
    for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
      function_.blocks[block].condition = expr(function_.blocks[block].condition);
      for (Op& op : function_.blocks[block].ops) {
        op.target = place(op.target);
        for_each_operand(op, [this](Operand& operand) {
          operand.place = place(operand.place);
          operand.offset = expr(operand.offset);
        });
        for (Access& access : op.accesses) access.bytes = expr(access.bytes);
      }
    }
  }

 private:
  Function& function_;
  std::map<PlaceId, PlaceId> pointed_, places_;
};

}  // namespace

std::optional<std::int64_t> SettledNumbers::in_loop(std::size_t head, const std::set<std::size_t>& blocks,
                                                    PlaceId number) {
  if (number == kNoPlace || !is_plain_path(function_, number)) return std::nullopt;
  for (const std::size_t block : blocks)
    for (const Op& op : function_.blocks[block].ops)
      if (may_change(function_, op, number)) return std::nullopt;
  const auto [known, is_new] = known_.try_emplace(number);
  if (is_new) {
    Constants constants(function_, number);
    constants.run();
    for (std::size_t block = 0; block < function_.blocks.size(); ++block)
      known->second.push_back(constants.at_end(block, number));
  }
  std::optional<std::int64_t> result;
  for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
    if (blocks.contains(block)) continue;
    for (const BlockId next : function_.blocks[block].successors) {
      if (at(next) != head) continue;
      const auto here = known->second[block];
      if (!here || (result && result != here)) return std::nullopt;
      result = here;
    }
  }
  return result;
}

void name_what_is_pointed_to(Function& function) {
  std::map<PlaceId, PlaceId> pointed;
  std::map<PlaceId, std::size_t> stores;
  for (const Block& block : function.blocks)
    for (const Op& op : block.ops) {
      if (op.target == kNoPlace || function[op.target].type != TypeKind::Pointer) continue;
      ++stores[op.target];
      const bool address = op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Address &&
                           op.source.offset == kNoExpr && function[op.source.place].type == TypeKind::Object;
      if (address && is_plain_path(function, op.target) && is_plain_path(function, op.source.place))
        pointed[op.target] = op.source.place;
    }
  std::erase_if(pointed, [&](const auto& known) {
    if (stores[known.first] != 1) return true;
    return std::ranges::any_of(function.blocks, [&](const Block& block) {
      return std::ranges::any_of(
          block.ops, [&](const Op& op) { return op.target != known.first && may_change(function, op, known.first); });
    });
  });
  if (!pointed.empty()) Namer(function, std::move(pointed)).run();
}

}  // namespace streamsan::analyzer::ir
