// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/diff.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace streamsan::report {
namespace {

struct Match {
  const Folded* before = nullptr;
  const Folded* after = nullptr;
};

/// For an order that a shift of lines does not change.
std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>> lines(const Finding& finding) {
  std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>> out;
  for (const std::vector<Frame>* stack : stacks(finding)) {
    for (const Frame& frame : *stack) {
      if (!frame.library && !frame.file.empty()) out.emplace_back(frame.file, frame.line, frame.column);
    }
  }
  return out;
}

/// Pairs up what has the same key, and takes it off the two lists.
class Matching {
 public:
  using Key = std::function<std::string(const Finding&)>;

  Matching(const std::vector<Folded>& before, const std::vector<Folded>& after) {
    for (const Folded& fold : before) before_.push_back(&fold);
    for (const Folded& fold : after) after_.push_back(&fold);
  }

  void pass(const Key& key) {
    std::map<std::string, std::vector<const Folded*>> waiting;
    for (const Folded* fold : sorted(before_)) {
      if (std::string text = key(*fold->worst); !text.empty()) waiting[text].push_back(fold);
    }
    std::vector<const Folded*> taken;
    for (const Folded* fold : sorted(after_)) {
      auto it = waiting.find(key(*fold->worst));
      if (it == waiting.end() || it->second.empty()) continue;
      matches_.push_back({it->second.front(), fold});
      taken.push_back(it->second.front());
      taken.push_back(fold);
      it->second.erase(it->second.begin());
    }
    std::sort(taken.begin(), taken.end());
    const auto is_taken = [&](const Folded* fold) { return std::binary_search(taken.begin(), taken.end(), fold); };
    std::erase_if(before_, is_taken);
    std::erase_if(after_, is_taken);
  }

  /// The pairs, then what is only after and what is only before, in the order in which they were met.
  std::vector<Match> take() {
    std::stable_sort(matches_.begin(), matches_.end(),
                     [](const Match& a, const Match& b) { return a.after < b.after; });
    for (const Folded* fold : after_) matches_.push_back({nullptr, fold});
    for (const Folded* fold : before_) matches_.push_back({fold, nullptr});
    return std::move(matches_);
  }

 private:
  static std::vector<const Folded*> sorted(std::vector<const Folded*> folds) {
    std::vector<std::pair<decltype(lines({})), const Folded*>> keyed;
    keyed.reserve(folds.size());
    for (const Folded* fold : folds) keyed.emplace_back(lines(*fold->worst), fold);
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(keyed.begin(), keyed.end(), folds.begin(), [](const auto& one) { return one.second; });
    return folds;
  }

  std::vector<const Folded*> before_;
  std::vector<const Folded*> after_;
  std::vector<Match> matches_;
};

std::vector<Match> match(const std::vector<Folded>& before, const std::vector<Folded>& after) {
  Matching matching(before, after);
  matching.pass([](const Finding& finding) { return finding.fingerprint; });
  matching.pass(lasting_fingerprint);
  matching.pass(mirrored_fingerprint);
  return matching.take();
}

/// 0: the call stays as it is; 1: it can do less; 2: it can go.
int improvable(const Finding* finding) {
  if (!finding || finding->suppressed || !finding->sync) return 0;
  return finding->sync->verdict == Verdict::Unneeded ? 2 : finding->sync->verdict == Verdict::Narrower ? 1 : 0;
}

/// A call that is needed in one process of several is needed.
std::vector<Folded> folded_syncs(const std::vector<const Finding*>& findings) {
  std::vector<Folded> out = folded(findings);
  for (Folded& fold : out) {
    for (const Finding* finding : findings) {
      if (finding->fingerprint == fold.worst->fingerprint && improvable(finding) < improvable(fold.worst)) {
        fold.worst = finding;
      }
    }
  }
  return out;
}

SyncDiff compare_syncs(const std::vector<const Finding*>& before, const std::vector<const Finding*>& after) {
  SyncDiff out;
  const std::vector<Folded> folded_before = folded_syncs(before), folded_after = folded_syncs(after);
  for (const Match& match : match(folded_before, folded_after)) {
    const DiffEntry entry{.before = match.before ? match.before->worst : nullptr,
                          .after = match.after ? match.after->worst : nullptr};
    const int was = improvable(entry.before), is = improvable(entry.after);
    if (was == 0 && is == 0) continue;
    if (was == is) {
      ++out.unchanged;
    } else {
      (was == 0 ? out.improvable : is == 0 ? out.settled : out.changed).push_back(entry);
    }
  }
  return out;
}

struct Parts {
  std::vector<const Finding*> syncs;
  std::vector<const Finding*> others;
  explicit Parts(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) (finding.sync ? syncs : others).push_back(&finding);
  }
};

/// Whether only the order in which host threads happened to run makes them differ in severity.
bool differ_by_order_of_threads(const Finding& a, const Finding& b) {
  return (a.severity < b.severity ? b : a).passed_on;
}

}  // namespace

bool Diff::fails(Severity severity) const {
  const auto grave = [severity](const DiffEntry& entry) { return entry.after->severity <= severity; };
  return std::any_of(fresh.begin(), fresh.end(), grave) || std::any_of(worse.begin(), worse.end(), grave);
}

Diff compare(const std::vector<Finding>& before, const Summary& summary_before, const std::vector<Finding>& after,
             const Summary& summary_after) {
  Diff out;
  const Parts then(before), now(after);
  const std::vector<Folded> folded_before = folded(then.others), folded_after = folded(now.others);
  for (const Match& match : match(folded_before, folded_after)) {
    const bool was = match.before && !match.before->suppressed();
    const bool is = match.after && !match.after->suppressed();
    const DiffEntry entry{.before = was ? match.before->worst : nullptr,
                          .after = match.after && (is || was) ? match.after->worst : nullptr,
                          .count_before = was ? match.before->count : 0,
                          .count_after = match.after && (is || was) ? match.after->count : 0};
    if (!was && !is) continue;
    if (!was) {
      out.fresh.push_back(entry);
    } else if (!is) {
      (match.after ? out.suppressed : out.gone).push_back(entry);
    } else if (entry.after->severity != entry.before->severity &&
               differ_by_order_of_threads(*entry.before, *entry.after)) {
      ++out.by_order_of_threads;
      out.unchanged.push_back(entry);
    } else if (entry.after->severity != entry.before->severity) {
      (entry.after->severity < entry.before->severity ? out.worse : out.better).push_back(entry);
    } else {
      out.unchanged.push_back(entry);
    }
  }

  const bool syncs_then = summary_before.syncs || !then.syncs.empty();
  const bool syncs_now = summary_after.syncs || !now.syncs.empty();
  if (syncs_then && syncs_now) out.syncs = compare_syncs(then.syncs, now.syncs);
  if (syncs_then != syncs_now) {
    out.doubts.push_back(std::string("only ") + (syncs_now ? "the second" : "the first") +
                         " was judged with --syncs: synchronising calls are not compared");
  }
  if (!summary_before.whole) out.doubts.push_back("the first was not judged to its end: what is new may not be");
  if (!summary_after.whole) out.doubts.push_back("the second was not judged to its end: what is gone may not be");
  if (summary_after.processes == 0 && summary_before.processes != 0) {
    out.doubts.push_back("in the second no process used CUDA: what is gone may not be");
  }
  return out;
}

}  // namespace streamsan::report
