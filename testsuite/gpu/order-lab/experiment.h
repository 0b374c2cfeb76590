// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An experiment of the laboratory, and the files that list them (experiments/*.txt; the first explains the form).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "testsuite/gpu/random/observe.h"
#include "testsuite/gpu/random/predict.h"
#include "testsuite/gpu/random/program.h"

namespace streamsan::lab {

/// What is asked of which operation: of the last step, if no node is named.
struct About {
  enum class What { Begins, PassesWait, Returns };
  What what = What::Begins;
  bool is_node = false;
  std::size_t graph = 0;
  std::size_t node = 0;
  std::size_t launch = 0;  ///< of the graph, from 0
};

struct Experiment {
  std::string name;
  std::string rule;
  std::string question;
  std::string documented;  ///< "ordered", "unordered", "unspecified"
  About about;
  Program program;
  Program control;
};

/// Throws std::runtime_error.
std::vector<Experiment> parse_experiments(const std::string& text);
/// Those of all files of the folder, in order of their names.
std::vector<Experiment> read_experiments(const std::string& folder);

/// Was it seen while the held operation had not ended?
bool was_seen(const Program& program, const About& about, const Observation& observation);
/// What does the model say?
Order predicted(const Program& program, const About& about, const Prediction& prediction);

}  // namespace streamsan::lab
