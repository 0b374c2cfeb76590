// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the verdicts of one invocation and reports them: suppressions, text, the SUMMARY line, and the outputs for
// programs (outputs.h).
//
// Text of a process is written in one piece when its verdict comes in; processes that end together do not mix their
// lines. With a log_path that names the process, each file is complete in itself, its own SUMMARY line included.
// A run without errors and latent findings, and without anything to warn of, prints nothing at all (verbosity 0).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/trace_judge.h"
#include "report/suppressions.h"
#include "report/text.h"

namespace streamsan::cli {

class Session {
 public:
  /// `program`: names files where no process does.
  explicit Session(const Options& options, std::string program = "");

  /// Reads the suppressions file. Returns what is wrong; empty: nothing.
  std::string prepare();

  void add(Verdict verdict);
  /// No reports as text; warnings only.
  void only_outputs() { only_outputs_ = true; }
  /// How text for that log_path looks.
  [[nodiscard]] report::TextOptions text_options(const std::string& path) const;
  /// One line about the invocation itself, at verbosity `level` and above.
  void say(std::string_view line, std::uint32_t level = 0);
  /// Does a suppression match? Counts the hit only if `count`.
  bool suppressed(report::Finding& finding);

  /// Something was not judged that no verdict mentions.
  void incomplete();
  /// Something was not observed at all: a warning, and all formats say that the run was not judged as a whole.
  void unobserved(const std::string& text);
  [[nodiscard]] bool has_unobserved() const { return unobserved_; }
  /// Was there anything to judge?
  [[nodiscard]] bool has_operations() const { return total_.operations > 0 || !findings_.empty(); }
  /// Something was not observed, and that is to be a failure (option require_activity).
  [[nodiscard]] bool lacks_activity() const;
  /// A program has run before; it had our stdout.
  void after_program() { after_program_ = true; }

  /// Writes summaries, the list of suppressions and the outputs for programs. `exit_code`: the exit code of the command
  /// if every file can be written. Returns what could not be written; empty: all was.
  std::string finish(int exit_code);

  [[nodiscard]] bool has_errors() const { return total_.errors > 0; }
  [[nodiscard]] bool has_damage() const { return damaged_; }
  /// A process launched kernels that could not be measured, from its start or from some point on.
  [[nodiscard]] bool has_inferred() const { return inferred_; }

 private:
  struct Log {
    report::Summary summary;
    Measuring measuring;
    std::uint64_t device_waits = 0;
    std::uint64_t idle_device_waits = 0;
    bool anything = false;  ///< findings or warnings were written
    bool lacks_lines = false;
    bool has_lines = false;
    std::optional<report::Finding> first;  ///< the one that the last line names

    [[nodiscard]] const report::Finding* named() const { return first ? &*first : nullptr; }
  };
  /// Where a process's results begin.
  struct Process {
    report::LogNames names;
    std::size_t findings = 0;
    std::size_t views = 0;
    report::Summary summary;
  };
  void write(const std::string& path, const std::string& text);
  /// The text of a process's findings: two lines for one that another process has, too; none beyond max_reports.
  std::string reports(std::span<const report::Finding* const> shown, const std::string& path,
                      const report::TextOptions& look, Log& log);
  /// Empty where none is wanted, or the same was printed before.
  std::string suppression_line(const report::Finding& finding);
  [[nodiscard]] std::vector<ProcessShare> shares() const;

  const Options& options_;
  std::string program_;
  report::Suppressions suppressions_;
  std::mutex mutex_;
  std::map<std::string, Log> logs_;
  std::vector<report::Finding> findings_;
  std::vector<report::RunView> views_;  ///< one for each process, when a picture is wanted
  std::vector<Process> processes_;
  report::Summary total_;
  report::Summary of_run_;           ///< the share of it that is of no process
  std::set<std::string> generated_;  ///< suppressions that were printed
  /// By file, fingerprint and severity: the process whose report has the whole text.
  std::map<std::tuple<std::string, std::string, report::Severity>, std::uint32_t> reported_;
  std::uint32_t reports_shown_ = 0;
  std::uint32_t reports_hidden_ = 0;
  bool damaged_ = false;
  bool inferred_ = false;
  bool unobserved_ = false;
  bool after_program_ = false;
  bool only_outputs_ = false;
  std::string write_problem_;
};

}  // namespace streamsan::cli
