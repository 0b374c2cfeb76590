// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows a program step by step, from main() or from made-up callers (callers.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/models/model.h"

namespace clang {
class ASTContext;
class Preprocessor;
}  // namespace clang

namespace streamsan::analyzer {

struct FollowOptions {
  std::uint64_t most_steps = 3'000'000;
  bool per_thread_default_stream = false;
  /// Constructors of classes, by their USR. `closed`: only the class itself can wait for its work. `exposing`: others
  /// can obtain its stream.
  std::set<std::string> closed, exposing;
  bool wants_runs = false;  ///< Followed::runs
};

struct Followed {
  bool there = false;  ///< there was something to follow, in a file without errors
  std::vector<Hazard> hazards;
  std::uint64_t steps = 0;
  std::string stopped;               ///< why it was not followed to its end; empty: it was
  std::vector<std::string> unknown;  ///< unknown functions that were called
  struct MadeUp {
    std::string text;
    std::string stopped;           ///< as above
    std::set<std::size_t> thrown;  ///< lines of the text whose call has thrown, counted from 1
  };
  std::vector<MadeUp> callers;
  using Line = std::pair<std::string, unsigned>;  ///< file and line
  /// A run that came to its end.
  struct Run {
    struct Times {
      std::size_t first = 0, last = 0, count = 0;
    };
    std::map<Line, Times> times;                ///< by line: when its CUDA calls were made, counted from 0
    std::set<std::pair<Line, Line>> conflicts;  ///< certain or possible ones, whether they were reported or not
    std::set<Line> empty_waits;                 ///< for events that had not been recorded by then
    bool whole = false;                         ///< every function was known
  };
  std::vector<Run> runs;
};

// `preprocessor`: that of the compiler instance which has just read the translation unit. The functions add text to the
// unit and remove it again.

/// `there` is false if the file has no main(). Without a preprocessor (nullptr), PyTorch is not followed.
Followed follow_main(clang::ASTContext& context, const Models& models, clang::Preprocessor* preprocessor,
                     const FollowOptions& options);

/// Follows made-up callers of the functions and classes of a file without main().
Followed follow_callers(clang::ASTContext& context, const Models& models, clang::Preprocessor& preprocessor,
                        const FollowOptions& options);

}  // namespace streamsan::analyzer
