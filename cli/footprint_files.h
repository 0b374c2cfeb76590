// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the two files that measuring the bytes of kernels needs (docs/footprints.md): our own agent, which lies beside
// the recorder, and NVIDIA's Sanitizer library, which we may not ship and which comes with every CUDA toolkit and in
// Python packages. Does the same for the times of operations (docs/timings.md), with CUPTI.
//
// It only looks for files and runs or loads nothing: asking python3 for its packages may take seconds, and loading a
// library to try it may need a driver. So it guesses places from the environment, nearest to the user first: what was
// named by an option, the toolkit that CUDA_HOME names, that of the nvcc in PATH, the Python environments of the
// program that is run, of StreamSan's own package and the active one, and last the usual directories of the system.
//
// The agent finds out in the program under test whether the library can be used.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace streamsan::cli {

/// What a search depends on. The members' defaults are this process's own.
struct Surroundings {
  /// Value of an environment variable; empty: it is not set.
  std::function<std::string(const char* name)> environment;
  /// Under which /usr/local and /opt are looked for.
  std::filesystem::path root = "/";
  /// This executable: it may lie in a Python package, with others beside it.
  std::filesystem::path self;
  /// What is to be run, as the user has named it; empty: nothing. An environment that is not active may be meant:
  /// .venv/bin/python.
  std::string program;

  explicit Surroundings(std::string program = "");
};

struct FoundFile {
  std::string path;                ///< absolute; empty: not found
  std::vector<std::string> tried;  ///< where it was looked for
};

/// libstreamsan_footprints.so: agent_path, or beside `preload`, the recorder.
FoundFile find_agent(const Options& options, const std::string& preload);

/// libsanitizer-public.so: sanitizer_library, or the first of the places above.
FoundFile find_sanitizer(const Options& options, const Surroundings& surroundings = Surroundings());

/// libstreamsan_timings.so, beside the recorder.
FoundFile find_timings_agent(const std::string& preload);

/// libcupti.so: cupti_library, or the first of the places above.
FoundFile find_cupti(const Options& options, const Surroundings& surroundings = Surroundings());

/// What a run is to do about times (docs/timings.md).
struct TimingPlan {
  bool take = false;
  std::string cupti;     ///< absolute; empty: not found, the loader may
  std::string obstacle;  ///< a clause: why there will be no times; empty: nothing is in the way, or they are not wanted
};

TimingPlan plan_timings(const Options& options, const std::string& preload,
                        const Surroundings& surroundings = Surroundings());

/// What a run is to do about footprints.
struct FootprintPlan {
  bool measure = false;   ///< hand the two files to the recorder
  std::string agent;      ///< absolute paths, as far as they were found
  std::string sanitizer;  ///< empty: not found, or the agent is one that does not need it
  std::string earlier;    ///< what earlier runs measured (footprint_cache.h); empty: nothing is kept
  std::string obstacle;   ///< a clause: why nothing can be measured; empty: nothing is in the way, or it was not wanted
};

FootprintPlan plan_footprints(const Options& options, const std::string& preload,
                              const Surroundings& surroundings = Surroundings());

}  // namespace streamsan::cli
