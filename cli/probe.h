// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A guest that is ourselves: `streamsan doctor --probe`, run as programs are run under `streamsan run`, says what it
// meets. The doctor asks it, and a run that has observed nothing.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/options.h"

namespace streamsan::cli {

/// The guest's part. Prints what it saw on stdout as "key value" lines; always 0.
int probe();

struct GuestAnswer {
  int status = -1;   ///< as of waitpid()
  std::string text;  ///< all that it printed
  std::map<std::string, std::string> facts;
};

/// Runs the guest with the preload. Nothing, with `error` set: there is no place for traces.
std::optional<GuestAnswer> ask_guest(const Options& options, const std::string& preload, std::string& error);

}  // namespace streamsan::cli
