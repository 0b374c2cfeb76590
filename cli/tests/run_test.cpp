// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan run` from the outside: exit codes, what is said and what is not, signals, files left behind. The program
// under test is a shell; the recorder in it is fake_recorder.cpp, so every trace is known.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/tests/command.h"

namespace streamsan::cli {
namespace {

using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// exec keeps it to one process: a shell with a child would have two traces.
const std::vector<std::string> kTrue{STREAMSAN_COMMANDS "true"};
std::vector<std::string> shell(const std::string& script) { return {STREAMSAN_COMMANDS "sh", "-c", script}; }

TEST(Run, ARaceEndsWithSixtySixItsRepairWithZeroAndSilence) {
  Result racy = run("race", {}, kTrue);
  EXPECT_EQ(racy.code, 66);
  EXPECT_EQ(racy.out, "");
  EXPECT_TRUE(has(racy.error, "== ERROR: streamsan: read-after-write race on device memory 0x700000000000"))
      << racy.error;
  EXPECT_TRUE(racy.error.ends_with("SUMMARY: streamsan: 1 error: read-after-write race (demo+0x1200)\n")) << racy.error;
  Result fixed = run("fixed", {}, kTrue);
  EXPECT_EQ(fixed.code, 0);
  EXPECT_EQ(fixed.out, "");
  EXPECT_EQ(fixed.error, "");
}

TEST(Run, AnErrorWinsOverTheProgramsOwnCode) {
  Result result = run("race", {}, shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result.code, 66);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_TRUE(result.error.starts_with("err\n")) << result.error;
  EXPECT_TRUE(has(result.error, "ERROR: streamsan:"));
}

TEST(Run, WithoutAnErrorTheProgramsOwnCodeStays) {
  EXPECT_EQ(run("fixed", {}, shell("exit 3")).code, 3);
  EXPECT_EQ(run("latent", {}, shell("exit 3")).code, 3);
  EXPECT_EQ(run("race", {"--exitcode=0"}, shell("exit 3")).code, 3);
  EXPECT_EQ(run("fixed", {}, shell("kill -KILL $$")).code, 128 + SIGKILL);
}

TEST(Run, TheRecorderListensToNvtxUnlessAnotherLibraryDoes) {
  const auto show = shell("echo \"$NVTX_INJECTION64_PATH\"");
  EXPECT_EQ(run("fixed", {}, show).out, STREAMSAN_FAKE_RECORDER "\n");
  setenv("NVTX_INJECTION64_PATH", "/lib/another.so", 1);
  Result other = run("fixed", {}, show);
  Result loud = run("fixed", {"-v", "1"}, show);
  setenv("NVTX_INJECTION64_PATH", "/elsewhere/libstreamsan.so", 1);
  Result nested = run("fixed", {}, show);
  unsetenv("NVTX_INJECTION64_PATH");
  EXPECT_EQ(other.out, "/lib/another.so\n");
  EXPECT_EQ(other.error, "");
  EXPECT_TRUE(has(loud.error, "NVTX_INJECTION64_PATH is set (/lib/another.so)")) << loud.error;
  EXPECT_EQ(nested.out, STREAMSAN_FAKE_RECORDER "\n");
}

TEST(Run, ExitCodeIsAnOption) {
  EXPECT_EQ(run("race", {"--exitcode=5"}, kTrue).code, 5);
  EXPECT_EQ(run("race", {"--exitcode=0"}, kTrue).code, 0);
  EXPECT_EQ(run("race", {}, kTrue, {"STREAMSAN_OPTIONS=exitcode=7"}).code, 7);
  EXPECT_EQ(run("race", {"--exitcode=5"}, kTrue, {"STREAMSAN_OPTIONS=exitcode=7"}).code, 5) << "flags win";
}

TEST(Run, AKilledProgramIsReportedAllTheSame) {
  for (auto [name, number] : {std::pair{"KILL", SIGKILL}, std::pair{"ABRT", SIGABRT}, std::pair{"SEGV", SIGSEGV}}) {
    Result result = run("race", {}, shell(std::string("kill -") + name + " $$"));
    EXPECT_EQ(result.code, 66);
    EXPECT_TRUE(has(result.error, "ERROR: streamsan: read-after-write")) << result.error;
    EXPECT_TRUE(has(result.error, STREAMSAN_COMMANDS "sh was killed by signal " + std::to_string(number)))
        << result.error;
  }
}

TEST(Run, CallsInProgressAreNewsOnlyWhenTheProgramWasKilled) {
  const std::string line = "1 call was in progress when the trace ended\n";
  Result killed = run("in-progress", {}, shell("kill -KILL $$"));
  EXPECT_EQ(killed.code, 128 + SIGKILL);
  EXPECT_TRUE(has(killed.error, "WARNING: streamsan: " + line)) << killed.error;
  // The fake recorder never writes that the process has ended: every end looks like _exit.
  Result left = run("in-progress", {}, shell("exit 3"));
  EXPECT_EQ(left.code, 3);
  EXPECT_FALSE(has(left.error, "in progress"));
  EXPECT_TRUE(has(run("in-progress", {"--verbosity=1"}, kTrue).error, line));
}

TEST(Run, ProgramsThatCannotBeRun) {
  Result missing = run("", {}, {"/no/such/program"});
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(missing.error, "streamsan: cannot run /no/such/program: No such file or directory\n");
  Result forbidden = run("", {}, {"/etc/passwd"});
  EXPECT_EQ(forbidden.code, 126);
  Result no_preload = streamsan({"run", "--preload_path=/no/such.so", "--", STREAMSAN_COMMANDS "true"});
  EXPECT_EQ(no_preload.code, 2);
  EXPECT_TRUE(has(no_preload.error, "cannot find libstreamsan.so")) << no_preload.error;
}

TEST(Run, LatentIsShownPossibleIsNotAndNeitherFails) {
  Result latent = run("latent", {}, kTrue);
  EXPECT_EQ(latent.code, 0);
  EXPECT_TRUE(has(latent.error, "== LATENT: streamsan: free-while-in-use")) << latent.error;
  Result possible = run("possible", {}, kTrue);
  EXPECT_EQ(possible.code, 0);
  EXPECT_EQ(
      possible.error,
      "SUMMARY: streamsan: no errors, 1 possible (shown with min_severity=possible); 2 operations in 1 process\n");
  Result shown = run("possible", {"--min_severity=possible"}, kTrue);
  EXPECT_EQ(shown.code, 0);
  EXPECT_TRUE(has(shown.error, "== POSSIBLE: streamsan: write-after-write")) << shown.error;
  EXPECT_FALSE(has(run("latent", {"--min_severity=error"}, kTrue).error, "LATENT"));
}

TEST(Run, EveryProcessIsJudged) {
  Result result = run("race", {}, shell(STREAMSAN_COMMANDS "true; " STREAMSAN_COMMANDS "true; exit 0"));
  EXPECT_EQ(result.code, 66);
  EXPECT_TRUE(has(result.error, "SUMMARY: streamsan: 3 errors; first: ")) << result.error;
}

TEST(Run, NothingObservedIsAWarningInEveryFormat) {
  TemporaryDirectory directory;
  const std::string json = directory / "out.json", junit = directory / "out.xml", sarif = directory / "out.sarif";
  Result result = run("", {"--json=" + json, "--junit=" + junit, "--sarif=" + sarif}, kTrue);
  EXPECT_EQ(result.code, 0);
  const std::string words = "nothing was checked: no process of " STREAMSAN_COMMANDS "true used CUDA through StreamSan";
  EXPECT_TRUE(result.error.starts_with("streamsan: WARNING: " + words)) << result.error;
  const Json summary = Json::parse(contents(json))["summary"];
  EXPECT_EQ(summary["whole"], false);
  ASSERT_EQ(summary["warnings"].size(), 1u);
  EXPECT_TRUE(has(summary["warnings"][0], words));
  EXPECT_TRUE(has(contents(junit), "errors=\"1\"")) << contents(junit);
  EXPECT_TRUE(has(contents(junit), words));
  EXPECT_EQ(Json::parse(contents(sarif))["runs"][0]["invocations"][0]["executionSuccessful"], false);
  EXPECT_EQ(streamsan({"report", json}).code, 2) << "what was not checked is not clean later, either";
}

TEST(Run, ActivityCanBeRequired) {
  EXPECT_EQ(run("", {"--require_activity=1"}, kTrue).code, 2);
  EXPECT_EQ(run("", {"--require_activity=1"}, shell("exit 3")).code, 3) << "the program's own code says more";
  EXPECT_EQ(run("fixed", {"--require_activity=1"}, kTrue).code, 0);
  EXPECT_EQ(run("", {}, kTrue, {"CI=true"}).code, 2);
  EXPECT_EQ(run("", {}, kTrue, {"CI=false"}).code, 0);
  EXPECT_EQ(run("", {"--require_activity=0"}, kTrue, {"CI=true"}).code, 0);
  EXPECT_EQ(run("fixed", {}, kTrue, {"CI=true"}).code, 0);
}

TEST(Run, TheLinkOrderOfAddressSanitizerIsNotVerifiedAndTheUsersOwnWordWins) {
  EXPECT_EQ(run("fixed", {}, shell("echo $ASAN_OPTIONS")).out, "verify_asan_link_order=0\n");
  EXPECT_EQ(run("fixed", {}, shell("echo $ASAN_OPTIONS"), {"ASAN_OPTIONS=a=1"}).out, "verify_asan_link_order=0:a=1\n");
}

TEST(Run, JsonHasEverything) {
  TemporaryDirectory directory;
  run("possible", {"--json=" + (directory / "deep/er/out.json")}, kTrue);
  Json json = Json::parse(contents(directory / "deep/er/out.json"));
  ASSERT_EQ(json["findings"].size(), 1u);
  EXPECT_EQ(json["findings"][0]["severity"], "possible");
  EXPECT_EQ(json["summary"]["possible"], 1);
  EXPECT_EQ(json["summary"]["processes"], 1);
}

TEST(Run, LogPathTakesTheTextAndMakesDirectories) {
  TemporaryDirectory directory;
  Result result = run("race", {"--log_path=" + (directory / "logs/x.%p.%q{RANK}.log")},
                      shell(STREAMSAN_COMMANDS "true; exit 0"), {"RANK=4"});
  EXPECT_EQ(result.code, 66);
  EXPECT_EQ(result.error, "");
  std::size_t logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "logs")) {
    std::string text = contents(entry.path().string());
    EXPECT_TRUE(entry.path().filename().string().ends_with(".4.log")) << entry.path();
    EXPECT_TRUE(has(text, "ERROR: streamsan:"));
    EXPECT_TRUE(text.ends_with("SUMMARY: streamsan: 1 error: read-after-write race (demo+0x1200)\n")) << text;
    ++logs;
  }
  EXPECT_EQ(logs, 2u) << "one for each process";
}

