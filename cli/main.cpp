// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// streamsan: run, check, footprints, doctor, help.
//
// Options come from the table in options.def, through STREAMSAN_OPTIONS first and flags second. CLI11 reads the flags;
// the command line of the program under test is cut off before, so that none of its arguments can be taken for one of
// ours.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/check.h"
#include "cli/doctor.h"
#include "cli/footprints.h"
#include "cli/options.h"
#include "cli/run.h"

namespace streamsan::cli {
namespace {

constexpr int kUsage = 2;

void complain(const std::string& text) { std::fprintf(stderr, "streamsan: %s\n", text.c_str()); }

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// Gives a command its flags. Faults in values are thrown as CLI11's own errors.
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

/// What is wrong with the value of a flag; empty: nothing, or it is none. CLI11 reads such a value as a number and lets
/// what std::stoll throws end the program.
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

/// The option that is followed by "--" instead of its value; empty: none.
std::string without_value(const std::vector<std::string>& arguments) {
  for (std::size_t at = 1; at + 1 < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--";) {
    if (takes_next(arguments[at]) && arguments[at + 1] == "--") return arguments[at];
    at += takes_next(arguments[at]) ? 2 : 1;
  }
  return {};
}

/// Cuts the program's command line off the arguments of `run`.
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

constexpr const char* kOverview =
    "streamsan: finds CUDA stream-ordering bugs in unmodified programs.\n"
    "\n"
    "  streamsan run [options] [--] program [arguments]   run a program and report its races\n"
    "  streamsan check [options] TRACE...                 judge traces that were recorded earlier\n"
    "  streamsan footprints [--json=FILE] TRACE...        show which bytes kernels touched\n"
    "  streamsan doctor                                   check the set-up and say what to do\n"
    "  streamsan help run|check|footprints|doctor         flags of a command\n"
    "  streamsan help options                             keys of STREAMSAN_OPTIONS\n"
    "  streamsan --version\n";

int help(const CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    std::fputs(kOverview, stdout);
    return 0;
  }
  if (topic == "options") {
    std::printf("Options, for STREAMSAN_OPTIONS=\"key=value:key=value\" and as flags --key=value:\n%s",
                options_help().c_str());
    return 0;
  }
  if (topic == "markdown") {
    std::fputs(options_markdown().c_str(), stdout);
    return 0;
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() != topic) continue;
    std::fputs(command->help("streamsan " + topic).c_str(), stdout);
    return 0;
  }
  complain("no help on '" + topic + "': run, check, footprints, doctor or options");
  return kUsage;
}

int main(std::vector<std::string> arguments) {
  Options options;
  std::vector<std::string> warnings;
  if (const char* environment = std::getenv("STREAMSAN_OPTIONS")) {
    std::string fault = apply_environment(options, environment, warnings);
    if (!fault.empty()) {
      complain(fault);
      return kUsage;
    }
  }
  for (const std::string& warning : warnings) complain("WARNING: " + warning);

  if (arguments.empty()) {
    std::fputs(kOverview, stderr);
    return kUsage;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h") arguments[0] = "help";

  CLI::App app("", "streamsan");
  app.set_version_flag("--version", "streamsan " STREAMSAN_VERSION);
  app.require_subcommand(1);

  CLI::App* run_command = app.add_subcommand("run", "Run a program and report races between its streams");
  run_command->footer("streamsan run [OPTIONS] [--] program [arguments]");
  add_options(*run_command, options, Run);

  std::vector<std::string> traces;
  CLI::App* check_command = app.add_subcommand("check", "Judge traces that were recorded earlier");
  check_command->add_option("TRACE", traces, "Trace files")->required();
  add_options(*check_command, options, Check);

  std::string footprints_json;
  CLI::App* footprints_command = app.add_subcommand("footprints", "Show which bytes the kernels of traces touched");
  footprints_command->add_option("TRACE", traces, "Trace files")->required();
  footprints_command->add_option("--json", footprints_json, "file for one line of JSON for each launch");

  bool probing = false;
  CLI::App* doctor_command = app.add_subcommand("doctor", "Check the set-up and say what to do");
  doctor_command->add_flag("--probe", probing)->group("");
  add_options(*doctor_command, options, Run);

  std::string topic;
  CLI::App* help_command = app.add_subcommand("help", "Show help on a command, or on `options`");
  help_command->add_option("topic", topic);

  // CLI11 would only say that a command is missing.
  std::vector<CLI::App*> commands = app.get_subcommands({});
  bool known = std::any_of(commands.begin(), commands.end(),
                           [&](const CLI::App* command) { return command->get_name() == arguments[0]; });
  if (!known && !arguments[0].starts_with('-')) {
    complain("unknown command " + arguments[0] +
             ": the commands are run, check, footprints, doctor and help (streamsan run " + arguments[0] +
             " would run a program of this name)");
    return kUsage;
  }

  std::vector<std::string> program;
  if (std::string option = without_value(arguments); !option.empty()) {
    complain(option + " needs a value");
    return kUsage;
  }
  if (!arguments.empty() && arguments[0] == "run") program = cut_program(arguments);
  for (const std::string& argument : arguments) {
    if (std::string fault = flag_fault(argument); !fault.empty()) {
      complain(fault);
      return kUsage;
    }
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp& request) {
    return app.exit(request);
  } catch (const CLI::CallForVersion& request) {
    return app.exit(request);
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> rest = app.remaining(true);
    std::string what = rest.empty() ? "?" : rest.front();
    std::string_view name = std::string_view(what).substr(std::min(what.find_first_not_of('-'), what.size()));
    complain("unknown argument " + what +
             (what.starts_with("-")
                  ? " (did you mean --" + std::string(nearest_option(name.substr(0, name.find('=')))) + "?)"
                  : ""));
    return kUsage;
  } catch (const CLI::ParseError& fault) {
    complain(fault.what());
    return kUsage;
  }

  if (options.help) return help(app, "options");
  if (options.version) {
    std::puts("streamsan " STREAMSAN_VERSION);
    return 0;
  }
  if (help_command->parsed()) return help(app, topic);
  if (doctor_command->parsed()) return probing ? probe() : doctor(options);
  if (footprints_command->parsed()) return footprints(options, traces, footprints_json);
  if (check_command->parsed()) return check(options, traces);
  if (program.empty()) {
    complain("no program to run: streamsan run [options] -- program [arguments]");
    return kUsage;
  }
  return run(options, program);
}

}  // namespace
}  // namespace streamsan::cli

int main(int argc, char** argv) {
  // A reader that went away is an error of write(), not the end of a launcher that has a program to look after.
  signal(SIGPIPE, SIG_IGN);
  return streamsan::cli::main({argv + std::min(argc, 1), argv + argc});
}
