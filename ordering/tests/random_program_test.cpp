// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fast model against the reference model, on random programs.
//
// What is compared, and why it must agree:
//   1. SOUND. Each hazard of the fast model is a pair of the reference, with the same operations, allocation, kind,
//      order and certainty. Always.
//   2. COMPLETE. An operation has a hazard on an allocation in the fast model exactly when it has one in the reference.
//      Always: the fast model forgets an access only when a later one, ordered after it, stands for it (see
//      interval_shadow.h and pointer_shadow.h), also after a first hazard. Programs here are too short to reach the
//      caps that trade completeness for memory, and destroy fewer streams than Lanes::kMostRetired.
//   3. AS BAD. The worst hazard of an operation on an allocation has the same order (error or latent) in both, as long
//      as all accesses to it were exact (measured, learned or widened). With inferred ones the fast model may know a
//      lesser certainty, since it keeps one access where the reference keeps all.
//   4. INSIDE. The same of the hazards inside of each graph (check_graph), node by node.
//   5. SEEN. Of the reference: if the order of host threads is seen, the certain pairs are those of joined threads,
//      with the same order, and each pair of joined threads is one. Strict adds certain ones, and takes none away. Left
//      out are the few programs in which a launch that may overlap is put behind something that only another thread
//      knows to be over (host_threads.cpp).
// Not compared: which of several racing accesses is named, how many hazards an operation has, explanations.
//
// STREAMSAN_RANDOM_PROGRAMS and STREAMSAN_RANDOM_SEED in the environment change how many and which programs.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "ordering/tests/random_program.h"
#include "ordering/tests/reference_model.h"

