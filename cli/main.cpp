// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// streamsan: run, check, report, diff, footprints, doctor, help.
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
#include "cli/command_line.h"
#include "cli/convert.h"
#include "cli/diff.h"
#include "cli/doctor.h"
#include "cli/exit_codes.h"
#include "cli/findings_source.h"
#include "cli/footprints.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/probe.h"
#include "cli/run.h"
#include "report/common/utf8.h"

namespace streamsan::cli {
namespace {

/// Words of the command line may hold line ends; no line of ours, and so no command to a CI service, begins with them.
void complain(const std::string& text) { std::fprintf(stderr, "streamsan: %s\n", report::one_line(text).c_str()); }

constexpr const char* kOverview =
    "streamsan: finds CUDA stream-ordering bugs in unmodified programs.\n"
    "\n"
    "  streamsan run [options] [--] program [arguments]   run a program and report its races\n"
    "  streamsan check [options] TRACE...                 judge traces that were recorded earlier\n"
    "  streamsan report [options] FILE.json...            findings of earlier runs as text or in another format\n"
    "  streamsan diff [options] BEFORE AFTER              what is new and what is gone between two runs\n"
    "  streamsan footprints [--json=FILE] TRACE...        show which bytes kernels touched\n"
    "  streamsan doctor                                   check the set-up and say what to do\n"
    "  streamsan help COMMAND                             flags of a command\n"
    "  streamsan help options                             keys of STREAMSAN_OPTIONS\n"
    "  streamsan --version\n";

constexpr std::string_view kCommands[] = {"run", "check", "report", "diff", "footprints", "doctor", "help"};

/// What the doctor looks at. It takes all of run's options, so that those of a run can be tried.
constexpr std::string_view kDoctorOptions[] = {
    "preload_path", "trace_dir",         "keep_trace",    "external_symbolizer_path",
    "agent_path",   "sanitizer_library", "cupti_library", "footprints"};

/// " (did you mean run?)" for a misspelt command; nothing where no command is like it.
std::string did_you_mean(const std::string& word) {
  const std::string_view nearest = nearest_word(word, kCommands);
  return nearest.empty() ? "" : " (did you mean " + std::string(nearest) + "?)";
}

std::string help_of(const CLI::App& command) {
  std::string out = command.help("streamsan");
  constexpr std::string_view kOptions = "run [OPTIONS]";
  // CLI11 does not know of the program: it is cut off before.
  if (const std::size_t at = out.find(kOptions); at != std::string::npos) {
    out.insert(at + kOptions.size(), " [--] program [arguments]");
  }
  return out;
}

int help(const CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    std::fputs(kOverview, stdout);
    return 0;
  }
  if (topic == "options") {
    std::printf(
        "Options, for STREAMSAN_OPTIONS=\"key=value:key=value\" and as flags --key=value. In STREAMSAN_OPTIONS a value "
        "with blanks, commas or colons stands in quotes: log_path='/tmp/my log':verbosity=1\n%s",
        options_help().c_str());
    return 0;
  }
  if (topic == "markdown") {
    std::fputs(options_page().c_str(), stdout);
    return 0;
  }
  if (topic == "man") {
    std::fputs(manual().c_str(), stdout);
    return 0;
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() != topic) continue;
    std::fputs(help_of(*command).c_str(), stdout);
    return 0;
  }
  complain("no help on '" + topic + "'" + did_you_mean(topic) +
           ": run, check, report, diff, footprints, doctor or options");
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
  if (arguments[0] == "version") arguments[0] = "--version";

  CLI::App app("", "streamsan");
  app.set_version_flag("--version", "streamsan " STREAMSAN_VERSION);
  app.require_subcommand(1);

  CLI::App* run_command = app.add_subcommand("run", "Run a program and report races between its streams");
  add_options(*run_command, options, Run);

  std::vector<std::string> traces;
  CLI::App* check_command = app.add_subcommand("check", "Judge traces that were recorded earlier");
  check_command->add_option("TRACE", traces, "Trace files")->required();
  add_options(*check_command, options, Check);

  std::vector<std::string> files;
  bool as_text = false;
  CLI::App* report_command = app.add_subcommand("report", "Show findings of earlier runs, or convert them");
  report_command->footer(
      "FILE.json is what --json=FILE.json of run or check has written; -: stdin.\nWithout a format: as text. A format "
      "without a file of its own (--sarif=FILE, --sarif FILE) goes to stdout.");
  report_command->add_option("FILE", files, "Files of findings")->required();
  report_command->add_flag("--text", as_text, "as text, also beside other formats");
  add_options(*report_command, options, Report);

