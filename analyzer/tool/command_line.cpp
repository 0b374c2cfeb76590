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

}  // namespace

std::optional<CommandLine> read_command_line(int argc, char** argv, int& exit_code) {
  CommandLine line;
  CLI::App app{
      "streamsan-tidy: finds CUDA stream-ordering bugs in source.\n"
      "  streamsan-tidy -p BUILD [FILE...]      with the compile_commands.json of BUILD, nvcc's or Clang's\n"
      "  streamsan-tidy FILE... -- [FLAG...]    with these compiler flags\n"
      "Exit code: 0 clean, 1 findings that count as errors, 2 something could not be analysed.",
      "streamsan-tidy"};
  app.set_version_flag("--version", "streamsan-tidy " STREAMSAN_VERSION " (Clang " STREAMSAN_CLANG_VERSION ")");
  app.option_defaults()->always_capture_default(false);

  app.add_option("files", line.files, "sources; default: those of the compile database")->type_name("FILE");
  app.add_option("-p", line.build_dir, "folder of compile_commands.json, or that file")->type_name("DIR");
  line.source_filter = kSourceFilter;
  app.add_option("--source-filter", line.source_filter, "which sources of the compile database, if no FILE is given")
      ->type_name("REGEX");
  app.add_option("--extra-arg", line.extra_args, "compiler flag to add after the others")
      ->type_name("FLAG")
      ->allow_extra_args(false);  // one each: what follows are sources
  app.add_option("--extra-arg-before", line.extra_args_before, "compiler flag to add before the others")
      ->type_name("FLAG")
      ->allow_extra_args(false);

  const char* selection = "What to look for";
  app.add_option("--checks", line.checks,
                 "globs of checks to add to the default, all correctness checks; a leading - removes checks. "
                 "streamsan-*: also performance and policy")
      ->type_name("GLOBS")
      ->group(selection);
  app.add_option("--warnings-as-errors", line.warnings_as_errors, "globs of checks whose findings count as errors")
      ->type_name("GLOBS")
      ->group(selection);
  app.add_option("--levels", line.levels,
                 "levels to show, out of definite, likely, latent and maybe; default: definite,likely")
      ->type_name("LIST")
      ->group(selection);
  std::string header_filter;
  auto* use_header_filter =
      app.add_option("--header-filter", header_filter, "headers whose findings to show; default: all of the project")
          ->type_name("REGEX")
          ->group(selection);
  app.add_option("--exclude-header-filter", line.exclude_header_filter, "headers whose findings not to show")
      ->type_name("REGEX")
      ->group(selection);
  app.add_option("--line-filter", line.line_filter,
                 R"(show only findings in these lines: [{"name":"a.cu","lines":[[1,9]]}])")
      ->type_name("JSON")
      ->group(selection);
  app.add_option("--models", line.models, "file that says what functions of your own do; see docs/analyzer-models.md")
      ->type_name("FILE.yaml")
      ->allow_extra_args(false)
      ->group(selection);
  app.add_option("--default-stream", line.default_stream,
                 "default stream if the flags do not say: legacy or per-thread")
      ->check(CLI::IsMember({"legacy", "per-thread"}))
      ->type_name("KIND")
      ->group(selection);
  auto* config =
      app.add_option("--config", line.config, "text of a .clang-tidy, in place of the files above the sources")
          ->type_name("YAML")
          ->group(selection);
  app.add_option("--config-file", line.config_file, "the same, from a file")
      ->type_name("FILE")
      ->excludes(config)
      ->group(selection);

  const char* results = "Results";
  app.add_flag("--fix", line.fix, "write those repairs into the sources that are certain")->group(results);
  app.add_option("--export-fixes", line.export_fixes,
                 "write findings and repairs in the format of clang-apply-replacements")
      ->type_name("FILE")
      ->group(results);
  app.add_option("--sarif", line.sarif, "write the findings as SARIF 2.1.0")->type_name("FILE")->group(results);
  auto* github =
      app.add_flag("--github,!--no-github", line.github, "print GitHub annotations; default: if GITHUB_ACTIONS is true")
          ->group(results);
  app.add_option("--baseline", line.baseline, "file of known findings, which are not shown")
      ->type_name("FILE")
      ->group(results);
  app.add_option("--write-baseline", line.write_baseline, "write all present findings as a baseline")
      ->type_name("FILE")
      ->group(results);
  app.add_flag("--quiet", line.quiet, "print no progress, and a summary only if something was not analysed")
      ->group(results);
  bool color = false;
  auto* use_color =
      app.add_flag("--use-color,!--no-use-color", color, "colours in the text; default: on a terminal")->group(results);

  const char* across = "Across translation units";
  app.add_flag("--cross-tu", line.cross_tu, "also look into functions of the other sources; reads some files twice")
      ->group(across);
  app.add_option("--summaries-out", line.summaries_out, "write summaries of functions, for other runs")
      ->type_name("DIR")
      ->group(across);
  app.add_option("--summaries-in", line.summaries_in, "read summaries of functions that other runs wrote")
      ->type_name("DIR")
      ->group(across);

  const char* running = "Running";
  app.add_option("-j,--jobs", line.jobs, "number of files to analyse at a time; default: one for each core")
      ->group(running);
  app.add_option("--cuda-path", line.cuda_path,
                 "root of the CUDA toolkit; default: CUDA_PATH, the nvcc of the database")
      ->type_name("DIR")
      ->group(running);
  app.add_option("--resource-dir", line.resource_dir, "Clang's own headers; default: those of an installed Clang")
      ->type_name("DIR")
      ->group(running);
  bool follow = false;
  auto* follow_main =
      app.add_flag("--follow-main,!--no-follow-main", follow, "follow main() step by step; default: if it uses streams")
          ->group(running);
  app.add_flag("--dump-ir", line.dump_ir, "print the stream IR of all functions")->group(running);
  app.add_flag("--show-skipped", line.show_skipped, "name the functions that were not analysed, with the reasons")
      ->group(running);
  app.add_flag("--show-errors", line.show_errors, "show all compile errors of a file, not only the first")
      ->group(running);
  app.add_flag("--driver-log", line.driver_log,
               "print how each compile command was translated, and the workers' stderr")
      ->group(running);

  const char* configuration = "Configuration";
  app.add_flag("--list-checks", line.list_checks, "list the checks that are on")->group(configuration);
  app.add_flag("--verify-config", line.verify_config, "check the configuration for names that do not exist")
      ->group(configuration);
  app.add_flag("--dump-config", line.dump_config, "print the configuration in force")->group(configuration);
  app.add_flag("--explain-config", line.explain_config, "say for each check that is on which setting switched it on")
      ->group(configuration);

  refuse_empty_values(app);
  std::string error;
  std::vector<std::string> words = opened({argv + 1, argv + argc}, error);
  const auto dashes = std::ranges::find(words, "--");
  if (dashes != words.end()) {
    line.flags.emplace(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  words = respell(words, app);
  std::ranges::reverse(words);  // as CLI11 wants them
  try {
    if (error.empty()) {
      app.parse(words);
      line.extra_args = opened(line.extra_args, error);
      line.extra_args_before = opened(line.extra_args_before, error);
    }
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    exit_code = app.exit(success, text, text);
    print(text.str());
    return std::nullopt;
  } catch (const CLI::ParseError& failure) {
    error = std::string(failure.what()) + " (--help lists the options)";
  }
  if (line.flags && !line.build_dir.empty() && error.empty()) {
    error = "give either -p or flags after --, not both";
  }
  if (!error.empty()) {
    say_error(error);
    exit_code = kCouldNotRun;
    return std::nullopt;
  }
  if (use_header_filter->count() > 0) {
    line.header_filter = header_filter;
  }
  if (use_color->count() > 0) {
    line.color = color;
  }
  if (follow_main->count() > 0) {
    line.follow_main = follow;
  }
  if (github->count() == 0) {
    const char* actions = std::getenv("GITHUB_ACTIONS");
    line.github = actions != nullptr && std::string_view(actions) == "true";
  }
  return line;
}

}  // namespace streamsan::analyzer
