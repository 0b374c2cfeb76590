// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work against work in flight on another stream.
//
// Definite needs all of it: one memory, bytes that surely meet, one side that surely writes, two streams that certainly
// differ, and no order on any path. Whole against part of a buffer may be meant (each stream has its part), and so may
// two launches of one kernel with different integers or offsets: they are reported as Maybe. Atomic updates commute.
#include "analyzer/analysis/inspect_races.h"

#include <algorithm>
#include <array>

#include "analyzer/analysis/cause.h"
#include "analyzer/ir/polynomial.h"

namespace streamsan::analyzer {

using ordering::StreamKind;

namespace {

/// The offset is 0 wherever its variable `$number` is.
bool vanishes_with(const Key& offset, std::size_t number) {
  const std::string name = "$" + std::to_string(number);
  std::string_view text = offset.text;
  if (text.ends_with(", ")) text.remove_suffix(2);  // the one argument of a launch that says where it begins
  const auto steps = ir::Polynomial::parse(text, [](std::string_view word) { return std::string(word); });
  return steps && !steps->terms().empty() && std::ranges::all_of(steps->terms(), [&](const auto& term) {
           return std::ranges::find(term.first, name) != term.first.end();
         });
}

/// The op may leave another number in `place`.
bool may_write(const ir::Function& function, const ir::Op& op, ir::PlaceId place) {
  if (op.kind == ir::OpKind::Escape || op.kind == ir::OpKind::MaySync) return true;
  for (ir::PlaceId part = place; part != ir::kNoPlace; part = function[part].base)
    if (op.target == part) return true;
  return false;
}

bool sets_to_zero(const ir::Function& function, const ir::Op& op, ir::PlaceId place) {
  return op.kind == ir::OpKind::Assign && op.target == place && op.source.kind == ir::Operand::Kind::Number &&
         function[op.source.offset].constant == 0;
}

}  // namespace

bool RaceQuestions::shared_out(const Pending& mine, const Pending& earlier) const {
  const auto chosen = [this](const Pending& of) {
    const ir::Op& op = values_.op(of.op);
    return of.mode == ir::Mode::Write && of.access < op.accesses.size() && op.accesses[of.access].by_data;
  };
  return chosen(mine) && chosen(earlier);
}

bool RaceQuestions::one_kernel_on_parts(const Pending& mine, const Pending& earlier) const {
  const ir::Op &now = *look_.op, &before = values_.op(earlier.op);
  if (now.work != ir::Work::Kernel || before.work != ir::Work::Kernel || now.name != before.name) return false;
  if (mine.arguments != earlier.arguments) return true;
  const bool same_op = values_.origin(mine.op) == values_.origin(earlier.op);
  // Equal texts are equal values only within one run of one function.
  const bool one_run = !same_op && !values_.of_a_callee(look_.index) && !values_.of_a_callee(earlier.op);
  if (!values_.precise(mine.arguments) && !one_run) return true;
  for (std::size_t i = 0; i < now.accesses.size() && i < before.accesses.size(); ++i) {
    const ir::ExprId offset = now.accesses[i].memory.offset;
    if (same_op ? offset != ir::kNoExpr && !values_.function()[offset].constant
                : offset != before.accesses[i].memory.offset)
      return true;
  }
  return false;
}

bool RaceQuestions::begins_at_base(const Pending& earlier) const {
  // `buf + i * n` of a loop that counts from 0, or a kernel that is given `i * n`: its first round is at the begin of the
  // buffer.
  const Key& offset = values_[earlier.from == kWhole ? earlier.offset : earlier.from];
  for (std::size_t i = 0; i < offset.values.size(); ++i) {
    const Value& counter = values_[offset.values[i]];
    if (counter.kind != Value::Kind::Merge) continue;
    const Location& variable = values_[counter.location];
    if (variable.kind != Location::Kind::Root) continue;
    bool from_zero = false;
    for (OpIndex op = 0; op < values_.op_count(); ++op) {
      const ir::Op& set = values_.op(op);
      if (set.kind != ir::OpKind::Assign || set.target != variable.root) continue;
      if (set.source.kind == ir::Operand::Kind::Number && values_.function()[set.source.offset].constant == 0)
        from_zero = true;
    }
    if (from_zero && vanishes_with(offset, i)) return true;
  }
  return false;
}

bool RaceQuestions::begins_anew(const Pending& mine, const Pending& earlier) const {
  const ir::Function& function = values_.function();
  const Key& offset = values_[mine.offset];
  for (std::size_t i = 0; i < offset.values.size(); ++i) {
    const Value& merged = values_[offset.values[i]];
    const ir::PlaceId place = merged.kind == Value::Kind::Merge ? values_.seen(merged.location) : ir::kNoPlace;
    if (place == ir::kNoPlace || !vanishes_with(offset, i)) continue;
    // Ways from the earlier op, by what they have come to: where a block is entered, with 0 in the variable or without.
    std::vector<std::array<bool, 2>> entered(function.blocks.size());
    std::vector<std::pair<std::uint32_t, bool>> open;
    const auto go = [&](std::uint32_t block, std::size_t from, bool zero) {
      const auto& ops = function.blocks[block].ops;
      for (std::size_t at = from; at < ops.size(); ++at) {
        if (zero && values_.first_op(block) + at == mine.op) return true;
        if (may_write(function, ops[at], place)) zero = sets_to_zero(function, ops[at], place);
      }
      for (const ir::BlockId next : function.blocks[block].successors)
        if (const auto to = static_cast<std::uint32_t>(next); !entered[to][zero ? 1 : 0]) {
          entered[to][zero ? 1 : 0] = true;
          open.emplace_back(to, zero);
        }
      return false;
    };
    std::uint32_t block = 0;
    while (block + 1 < function.blocks.size() && values_.first_op(block + 1) <= earlier.op) ++block;
    if (go(block, earlier.op - values_.first_op(block) + 1, false)) return true;
    while (!open.empty()) {
      const auto [next, zero] = open.back();
      open.pop_back();
      if (go(next, 0, zero)) return true;
    }
  }
  return false;
}

std::string RaceQuestions::returns_early(const Pending& earlier) const {
  const ir::Op& op = values_.op(earlier.op);
  if (!copies_or_fills(op) || op.form != ir::Form::Synchronous) return {};
  const std::vector<ordering::CopyRule> rules = copy_rules(values_, *look_.store, *look_.order, earlier.op);
  const auto same = [&](const ordering::CopyRule& rule) {
    return rule.documented_rule == rules.front().documented_rule && rule.documented != ordering::HostEffect::Complete;
  };
  return std::ranges::all_of(rules, same) && !rules.empty() ? ordering::rule_id(rules.front().documented_rule) : "";
}

void RaceQuestions::tell_devices(Hazard& hazard, ValueId earlier, ValueId later) const {
  if (!look_.order->on_two_devices(values_, earlier, later)) return;
  const auto tell = [this](Thing& stream, ValueId value) {
    if (const std::string* device = values_.default_stream_device(value)) stream.name += " of device " + *device;
  };
  tell(hazard.earlier->stream, earlier);
  tell(hazard.later.stream, later);
}

void RaceQuestions::race(const ir::Access& access, const Pending& mine, const Pending& earlier) {
  if (earlier.access == kEventRecord || !related(values_, earlier.memory, mine.memory)) return;
  if (is_message(values_, earlier)) return meets_message(access, mine, earlier);
  // R-GRF-35: launches of one executable graph, and no other is known from inside.
  if (look_.op->work == ir::Work::GraphLaunch && values_.op(earlier.op).work == ir::Work::GraphLaunch) return;
  if (Order::one_stream(values_, earlier.stream, mine.stream) ||
      look_.order->surely_before(values_, sets_, earlier.must, mine.stream)) {
    if (earlier.access == kRelease) use_after_free(access, mine, earlier);
    if (overtakes(access, mine, earlier)) return;
    return look_.note_calm(earlier);
  }
  Sure meet = overlap(values_, earlier, mine);
  const auto leaves_nothing_out = [this](const Pending& of) {
    const auto& all = values_.op(of.op).accesses;
    return of.access >= all.size() || all[of.access].part.kind == ir::Part::Kind::Whole;
  };
  if (meet == Sure::Maybe && mine.offset == kWhole && leaves_nothing_out(mine) &&
      (earlier.offset == kWhole || earlier.from == kWhole) && earlier.memory == mine.memory &&
      !look_.inside_same_loop(earlier) && begins_at_base(earlier))
    meet = Sure::Yes;
  if (meet == Sure::Maybe && earlier.offset == kWhole && leaves_nothing_out(earlier) &&
      values_.must_equal(earlier.memory, mine.memory) && begins_anew(mine, earlier))
    meet = Sure::Yes;
  const Sure fight = conflict(earlier.mode, mine.mode);
  if (meet == Sure::No || fight == Sure::No) return;

  const bool differ = values_.certainly_different(earlier.stream, mine.stream);
  const bool perhaps_ordered = look_.order->perhaps_before(values_, sets_, earlier.may, mine.stream);
  const bool ordered_somewhere = look_.ordered_on_some_path(earlier, mine.stream);
  const bool presumed =
      fight == Sure::Maybe && presumed_conflict(values_.op(mine.op), mine.mode, values_.op(earlier.op), earlier.mode);
  const bool fights = fight == Sure::Yes || presumed;
  const bool definite = meet == Sure::Yes && fights && differ && !perhaps_ordered &&
                        !one_kernel_on_parts(mine, earlier) && !shared_out(mine, earlier) &&
                        (earlier.access != kRelease || look_.always_after(earlier));
  // R-SOA-04: in whatever order the two run.
  if (earlier.access == kRelease && (!definite || earlier.leans)) return use_after_free(access, mine, earlier);
  Hazard hazard = look_.start(Check::CrossStreamRace, !definite       ? Level::Maybe
                                                      : earlier.leans ? Level::Latent
                                                      : presumed      ? Level::Likely
                                                                      : Level::Definite);
  if (hazard.level == Level::Latent) hazard.rule = ordering::rule_id(*earlier.leans);
  if (hazard.level == Level::Definite || hazard.level == Level::Likely) hazard.rule = returns_early(earlier);
  hazard.later = witness_.action(look_.index, mine.stream);
  hazard.later.mode = mine.mode;
  hazard.earlier = witness_.action(earlier);
  hazard.buffer = witness_.memory(mine.memory, access.memory, look_.index);
  tell_devices(hazard, earlier.stream, mine.stream);
  explain(look_, hazard, earlier, mine.stream);
  if (hazard.level == Level::Likely)
    look_.tell_presumption(hazard, mine.mode == ir::Mode::Unknown ? mine.op : earlier.op);
  look_.tell_belief(hazard, earlier.stream, mine.stream);
  look_.undecided = look_.undecided || (hazard.level == Level::Maybe && meet == Sure::Yes && fights);
  if (!differ && !ordered_somewhere) {
    hazard.condition = "'" + hazard.later.stream.name + "' and '" + hazard.earlier->stream.name + "' are two streams";
  } else if (perhaps_ordered && !ordered_somewhere) {
    hazard.condition = "'" + (values_.is_legacy(mine.stream) ? *hazard.earlier : hazard.later).stream.name +
                       "' is a non-blocking stream";
  } else if (hazard.level == Level::Maybe && !ordered_somewhere) {
    hazard.condition = "both use the same part of '" + hazard.buffer.name + "'";
  }

  const auto kinds = std::pair{values_.stream_kind(earlier.stream), values_.stream_kind(mine.stream)};
  if (earlier.access == kRelease) {
    hazard.check = Check::PrematureFree;
    hazard.which = CheckCase::UseAfterFree;
  } else if (hazard.cause == Cause::NeverRecorded || hazard.cause == Cause::RecordedTooEarly) {
    hazard.check = Check::EventWaitWithoutRecord;
  } else if (kinds == std::pair{std::optional{StreamKind::Legacy}, std::optional{StreamKind::NonBlocking}} ||
             kinds == std::pair{std::optional{StreamKind::NonBlocking}, std::optional{StreamKind::Legacy}}) {
    hazard.check = Check::NonblockingVsDefault;
  }
  look_.raise(std::move(hazard), earlier, mine.memory, mine.stream);
}

void RaceQuestions::meets_message(const ir::Access& access, const Pending& mine, const Pending& message) {
  if (sets_.has(message.must, kHost)) return look_.note_calm(message);
  const Sure meet = overlap(values_, message, mine), fight = conflict(message.mode, mine.mode);
  if (meet == Sure::No || fight == Sure::No) return;
  const bool presumed =
      fight == Sure::Maybe && presumed_conflict(values_.op(mine.op), mine.mode, values_.op(message.op), message.mode);
  const bool perhaps_over = sets_.has(message.may, kHost);
  const bool sure = meet == Sure::Yes && (fight == Sure::Yes || presumed) && !perhaps_over;
  Hazard hazard = look_.start(Check::CrossStreamRace, !sure      ? Level::Maybe
                                                      : presumed ? Level::Likely
                                                                 : Level::Definite);
  hazard.which = CheckCase::Message;
  hazard.later = witness_.action(look_.index, mine.stream);
  hazard.later.mode = mine.mode;
  hazard.earlier = witness_.action(message);
  hazard.buffer = witness_.memory(mine.memory, access.memory, look_.index);
  if (hazard.level == Level::Likely) look_.tell_presumption(hazard, mine.op);
  look_.undecided = look_.undecided || (hazard.level == Level::Maybe && meet == Sure::Yes && fight == Sure::Yes);
  if (hazard.level == Level::Maybe && !perhaps_over)
    hazard.condition = "both use the same part of '" + hazard.buffer.name + "'";
  look_.raise(std::move(hazard), message, mine.memory, mine.stream);
}

void RaceQuestions::use_after_free(const ir::Access& access, const Pending& mine, const Pending& free) {
  // Code that frees on one path often sets the pointer to null there, and tests it here.
  Hazard hazard = look_.start(Check::PrematureFree, look_.always_after(free) ? Level::Definite : Level::Maybe);
  hazard.which = CheckCase::UseAfterFree;
  hazard.later = witness_.action(look_.index, mine.stream);
  hazard.later.mode = mine.mode;
  hazard.earlier = witness_.action(free);
  hazard.buffer = witness_.memory(mine.memory, access.memory, look_.index);
  look_.raise(std::move(hazard), free, mine.memory, mine.stream);
}

void RaceQuestions::races() {
  const ValueId stream = look_.order->stream_of(values_, *look_.store, look_.index);
  if (stream == kUnknown) return;
  for (std::uint16_t i = 0; i < look_.op->accesses.size(); ++i) {
    std::optional<Pending> mine = touch(values_, *look_.store, look_.index, i);
    if (!mine) continue;
    mine->stream = stream;
    for (const Pending& earlier : look_.order->pending()) race(look_.op->accesses[i], *mine, earlier);
  }
}

void RaceQuestions::released_races() {
  // Each is reported where it was called; the order is that of the group's end.
  const OpIndex end = look_.index;
  for (const Pending& mine : look_.order->released()) {
    look_.turn_to(mine.op);
    for (const Pending& earlier : look_.order->pending()) race(look_.op->accesses[mine.access], mine, earlier);
  }
  look_.turn_to(end);
}

void RaceQuestions::ask() {
  switch (look_.op->kind) {
    case ir::OpKind::Enqueue:
      return races();
    case ir::OpKind::GroupEnd:
      return released_races();
    default:
      return;
  }
}

}  // namespace streamsan::analyzer
