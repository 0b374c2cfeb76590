// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work against work in flight on another stream.
//
// A race is Definite only if all of this holds: one memory, bytes that surely meet, one side that surely writes, two
// streams that certainly differ, and no order on any path. An access to the whole buffer against one to a part of it
// may be intended (each stream has its part), and so may two launches of one kernel with different integers or offsets:
// these are reported as Maybe. Atomic updates do not conflict with each other.
#include "analyzer/analysis/inspect_races.h"

#include <algorithm>

#include "analyzer/analysis/cause.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ordering::StreamKind;

bool RaceQuestions::shared_out(const Pending& mine, const Pending& earlier) const {
  const auto chosen = [this](const Pending& of) {
    const ir::Op& op = values_.op(of.op);
    return of.mode == ir::Mode::Write && of.access < op.accesses.size() && op.accesses[of.access].by_data;
  };
  return chosen(mine) && chosen(earlier);
}

const Pending* RaceQuestions::joined_part(const Pending& mine, const Pending& earlier) const {
  const auto access = [this](const Pending& of) -> const ir::Access* {
    const ir::Op& op = values_.op(of.op);
    const bool whole = op.work == ir::Work::Kernel && of.access < op.accesses.size() && of.offset == kWhole;
    return whole ? &op.accesses[of.access] : nullptr;
  };
  const auto writes_part = [&](const Pending& of) {
    const ir::Access* const written = access(of);
    // The launch's arguments, or lists of indices, give each writer its own part. The reader may have one, too.
    return written != nullptr && writes(of.mode) && of.memory == mine.memory && written->part.arguments == 0 &&
           !written->by_data && written->part.kind != ir::Part::Kind::Whole;
  };
  const ir::Access* const read = access(mine);
  if (read == nullptr || !read->by_data || mine.mode != ir::Mode::Read || !writes_part(earlier)) return nullptr;
  const auto found = std::ranges::find_if(look_.order->pending(), [&](const Pending& other) {
    return writes_part(other) && !sets_.has(other.must, kHost) &&
           values_.origin(other.op) != values_.origin(earlier.op) &&
           values_.certainly_different(other.stream, mine.stream) &&
           values_.certainly_different(other.stream, earlier.stream) &&
           look_.order->surely_before(values_, sets_, other.must, mine.stream);
  });
  return found == look_.order->pending().end() || waits_later(mine, earlier) ? nullptr : &*found;
}

bool RaceQuestions::waits_later(const Pending& mine, const Pending& earlier) const {
  const std::vector<bool> behind = ir::reached_behind(values_.function(), look_.block);
  const auto waits = [&](const ir::Op& op) {
    return op.kind == ir::OpKind::Wait && values_.must_equal(look_.store->stream(values_, op.stream), mine.stream) &&
           sets_.has(earlier.must, event_token(look_.store->evaluate(values_, op.event)));
  };
  for (std::size_t block = 0; block < behind.size(); ++block) {
    const std::vector<ir::Op>& ops = values_.function().blocks[block].ops;
    const std::size_t from = block == look_.block && !behind[block] ? look_.position + 1 : 0;
    if ((behind[block] || block == look_.block) &&
        std::any_of(ops.begin() + static_cast<std::ptrdiff_t>(from), ops.end(), waits))
      return true;
  }
  return false;
}

OpIndex RaceQuestions::waited_since(const Pending& mine, const Pending& earlier) const {
  for (const OpIndex op : sets_[earlier.since]) {
    const auto edge = look_.order->edges().find(op);
    if (values_.op(op).kind == ir::OpKind::Wait && edge != look_.order->edges().end() &&
        values_.must_equal(edge->second.stream, mine.stream) &&
        (edge->second.recorded_on == kUnknown ? records(edge->second.event, earlier.stream)
                                              : values_.must_equal(edge->second.recorded_on, earlier.stream)))
      return op;
  }
  return kNoOp;
}

bool RaceQuestions::records(ValueId event, ValueId stream) const {
  const auto does = [&](const ir::Op& op) {
    return op.kind == ir::OpKind::Record && values_.must_equal(look_.store->evaluate(values_, op.event), event) &&
           values_.must_equal(look_.store->stream(values_, op.stream), stream);
  };
  return std::ranges::any_of(values_.function().blocks,
                             [&](const ir::Block& block) { return std::ranges::any_of(block.ops, does); });
}

