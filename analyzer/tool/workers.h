// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers: one process for each source file.
//
// A process of its own for each file keeps a crash of the compiler, or of the analysis, to that file, and makes
// parallel runs simple: nothing is shared. A worker is a fork of the driver, which has one thread, and runs
// clang-tidy's own main function with our checks linked in. It is not started as a program again: loading and
// relocating LLVM takes as long as analysing a small file's functions does.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace streamsan::analyzer {

struct Job {
  std::vector<std::string> arguments;  ///< arguments of clang-tidy, the source last
  std::string sidecar;                 ///< file for the checks' own findings (tidy/sidecar.h)
  std::string output;                  ///< files for stdout and stderr
  std::string errors;
};

/// Runs the jobs, at most `parallel` at a time, begun in order; but one for which `prefers_to_wait` comes after others,
/// as long as there are any. `done` hears the index of each and its wait status, as they end; -1: it could not be
/// started. Returns early, with its workers ended, when a signal was noted.
void run_jobs(const std::vector<Job>& jobs, unsigned parallel, const std::function<bool(std::size_t)>& prefers_to_wait,
              const std::function<void(std::size_t)>& begun, const std::function<void(std::size_t, int)>& done);

}  // namespace streamsan::analyzer