TEST(Run, SuppressionsAreCountedAndUnusedOnesNamed) {
  TemporaryDirectory directory;
  std::string file = directory / "supp";
  std::FILE* out = fopen(file.c_str(), "w");
  fputs("kernel:consume\nrace:never_there\n", out);
  fclose(out);
  Result result = run("race", {"--suppressions=" + file, "--print_suppressions"}, kTrue);
  EXPECT_EQ(result.code, 0);
  EXPECT_FALSE(has(result.error, "ERROR"));
  EXPECT_TRUE(has(result.error, "streamsan: suppressed 1: kernel:consume (" + file + ":1)\n")) << result.error;
  EXPECT_TRUE(has(result.error, "streamsan: WARNING: unused suppression race:never_there (" + file + ":2)\n"));
  EXPECT_EQ(run("race", {"--suppressions=/no/such"}, kTrue).code, 2);
  EXPECT_TRUE(has(run("race", {"--gen_suppressions"}, kTrue).error, "\nrace:^consume(float const*)$\n"));
}

TEST(Run, EqualSuppressionsAreGeneratedOnce) {
  const std::string line = "race:^consume(float const*)$\n";
  const Result result =
      run("race", {"--gen_suppressions"}, shell(STREAMSAN_COMMANDS "true; " STREAMSAN_COMMANDS "true; exit 0"));
  const std::size_t first = result.error.find(line);
  ASSERT_NE(first, std::string::npos) << result.error;
  EXPECT_EQ(result.error.find(line, first + 1), std::string::npos) << result.error;
}