  std::string fail_on = "error";
  CLI::App* diff_command = app.add_subcommand("diff", "Compare the findings of two runs");
  diff_command->footer("BEFORE and AFTER are files of findings, or traces, which are judged first.");
  std::string before;
  std::string after;
  diff_command->add_option("BEFORE", before, "Findings of the first run")->required();
  diff_command->add_option("AFTER", after, "Findings of the second")->required();
  diff_command
      ->add_option("--fail-on,--fail_on", fail_on,
                   "least severity of new findings that makes the exit code: error, latent, possible or none")
      ->check(CLI::IsMember({"error", "latent", "possible", "none"}));
  add_options(*diff_command, options, Diff);

  std::string footprints_json;
  CLI::App* footprints_command = app.add_subcommand("footprints", "Show which bytes the kernels of traces touched");
  footprints_command->add_option("TRACE", traces, "Trace files")->required();
  footprints_command->add_option("--json", footprints_json, "file for one line of JSON for each launch");

  bool probing = false;
  CLI::App* doctor_command = app.add_subcommand("doctor", "Check the set-up and say what to do");
  doctor_command->add_flag("--probe", probing)->group("");
  add_options(*doctor_command, options, Run);
  show_only(*doctor_command, kDoctorOptions);

  std::string topic;
  CLI::App* help_command = app.add_subcommand("help", "Show help on a command, or on `options`");
  help_command->add_option("topic", topic);

  // CLI11 would only say that a command is missing.
  const std::string& first = arguments[0];
  if (first.starts_with('-') && first != "--version") {
    complain("unknown argument " + first + ": a command comes first, then its options (streamsan help)");
    return kUsage;
  }
  if (std::find(std::begin(kCommands), std::end(kCommands), first) == std::end(kCommands) && first != "--version") {
    complain("unknown command " + first + did_you_mean(first) +
             ": the commands are run, check, report, diff, footprints, doctor and help (streamsan run " + first +
             " would run a program of this name)");
    return kUsage;
  }

  std::vector<std::string> program;
  if (std::string option = without_value(arguments); !option.empty()) {
    complain(option + " needs a value");
    return kUsage;
  }
  if (!arguments.empty() && arguments[0] == "run") program = cut_program(arguments);
  if (arguments[0] == "report" || arguments[0] == "diff") {
    if (std::any_of(arguments.begin(), arguments.end(),
                    [](const std::string& a) { return a.starts_with("--perfetto"); })) {
      complain("a file of findings has no operations to draw: give --perfetto to streamsan run or check");
      return kUsage;
    }
    // What STREAMSAN_OPTIONS asks of a run is not to be done again, over the files that are read.
    forget_outputs(options);
  }
  if (arguments[0] == "check" || arguments[0] == "report" || arguments[0] == "diff") {
    const bool reads_traces = arguments[0] != "report", reads_findings = arguments[0] != "check";
    const auto could_be_read = [=](const std::string& path) {
      return (reads_traces && is_trace(path)) || (reads_findings && holds_findings(path));
    };
    const std::size_t least = arguments[0] == "diff" ? 2 : 1;
    if (std::string fault = give_outputs_files(arguments, least, could_be_read); !fault.empty()) {
      complain(fault);
      return kUsage;
    }
  }
  for (const std::string& argument : arguments) {
    if (std::string fault = flag_fault(argument); !fault.empty()) {
      complain(fault);
      return kUsage;
    }
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return help(app, app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name());
  } catch (const CLI::CallForVersion& request) {
    return app.exit(request);
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> rest = app.remaining(true);
    std::string what = rest.empty() ? "?" : rest.front();
    std::string_view name = std::string_view(what).substr(std::min(what.find_first_not_of('-'), what.size()));
    complain("unknown argument " + what +
             (what.starts_with("-") ? about_unknown_flag(name.substr(0, name.find('='))) : ""));
    return kUsage;
  } catch (const CLI::ArgumentMismatch& fault) {
    // "--json: 1 required TEXT missing", and of one that is given twice "--json: At Most 1 required but received 2"
    const std::string text = fault.what();
    const bool missing = text.find("missing") != std::string::npos;
    complain(text.substr(0, text.find(':')) + (missing ? " needs a value" : " is given more than once"));
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
  if (report_command->parsed() || diff_command->parsed()) {
    if (std::string fault = placeholder_fault(options); !fault.empty()) {
      complain(fault);
      return kUsage;
    }
  }
  if (report_command->parsed()) return convert(options, as_text || !writes_outputs(options), files);
  if (diff_command->parsed()) return diff(options, fail_on, {before, after});
  if (program.empty()) {
    complain("no program to run: streamsan run [options] -- program [arguments]");
    return kUsage;
  }
  return run(options, program);
}

}  // namespace
}  // namespace streamsan::cli

// What is thrown up to here is out of memory.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  // A reader that went away is an error of write(), not the end of a launcher that has a program to look after.
  signal(SIGPIPE, SIG_IGN);
  return streamsan::cli::main({argv + std::min(argc, 1), argv + argc});
}
