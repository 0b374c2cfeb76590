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
#include <optional>
#include <string>
#include <utility>
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

int usage_fault(const std::string& what) {
  complain(what);
  return kUsage;
}

/// The commands, their options, and what these were given.
class Commands {
 public:
  explicit Commands(Options& options) : options_(options) {
    app_.set_version_flag("--version", "streamsan " STREAMSAN_VERSION);
    app_.require_subcommand(1);
    add_runs();
    add_readers();
    add_helpers();
  }

  /// An exit code, if nothing is left to do.
  std::optional<int> parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    try {
      app_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      return help(app_, app_.get_subcommands().empty() ? "" : app_.get_subcommands().front()->get_name());
    } catch (const CLI::CallForVersion& request) {
      return app_.exit(request);
    } catch (const CLI::ExtrasError&) {
      std::vector<std::string> rest = app_.remaining(true);
      std::string what = rest.empty() ? "?" : rest.front();
      std::string_view name = std::string_view(what).substr(std::min(what.find_first_not_of('-'), what.size()));
      return usage_fault("unknown argument " + what +
                         (what.starts_with("-") ? about_unknown_flag(name.substr(0, name.find('='))) : ""));
    } catch (const CLI::ArgumentMismatch& fault) {
      // "--json: 1 required TEXT missing", and of one that is given twice "--json: At Most 1 required but received 2"
      const std::string text = fault.what();
      const bool missing = text.find("missing") != std::string::npos;
      return usage_fault(text.substr(0, text.find(':')) + (missing ? " needs a value" : " is given more than once"));
    } catch (const CLI::ParseError& fault) {
      return usage_fault(fault.what());
    }
    return std::nullopt;
  }

  /// `program`: what `run` is to run, with its arguments.
  int carry_out(const std::vector<std::string>& program) {
    if (options_.help) return help(app_, "options");
    if (options_.version) {
      std::puts("streamsan " STREAMSAN_VERSION);
      return 0;
    }
    if (help_->parsed()) return help(app_, topic_);
    if (doctor_->parsed()) return probing_ ? probe() : doctor(options_);
    if (footprints_->parsed()) return footprints(options_, traces_, footprints_json_);
    if (check_->parsed()) return check(options_, traces_);
    if (report_->parsed() || diff_->parsed()) {
      if (std::string fault = placeholder_fault(options_); !fault.empty()) return usage_fault(fault);
    }
    if (report_->parsed()) return convert(options_, as_text_ || !writes_outputs(options_), files_);
    if (diff_->parsed()) return diff(options_, fail_on_, {before_, after_});
    if (program.empty()) return usage_fault("no program to run: streamsan run [options] -- program [arguments]");
    return run(options_, program);
  }

 private:
  void add_runs() {
    CLI::App* command = app_.add_subcommand("run", "Run a program and report races between its streams");
    add_options(*command, options_, Run);

    check_ = app_.add_subcommand("check", "Judge traces that were recorded earlier");
    check_->add_option("TRACE", traces_, "Trace files")->required();
    add_options(*check_, options_, Check);
  }

  void add_readers() {
    report_ = app_.add_subcommand("report", "Show findings of earlier runs, or convert them");
    report_->footer(
        "FILE.json is what --json=FILE.json of run or check has written; -: stdin.\nWithout a format: as text. A "
        "format without a file of its own (--sarif=FILE, --sarif FILE) goes to stdout.");
    report_->add_option("FILE", files_, "Files of findings")->required();
    report_->add_flag("--text", as_text_, "as text, also beside other formats");
    add_options(*report_, options_, Report);

    diff_ = app_.add_subcommand("diff", "Compare the findings of two runs");
    diff_->footer("BEFORE and AFTER are files of findings, or traces, which are judged first.");
    diff_->add_option("BEFORE", before_, "Findings of the first run")->required();
    diff_->add_option("AFTER", after_, "Findings of the second")->required();
    diff_
        ->add_option("--fail-on,--fail_on", fail_on_,
                     "least severity of new findings that makes the exit code: error, latent, possible or none")
        ->check(CLI::IsMember({"error", "latent", "possible", "none"}));
    add_options(*diff_, options_, Diff);

    footprints_ = app_.add_subcommand("footprints", "Show which bytes the kernels of traces touched");
    footprints_->add_option("TRACE", traces_, "Trace files")->required();
    footprints_->add_option("--json", footprints_json_, "file for one line of JSON for each launch");
  }

  void add_helpers() {
    doctor_ = app_.add_subcommand("doctor", "Check the set-up and say what to do");
    doctor_->add_flag("--probe", probing_)->group("");
    add_options(*doctor_, options_, Run);
    show_only(*doctor_, kDoctorOptions);

    help_ = app_.add_subcommand("help", "Show help on a command, or on `options`");
    help_->add_option("topic", topic_);
  }

  Options& options_;
  CLI::App app_{"", "streamsan"};
  CLI::App *check_ = nullptr, *report_ = nullptr, *diff_ = nullptr, *footprints_ = nullptr, *doctor_ = nullptr,
           *help_ = nullptr;
  std::vector<std::string> traces_, files_;
  bool as_text_ = false, probing_ = false;
  std::string fail_on_ = "error", before_, after_, footprints_json_, topic_;
};