TEST(Run, KeptTraceJudgesToTheSameFindings) {
  TemporaryDirectory directory;
  Result live =
      run("race", {"--keep_trace", "--trace_dir=" + directory.path(), "--json=" + (directory / "live.json")}, kTrue);
  EXPECT_EQ(live.code, 66);
  std::size_t at = live.error.find("trace kept: streamsan check ");
  ASSERT_NE(at, std::string::npos) << live.error;
  std::string trace = live.error.substr(at + 28);
  trace = trace.substr(0, trace.find('\n'));
  Result later = streamsan({"check", "--json=" + (directory / "later.json"), trace});
  EXPECT_EQ(later.code, 66);
  EXPECT_EQ(Json::parse(contents(directory / "live.json"))["findings"],
            Json::parse(contents(directory / "later.json"))["findings"]);
}

TEST(Run, NothingIsLeftBehind) {
  TemporaryDirectory directory;
  run("race", {"--trace_dir=" + directory.path()}, kTrue);
  run("", {"--trace_dir=" + directory.path()}, kTrue);
  run("", {"--trace_dir=" + directory.path()}, {"/no/such/program"});
  EXPECT_EQ(directory.files(), std::vector<std::string>{});
}

TEST(Run, WhatAKilledLauncherLeftBehindIsRemoved) {
  pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  TemporaryDirectory directory;
  std::string kept = "streamsan.123456", alive = "streamsan." + std::to_string(getpid()) + ".abcdef";
  for (const std::string& name : {"streamsan." + std::to_string(gone) + ".abcdef", kept, alive}) {
    std::filesystem::create_directory(directory / name);
    std::ofstream(directory / name + "/1.trace") << "x";
  }
  run("race", {"--trace_dir=" + directory.path()}, kTrue);
  std::vector<std::string> left{kept, alive};
  std::sort(left.begin(), left.end());  // by the process id's digits
  EXPECT_EQ(directory.files(), left);
}

