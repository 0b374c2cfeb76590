// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorder's share of STREAMSAN_OPTIONS (option_entries.h).
//
// Only the keys the guest needs are read here; the launcher and `streamsan check` own the full list (cli/options.def)
// and warn about unknown keys, so this parser ignores what it does not know. No allocation: it runs inside the guest.
#pragma once

namespace streamsan::recorder {

enum class FootprintMode : unsigned char {
  Auto,      ///< measured where it can be, without a word where it cannot
  Measured,  ///< the user wants to know if it cannot be
  Inferred,
};
enum class FootprintPolicy : unsigned char {
  Needed,  ///< launches that use contended memory, and kernels the judge asks for
  First,   ///< every launch that is not known yet
  Asked,   ///< only kernels the judge asks for
};

enum class PythonStacks : unsigned char {
  Auto,  ///< where there is a Python
  Off,
  On,  ///< and the user wants to know if there is none
};

enum class HostThreads : unsigned char { Joined, Separate, Seen, Strict };

struct Options {
  char trace_path[1024];  ///< %p is the process id
  unsigned stacks;        ///< capture native call stacks
  unsigned stack_depth;   ///< frames kept of each, at most kMaxStackDepth
  PythonStacks python_stacks;
  unsigned torch_blocks;
  unsigned follow_children;
  unsigned verbosity;

  unsigned host_guard;
  unsigned host_guard_cost;  ///< percent
  unsigned host_hash;
  unsigned host_frees;
  unsigned perturb;  ///< milliseconds; 0: off
  unsigned perturb_seed;
  unsigned poison;
  unsigned syncs;
  unsigned timings;
  HostThreads host_threads;

  FootprintMode footprints;
  FootprintPolicy footprint_policy;
  unsigned footprint_launches;    ///< measured of each kernel with equal grid and block
  unsigned footprint_seconds;     ///< the most in total
  unsigned footprint_allowance;   ///< milliseconds that may be spent whatever the run's length; not under First
  unsigned footprint_share;       ///< percent of the run on top of that
  unsigned footprint_patience;    ///< milliseconds one measured launch may be waited for
  unsigned footprint_memory;      ///< MiB of device memory
  char agent_path[1024];          ///< empty: beside this library
  char sanitizer_library[1024];   ///< empty: the launcher found none
  char agent_script[1024];        ///< for the test suite's agent
  char earlier_footprints[1024];  ///< what earlier runs measured; empty: nobody keeps it
  char cupti_library[1024];       ///< empty: the launcher found none
};

inline constexpr unsigned kMaxStackDepth = 64;
inline constexpr unsigned kMostHostGuardCost = 100;
inline constexpr unsigned kMostPerturb = 60'000;
inline constexpr unsigned kMostPerturbSeed = 4'000'000'000;
inline constexpr unsigned kMostFootprintLaunches = 1'000'000;
inline constexpr unsigned kMostFootprintSeconds = 1'000'000;
inline constexpr unsigned kMostFootprintAllowance = 3'600'000;
inline constexpr unsigned kMostFootprintShare = 100;
inline constexpr unsigned kMostFootprintPatience = 3'600'000;
inline constexpr unsigned kMostFootprintMemory = 1'000'000;

/// Reads the environment. The last occurrence of a key wins; a malformed value leaves the default.
void read_options(Options& options);

}  // namespace streamsan::recorder
