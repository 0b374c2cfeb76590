// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include "cli/input_file.h"
#include "cli/outputs.h"
#include "report/groups.h"
#include "report/log_path.h"
#include "report/output_file.h"
#include "report/printable.h"
#include "report/sync_text.h"

namespace streamsan::cli {
namespace {

using report::Severity;

using report::write_all;

int standard_stream(const std::string& path) {
  if (path == "stderr") return STDERR_FILENO;
  return path == "stdout" || path == "-" ? STDOUT_FILENO : -1;
}

void count(report::Summary& summary, const report::Finding& finding) {
  if (finding.suppressed) {
    ++summary.suppressed;
    return;
  }
  switch (finding.severity) {
    case Severity::Error:
      ++summary.errors;
      break;
    case Severity::Latent:
      ++summary.latent;
      break;
    case Severity::Possible:
      ++summary.possible;
      break;
    case Severity::Note:
      ++summary.notes;
      break;
  }
}

}  // namespace

Session::Session(const Options& options, std::string program) : options_(options), program_(std::move(program)) {}

std::string Session::prepare() {
  if (std::string fault = outputs_fault(options_); !fault.empty()) return fault;
  if (options_.suppressions.empty()) return {};
  const std::string& path = options_.suppressions;
  const std::string unreadable = "cannot read the suppressions file " + path + ": ";
  if (const std::string fault = input_fault(path); !fault.empty()) return unreadable + fault;
  std::ifstream file(path);
  if (!file) return unreadable + std::generic_category().message(errno);
  std::string text(std::istreambuf_iterator<char>(file), {});
  return suppressions_.add(text, path);
}

report::TextOptions Session::text_options(const std::string& path) const {
  const Color color = choice<Color>(options_.color);
  report::TextOptions out{.color = color == Color::Always, .strip_path_prefix = options_.strip_path_prefix};
  int file = standard_stream(path);
  const char* no_color = std::getenv("NO_COLOR");
  if (color == Color::Auto && file >= 0) out.color = isatty(file) && !(no_color && *no_color);
  return out;
}

void Session::write(const std::string& path, const std::string& text) {
  if (text.empty()) return;
  int file = standard_stream(path);
  bool own = file < 0;
  if (own) {
    std::string fault = report::make_parents(path);
    file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) {
      // A report nobody can see is worse than one in the wrong place.
      if (write_problem_.empty()) {
        write_problem_ = fault.empty() ? "cannot write " + path + ": " + std::generic_category().message(errno) : fault;
      }
      write_all(STDERR_FILENO, text);
      return;
    }
  }
  if (!write_all(file, text) && file != STDERR_FILENO) {
    if (write_problem_.empty()) {
      write_problem_ = "cannot write " + (own ? path : "to stdout") + ": " + std::generic_category().message(errno);
    }
    write_all(STDERR_FILENO, text);
  }
  if (own) close(file);
}

void Session::incomplete() {
  std::lock_guard lock(mutex_);
  of_run_.whole = total_.whole = false;
}

void Session::unobserved(const std::string& text) {
  say("WARNING: " + text);
  std::lock_guard lock(mutex_);
  for (report::Summary* summary : {&of_run_, &total_}) {
    summary->warnings.push_back(text);
    summary->whole = false;
  }
  unobserved_ = true;
}

bool Session::lacks_activity() const {
  if (!unobserved_) return false;
  const RequireActivity wanted = choice<RequireActivity>(options_.require_activity);
  const char* set = std::getenv("CI");
  const std::string_view ci = set ? set : "";
  const bool in_ci = !ci.empty() && ci != "0" && ci != "false";
  return wanted == RequireActivity::Yes || (wanted == RequireActivity::Auto && in_ci);
}

bool Session::suppressed(report::Finding& finding) {
  std::lock_guard lock(mutex_);
  report::Suppressions scratch = suppressions_;
  return scratch.suppresses(finding);
}