/// What is wrong with the words that stand where a command has to; empty: nothing. CLI11 would only say that a command
/// is missing.
std::string command_fault(const std::string& first) {
  if (first == "--version") return {};
  if (first.starts_with('-'))
    return "unknown argument " + first + ": a command comes first, then its options (streamsan help)";
  if (std::find(std::begin(kCommands), std::end(kCommands), first) != std::end(kCommands)) return {};
  return "unknown command " + first + did_you_mean(first) +
         ": the commands are run, check, report, diff, footprints, doctor and help (streamsan run " + first +
         " would run a program of this name)";
}

/// For commands that read files: what is wrong with the outputs that are asked for; empty: nothing. Outputs without a
/// file of their own are given stdout.
std::string outputs_fault(std::vector<std::string>& arguments, Options& options) {
  const bool of_report = arguments[0] == "report", of_diff = arguments[0] == "diff";
  if (of_report || of_diff) {
    if (std::any_of(arguments.begin(), arguments.end(),
                    [](const std::string& a) { return a.starts_with("--perfetto"); }))
      return "a file of findings has no operations to draw: give --perfetto to streamsan run or check";
    // What STREAMSAN_OPTIONS asks of a run is not to be done again, over the files that are read.
    forget_outputs(options);
  }
  if (!of_report && !of_diff && arguments[0] != "check") return {};
  const bool reads_traces = !of_report, reads_findings = of_report || of_diff;
  const auto could_be_read = [=](const std::string& path) {
    return (reads_traces && is_trace(path)) || (reads_findings && holds_findings(path));
  };
  return give_outputs_files(arguments, of_diff ? 2 : 1, could_be_read);
}

int main(std::vector<std::string> arguments) {
  Options options;
  std::vector<std::string> warnings;
  if (const char* environment = std::getenv("STREAMSAN_OPTIONS")) {
    if (std::string fault = apply_environment(options, environment, warnings); !fault.empty())
      return usage_fault(fault);
  }
  for (const std::string& warning : warnings) complain("WARNING: " + warning);

  if (arguments.empty()) {
    std::fputs(kOverview, stderr);
    return kUsage;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h") arguments[0] = "help";
  if (arguments[0] == "version") arguments[0] = "--version";

  Commands commands(options);
  if (std::string fault = command_fault(arguments[0]); !fault.empty()) return usage_fault(fault);
  if (std::string option = without_value(arguments); !option.empty()) return usage_fault(option + " needs a value");
  std::vector<std::string> program;
  if (arguments[0] == "run") program = cut_program(arguments);
  if (std::string fault = outputs_fault(arguments, options); !fault.empty()) return usage_fault(fault);
  for (const std::string& argument : arguments) {
    if (std::string fault = flag_fault(argument); !fault.empty()) return usage_fault(fault);
  }
  if (const std::optional<int> done = commands.parse(std::move(arguments))) return *done;
  return commands.carry_out(program);
}

}  // namespace
}  // namespace streamsan::cli

// What is thrown up to here is out of memory.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  // A reader that went away is an error of write(), not the end of a launcher that has a program to look after.
  signal(SIGPIPE, SIG_IGN);
  return streamsan::cli::main({argv + std::min(argc, 1), argv + argc});
}