bool RaceQuestions::one_kernel_on_parts(const Pending& mine, const Pending& earlier) const {
  const ir::Op &now = *look_.op, &before = values_.op(earlier.op);
  if (now.work != ir::Work::Kernel || before.work != ir::Work::Kernel || now.name != before.name) return false;
  if (mine.arguments != earlier.arguments) return true;
  const bool same_op = values_.origin(mine.op) == values_.origin(earlier.op);
  // Equal texts mean equal values only within one run of one function.
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

std::string RaceQuestions::returns_early(const Pending& earlier) const {
  const ir::Op& op = values_.op(earlier.op);
  if (!copies_or_fills(op) || op.form != ir::Form::Synchronous) return {};
  const std::vector<ordering::CopyRule> rules = copy_rules(values_, *look_.store, *look_.order, earlier.op);
  const auto same = [&](const ordering::CopyRule& rule) {
    return rule.documented_rule == rules.front().documented_rule && rule.documented != ordering::HostEffect::Complete;
  };
  return std::ranges::all_of(rules, same) && !rules.empty() ? ordering::rule_id(rules.front().documented_rule) : "";
}

void RaceQuestions::note_devices(Hazard& hazard, ValueId earlier, ValueId later) const {
  if (!look_.order->on_two_devices(values_, earlier, later)) return;
  const auto note = [this](Thing& stream, ValueId value) {
    if (const std::string* device = values_.default_stream_device(value)) stream.name += " of device " + *device;
  };
  note(hazard.earlier->stream, earlier);
  note(hazard.later.stream, later);
}

void RaceQuestions::race(const ir::Access& access, const Pending& mine, const Pending& earlier) {
  if (earlier.access == kEventRecord || !related(values_, earlier.memory, mine.memory)) return;
  if (is_message(values_, earlier)) return meets_message(access, mine, earlier);
  // R-GRF-35 orders launches of one executable graph. What other graphs access is not known.
  if (look_.op->work == ir::Work::GraphLaunch && values_.op(earlier.op).work == ir::Work::GraphLaunch) return;
  if (Order::one_stream(values_, earlier.stream, mine.stream) ||
      look_.order->surely_before(values_, sets_, earlier.must, mine.stream)) {
    if (earlier.access == kRelease) use_after_free(access, mine, earlier);
    if (overtakes(access, mine, earlier)) return;
    return look_.note_ordered(earlier);
  }
  Sure meet = overlap(values_, earlier, mine);
  if (meet == Sure::Maybe && look_.first_rounds.meet(earlier, mine)) meet = Sure::Yes;
  // A user that a pool gives a block to uses it from its start.
  if (meet == Sure::Maybe && earlier.given_back != kNoOp) meet = Sure::Yes;
  const Pending* const joined = meet == Sure::Maybe ? joined_part(mine, earlier) : nullptr;
  if (joined != nullptr) meet = Sure::Yes;
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
  // R-SOA-04: it is an error in whatever order the two run.
  if (earlier.access == kRelease && (!definite || earlier.leans)) return use_after_free(access, mine, earlier);
  Hazard hazard = look_.start(Check::CrossStreamRace, !definite                       ? Level::Maybe
                                                      : earlier.leans                 ? Level::Latent
                                                      : presumed || joined != nullptr ? Level::Likely
                                                                                      : Level::Definite);
  if (hazard.level == Level::Latent) hazard.rule = ordering::rule_id(*earlier.leans);
  if (hazard.level == Level::Definite || hazard.level == Level::Likely) hazard.rule = returns_early(earlier);
  hazard.later = witness_.action(look_.index, mine.stream);
  hazard.later.mode = mine.mode;
  hazard.earlier = witness_.action(earlier);
  hazard.buffer = witness_.memory(mine.memory, access.memory, look_.index);
  note_devices(hazard, earlier.stream, mine.stream);
  explain(look_, hazard, earlier, mine.stream);
  if (hazard.level < Level::Maybe && joined == nullptr && are_by_lists(values_, earlier, mine)) {
    const OpIndex wait = waited_since(mine, earlier);
    hazard.level = wait != kNoOp ? std::max(hazard.level, Level::Likely) : Level::Maybe;
    if (wait != kNoOp)
      hazard.evidence.push_back(
          {"here the one stream waits for the other: their lists of indices are taken to have elements in common",
           witness_.where(wait)});
  }
  if (hazard.level == Level::Likely && presumed)
    look_.note_presumption(hazard, mine.mode == ir::Mode::Unknown ? mine.op : earlier.op);
  if (hazard.level == Level::Likely && joined != nullptr)
    hazard.evidence.push_back({"another part of '" + hazard.buffer.name + "' is written here, and stream '" +
                                   hazard.later.stream.name + "' waits for that",
                               witness_.where(joined->op)});
  look_.note_belief(hazard, earlier.stream, mine.stream);
  look_.note_pool(hazard, earlier);
  look_.undecided = look_.undecided || (hazard.level == Level::Maybe && meet == Sure::Yes && fights);
  if (!differ && !ordered_somewhere) {
    const std::string &mine_is = hazard.later.stream.name, &other_is = hazard.earlier->stream.name;
    hazard.condition =
        (mine_is == other_is ? "these" : "'" + mine_is + "' and '" + other_is + "'") + " are two streams";
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
  if (sets_.has(message.must, kHost)) return look_.note_ordered(message);
  const Sure meet = message_overlap(values_, message, mine), fight = conflict(message.mode, mine.mode);
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
  if (hazard.level == Level::Likely) look_.note_presumption(hazard, mine.op);
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
  // Each call is reported where it stands, with the order at the end of the group.
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
