// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/compare.h"

#include <algorithm>
#include <utility>

namespace streamsan::lab {
namespace {

class Comparing {
 public:
  Comparing(const Observation& observation, const Prediction& prediction)
      : observation_(observation), prediction_(prediction) {}

  void cell(std::size_t cell, const std::string& what) {
    const Seen& seen = observation_.cells[cell];
    for (std::size_t i = 0; i < kInstances; ++i) {
      const Predicted& predicted = prediction_.cells[cell][i];
      const std::string which = i == 0 ? what : what + ", launch " + std::to_string(i + 1) + ",";
      claim(predicted.begin, seen.begun > i, which + " began");
      claim(predicted.waited, seen.waited > i, which + " was past its wait");
    }
  }
  void host(std::size_t step, const std::string& what) {
    claim(prediction_.host[step], step < observation_.steps.size() && observation_.steps[step].returned,
          what + " returned");
  }
  Comparison over() { return std::move(comparison_); }

 private:
  void claim(Order order, bool seen, const std::string& text) {
    if (order == Order::NotAsked) return;
    ++comparison_.asked;
    comparison_.overlaps += seen;
    if (seen && order != Order::Unordered) comparison_.disagreements.push_back({order, text});
  }

  const Observation& observation_;
  const Prediction& prediction_;
  Comparison comparison_{.valid = true, .overlaps = 0, .asked = 0, .disagreements = {}};
};

std::string named(const std::string& text) { return " (" + text + ")"; }

/// All programs that are one small thing less.
std::vector<Program> smaller(const Program& program) {
  std::vector<Program> candidates;
  const auto without = [&](auto&& change) {
    Program candidate = program;
    change(candidate);
    candidates.push_back(std::move(candidate));
  };
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    if (program.steps[i].work.held) continue;
    without([&](Program& p) { p.steps.erase(p.steps.begin() + static_cast<std::ptrdiff_t>(i)); });
  }
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const std::size_t last = program.graphs[g].nodes.size() - 1;
    if (last != 0 && !program.graphs[g].nodes[last].work.held)
      without([&](Program& p) { p.graphs[g].nodes.pop_back(); });
    for (std::size_t n = 0; n <= last; ++n) {
      for (std::size_t a = 0; a < program.graphs[g].nodes[n].after.size(); ++a) {
        without([&](Program& p) {
          auto& after = p.graphs[g].nodes[n].after;
          after.erase(after.begin() + static_cast<std::ptrdiff_t>(a));
        });
      }
    }
  }
  const auto plainer = [&](const Work& work, const auto& place) {
    if (work.dependent) without([&](Program& p) { place(p).dependent = false; });
    if (work.waits) without([&](Program& p) { place(p).waits = false; });
    if (work.triggers != Triggers::Never) without([&](Program& p) { place(p).triggers = Triggers::Never; });
    if (work.shape != Shape::One) without([&](Program& p) { place(p).shape = Shape::One; });
  };
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    plainer(program.steps[i].work, [i](Program& p) -> Work& { return p.steps[i].work; });
    if (program.steps[i].thread != 0) without([&](Program& p) { p.steps[i].thread = 0; });
  }
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    for (std::size_t n = 0; n < program.graphs[g].nodes.size(); ++n) {
      plainer(program.graphs[g].nodes[n].work, [g, n](Program& p) -> Work& { return p.graphs[g].nodes[n].work; });
      const Condition& condition = program.graphs[g].nodes[n].condition;
      if (condition.by_kernel) without([g, n](Program& p) { p.graphs[g].nodes[n].condition.by_kernel = false; });
      if (condition.bodies.size() > 1 && rounds_of(program.graphs[g].nodes[n], condition.bodies.size() - 1) == 0)
        without([g, n](Program& p) { p.graphs[g].nodes[n].condition.bodies.pop_back(); });
    }
  }
  if (!program.graphs.empty() && !is_body(program, program.graphs.size() - 1) &&
      std::none_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
        return step.work.op == Op::Launch && step.object == program.graphs.size() - 1;
      }))
    without([&](Program& p) { p.graphs.pop_back(); });
  return candidates;
}

}  // namespace

Comparison compare(const Program& program, const Observation& observation, const Prediction& prediction) {
  if (!observation.valid) return {};
  Comparing comparing(observation, prediction);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const std::string what = "step " + std::to_string(i + 1) + named(describe(program.steps[i]));
    comparing.cell(cell_of_step(i), what);
    comparing.host(i, what);
  }
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    for (std::size_t n = 0; n < program.graphs[g].nodes.size(); ++n)
      comparing.cell(cell_of_node(g, n), "node " + std::to_string(n) + " of graph " + std::to_string(g));
  }
  return comparing.over();
}

Comparison examine(const Program& program, Executor& executor, Planted planted) {
  const Observation observation = executor.run(program);
  return compare(program, observation, predict(program, observation, planted));
}

Program shrink(Program program, const std::function<bool(const Program&)>& goes_wrong) {
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (Program& candidate : smaller(program)) {
      if (!held_of(candidate) || !goes_wrong(candidate)) continue;
      program = std::move(candidate);
      shorter = true;
      break;
    }
  }
  return program;
}

}  // namespace streamsan::lab
