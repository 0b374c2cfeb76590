// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See configuration.h. What clang-tidy prints itself, a worker does.
#include "analyzer/tool/configuration.h"

#include <cstdio>

#include "analyzer/tool/files.h"
#include "analyzer/tool/text_output.h"
#include "analyzer/tool/workers.h"

namespace streamsan::analyzer {

bool asks_for_configuration(const CommandLine& line) {
  return line.list_checks || line.explain_config || line.dump_config || line.verify_config;
}

bool print_configuration(const CommandLine& line, const CheckSelection& selection, const Scratch& scratch) {
  std::string error;
  const std::string file = line.files.empty() ? "example.cu" : line.files.front();
  const Selection chosen = selection.select(file, error);
  if (!error.empty()) {
    say_error(error);
    return false;
  }
  if (line.list_checks || line.explain_config) {
    std::string text = line.list_checks ? "Enabled checks:\n" : "";
    for (const auto& [name, where] : chosen.enabled) {
      text += line.list_checks ? "    " + name + "\n" : "'" + name + "' is enabled in " + where + ".\n";
    }
    print(text);
    return true;
  }
  const std::filesystem::path config = scratch.path() / "config.yaml";
  if (const std::error_code failed = write_file(config, clang::tidy::configurationAsText(chosen.options))) {
    say_error("cannot write " + config.string() + ": " + failed.message());
    return false;
  }
  Job job;
  job.arguments = {"--config-file=" + config.string(), line.dump_config ? "--dump-config" : "--verify-config", file,
                   "--"};
  job.output = (scratch.path() / "stdout").string();
  job.errors = (scratch.path() / "stderr").string();
  int status = -1;
  run_jobs(
      {job}, 1, [](std::size_t) { return false; }, [](std::size_t) {},
      [&status](std::size_t, int ended) { status = ended; });
  std::string output;
  std::string errors;
  read_file(job.output, output);
  read_file(job.errors, errors);
  print(output);
  std::fputs(errors.c_str(), stderr);
  return status == 0;
}

}  // namespace streamsan::analyzer
