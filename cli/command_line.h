// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes CLI11's flags from the table of options, and prepares the arguments for CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace streamsan::cli {

/// Gives a command its flags. Faults in values are thrown as CLI11's own errors.
void add_options(CLI::App& command, Options& options, unsigned where);

/// The command's help shows only these of its options; the others are accepted.
void show_only(CLI::App& command, std::span<const std::string_view> names);

/// What is wrong with the value of a flag; empty: nothing, or it is none. CLI11 reads such a value as a number and lets
/// what std::stoll throws end the program.
std::string flag_fault(std::string_view argument);

/// The option of `run` that is followed by "--" instead of its value; empty: none.
std::string without_value(const std::vector<std::string>& arguments);

/// Cuts the program's command line off the arguments of `run`.
std::vector<std::string> cut_program(std::vector<std::string>& arguments);

/// For commands that read files of results, `least` of them at least: gives "--sarif" and the like their files. As
/// everywhere, the word that follows is the file to write; but those that would leave too few files to read take none,
/// the last ones first, and write to stdout ("report --sarif findings.json"). A file that `could_be_read` was perhaps
/// meant to be ("report --sarif a.json b.json"): returns what to write instead; empty: all is well.
std::string give_outputs_files(std::vector<std::string>& arguments, std::size_t least,
                               const std::function<bool(const std::string& path)>& could_be_read);

}  // namespace streamsan::cli
