// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about the current op, and about its place in the function. look.h explains it.
#include "analyzer/analysis/look.h"

#include <utility>
#include <vector>

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

void Look::turn_to(const Store& contents, const Order& known, std::uint32_t in_block, std::uint32_t at_position) {
  store = &contents;
  order = &known;
  block = in_block;
  position = at_position;
  turn_to(values.first_op(block) + position);
}

void Look::turn_to(OpIndex other) {
  index = other;
  op = &values.op(index);
}

bool Look::ordered_on_some_path(const Pending& earlier, ValueId later) const {
  if (later == kUnknown) return sets.has(earlier.may, kHost);
  const SetId others = sets.without(earlier.may, [&](std::uint32_t t) { return t == stream_token(earlier.stream); });
  return order->perhaps_before(values, sets, others, later);
}

bool Look::of_earlier_iteration(const Pending& earlier) const {
  if (earlier.earlier_iteration && inside_same_loop(earlier)) return true;
  // The rounds of a loop that was written out are copies of one op.
  return earlier.op != index && op->origin != ir::Op::kNoOrigin && values.op(earlier.op).origin == op->origin;
}

bool Look::is_in(const Pending& earlier, std::size_t one) const {
  const OpIndex first = values.first_op(static_cast<std::uint32_t>(one));
  return earlier.op >= first && earlier.op < first + values.function().blocks[one].ops.size();
}

bool Look::inside_same_loop(const Pending& earlier) const {
  const std::vector<bool> behind = ir::reached_behind(values.function(), block);
  for (std::size_t i = 0; i < behind.size(); ++i)
    if (behind[i] && is_in(earlier, i)) return true;
  return false;
}

bool Look::always_after(const Pending& earlier) const {
  if (is_in(earlier, block)) return earlier.op < index;
  if (is_in(earlier, 0)) return true;
  // Is there a path around it?
  return !ir::reached(values.function(), {0}, [&](std::size_t, std::size_t to) { return !is_in(earlier, to); })[block];
}

Hazard Look::start(Check check, Level level) const {
  Hazard hazard;
  hazard.check = check;
  hazard.level = level;
  hazard.function = values.function().name;
  hazard.usr = values.function().usr;
  return hazard;
}

Raised Look::raised(Hazard hazard, const Pending& earlier, ValueId memory, ValueId later_stream) const {
  return {.hazard = std::move(hazard),
          .later = index,
          .earlier = earlier.op,
          .memory = memory,
          .later_stream = later_stream,
          .earlier_stream = earlier.stream,
          .other_iteration = of_earlier_iteration(earlier)};
}

void Look::note_belief(Hazard& hazard, ValueId one, ValueId other) const {
  if (beliefs == nullptr || values.proved_different(one, other)) return;
  if (auto evidence = beliefs->why(one, other)) hazard.evidence.push_back(std::move(*evidence));
}

void Look::note_pool(Hazard& hazard, const Pending& earlier) const {
  if (earlier.given_back == kNoOp || hazard.level == Level::Maybe) return;
  if (hazard.level == Level::Definite) hazard.level = Level::Likely;
  hazard.evidence.push_back({"the block goes back to its pool here, which hands it out again without waiting",
                             witness.where(earlier.given_back)});
}

void Look::note_presumption(Hazard& hazard, OpIndex launch) const {
  hazard.evidence.push_back({"the code of this kernel is not in sight: that it uses '" + hazard.buffer.name +
                                 "', which it is given, is presumed",
                             witness.where(launch)});
}

}  // namespace streamsan::analyzer
