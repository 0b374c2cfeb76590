// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What main() does, followed step by step. See follow.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/models/model.h"

namespace clang {
class ASTContext;
}

namespace streamsan::analyzer {

struct FollowOptions {
  std::uint64_t most_steps = 3'000'000;
  bool per_thread_default_stream = false;
};

struct Followed {
  bool there = false;  ///< there is a main(), in a file without errors
  std::vector<Hazard> hazards;
  std::uint64_t steps = 0;
  std::string stopped;               ///< why it was not followed to its end; empty: it was
  std::vector<std::string> unknown;  ///< functions called that are not known
};

/// Nothing where there is no main().
Followed follow_main(clang::ASTContext& context, const Models& models, const FollowOptions& options);

}  // namespace streamsan::analyzer
