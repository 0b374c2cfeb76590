// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies are weighed first, then pairs of one cause. choice.h explains it.
#include "analyzer/analysis/choice.h"

#include <algorithm>
#include <tuple>

namespace streamsan::analyzer {

void Choice::visit(OpIndex index) {
  if (values_.has_copies(index)) visited_copies_[values_.origin(index)].insert(index);
}

void Choice::note_ordered(OpIndex later, OpIndex earlier) {
  if (values_.has_copies(later)) ordered_.emplace(values_.origin(later), values_.origin(earlier));
}

void Choice::drop_what_useless_waits_miss() {
  std::erase_if(raised_, [](const Raised& r) {
    return r.hazard.check == Check::EventWaitWithoutRecord && r.hazard.earlier &&
           r.hazard.cause == Cause::NeverRecorded;
  });
}

void Choice::weigh_copies() {
  using Which = std::tuple<Check, std::uint32_t, std::uint32_t>;
  const auto which = [this](const Raised& r) {
    return Which(r.hazard.check, values_.origin(r.later), r.earlier == kNoOp ? kNoOp : values_.origin(r.earlier));
  };
  std::map<Which, std::set<OpIndex>> raising;
  for (const Raised& r : raised_)
    if (r.later != kNoOp) raising[which(r)].insert(r.later);
  std::erase_if(raised_, [&](Raised& r) {
    if (r.later == kNoOp || !values_.has_copies(r.later) || r.hazard.level == Level::Maybe) return false;
    const Which one = which(r);
    // In the other copies the earlier op has not run, or the two are not ordered either.
    const bool all = r.memory != kUnknown ? !ordered_.contains({std::get<1>(one), std::get<2>(one)})
                                          : raising[one].size() == visited_copies_[std::get<1>(one)].size();
    if (!all) r.hazard.level = Level::Maybe;
    return !all && group(r.hazard.check) != Group::Correctness;
  });
  // To the reader of a report, all copies are one op.
  for (Raised& r : raised_) {
    const auto first = [this](OpIndex op) {
      const auto copies = op == kNoOp ? visited_copies_.end() : visited_copies_.find(values_.origin(op));
      return copies == visited_copies_.end() ? op : *copies->second.begin();
    };
    if (r.later != kNoOp && !values_.has_copies(r.later)) continue;
    r.later = first(r.later);
    r.earlier = first(r.earlier);
  }
}

namespace {

/// An op is not certain if it is in a virtual function: a derived class may have another one.
void note_class(Hazard& hazard, const Where& where) {
  if (hazard.level != Level::Definite && hazard.level != Level::Likely) return;
  const ir::Site* inside = &where.site;
  for (auto call = where.calls.begin(); call != where.calls.end(); inside = &*call++) {
    if (!call->by_class) continue;
    hazard.level = Level::Likely;
    Evidence evidence{"the object may be of another class; of those in sight, only the one with '" + inside->function +
                          "' works on the device",
                      {.site = *call, .calls = {call + 1, where.calls.end()}}};
    const bool noted =
        std::ranges::any_of(hazard.evidence, [&](const Evidence& known) { return known.what == evidence.what; });
    if (!noted) hazard.evidence.push_back(std::move(evidence));
  }
}

void note_classes(Hazard& hazard) {
  note_class(hazard, hazard.later.where);
  if (hazard.earlier) note_class(hazard, hazard.earlier->where);
  const auto of = [&](const Thing& thing) {
    if (thing.origin && !thing.by_class) note_class(hazard, Where(*thing.origin));
  };
  of(hazard.buffer);
  of(hazard.event);
  of(hazard.later.stream);
  if (hazard.earlier) of(hazard.earlier->stream);
}

}  // namespace

std::vector<Hazard> Choice::take() {
  weigh_copies();
  // The most certain first, then the nearest pair.
  std::stable_sort(raised_.begin(), raised_.end(), [](const Raised& a, const Raised& b) {
    const auto rank = [](const Raised& r) { return std::tuple(r.hazard.level, r.other_iteration, r.later); };
    return rank(a) != rank(b) ? rank(a) < rank(b)
                              : a.earlier != b.earlier && b.earlier != kNoOp && a.earlier > b.earlier;
  });
  std::set<std::tuple<Check, OpIndex, OpIndex>> pairs;
  std::set<std::tuple<OpIndex, ValueId, ValueId>> reported_later, reported_earlier;
  std::vector<Raised> kept;
  for (Raised& r : raised_) {
    if (!pairs.emplace(r.hazard.check, r.later, r.earlier).second) continue;
    if (r.memory != kUnknown) {
      const bool known = reported_later.contains({r.later, r.earlier_stream, r.memory}) ||
                         reported_earlier.contains({r.earlier, r.later_stream, r.memory});
      reported_later.emplace(r.later, r.earlier_stream, r.memory);
      reported_earlier.emplace(r.earlier, r.later_stream, r.memory);
      if (known) continue;
    }
    kept.push_back(std::move(r));
  }
  std::stable_sort(kept.begin(), kept.end(), [](const Raised& a, const Raised& b) { return a.later < b.later; });
  std::vector<Hazard> result;
  for (Raised& r : kept) {
    note_classes(r.hazard);
    result.push_back(std::move(r.hazard));
  }
  return result;
}

}  // namespace streamsan::analyzer
