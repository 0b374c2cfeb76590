// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A guest of our own: `streamsan doctor --probe` is started as `streamsan run` starts a program, and prints what it
// finds in its process. `streamsan doctor` uses it, and so does a run that has observed nothing, to say why.
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