void Session::say(std::string_view line, std::uint32_t level) {
  if (options_.verbosity < level) return;
  std::lock_guard lock(mutex_);
  // Names in it are the program's: none may begin a line, which could be a command to a CI service.
  write_all(STDERR_FILENO, "streamsan: " + report::one_line(line) + "\n");
}

std::string Session::reports(std::span<const report::Finding* const> shown, const std::string& path,
                             const report::TextOptions& look, Log& log) {
  std::string out;
  for (const report::EdgeGroup& group : report::grouped(shown)) {
    std::vector<const report::Finding*> fresh;
    for (std::size_t i = 0; i <= group.others.size(); ++i) {
      const report::Finding& finding = i == 0 ? *group.worst : *group.others[i - 1];
      const std::tuple key{path, finding.fingerprint, finding.severity};
      if (const auto first = reported_.find(key); first != reported_.end() && first->second != finding.pid) {
        out += report::again_text(finding, first->second, look) + "\n";
        log.anything = true;
      } else if (options_.max_reports != 0 && reports_shown_ >= options_.max_reports) {
        ++reports_hidden_;
      } else {
        ++reports_shown_;
        reported_.emplace(key, finding.pid);
        fresh.push_back(&finding);
      }
    }
    if (fresh.empty()) continue;
    log.anything = true;
    for (const report::Finding* finding : fresh) {
      (report::lacks_lines(*finding) ? log.lacks_lines : log.has_lines) = true;
    }
    const report::EdgeGroup whole{.worst = fresh.front(), .others = {fresh.begin() + 1, fresh.end()}};
    out +=
        report::text(whole, look, [this](const report::Finding& finding) { return suppression_line(finding); }) + "\n";
  }
  return out;
}

std::string Session::suppression_line(const report::Finding& finding) {
  if (!options_.gen_suppressions) return {};
  const std::string line = report::suppression_for(finding);
  return generated_.insert(line).second ? line + "\n" : "";
}

void Session::add(Verdict verdict) {
  std::lock_guard lock(mutex_);
  const report::LogNames names{verdict.pid, verdict.program};
  std::string path = report::expand_log_path(options_.log_path, names);
  Process& process = processes_.emplace_back(Process{names, findings_.size(), views_.size(), {}});
  report::TextOptions look = text_options(path);
  Log& log = logs_[path];
  // A file that is no trace belongs to no process.
  std::string prefix =
      verdict.pid ? "==" + std::to_string(verdict.pid) + "== WARNING: streamsan: " : "streamsan: WARNING: ";
  const std::string own_line = (verdict.pid ? "==" + std::to_string(verdict.pid) + "== " : "") + "streamsan: ";
  std::string out;
  Severity least = least_severity(options_);
  std::vector<const report::Finding*> shown;
  for (report::Finding& finding : verdict.findings) {
    finding.suppressed = suppressions_.suppresses(finding) || finding.suppressed;
    // Those have a section of their own, which counts them.
    if (finding.sync && !finding.suppressed) {
      (report::lacks_lines(finding) ? log.lacks_lines : log.has_lines) = true;
      continue;
    }
    count(log.summary, finding);
    count(process.summary, finding);
    count(total_, finding);
    if (report::leads(finding, log.named())) log.first = finding;
    // Hints come only when they were asked for.
    const bool wanted = finding.severity <= least || finding.kind == report::Kind::Hint;
    if (!finding.suppressed && wanted && !only_outputs_) shown.push_back(&finding);
  }
  out += reports(shown, path, look, log);
  if (verdict.view) views_.push_back(std::move(*verdict.view));
  if (verdict.syncs_judged) process.summary.syncs = total_.syncs = true;
  if (verdict.syncs_judged && !only_outputs_) {
    std::string section = report::sync_section(verdict.findings, look, options_.verbosity >= 1);
    if (section.empty()) section = own_line + "no synchronising call sites\n";
    out += section;
    log.anything = true;
  }
  for (report::Finding& finding : verdict.findings) findings_.push_back(std::move(finding));
  auto warn = [&](const std::string& text) {
    out += prefix + report::one_line(text) + "\n";
    log.anything = true;
    process.summary.warnings.push_back(text);
    total_.warnings.push_back(text);
  };
  for (const std::string& warning : verdict.warnings) warn(warning);
  if (!verdict.damage.empty()) {
    damaged_ = true;
    process.summary.whole = total_.whole = false;
    warn(verdict.trace + ": " + verdict.damage);
  }
  if (!verdict.costs.empty()) out += own_line + verdict.costs + "\n";
  if (options_.verbosity >= 1) {
    for (const std::string& note : verdict.notes) out += prefix + report::one_line(note) + "\n";
  }
  for (report::Summary* summary : {&log.summary, &process.summary, &total_}) {
    summary->operations += verdict.operations;
    summary->processes += verdict.processes;
  }
  log.measuring += verdict.measuring;
  // With --syncs each has a report of its own.
  if (options_.mention_waits && !verdict.syncs_judged) {
    log.device_waits += verdict.device_waits;
    log.idle_device_waits += verdict.idle_device_waits;
  }
  if (verdict.measuring.inferring || verdict.measuring.gave_up) inferred_ = true;
  write(path, out);
}