TEST(Run, AProcessThatCouldNotRecordIsNotACleanRun) {
  const std::vector<std::string> failure{"FAKE_FAILURE=No space left on device"};
  Result result = run("", {}, kTrue, failure);
  EXPECT_EQ(result.code, 2);
  std::size_t at = result.error.find(" could not record: No space left on device\n");
  ASSERT_NE(at, std::string::npos) << result.error;
  EXPECT_TRUE(result.error.starts_with("streamsan: WARNING: process ")) << result.error;
  EXPECT_EQ(result.error.find('\n'), result.error.size() - 1) << "one line";
  EXPECT_EQ(run("", {}, shell("exit 3"), failure).code, 3);
}

TEST(Run, ADamagedTraceIsNotACleanRun) {
  Result result = run("fixed", {}, kTrue, {"FAKE_CUT=1"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(has(result.error, "the trace is truncated: ")) << result.error;
  EXPECT_EQ(run("fixed", {}, shell("exit 3"), {"FAKE_CUT=1"}).code, 3);
}

TEST(Run, TheWriterIsKnownByItsLockNotByItsNumber) {
  pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  // The call in progress makes the judge wait for the writer's end.
  for (pid_t number : {gone, getpid()}) {
    TemporaryDirectory directory;
    auto start = std::chrono::steady_clock::now();
    Result result =
        run("in-progress", {"--log_path=" + (directory / "log"), "--verbosity=1"},
            {STREAMSAN_COMMANDS "sh", "-c", "unset FAKE_TRACE; sleep 0.5; test ! -e " + (directory / "log")},
            {"FAKE_PID=" + std::to_string(number)});
    EXPECT_EQ(result.code, 0) << "judged to the end while its writer was still there";
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1400))
        << "waited for another process";
  }
}

TEST(Run, AnErrorDoesNotEndAProcessThatOnlyHasTheNumber) {
  pid_t bystander = fork();
  if (bystander == 0) {
    pause();
    _exit(0);
  }
  Result result =
      run("race", {"--halt_on_error"}, {STREAMSAN_COMMANDS "sleep", "1000"}, {"FAKE_PID=" + std::to_string(bystander)});
  EXPECT_EQ(result.code, 66);
  EXPECT_EQ(waitpid(bystander, nullptr, WNOHANG), 0) << "it must still run";
  kill(bystander, SIGKILL);
  waitpid(bystander, nullptr, 0);
}

/// The exit code of `streamsan run` on a program when both start with SIGCHLD ignored; -1: it hangs.
int code_with_children_ignored(const std::vector<std::string>& program, const std::string& out) {
  std::vector<std::string> words{STREAMSAN_PROGRAM, "run", "--preload_path=" STREAMSAN_FAKE_RECORDER,
                                 "--require_activity=0", "--"};
  words.insert(words.end(), program.begin(), program.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t launcher = fork();
  if (launcher == 0) {
    signal(SIGCHLD, SIG_IGN);
    if (!freopen(out.c_str(), "w", stdout)) _exit(98);
    execv(arguments[0], arguments.data());
    _exit(99);
  }
  int status = 0;
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (waitpid(launcher, &status, WNOHANG) == launcher) return WEXITSTATUS(status);
  }
  kill(launcher, SIGKILL);
  waitpid(launcher, &status, 0);
  return -1;
}

