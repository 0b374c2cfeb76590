// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variants against programs that really lack the order, on random programs.
//
// The fast model replays a program once, with a variant for each call that makes order. For each variant the reference
// model runs the program with that call cut, slowly and by itself. They must agree on where something is unordered: on
// each operation, and each allocation, in each variant. As long as all accesses are exact they must also agree on how
// badly. Stale pointers are left out: no order makes them right.
//
// Programs whose base is cut are compared in the same way: the base of a plan with a cut, and the reference with it.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "ordering/tests/random_program.h"
#include "ordering/tests/reference_model.h"

namespace streamsan::ordering {
namespace {

/// A what-if is not made with order between threads.
Options options_of(const testing::Program& program) {
  return {program.sees_threads() ? Options::HostThreads::Joined : program.host_threads};
}

using testing::from_environment;
using testing::Interpreter;
using testing::Program;
using testing::random_program;
using testing::shrink;

using Place = std::pair<OpId, AllocationId>;
using Worst = std::map<Place, PairOrder>;

Place place(OpId later, HazardKind kind, AllocationId allocation) {
  return {later, kind == HazardKind::ReuseWhileInUse ? AllocationId{} : allocation};
}

void worsen(Worst& worst, const Place& at, PairOrder order) {
  if (order != PairOrder::Ordered) worst[at] = std::max(worst[at], order);
}

class NoHazards : public HazardSink {
 public:
  void hazard(const Hazard&) override {}
};

class Reports : public WhatIfSink {
 public:
  void variant(VariantId, const Cut& cut) override { cuts.push_back(cut); }
  void mattered(VariantId, OpId) override {}
  void exposed(const Exposure&) override {}
  bool settled(VariantId) const override { return false; }
  void pair(const Pair& pair) override {
    pairs.push_back(
        {place(pair.later.op, pair.kind, pair.allocation.id), pair.base, {pair.variants.begin(), pair.variants.end()}});
  }
  [[nodiscard]] Worst worst(VariantId variant) const {
    Worst out;
    for (const auto& [at, base, variants] : pairs) {
      PairOrder order = base;
      for (const InVariant& each : variants) {
        if (each.variant == variant) order = each.order;
      }
      worsen(out, at, order);
    }
    return out;
  }

  struct Seen {
    Place at;
    PairOrder base;
    std::vector<InVariant> variants;
  };
  std::vector<Cut> cuts;  ///< of variant 1, 2...
  std::vector<Seen> pairs;
};

Reports replay(const Program& program, std::uint32_t sites, const Plan& plan) {
  Reports reports;
  NoHazards hazards;
  const WhatIf what_if{plan, reports};
  Model model(options_of(program), hazards, &what_if);
  Interpreter(model, program, sites).run();
  model.end_of_trace();
  return reports;
}

std::string compare(const Worst& fast, const Program& program, std::uint32_t sites, std::optional<Cut> cut) {
  ReferenceModel reference(options_of(program), cut);
  reference.plain_launches = true;
  Interpreter(reference, program, sites).run();
  Worst naive;
  std::map<Place, bool> exact;
  for (const ReferenceModel::Pair& pair : reference.pairs()) {
    if (pair.kind == HazardKind::UseAfterFree) continue;
    const Place at = place(pair.later, pair.kind, pair.allocation);
    worsen(naive, at, pair.order == Order::Latent ? PairOrder::Latent : PairOrder::Unordered);
    exact.try_emplace(at, true).first->second &= pair.all_exact;
  }
  std::ostringstream text;
  const auto say = [&](const char* what, const Place& at) {
    text << "  " << what << ": op " << static_cast<std::uint64_t>(at.first) << " on allocation "
         << static_cast<std::uint64_t>(at.second) << '\n';
  };
  for (const auto& [at, order] : naive) {
    const auto found = fast.find(at);
    if (found == fast.end()) {
      say("reference only", at);
    } else if (exact[at] && found->second != order) {
      say("not as badly", at);
    }
  }
  for (const auto& [at, order] : fast) {
    if (!naive.contains(at)) say("fast only", at);
  }
  return text.str();
}

struct VariantsOutcome {
  std::string disagreement;
  std::size_t variants = 0;
  std::size_t needed = 0;  ///< variants with something that the base has not
};

/// That a query succeeded is a fact of the run, and not of a program that waited less: where the base knew what it says
/// already, variants learn nothing from it. The reference has no base to ask, so there are no queries here.
Program without_queries(Program program) {
  std::erase_if(program.steps, [](const testing::Step& step) {
    return step.kind == testing::StepKind::QueryStream || step.kind == testing::StepKind::QueryEvent;
  });
  return program;
}

VariantsOutcome check(const Program& program, std::uint32_t sites) {
  VariantsOutcome outcome;
  Plan each;
  each.each = true;
  const Reports reports = replay(program, sites, each);
  outcome.disagreement = compare(reports.worst(kBase), program, sites, std::nullopt);
  for (VariantId variant = 1; variant <= reports.cuts.size(); ++variant) {
    const Cut cut = reports.cuts[variant - 1];
    const Worst worst = reports.worst(variant);
    ++outcome.variants;
    outcome.needed += worst != reports.worst(kBase);
    const auto report = [&](const char* what, const std::string& text) {
      if (text.empty()) return;
      std::ostringstream head;
      head << what << ", cut at site " << static_cast<std::uint32_t>(cut.site)
           << (cut.effect == Effect::Wait ? " (wait)" : " (barrier)") << '\n';
      outcome.disagreement += head.str() + text;
    };
    report("variant", compare(worst, program, sites, cut));
    Plan base;
    base.base.cuts = {cut};
    base.variants.push_back({.cuts = {cut}, .instead = {}});
    const Reports without = replay(program, sites, base);
    report("base", compare(without.worst(kBase), program, sites, cut));
    report("restored", compare(without.worst(1), program, sites, std::nullopt));
  }
  return outcome;
}

TEST(WhatIfRandom, VariantsAreProgramsThatLackTheOrder) {
  const std::uint64_t programs = from_environment("STREAMSAN_RANDOM_PROGRAMS", 2'000);
  const std::uint64_t first = from_environment("STREAMSAN_RANDOM_SEED", 1);
  std::size_t variants = 0, needed = 0;
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = without_queries(random_program(seed));
    const auto sites = static_cast<std::uint32_t>(seed % 3 == 0 ? 0 : 2 + seed % 7);
    const VariantsOutcome outcome = check(program, sites);
    if (!outcome.disagreement.empty()) {
      const Program small = shrink(program, [&](const Program& p) { return !check(p, sites).disagreement.empty(); });
      FAIL() << describe(small) << "sites: " << sites << '\n' << check(small, sites).disagreement;
    }
    variants += outcome.variants;
    needed += outcome.needed;
  }
  std::printf("%zu variants, %zu of them with something new\n", variants, needed);
  // Neither always nor never.
  EXPECT_GE(needed * 100, variants * 2);
  EXPECT_LE(needed * 100, variants * 90);
}

}  // namespace
}  // namespace streamsan::ordering