std::vector<ProcessShare> Session::shares() const {
  const std::span<const report::Finding> findings(findings_);
  const std::span<const report::RunView> views(views_);
  std::vector<ProcessShare> out;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    const bool last = i + 1 == processes_.size();
    const std::size_t next_finding = last ? findings.size() : processes_[i + 1].findings;
    const std::size_t next_view = last ? views.size() : processes_[i + 1].views;
    out.push_back({process.names, findings.subspan(process.findings, next_finding - process.findings),
                   views.subspan(process.views, next_view - process.views), process.summary});
  }
  return out;
}

std::string Session::finish(int exit_code) {
  std::lock_guard lock(mutex_);
  std::string suppression_text;
  for (const report::Suppressions::Entry& entry : suppressions_.entries()) {
    if (entry.hits && options_.print_suppressions) {
      suppression_text += report::one_line("streamsan: suppressed " + std::to_string(entry.hits) + ": " + entry.type() +
                                           ":" + entry.pattern + " (" + entry.origin + ")") +
                          "\n";
    }
    if (!entry.hits && !logs_.empty()) {
      suppression_text += report::one_line(std::string("streamsan: WARNING: unused suppression ") + entry.type() + ":" +
                                           entry.pattern + " (" + entry.origin + ")") +
                          "\n";
    }
  }
  if (reports_hidden_) {
    suppression_text += "streamsan: " + report::counted(reports_hidden_, "more report") +
                        " not shown (max_reports=" + std::to_string(options_.max_reports) + ")\n";
  }
  bool first_log = true;
  for (auto& [path, log] : logs_) {
    std::string out;
    if (first_log) out += suppression_text;
    first_log = false;
    if (log.lacks_lines && !log.has_lines && options_.symbolize) out += std::string(report::line_hint()) + "\n";
    if (const std::string waits = report::idle_waits_line(log.device_waits, log.idle_device_waits);
        !waits.empty() && !only_outputs_) {
      out += "streamsan: NOTE: " + waits + "\n";
    }
    bool found = log.summary.errors || log.summary.latent || log.summary.possible;
    if (std::string how = log.measuring.text(); options_.verbosity >= 1 && !how.empty()) {
      out += "streamsan: footprints of kernels " + how + "\n";
    }
    if (!only_outputs_ && (found || log.anything || options_.verbosity >= 1)) {
      out += report::summary_line(log.summary, log.named(), text_options(path)) + "\n";
    }
    write(path, out);
  }
  const std::vector<ProcessShare> processes = shares();
  const std::string fault = write_outputs(options_,
                                          {.all = {.findings = findings_, .summary = total_, .views = views_},
                                           .processes = processes,
                                           .of_run = of_run_,
                                           .nobody = {static_cast<std::uint32_t>(getpid()), program_}},
                                          {.exit_code = exit_code, .after_program = after_program_});
  if (!fault.empty()) return fault + (write_problem_.empty() ? "" : "; " + write_problem_);
  return write_problem_;
}

}  // namespace streamsan::cli
