// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/sync_replay.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "judge/sync_groups.h"
#include "judge/sync_ladder.h"

namespace streamsan::judge {

using ordering::Plan;
using ordering::World;

namespace {

constexpr unsigned kMostRounds = 4;

/// Libraries that move memory, of the device or pinned, by other means than CUDA, as soon as the host lets them.
constexpr std::string_view kMovers[] = {"libmpi.",    "libmpi_",   "libucp.",    "libibverbs.", "libfabric.",
                                        "libnvshmem", "libcufile", "libgdrapi.", "liburing.",   "librdmacm."};

/// What the recorder says of kernels' bytes, which each launch has for itself, and of Python's lines is nothing about
/// order.
bool bears_on_order(std::string_view message) {
  static constexpr std::string_view kOthers[] = {"footprints:", "call stacks have no lines of Python",
                                                 "python_stacks="};
  return std::none_of(std::begin(kOthers), std::end(kOthers), [&](auto each) { return message.starts_with(each); });
}

std::vector<std::string> doubts_of(const Judge& judge, const std::vector<std::string>& known) {
  std::vector<std::string> out = known;
  if (!judge.hidden_order().empty()) out.push_back("the order made by " + judge.hidden_order() + " is not seen");
  for (const std::string& function : judge.unmodelled()) {
    // What a graph does is doubted where one is launched.
    if (!api::is_of_graphs(function)) out.push_back("not modelled by this version: " + function);
  }
  if (judge.graphs_of_kernels() != 0) out.emplace_back("launches of graphs from the device are not seen");
  for (const std::string& function : judge.shared())
    out.push_back("others may use what they were given by " + function);
  for (const Module& module : judge.places().modules()) {
    const std::string_view name = std::string_view(module.path).substr(module.path.rfind('/') + 1);
    if (std::none_of(std::begin(kMovers), std::end(kMovers), [&](auto each) { return name.starts_with(each); }))
      continue;
    out.push_back("what " + std::string(name) + " does with memory of the device, or pinned memory, is not seen");
    break;
  }
  for (const std::string& message : judge.messages()) {
    if (bears_on_order(message)) out.push_back("the recorder says: " + message);
  }
  return out;
}

/// Replays one plan to its end.
bool replay(const SyncInput& input, SyncJudgement::Replay& what, Observer* observer) {
  if (observer) what.judge.add_observer(*observer);
  if (!input.feed(what.judge)) return false;
  what.judge.finish();
  return true;
}

/// All replays after the first.
class Together {
 public:
  Together(const SyncInput& input, SyncJudgement& out, const IdleOperations& idle)
      : input_(input), out_(out), idle_(idle) {}

  bool run(bool doubted) {
    if (!doubted && !climb()) return false;
    for (std::size_t i = 0; i < out_.sites.size(); ++i) {
      const SyncSite& site = out_.sites[i];
      // A copy or free is there for something else; one that waits for nothing is not changed for that.
      const bool costs = is_explicit(site.kind) || !site.idle();
      if ((site.verdict == SyncVerdict::Unneeded && costs) || site.verdict == SyncVerdict::Narrower)
        changed_.push_back(i);
    }
    bool clean = true;
    if (!try_together(clean)) return false;
    for (unsigned round = 0; !clean && round < kMostRounds; ++round) {
      if (!put_back() || !try_together(clean)) return false;
    }
    for (std::size_t index : changed_) out_.sites[index].removable = clean;
    out_.together = clean;
    return true;
  }

 private:
  /// Tries what could take the place of those that are needed.
  bool climb() {
    std::vector<SyncRung> rungs;
    for (std::size_t i = 0; i < out_.sites.size(); ++i) {
      const SyncSite& site = out_.sites[i];
      // Whoever reads a clock after it, or asks for the time up to an event, needs the host to wait here.
      if (site.verdict != SyncVerdict::Needed || site.clock_reads != 0 || site.event_times != 0) continue;
      for (SyncRung& rung : ladder(site, i)) rungs.push_back(std::move(rung));
    }
    if (rungs.empty()) return true;
    Plan plan;
    for (const SyncRung& rung : rungs) {
      plan.variants.push_back({.cuts = {out_.sites[rung.site].cut}, .instead = rung.instead});
    }
    SyncTrial trial(std::move(rungs), out_.sites, idle_);
    if (!try_out(std::move(plan), trial)) return false;
    for (SyncRung& rung : trial.take()) {
      SyncSite& site = out_.sites[rung.site];
      if (!rung.clean || rung.useful == 0 || site.verdict == SyncVerdict::Narrower) continue;
      site.verdict = SyncVerdict::Narrower;
      site.replacement.instead = std::move(rung.instead);
    }
    return true;
  }

  /// Tries all changes in one variant.
  bool try_together(bool& clean) {
    // On their own they were tried before.
    clean = true;
    if (changed_.size() < 2) return true;
    Plan plan;
    plan.variants.push_back(all_changed());
    SyncTrial trial({}, out_.sites, idle_);
    if (!try_out(std::move(plan), trial)) return false;
    clean = !trial.dirty(1);
    return true;
  }