TEST(Run, ALauncherThatWasToldToIgnoreItsChildren) {
  TemporaryDirectory directory;
  std::string out = directory / "out";
  EXPECT_EQ(code_with_children_ignored(shell("exit 3"), out), 3);
  // A shell would change it.
  EXPECT_EQ(code_with_children_ignored({STREAMSAN_COMMANDS "grep", "SigIgn", "/proc/self/status"}, out), 0);
  std::string line = contents(out);
  ASSERT_TRUE(has(line, "SigIgn:")) << line;
  EXPECT_TRUE(std::stoull(line.substr(line.find(':') + 1), nullptr, 16) >> (SIGCHLD - 1) & 1)
      << "the program has it too";
}

TEST(Run, HaltOnErrorEndsAProgramThatWouldRunForever) {
  Result result = run("race", {"--halt_on_error"}, {STREAMSAN_COMMANDS "sleep", "1000"});
  EXPECT_EQ(result.code, 66);
  EXPECT_TRUE(has(result.error, "ERROR: streamsan:")) << result.error;
  EXPECT_EQ(run("race", {"--halt_on_error", "--exitcode=0"}, {STREAMSAN_COMMANDS "sleep", "1000"}).code, 128 + SIGTERM);
  EXPECT_EQ(run("fixed", {"--halt_on_error"}, kTrue).code, 0);
}

TEST(Run, ArgumentsOfTheProgramAreItsOwn) {
  Result result = run("", {}, {STREAMSAN_COMMANDS "echo", "--verbosity=1", "--", "-v"});
  EXPECT_EQ(result.out, "--verbosity=1 -- -v\n");
  Result bare =
      streamsan({"run", "--preload_path", STREAMSAN_FAKE_RECORDER, STREAMSAN_COMMANDS "echo", "--exitcode=4"});
  EXPECT_EQ(bare.out, "--exitcode=4\n") << bare.error;
}

TEST(Run, TheGuestsEnvironment) {
  Result result = run("", {"--stack-depth=7", "--stacks=0"}, shell("echo $LD_PRELOAD; echo $STREAMSAN_OPTIONS"),
                      {"LD_PRELOAD=libm.so.6", "STREAMSAN_OPTIONS=verbosity=0"});
  EXPECT_TRUE(has(result.out, STREAMSAN_FAKE_RECORDER ":libm.so.6\n")) << result.out;
  EXPECT_TRUE(has(result.out, ":verbosity=0:host_threads=seen:stacks=0:stack_depth=7:")) << result.out;
  EXPECT_TRUE(has(result.out, ":trace_path=/")) << result.out;
}

/// Starts `streamsan run` on a shell that says when it is ready, sends the launcher a signal, returns the exit code.
int code_after_signal(const std::string& script, int number) {
  TemporaryDirectory directory;
  std::string ready = directory / "ready";
  pid_t child = fork();
  if (child == 0) {
    std::string whole = script + "; : > " + ready + "; while :; do sleep 0.01; done";
    execl(STREAMSAN_PROGRAM, STREAMSAN_PROGRAM, "run", "--preload_path=" STREAMSAN_FAKE_RECORDER, "--",
          STREAMSAN_COMMANDS "sh", "-c", whole.c_str(), nullptr);
    _exit(99);
  }
  for (int i = 0; i < 1000 && access(ready.c_str(), F_OK) != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, number);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Run, SignalsSentToTheLauncherReachTheProgram) {
  EXPECT_EQ(code_after_signal("trap 'exit 7' TERM", SIGTERM), 7);
  EXPECT_EQ(code_after_signal("trap 'exit 8' INT", SIGINT), 8);
  EXPECT_EQ(code_after_signal("trap 'exit 9' USR1", SIGUSR1), 9);
  EXPECT_EQ(code_after_signal("true", SIGTERM), 128 + SIGTERM);
}

TEST(Run, AProcessLeftBehindIsJudgedAsFarAsItIs) {
  if (STREAMSAN_EMULATED) GTEST_SKIP() << "what /proc says of a process is said of the emulator";
  auto start = std::chrono::steady_clock::now();
  Result result = run("race", {}, shell("(exec " STREAMSAN_COMMANDS "sleep 30) >/dev/null 2>&1 & echo $!; exit 0"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  EXPECT_EQ(result.code, 66);
  EXPECT_FALSE(has(result.error, "in progress"));
  EXPECT_TRUE(
      has(result.error, ") still runs, one second after the program's end: what it does from here on is not checked"))
      << result.error;
  kill(static_cast<pid_t>(std::stol(result.out)), SIGKILL);
}

}  // namespace
}  // namespace streamsan::cli
