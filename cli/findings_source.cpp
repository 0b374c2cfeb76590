// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/findings_source.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

#include "cli/input_file.h"
#include "cli/trace_judge.h"
#include "trace/format.h"

namespace streamsan::cli {
bool is_trace(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::array<char, sizeof trace::kMagic> start{};
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), start.size()) && std::memcmp(start.data(), &trace::kMagic, start.size()) == 0;
}

std::string read_findings(const std::string& path, report::FindingsFile& out) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    if (const std::string fault = input_fault(path); !fault.empty()) return "cannot read " + path + ": " + fault;
    std::ifstream file(path, std::ios::binary);
    if (!file) return "cannot read " + path + ": " + std::generic_category().message(errno);
    if (is_trace(path)) return path + ": a trace, not a file of findings: streamsan check judges it";
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::string fault = report::read_json(text, out);
  return fault.empty() ? "" : (path == "-" ? "stdin" : path) + ": " + fault;
}

bool holds_findings(const std::string& path) {
  std::error_code ignored;
  report::FindingsFile unused;
  return std::filesystem::is_regular_file(path, ignored) && read_findings(path, unused).empty();
}

std::string read_or_judge(const std::string& path, const Options& options, report::FindingsFile& out) {
  if (path == "-" || !is_trace(path)) return read_findings(path, out);
  Verdict verdict = judge_trace(path, options, {});
  out = {};
  out.findings = std::move(verdict.findings);
  out.summary.operations = verdict.operations;
  out.summary.processes = 1;
  out.summary.syncs = verdict.syncs_judged;
  out.summary.warnings = std::move(verdict.warnings);
  if (!verdict.damage.empty()) {
    out.summary.whole = false;
    out.summary.warnings.push_back(path + ": " + verdict.damage);
  }
  return {};
}

}  // namespace streamsan::cli
