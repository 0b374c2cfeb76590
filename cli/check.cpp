// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/check.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "cli/exit_codes.h"
#include "cli/session.h"
#include "cli/trace_judge.h"

namespace streamsan::cli {
namespace {

/// One line on the terminal that overwrites itself; silent for traces that are done at once.
class Progress {
 public:
  explicit Progress(const std::string& path) : name_(std::filesystem::path(path).filename().string()) {}
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done, std::uint64_t total) {
    auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds{500} || total == 0) return;
    last_ = now;
    shown_ = true;
    std::fprintf(stderr, "\r\033[Kstreamsan: %s: %d %%", name_.c_str(), static_cast<int>(done * 100 / total));
    std::fflush(stderr);
  }

 private:
  std::string name_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

}  // namespace

int check(const Options& options, const std::vector<std::string>& traces) {
  Session session(options);
  std::string fault = log_fault(options);
  if (fault.empty()) fault = session.prepare();
  if (!fault.empty()) {
    session.say(fault);
    return kOwnFailure;
  }
  for (const std::string& path : traces) {
    Verdict verdict;
    {
      Progress progress(path);
      TraceControl control;
      if (isatty(2))
        control.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
      verdict = judge_trace(path, options, control);
    }
    session.add(std::move(verdict));
  }
  if (!session.has_damage() && !session.has_operations())
    session.unobserved("nothing was checked: the program made no operation of CUDA");
  const bool failed = session.has_damage() || (session.lacks_activity() && !session.has_errors());
  const int code = failed ? kOwnFailure : session.has_errors() ? static_cast<int>(options.exitcode) : 0;
  fault = session.finish(code);
  if (!fault.empty()) session.say(fault);
  return fault.empty() ? code : kOwnFailure;
}

}  // namespace streamsan::cli
