// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/command_line.h"

#include <algorithm>

namespace streamsan::cli {
namespace {

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// Does this flag of `run` take the next argument as its value?
bool takes_next(std::string_view argument) {
  if (argument == "-v") return true;
  if (!argument.starts_with("--") || argument.find('=') != std::string_view::npos) return false;
  std::string_view flag = argument.substr(2);
  auto rows = option_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) {
    return (row.name == flag || dashed(row.name) == flag) && row.type != OptionType::Bool;
  });
}

bool is_flag(std::string_view argument) { return argument.size() > 1 && argument.starts_with('-'); }

bool is_output(std::string_view argument) {
  if (!argument.starts_with("--")) return false;
  const auto rows = option_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) {
    return row.type == OptionType::Output && row.name == argument.substr(2);
  });
}

}  // namespace

void add_options(CLI::App& command, Options& options, unsigned where) {
  auto set = [&options](std::string_view name, const std::string& value) {
    std::string fault = set_option(options, name, value);
    if (!fault.empty()) throw CLI::ValidationError(fault);
  };
  for (const OptionRow& row : option_rows()) {
    if (!(row.where & where) || row.name == "help" || row.name == "version") continue;
    std::string flags = "--" + std::string(row.name);
    if (dashed(row.name) != row.name) flags += ",--" + dashed(row.name);
    if (row.name == "verbosity") flags += ",-v";
    std::string_view name = row.name;
    std::string text(row.description);
    if (row.type == OptionType::Bool) {
      command.add_flag_function(flags, [set, name](std::int64_t on) { set(name, on > 0 ? "1" : "0"); }, text);
    } else {
      command
          .add_option_function<std::string>(
              flags, [set, name](const std::string& value) { set(name, value); }, text)
          ->default_str(std::string(row.default_value))
          ->type_name(row.type == OptionType::Number ? "N" : "TEXT");
    }
  }
}

void show_only(CLI::App& command, std::span<const std::string_view> names) {
  for (CLI::Option* option : command.get_options()) {
    const bool shown = option->check_lname("help") || std::any_of(names.begin(), names.end(), [&](auto name) {
                         return option->check_lname(std::string(name));
                       });
    if (!shown) option->group("");
  }
}

std::string flag_fault(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (!argument.starts_with("--") || equals == std::string_view::npos) return {};
  const std::string_view flag = argument.substr(2, equals - 2);
  for (const OptionRow& row : option_rows()) {
    if (row.type != OptionType::Bool || (row.name != flag && dashed(row.name) != flag)) continue;
    Options scratch;
    return set_option(scratch, row.name, argument.substr(equals + 1));
  }
  return {};
}

std::string without_value(const std::vector<std::string>& arguments) {
  for (std::size_t at = 1; at + 1 < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--";) {
    if (takes_next(arguments[at]) && arguments[at + 1] == "--") return arguments[at];
    at += takes_next(arguments[at]) ? 2 : 1;
  }
  return {};
}

std::vector<std::string> cut_program(std::vector<std::string>& arguments) {
  std::size_t at = 1;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--") {
    at += takes_next(arguments[at]) ? 2 : 1;
  }
  at = std::min(at, arguments.size());
  std::size_t program = at < arguments.size() && arguments[at] == "--" ? at + 1 : at;
  std::vector<std::string> out(arguments.begin() + static_cast<std::ptrdiff_t>(program), arguments.end());
  arguments.resize(at);
  return out;
}

std::string give_outputs_files(std::vector<std::string>& arguments, std::size_t least,
                               const std::function<bool(const std::string& path)>& could_be_read) {
  std::size_t files = 0;
  std::vector<std::size_t> takers;  // outputs that are followed by a word
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    std::string& argument = arguments[at];
    const bool followed = at + 1 < arguments.size() && !is_flag(arguments[at + 1]);
    if (is_output(argument) && followed) {
      takers.push_back(at++);
    } else if (is_output(argument)) {
      argument += "=-";
    } else if (takes_next(argument) || argument == "--fail-on" || argument == "--fail_on") {
      ++at;
    } else if (!is_flag(argument)) {
      ++files;
    }
  }
  for (; files < least && !takers.empty(); ++files, takers.pop_back()) arguments[takers.back()] += "=-";
  // From the last one on, so that the places of the others stay.
  for (; !takers.empty(); takers.pop_back()) {
    const auto word = arguments.begin() + static_cast<std::ptrdiff_t>(takers.back()) + 1;
    std::string& output = *(word - 1);
    if (*word != "-" && could_be_read(*word)) {
      return *word + " holds results: " + output + "=" + *word + " writes over them, " + output + "=- writes to stdout";
    }
    output += "=" + *word;
    arguments.erase(word);
  }
  return {};
}

}  // namespace streamsan::cli