  bool try_out(Plan plan, SyncTrial& trial) {
    SyncJudgement::Replay replayed(input_.options, std::move(plan), trial);
    trial.watch(replayed.judge);
    ++out_.replays;
    return replay(input_, replayed, &trial);
  }

  [[nodiscard]] World all_changed() const {
    World world;
    for (std::size_t index : changed_) {
      const SyncSite& site = out_.sites[index];
      world.cuts.push_back(site.cut);
      const std::vector<ordering::Instead>& instead = site.replacement.instead;
      world.instead.insert(world.instead.end(), instead.begin(), instead.end());
    }
    return world;
  }

  /// Finds out whom to put back.
  bool put_back() {
    Plan plan;
    plan.base = all_changed();
    for (std::size_t index : changed_) plan.variants.push_back({.cuts = {out_.sites[index].cut}, .instead = {}});
    SyncMending mending(changed_.size());
    SyncJudgement::Replay replayed(input_.options, std::move(plan), mending);
    ++out_.replays;
    if (!replay(input_, replayed, nullptr)) return false;
    std::vector<bool> idle;
    std::vector<std::uint64_t> calls;
    for (std::size_t index : changed_) {
      idle.push_back(out_.sites[index].idle());
      calls.push_back(out_.sites[index].calls);
    }
    SyncCover found = cover(mending.pairs(), idle, calls);
    if (found.kept.empty()) {
      // No single one mends it, or what is missing is no pair. Those that had something to wait for cover, all
      // together, what the run had; the last of them covers most.
      std::uint32_t last = static_cast<std::uint32_t>(changed_.size() - 1);
      while (last != 0 && idle[last]) --last;
      found.kept.push_back(idle[last] ? static_cast<std::uint32_t>(changed_.size() - 1) : last);
      found.group.assign(changed_.size(), 1);
    }
    std::vector<std::size_t> rest;
    for (std::uint32_t i = 0; i < changed_.size(); ++i) {
      SyncSite& site = out_.sites[changed_[i]];
      if (found.group[i] != 0 && site.group == 0) site.group = groups_ + found.group[i];
      if (std::find(found.kept.begin(), found.kept.end(), i) == found.kept.end()) rest.push_back(changed_[i]);
    }
    if (!found.group.empty()) groups_ += *std::max_element(found.group.begin(), found.group.end());
    changed_ = std::move(rest);
    return true;
  }

  const SyncInput& input_;
  SyncJudgement& out_;
  const IdleOperations& idle_;
  std::vector<std::size_t> changed_;  ///< sites that are left out or replaced, by index
  std::uint32_t groups_ = 0;
};

}  // namespace

void decide(SyncSite& site, const std::vector<std::string>& doubts) {
  const bool ends = std::any_of(site.exposures.begin(), site.exposures.end(),
                                [](const SyncExposure& each) { return each.why == ordering::Exposure::Why::End; });
  site.doubts.clear();
  if (!site.pairs.empty() || ends) {
    site.verdict = SyncVerdict::Needed;
    site.doubts = doubts;
  } else if (!site.exposures.empty()) {
    site.verdict = SyncVerdict::Unknown;
  } else if (site.clock_reads != 0 || site.event_times != 0) {
    site.verdict = SyncVerdict::Timing;
  } else if (!doubts.empty()) {
    site.verdict = SyncVerdict::Unknown;
    site.doubts = doubts;
  } else {
    site.verdict = SyncVerdict::Unneeded;
  }
}

SyncJudgement judge_syncs(const SyncInput& input) {
  SyncJudgement out;
  out.collector_ = std::make_unique<SyncCollector>(input.idle);
  SyncCollector& collector = *out.collector_;
  Plan plan;
  plan.each = true;
  out.replay_ = std::make_unique<SyncJudgement::Replay>(input.options, std::move(plan), collector);
  collector.watch(out.replay_->judge);
  if (input.observe) input.observe(out.replay_->judge);
  out.replays = 1;
  if (!replay(input, *out.replay_, &collector)) return out;
  std::vector<ordering::SiteId> cudas_clocks;
  if (input.made_by_cuda) cudas_clocks = input.made_by_cuda(out.places(), collector.clock_sites());
  out.sites = collector.take(cudas_clocks);
  out.inferred_launches = collector.inferred_launches();
  std::vector<std::string> doubts = doubts_of(out.replay_->judge, input.doubts);
  // What one thread has waited for is known to all then, in the order that they happened to have.
  if (input.options.host_threads == ordering::Options::HostThreads::Joined && collector.blocked_threads() > 1) {
    doubts.push_back(
        "several threads wait, and which of them is first is chance (--host_threads=separate judges them apart)");
  }
  for (SyncSite& site : out.sites) decide(site, doubts);
  out.complete = Together(input, out, collector.idle_operations()).run(!doubts.empty());
  if (!out.complete) out.sites.clear();
  return out;
}

}  // namespace streamsan::judge
