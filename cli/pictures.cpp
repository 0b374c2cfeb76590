// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/pictures.h"

#include <fstream>

#include "report/html/page.h"
#include "report/log_path.h"
#include "report/perfetto.h"

namespace streamsan::cli {
namespace {

std::string write_file(const std::string& path, const std::string& content) {
  std::string fault = report::make_parents(path);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.flush();
  if (file) return {};
  return fault.empty() ? "cannot write " + path : fault;
}

}  // namespace

bool wants_pictures(const Options& options) { return !options.html.empty() || !options.perfetto.empty(); }

std::string write_pictures(const Options& options, std::span<const report::Finding> findings,
                           const report::Summary& summary, std::span<const report::RunView> views) {
  std::string fault;
  if (!options.html.empty()) {
    fault = write_file(options.html,
                       report::html(findings, summary, views,
                                    {.version = STREAMSAN_VERSION, .strip_path_prefix = options.strip_path_prefix}));
  }
  if (!options.perfetto.empty()) {
    const std::string other = write_file(options.perfetto, report::perfetto(findings, views));
    if (fault.empty()) fault = other;
  }
  return fault;
}

}  // namespace streamsan::cli
