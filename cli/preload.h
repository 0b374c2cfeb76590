// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the recorder library is, where traces go, and the environment of a program that is to be recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/footprint_files.h"
#include "cli/options.h"

namespace streamsan::cli {

/// Value of an environment variable; empty: it is not set.
std::string environment(const char* name);

/// Path of libstreamsan.so: preload_path, beside this executable, ../lib/streamsan, ../lib, or the build tree's
/// ../interposer. Empty: not found; `tried` lists where it was looked for.
std::string find_preload(const Options& options, std::vector<std::string>& tried);

/// Directory in which private trace directories are made, see trace_dir.
std::string trace_parent(const Options& options);

/// Bytes free for traces, 0: not known.
std::uint64_t free_bytes(const std::string& directory);

/// A new directory that only we can read; those of launchers that were killed are removed. Empty, with `error` set:
/// none could be made.
std::string make_trace_directory(const Options& options, std::string& error);

/// The library that the user has chosen to receive the program's NVTX calls (NVTX_INJECTION64_PATH, perhaps empty), if
/// it is not the recorder.
std::optional<std::string> other_nvtx_listener();

/// Our environment with the recorder preloaded in front of what was preloaded already, listening to NVTX unless another
/// library does, and its options. A library whose path cannot stand in LD_PRELOAD gets a link in the trace directory.
std::vector<std::string> guest_environment(const Options& options, const std::string& preload,
                                           const FootprintPlan& footprints, const std::string& trace_directory,
                                           const TimingPlan& timings = {});

}  // namespace streamsan::cli
