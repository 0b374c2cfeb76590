// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options, once each, with the sentences that --help shows; docs/streamsan-tidy.md says more.
//
// CLI11 reads GNU's spelling. What clang-tidy also takes, `-checks=X`, `-p=X`, `@FILE`, is respelled first. Everything
// after `--` is the compiler's.
#include "analyzer/tool/command_line.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "CLI/CLI.hpp"
#include "analyzer/tool/driver.h"
#include "analyzer/tool/files.h"
#include "analyzer/tool/response_files.h"
#include "analyzer/tool/text_output.h"

namespace streamsan::analyzer {
namespace {

constexpr const char* kSourceFilter = R"(\.(cu|cuda|hip|cpp|cc|cxx|c\+\+|C)$)";

/// Options that say nothing if they are empty, as clang-tidy has it. Any other with an empty value is a script's slip.
constexpr std::array<const char*, 6> kMayBeEmpty = {"checks",        "warnings-as-errors",    "config",
                                                    "header-filter", "exclude-header-filter", "line-filter"};

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (std::ranges::none_of(kMayBeEmpty, [option](const char* name) { return option->check_lname(name); })) {
      option->check([](const std::string& value) { return std::string(value.empty() ? "the value is empty" : ""); });
    }
  }
}

/// The words with those of response files in their place; behind `--` they are left to whom they are for.
std::vector<std::string> opened(const std::vector<std::string>& words, std::string& error) {
  ResponseFiles response_files({}, [](const std::string& path) {
    std::string text;
    return read_file(path, text) ? std::optional(std::move(text)) : std::nullopt;
  });
  std::vector<std::string> result;
  bool ours = true;
  const ResponseFiles::Use add = [&](const std::vector<std::string>& some) {
    for (const std::string& word : some) {
      ours = ours && word != "--";
      if (ours && word.starts_with('@')) {
        response_files.open(word.substr(1), add, error);
      } else {
        result.push_back(word);
      }
    }
  };
  add(words);
  return result;
}

/// The words in GNU's spelling.
std::vector<std::string> respell(const std::vector<std::string>& words, const CLI::App& app) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string dashed = word.substr(0, equals);
    const std::string name = dashed.substr(std::min<std::size_t>(dashed.size(), dashed.starts_with("--") ? 2 : 1));
    const bool may_be_option = word.starts_with('-') && name.size() > 1;
    const CLI::Option* option = may_be_option ? app.get_option_no_throw("--" + name) : nullptr;
    if (word.starts_with("-p=")) {
      result.insert(result.end(), {"-p", word.substr(3)});
    } else if (option == nullptr) {
      result.push_back(word);
    } else if (equals + 1 == word.size() && option->get_items_expected_max() > 0) {
      result.insert(result.end(), {"--" + name, ""});  // CLI11 would take the next word for the value
    } else {
      result.push_back("--" + name + word.substr(dashed.size()));
    }
  }
  return result;
}

/// The options, and what they were given.
class Parser {
 public:
  Parser() {
    app_.set_version_flag("--version", "streamsan-tidy " STREAMSAN_VERSION " (Clang " STREAMSAN_CLANG_VERSION ")");
    app_.option_defaults()->always_capture_default(false);
    add_sources();
    add_selection();
    add_results();
    add_summaries();
    add_running();
    add_configuration();
    refuse_empty_values(app_);
  }