namespace streamsan::ordering {
namespace {

using testing::from_environment;
using testing::Interpreter;
using testing::Program;
using testing::random_program;
using testing::shrink;

class Collector : public HazardSink {
 public:
  void hazard(const Hazard& hazard) override { hazards.push_back(hazard); }
  std::vector<Hazard> hazards;
};

struct Outcome {
  std::string disagreement;  ///< empty: they agree
  bool any_hazard = false;
  bool any_latent = false;
  bool any_unordered = false;
  bool any_possible = false;
  bool any_signalled = false;
  bool any_passed_on = false;
  std::set<HazardKind> kinds;
  bool any_loan = false;
  bool any_block = false;  ///< beside its reuse and release
  bool any_dependent = false;
  bool any_of_graph = false;
  bool any_inside_graph = false;
  bool any_array = false;
  bool any_conditional = false;
  bool any_lesser_certainty = false;
  bool any_overlap_if_joined = false;
};

int badness(Order order, Certainty certainty) {
  return (certainty == Certainty::Certain ? 2 : 0) + (order == Order::Unordered ? 1 : 0);
}

struct Verdict {
  int worst = -1;
  int least = 4;
  bool all_exact = true;
};
using Verdicts = std::map<std::pair<OpId, AllocationId>, Verdict>;

/// A reuse is one mistake, whichever of the earlier lives of the bytes it meets.
AllocationId place(HazardKind kind, AllocationId allocation) {
  return kind == HazardKind::ReuseWhileInUse ? AllocationId{} : allocation;
}

/// What is unordered inside of a graph: the nodes, and what it is.
using Inside = std::set<std::tuple<std::uint32_t, std::uint32_t, HazardKind, Certainty>>;

Inside inside_of(const std::vector<Hazard>& hazards) {
  Inside found;
  for (const Hazard& hazard : hazards)
    found.insert({hazard.earlier.node, hazard.later.node, hazard.kind, hazard.certainty});
  return found;
}

Inside inside_of(const std::vector<ReferenceModel::Pair>& pairs) {
  Inside found;
  for (const ReferenceModel::Pair& pair : pairs)
    found.insert(
        {static_cast<std::uint32_t>(pair.earlier), static_cast<std::uint32_t>(pair.later), pair.kind, pair.certainty});
  return found;
}

/// Each hazard of the fast model is one of the reference, and each node that has one there has one here.
std::string compare_inside(const std::vector<Inside>& fast, const std::vector<Inside>& naive) {
  std::ostringstream text;
  for (std::size_t i = 0; i < fast.size(); ++i) {
    std::set<std::uint32_t> nodes;
    for (const auto& each : fast[i]) {
      nodes.insert(std::get<1>(each));
      if (!naive[i].contains(each))
        text << "graph " << i << ", fast only: nodes " << std::get<0>(each) << " and " << std::get<1>(each) << ", kind "
             << static_cast<int>(std::get<2>(each)) << '\n';
    }
    for (const auto& each : naive[i]) {
      if (!nodes.contains(std::get<1>(each)))
        text << "graph " << i << ", reference only: nodes " << std::get<0>(each) << " and " << std::get<1>(each)
             << '\n';
    }
  }
  return text.str();
}

using NamedPair = std::tuple<OpId, OpId, AllocationId, HazardKind, Order, bool>;

std::set<NamedPair> certain_of(const ReferenceModel& model) {
  std::set<NamedPair> found;
  for (const ReferenceModel::Pair& pair : model.pairs())
    if (pair.certainty == Certainty::Certain)
      found.insert({pair.earlier, pair.later, pair.allocation, pair.kind, pair.order, pair.perhaps_signalled});
  return found;
}

using PairOfOperations = std::tuple<OpId, OpId, AllocationId, HazardKind>;

std::set<PairOfOperations> all_of(const ReferenceModel& model) {
  std::set<PairOfOperations> found;
  for (const ReferenceModel::Pair& pair : model.pairs())
    found.insert({pair.earlier, pair.later, pair.allocation, pair.kind});
  return found;
}

/// What seeing the order of host threads adds to the pairs of joined threads, and what it must not.
std::string compare_with_joined(const Program& program, const ReferenceModel& seen) {
  ReferenceModel joined({Options::HostThreads::Joined});
  Interpreter(joined, program).run();
  const std::set<NamedPair> certain = certain_of(seen), certain_if_joined = certain_of(joined);
  const bool strict = program.host_threads == Options::HostThreads::Strict;
  std::ostringstream text;
  const auto is_certain = [&](NamedPair pair) {
    if (certain.contains(pair)) return true;
    std::get<Order>(pair) = Order::Unordered;
    return strict && certain.contains(pair);
  };
  for (const NamedPair& pair : certain_if_joined)
    if (!is_certain(pair))
      text << "certain only if joined: op " << static_cast<std::uint64_t>(std::get<0>(pair)) << " and op "
           << static_cast<std::uint64_t>(std::get<1>(pair)) << '\n';
  for (const NamedPair& pair : certain)
    if (!strict && !certain_if_joined.contains(pair))
      text << "certain only if seen: op " << static_cast<std::uint64_t>(std::get<0>(pair)) << " and op "
           << static_cast<std::uint64_t>(std::get<1>(pair)) << '\n';
  const std::set<PairOfOperations> all = all_of(seen);
  for (const PairOfOperations& pair : all_of(joined))
    if (!all.contains(pair))
      text << "only if joined: op " << static_cast<std::uint64_t>(std::get<0>(pair)) << " and op "
           << static_cast<std::uint64_t>(std::get<1>(pair)) << '\n';
  return text.str();
}

Outcome compare(const Program& program) {
  const Options options{program.host_threads};
  Collector collector;
  Model model(options, collector);
  std::vector<Inside> inside, inside_naive;
  Interpreter drive(model, program);
  drive.on_graph = [&](const Graph& graph) {
    Collector of_graph;
    check_graph(graph, model, of_graph);
    inside.push_back(inside_of(of_graph.hazards));
  };
  drive.run();
  ReferenceModel reference(options);
  Interpreter drive_reference(reference, program);
  drive_reference.on_graph = [&](const Graph& graph) {
    inside_naive.push_back(inside_of(reference.check_graph(graph)));
  };
  drive_reference.run();

  Outcome outcome;
  std::ostringstream text;
  text << compare_inside(inside, inside_naive);
  outcome.any_overlap_if_joined = reference.overlaps_more_if_joined;
  if (program.sees_threads() && !reference.overlaps_more_if_joined) text << compare_with_joined(program, reference);
  for (const Inside& each : inside) outcome.any_inside_graph |= !each.empty();
  const auto number = [](auto id) { return static_cast<std::uint64_t>(id); };
  Verdicts fast;
  for (const Hazard& hazard : collector.hazards) {
    const ReferenceModel::Pair* match = nullptr;
    for (const ReferenceModel::Pair& pair : reference.pairs()) {
      if (pair.earlier == hazard.earlier.op && pair.later == hazard.later.op &&
          pair.allocation == hazard.allocation.id && pair.kind == hazard.kind && pair.order == hazard.order &&
          pair.certainty == hazard.certainty && pair.perhaps_signalled == hazard.perhaps_signalled &&
          pair.perhaps_passed_on == hazard.perhaps_passed_on) {
        match = &pair;
      }
    }
    if (!match) {
      text << "fast only: op " << number(hazard.earlier.op) << " and op " << number(hazard.later.op) << ", allocation "
           << number(hazard.allocation.id) << ", kind " << number(hazard.kind) << ", order " << number(hazard.order)
           << ", certainty " << number(hazard.certainty) << '\n';
    }
    if ((hazard.order == Order::Latent) != hazard.leaned_on.has_value()) text << "leaned_on does not fit the order\n";
    if (hazard.overlap.empty()) text << "empty overlap\n";
    Verdict& verdict = fast[{hazard.later.op, place(hazard.kind, hazard.allocation.id)}];
    verdict.worst = std::max(verdict.worst, badness(hazard.order, hazard.certainty));
    outcome.any_possible |= hazard.certainty == Certainty::Possible;
    outcome.any_signalled |= hazard.perhaps_signalled;
    outcome.any_passed_on |= hazard.perhaps_passed_on;
    outcome.kinds.insert(hazard.kind);
    outcome.any_of_graph |= hazard.earlier.node != 0 || hazard.later.node != 0;
    outcome.any_array |= hazard.allocation.kind == MemoryKind::Array;
    outcome.any_conditional |= hazard.earlier.conditional || hazard.later.conditional;
    outcome.any_loan |= hazard.allocation.kind == MemoryKind::Pageable && !hazard.allocation.block;
    outcome.any_dependent |= hazard.explanation.nearest == NearestEdge::DependentLaunch;
    outcome.any_block |= hazard.allocation.block && hazard.later.source != AccessSource::Free &&
                         hazard.later.source != AccessSource::Allocate;
  }
  Verdicts naive;
  for (const ReferenceModel::Pair& pair : reference.pairs()) {
    Verdict& verdict = naive[{pair.later, place(pair.kind, pair.allocation)}];
    verdict.worst = std::max(verdict.worst, badness(pair.order, pair.certainty));
    verdict.all_exact = verdict.all_exact && pair.all_exact;
    verdict.least = std::min(verdict.least, badness(pair.order, pair.certainty));
    outcome.any_hazard = true;
    outcome.any_latent |= pair.order == Order::Latent;
    outcome.any_unordered |= pair.order == Order::Unordered;
  }
  for (const auto& [where, verdict] : naive) {
    const auto found = fast.find(where);
    if (found == fast.end()) {
      text << "reference only: op " << number(where.first) << " on allocation " << number(where.second) << '\n';
    } else if (verdict.all_exact && found->second.worst != verdict.worst) {
      // Of two possible ones that is of no weight, and the newest may be ordered by assumption where an older one that
      // was perhaps passed on is not.
      if (program.sees_threads() && verdict.worst < 2 && found->second.worst < 2) continue;
      // Of a lane the newest access is kept. Another thread may have submitted an older one, or the same thread before
      // a hand-over that came too early: strict then errs towards less. It may name a third access of the lane, so
      // whether there is a lesser one is looked up in the reference.
      const bool strict = program.host_threads == Options::HostThreads::Strict;
      if (strict && verdict.least < verdict.worst && found->second.worst < verdict.worst) {
        outcome.any_lesser_certainty = true;
        continue;
      }
      text << "op " << number(where.first) << " on allocation " << number(where.second) << ": fast "
           << found->second.worst << ", reference " << verdict.worst << '\n';
    }
  }
  outcome.disagreement = text.str();
  return outcome;
}

TEST(RandomProgram, FastModelAgreesWithReference) {
  const std::uint64_t programs = from_environment("STREAMSAN_RANDOM_PROGRAMS", 50'000);
  const std::uint64_t first = from_environment("STREAMSAN_RANDOM_SEED", 1);
  std::uint64_t with_hazard = 0;
  std::uint64_t with_latent = 0;
  std::uint64_t with_unordered = 0;
  std::uint64_t with_possible = 0;
  std::uint64_t with_signalled = 0;
  std::uint64_t with_passed_on = 0;
  std::map<HazardKind, std::uint64_t> with_kind;
  std::uint64_t with_loan = 0;
  std::uint64_t with_block = 0;
  std::uint64_t with_dependent = 0;
  std::uint64_t with_graph = 0;
  std::uint64_t with_inside = 0;
  std::uint64_t with_overlap_if_joined = 0;
  std::uint64_t with_array = 0;
  std::uint64_t with_conditional = 0;
  std::uint64_t with_lesser_certainty = 0;
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = random_program(seed);
    const Outcome outcome = compare(program);
    if (!outcome.disagreement.empty()) {
      const Program small = shrink(program, [](const Program& p) { return !compare(p).disagreement.empty(); });
      FAIL() << describe(small) << compare(small).disagreement;
    }
    with_hazard += outcome.any_hazard;
    with_latent += outcome.any_latent;
    with_unordered += outcome.any_unordered;
    with_possible += outcome.any_possible;
    with_signalled += outcome.any_signalled;
    with_passed_on += outcome.any_passed_on;
    for (const HazardKind kind : outcome.kinds) ++with_kind[kind];
    with_loan += outcome.any_loan;
    with_block += outcome.any_block;
    with_dependent += outcome.any_dependent;
    with_graph += outcome.any_of_graph;
    with_inside += outcome.any_inside_graph;
    with_overlap_if_joined += outcome.any_overlap_if_joined;
    with_array += outcome.any_array;
    with_conditional += outcome.any_conditional;
    with_lesser_certainty += outcome.any_lesser_certainty;
  }
  RecordProperty("programs", std::to_string(programs));
  RecordProperty("with_hazard", std::to_string(with_hazard));
  // A comparison of programs that never race, or always do, would prove little.
  EXPECT_GE(with_hazard * 100, programs * 20);
  EXPECT_LE(with_hazard * 100, programs * 90);
  EXPECT_GE(with_unordered * 100, programs * 15);
  EXPECT_GE(with_latent * 100, programs * 5);
  EXPECT_GE(with_possible * 100, programs * 5);
  EXPECT_GE(with_signalled * 100, programs * 2);
  EXPECT_GE(with_passed_on * 100, programs * 2);
  EXPECT_LE(with_lesser_certainty * 100, with_passed_on) << "an excuse, and a rare one";
  EXPECT_LE(with_overlap_if_joined * 200, programs) << "an excuse, and a rare one";
  EXPECT_GE(with_loan * 1000, programs * 5);
  EXPECT_GE(with_block * 100, programs * 2);
  EXPECT_GE(with_dependent * 100, programs * 5);
  EXPECT_GE(with_graph * 100, programs * 5);
  EXPECT_GE(with_inside * 100, programs * 5);
  EXPECT_GE(with_array * 100, programs * 3);
  EXPECT_GE(with_conditional * 100, programs * 2);
  for (const HazardKind kind : {HazardKind::ReadAfterWrite, HazardKind::WriteAfterRead, HazardKind::WriteAfterWrite,
                                HazardKind::UseBeforeAllocate, HazardKind::UseAfterFree, HazardKind::FreeWhileInUse,
                                HazardKind::ReleaseWhileInUse, HazardKind::ReuseWhileInUse}) {
    EXPECT_GE(with_kind[kind] * 1000, programs * 5) << static_cast<int>(kind);
  }
  std::printf("%llu programs: %llu with a hazard, %llu unordered, %llu latent, %llu possible, %llu signalled\n",
              static_cast<unsigned long long>(programs), static_cast<unsigned long long>(with_hazard),
              static_cast<unsigned long long>(with_unordered), static_cast<unsigned long long>(with_latent),
              static_cast<unsigned long long>(with_possible), static_cast<unsigned long long>(with_signalled));
  std::printf(
      "perhaps passed on %llu (%llu with a lesser certainty, %llu with an overlap if joined), with a graph %llu, "
      "inside of one %llu\n",
      static_cast<unsigned long long>(with_passed_on), static_cast<unsigned long long>(with_lesser_certainty),
      static_cast<unsigned long long>(with_overlap_if_joined), static_cast<unsigned long long>(with_graph),
      static_cast<unsigned long long>(with_inside));
  std::printf(
      "with a loan %llu, in a block %llu, by dependent launches %llu, of an array %llu, conditional %llu; by kind:",
      static_cast<unsigned long long>(with_loan), static_cast<unsigned long long>(with_block),
      static_cast<unsigned long long>(with_dependent), static_cast<unsigned long long>(with_array),
      static_cast<unsigned long long>(with_conditional));
  for (const auto& [kind, count] : with_kind) {
    std::printf(" %d: %llu", static_cast<int>(kind), static_cast<unsigned long long>(count));
  }
  std::printf("\n");
}

}  // namespace
}  // namespace streamsan::ordering