  std::optional<CommandLine> read(std::vector<std::string> words, int& exit_code) {
    std::string error;
    words = opened(words, error);
    const auto dashes = std::ranges::find(words, "--");
    if (dashes != words.end()) {
      line_.flags.emplace(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
    words = respell(words, app_);
    std::ranges::reverse(words);  // as CLI11 wants them
    try {
      if (error.empty()) {
        app_.parse(words);
        line_.extra_args = opened(line_.extra_args, error);
        line_.extra_args_before = opened(line_.extra_args_before, error);
      }
    } catch (const CLI::Success& success) {
      std::ostringstream text;
      exit_code = app_.exit(success, text, text);
      print(text.str());
      return std::nullopt;
    } catch (const CLI::ParseError& failure) {
      error = std::string(failure.what()) + " (--help lists the options)";
    }
    if (line_.flags && !line_.build_dir.empty() && error.empty()) {
      error = "give either -p or flags after --, not both";
    }
    if (!error.empty()) {
      say_error(error);
      exit_code = kCouldNotRun;
      return std::nullopt;
    }
    take_given();
    return std::move(line_);
  }

 private:
  void add_sources() {
    app_.add_option("files", line_.files, "sources; default: those of the compile database")->type_name("FILE");
    app_.add_option("-p", line_.build_dir, "folder of compile_commands.json, or that file")->type_name("DIR");
    line_.source_filter = kSourceFilter;
    app_.add_option("--source-filter", line_.source_filter,
                    "which sources of the compile database, if no FILE is given")
        ->type_name("REGEX");
    app_.add_option("--extra-arg", line_.extra_args, "compiler flag to add after the others")
        ->type_name("FLAG")
        ->allow_extra_args(false);  // one each: what follows are sources
    app_.add_option("--extra-arg-before", line_.extra_args_before, "compiler flag to add before the others")
        ->type_name("FLAG")
        ->allow_extra_args(false);
  }

  void add_selection() {
    const char* selection = "What to look for";
    app_.add_option("--checks", line_.checks,
                    "globs of checks to add to the default, all correctness checks; a leading - removes checks. "
                    "streamsan-*: also performance and policy")
        ->type_name("GLOBS")
        ->group(selection);
    app_.add_option("--warnings-as-errors", line_.warnings_as_errors, "globs of checks whose findings count as errors")
        ->type_name("GLOBS")
        ->group(selection);
    app_.add_option("--levels", line_.levels,
                    "levels to show, out of definite, likely, latent and maybe; default: definite,likely")
        ->type_name("LIST")
        ->group(selection);
    use_header_filter_ = app_.add_option("--header-filter", header_filter_,
                                         "headers whose findings to show; default: all of the project")
                             ->type_name("REGEX")
                             ->group(selection);
    app_.add_option("--exclude-header-filter", line_.exclude_header_filter, "headers whose findings not to show")
        ->type_name("REGEX")
        ->group(selection);
    app_.add_option("--line-filter", line_.line_filter,
                    R"(show only findings in these lines: [{"name":"a.cu","lines":[[1,9]]}])")
        ->type_name("JSON")
        ->group(selection);
    app_.add_option("--models", line_.models,
                    "file that says what functions of your own do; see docs/analyzer-models.md")
        ->type_name("FILE.yaml")
        ->allow_extra_args(false)
        ->group(selection);
    app_.add_option("--default-stream", line_.default_stream,
                    "default stream if the flags do not say: legacy or per-thread")
        ->check(CLI::IsMember({"legacy", "per-thread"}))
        ->type_name("KIND")
        ->group(selection);
    auto* config =
        app_.add_option("--config", line_.config, "text of a .clang-tidy, in place of the files above the sources")
            ->type_name("YAML")
            ->group(selection);
    app_.add_option("--config-file", line_.config_file, "the same, from a file")
        ->type_name("FILE")
        ->excludes(config)
        ->group(selection);
  }

  void add_results() {
    const char* results = "Results";
    app_.add_flag("--fix", line_.fix, "write those repairs into the sources that are certain")->group(results);
    app_.add_option("--export-fixes", line_.export_fixes,
                    "write findings and repairs in the format of clang-apply-replacements")
        ->type_name("FILE")
        ->group(results);
    app_.add_option("--sarif", line_.sarif, "write the findings as SARIF 2.1.0")->type_name("FILE")->group(results);
    github_ = app_.add_flag("--github,!--no-github", line_.github,
                            "print GitHub annotations; default: if GITHUB_ACTIONS is true")
                  ->group(results);
    app_.add_option("--baseline", line_.baseline, "file of known findings, which are not shown")
        ->type_name("FILE")
        ->group(results);
    app_.add_option("--write-baseline", line_.write_baseline, "write all present findings as a baseline")
        ->type_name("FILE")
        ->group(results);
    app_.add_flag("--quiet", line_.quiet, "print no progress, and a summary only if something was not analysed")
        ->group(results);
    use_color_ = app_.add_flag("--use-color,!--no-use-color", color_, "colours in the text; default: on a terminal")
                     ->group(results);
  }

  void add_summaries() {
    const char* across = "Across translation units";
    app_.add_flag("--cross-tu", line_.cross_tu, "also look into functions of the other sources; reads some files twice")
        ->group(across);
    app_.add_option("--summaries-out", line_.summaries_out, "write summaries of functions, for other runs")
        ->type_name("DIR")
        ->group(across);
    app_.add_option("--summaries-in", line_.summaries_in, "read summaries of functions that other runs wrote")
        ->type_name("DIR")
        ->group(across);
  }

  void add_running() {
    const char* running = "Running";
    app_.add_option("-j,--jobs", line_.jobs, "number of files to analyse at a time; default: one for each core")
        ->group(running);
    app_.add_option("--cuda-path", line_.cuda_path,
                    "root of the CUDA toolkit; default: CUDA_PATH, the nvcc of the database")
        ->type_name("DIR")
        ->group(running);
    app_.add_option("--resource-dir", line_.resource_dir, "Clang's own headers; default: those of an installed Clang")
        ->type_name("DIR")
        ->group(running);
    follow_main_ = app_.add_flag("--follow-main,!--no-follow-main", follow_,
                                 "follow main() step by step; default: if it uses streams")
                       ->group(running);
    app_.add_flag("--dump-ir", line_.dump_ir, "print the stream IR of all functions")->group(running);
    app_.add_flag("--show-skipped", line_.show_skipped, "name the functions that were not analysed, with the reasons")
        ->group(running);
    app_.add_flag("--show-errors", line_.show_errors, "show all compile errors of a file, not only the first")
        ->group(running);
    app_.add_flag("--driver-log", line_.driver_log,
                  "print how each compile command was translated, and the workers' stderr")
        ->group(running);
  }

  void add_configuration() {
    const char* configuration = "Configuration";
    app_.add_flag("--list-checks", line_.list_checks, "list the checks that are on")->group(configuration);
    app_.add_flag("--verify-config", line_.verify_config, "check the configuration for names that do not exist")
        ->group(configuration);
    app_.add_flag("--dump-config", line_.dump_config, "print the configuration in force")->group(configuration);
    app_.add_flag("--explain-config", line_.explain_config,
                  "say for each check that is on which setting switched it on")
        ->group(configuration);
  }

  /// What has a default that depends on more than the option.
  void take_given() {
    if (use_header_filter_->count() > 0) {
      line_.header_filter = header_filter_;
    }
    if (use_color_->count() > 0) {
      line_.color = color_;
    }
    if (follow_main_->count() > 0) {
      line_.follow_main = follow_;
    }
    if (github_->count() == 0) {
      const char* actions = std::getenv("GITHUB_ACTIONS");
      line_.github = actions != nullptr && std::string_view(actions) == "true";
    }
  }

  CLI::App app_{
      "streamsan-tidy: finds CUDA stream-ordering bugs in source.\n"
      "  streamsan-tidy -p BUILD [FILE...]      with the compile_commands.json of BUILD, nvcc's or Clang's\n"
      "  streamsan-tidy FILE... -- [FLAG...]    with these compiler flags\n"
      "Exit code: 0 clean, 1 findings that count as errors, 2 something could not be analysed.",
      "streamsan-tidy"};
  CommandLine line_;
  std::string header_filter_;
  bool color_ = false, follow_ = false;
  const CLI::Option* use_header_filter_ = nullptr;
  const CLI::Option* use_color_ = nullptr;
  const CLI::Option* follow_main_ = nullptr;
  const CLI::Option* github_ = nullptr;
};

}  // namespace

std::optional<CommandLine> read_command_line(int argc, char** argv, int& exit_code) {
  return Parser().read({argv + 1, argv + argc}, exit_code);
}

}  // namespace streamsan::analyzer
