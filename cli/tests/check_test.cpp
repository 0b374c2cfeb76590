// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan check` and the other commands from the outside.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/options.h"
#include "cli/tests/command.h"
#include "cli/tests/sample_trace.h"
#include "judge/build_id.h"

namespace streamsan::cli {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Check : public ::testing::Test {
 protected:
  std::string saved(const std::string& name) {
    std::string path = directory_ / (name + ".trace");
    EXPECT_TRUE(sample_trace(name).save(path));
    return path;
  }
  std::string written(const std::string& name, const std::string& bytes) {
    std::string path = directory_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  /// Two fills that race, called from this module.
  std::string saved_in_module(const std::string& name, const std::string& module, const std::string& build_id) {
    trace::TraceBuilder trace;
    trace.module(module, 0x10000000, 0x10000000, 0x20000000, build_id);
    trace.alloc(0x700000000000, 4096);
    trace.stream_create(0x1000, trace::NonBlocking::Yes);
    trace.stream_create(0x2000, trace::NonBlocking::Yes);
    trace.at({0x10001000}).fill_async(0x1000, 0x700000000000, 64);
    trace.at({0x10001100}).fill_async(0x2000, 0x700000000000, 64);
    std::string path = directory_ / (name + ".trace");
    EXPECT_TRUE(trace.save(path));
    return path;
  }
  TemporaryDirectory directory_;
};

TEST_F(Check, RacyAndFixed) {
  Result racy = streamsan({"check", saved("race")});
  EXPECT_EQ(racy.code, 66);
  EXPECT_TRUE(racy.error.starts_with("==4711== ERROR: streamsan: read-after-write race")) << racy.error;
  Result fixed = streamsan({"check", saved("fixed")});
  EXPECT_EQ(fixed.code, 0);
  EXPECT_EQ(fixed.error, "");
}

TEST_F(Check, SeveralTraces) {
  Result result = streamsan({"check", saved("race"), saved("fixed"), saved("latent")});
  EXPECT_EQ(result.code, 66);
  EXPECT_TRUE(has(result.error, "SUMMARY: streamsan: 1 error, 1 latent; first: ")) << result.error;
}

TEST_F(Check, TheSummaryNamesTheFirstOfTheWorst) {
  const std::string race = "SUMMARY: streamsan: 1 error, 1 latent; first: read-after-write race";
  EXPECT_TRUE(has(streamsan({"check", saved("race"), saved("latent")}).error, race));
  EXPECT_TRUE(has(streamsan({"check", saved("latent"), saved("race")}).error, race));
}

TEST_F(Check, ATruncatedTraceIsReadAsFarAsItIsWhole) {
  trace::TraceBuilder trace = sample_trace("race");
  for (int i = 0; i < 10; ++i) trace.fill_async(1, 0x700000000000, 1);
  std::string bytes = trace.bytes();
  std::string path =
      written("cut.trace", bytes.substr(0, trace::kHeaderBytes + (trace.slots() - 3) * trace::kSlotBytes));
  Result result = streamsan({"check", path});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(has(result.error, "ERROR: streamsan: read-after-write race")) << result.error;
  EXPECT_TRUE(has(result.error, path + ": the trace is truncated: 3 of ")) << result.error;
}

TEST_F(Check, ATraceCutInItsFirstChunkIsDamaged) {
  std::string bytes = sample_trace("race").bytes();
  for (std::size_t size : {trace::kHeaderBytes, trace::kHeaderBytes + 4}) {
    Result result = streamsan({"check", written("short.trace", bytes.substr(0, size))});
    EXPECT_EQ(result.code, 2) << size;
    EXPECT_TRUE(has(result.error, "the trace is truncated: ")) << result.error;
  }
  trace::TraceBuilder fixed = sample_trace("fixed");
  std::string trimmed = fixed.bytes().substr(0, trace::kHeaderBytes + fixed.slots() * trace::kSlotBytes);
  Result whole = streamsan({"check", written("trimmed.trace", trimmed)});
  EXPECT_EQ(whole.code, 0);
  EXPECT_EQ(whole.error, "");
}

TEST_F(Check, ACorruptTraceSaysWhere) {
  trace::TraceBuilder trace = sample_trace("race");
  std::uint64_t bad = trace.fill_async(1, 0x700000000000, 1);
  std::string bytes = trace.bytes();
  bytes[trace::kHeaderBytes + bad * trace::kSlotBytes + 4] = static_cast<char>(0xee);
  Result result = streamsan({"check", written("bad.trace", bytes)});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(has(result.error, "ERROR: streamsan: read-after-write race")) << result.error;
  EXPECT_TRUE(has(result.error, "record " + std::to_string(bad) + " is corrupt (unknown kind)")) << result.error;
}

TEST_F(Check, WhatIsNoTrace) {
  Result text = streamsan({"check", written("x.txt", std::string(10000, 'x'))});
  EXPECT_EQ(text.code, 2);
  EXPECT_TRUE(has(text.error, "x.txt: cannot read it: it is not a StreamSan trace")) << text.error;
  Result missing = streamsan({"check", "/no/such.trace"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(has(missing.error, "/no/such.trace: cannot read it: No such file or directory")) << missing.error;
  Result both = streamsan({"check", "/no/such.trace", saved("race")});
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(has(both.error, "ERROR: streamsan: read-after-write race")) << "the good one is judged";
}

TEST_F(Check, WhatTheRecorderCouldNotSeeIsSaid) {
  trace::TraceBuilder trace = sample_trace("fixed");
  trace.unmodelled("cuGraphAddNode_v2", 3);
  trace.unmodelled("cuNewThing", 1);
  trace.message("careful");
  std::string path = directory_ / "w.trace";
  ASSERT_TRUE(trace.save(path));
  Result result = streamsan({"check", path});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(
      result.error,
      "==4711== WARNING: streamsan: careful\n"
      "==4711== WARNING: streamsan: not modelled by this version: cuGraphAddNode_v2 (3 calls), cuNewThing (1 call)\n"
      "SUMMARY: streamsan: no errors; 4 operations in 1 process\n");
  trace.set_end(trace::End::NoSpace);
  ASSERT_TRUE(trace.save(path));
  EXPECT_TRUE(has(streamsan({"check", path}).error, "recording stopped after "));
}

TEST_F(Check, MaxReportsLimitsTextOnly) {
  Result result =
      streamsan({"check", "--max_reports=1", "--json=" + (directory_ / "x.json"), saved("race"), saved("latent")});
  EXPECT_EQ(result.code, 66);
  EXPECT_FALSE(has(result.error, "LATENT:"));
  EXPECT_TRUE(has(result.error, "streamsan: 1 more report not shown (max_reports=1)\n")) << result.error;
  EXPECT_TRUE(has(contents(directory_ / "x.json"), "\"severity\": \"latent\""));
}

TEST_F(Check, PicturesOfTheRun) {
  const std::string html = directory_ / "new/x.html", perfetto = directory_ / "x.perfetto.json";
  Result result = streamsan({"check", "--html=" + html, "--perfetto=" + perfetto, saved("race")});
  EXPECT_EQ(result.code, 66);
  EXPECT_TRUE(has(contents(html), "<!DOCTYPE html>"));
  EXPECT_TRUE(has(contents(html), "kernel consume(float const*)"));
  EXPECT_TRUE(has(contents(perfetto), "\"traceEvents\""));
  for (const char* option : {"--html=", "--perfetto="}) {
    Result refused = streamsan({"check", option + std::string("/dev/null/x"), saved("race")});
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(has(refused.error, "streamsan: cannot ")) << refused.error;
    EXPECT_TRUE(has(refused.error, "/dev/null")) << refused.error;
  }
}

TEST_F(Check, ColorOnlyWhenAsked) {
  EXPECT_FALSE(has(streamsan({"check", saved("race")}).error, "\033"));
  EXPECT_TRUE(has(streamsan({"check", "--color=always", saved("race")}).error, "\033[1;31mERROR: streamsan:"));
}

TEST_F(Check, TheSourceHintComesOnceWhenNothingHasLines) {
  // Stripped, as distributions ship it.
  std::string path = saved_in_module("stripped", STREAMSAN_COMMANDS "true", "");
  std::string error = streamsan({"check", path, path}).error;
  std::size_t first = error.find("Hint: compile with -g");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(error.find("Hint:", first + 1), std::string::npos);
  EXPECT_FALSE(has(streamsan({"check", "--symbolize=0", path}).error, "Hint:"));
  EXPECT_FALSE(has(streamsan({"check", saved("race")}).error, "Hint:")) << "the module is not here: -g would not help";
}

TEST_F(Check, LinesOfAModuleThatWasBuiltAgainAreNotShown) {
  std::string id = judge::build_id_of(STREAMSAN_PROGRAM);
  ASSERT_FALSE(id.empty());
  Result same = streamsan({"check", saved_in_module("same", STREAMSAN_PROGRAM, id)});
  EXPECT_FALSE(has(same.error, "WARNING")) << same.error;

  Result rebuilt = streamsan({"check", saved_in_module("rebuilt", STREAMSAN_PROGRAM, "another id")});
  EXPECT_EQ(rebuilt.code, 66);
  EXPECT_TRUE(has(rebuilt.error, "WARNING: streamsan: " STREAMSAN_PROGRAM " has been rebuilt since the trace was "
                                 "recorded: its functions and lines are not shown\n"))
      << rebuilt.error;
  EXPECT_TRUE(has(rebuilt.error, "#0 (streamsan+0x1100)\n")) << rebuilt.error;
  EXPECT_FALSE(has(rebuilt.error, "Hint:")) << "-g would not help";

  Result gone = streamsan({"check", saved_in_module("gone", "/no/such/program", id)});
  EXPECT_EQ(gone.code, 66);
  EXPECT_TRUE(has(gone.error, "/no/such/program is not here: its functions and lines are not shown\n")) << gone.error;
  EXPECT_FALSE(has(gone.error, "Hint:"));
}

TEST_F(Check, OrderThatIsNotSeenIsSaidBesideWhatItMakesDoubtful) {
  trace::TraceBuilder hidden;
  hidden.unmodelled("cuCtxWaitEvent", 1);
  hidden.unmodelled("cuCtxWaitEvent", 2);
  hidden.stream_create(0x1000, trace::NonBlocking::Yes);
  hidden.stream_create(0x2000, trace::NonBlocking::Yes);
  hidden.alloc(0x700000000000, 4096);
  hidden.fill_async(0x1000, 0x700000000000, 64);
  hidden.fill_async(0x2000, 0x700000000000, 64);
  std::string path = directory_ / "hidden.trace";
  ASSERT_TRUE(hidden.save(path));
  Result result = streamsan({"check", path});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(
      result.error,
      "==4711== WARNING: streamsan: not modelled by this version: cuCtxWaitEvent (2 calls)\n"
      "==4711== WARNING: streamsan: the order made by cuCtxWaitEvent is not seen: findings from there on are at "
      "most possible\n"
      "SUMMARY: streamsan: no errors, 1 possible (shown with min_severity=possible); 2 operations in 1 process\n");
}

TEST_F(Check, CallsInProgressAreSaidWhenNobodyKnowsHowTheProcessEnded) {
  trace::TraceBuilder trace = sample_trace("in-progress");
  std::string path = directory_ / "x.trace";
  trace.set_end(trace::End::Running);
  ASSERT_TRUE(trace.save(path));
  EXPECT_TRUE(
      has(streamsan({"check", path}).error, "WARNING: streamsan: 1 call was in progress when the trace ended\n"));
  trace.set_end(trace::End::Exited);
  ASSERT_TRUE(trace.save(path));
  EXPECT_FALSE(has(streamsan({"check", path}).error, "in progress"));
}

TEST(Command, AnUnknownCommandIsNamed) {
  Result result = streamsan({"no-such-command"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(
      result.error,
      "streamsan: unknown command no-such-command: the commands are run, check, report, diff, footprints, doctor and "
      "help "
      "(streamsan run "
      "no-such-command would run a program of this name)\n");
  EXPECT_TRUE(has(streamsan({"checks", "x.trace"}).error, "unknown command checks (did you mean check?): "));
  EXPECT_TRUE(has(streamsan({"--jsn=x", "run"}).error, "unknown argument --jsn=x: a command comes first"));
  EXPECT_TRUE(has(streamsan({"help", "rnu"}).error, "no help on 'rnu' (did you mean run?)"));
  EXPECT_EQ(streamsan({"version"}).out, streamsan({"--version"}).out);
  EXPECT_EQ(streamsan({"help"}).code, 0);
}

TEST(Command, Help) {
  const std::string usage = "Usage: streamsan run [OPTIONS] [--] program [arguments]\n";
  EXPECT_TRUE(has(streamsan({"help", "run"}).out, usage));
  EXPECT_TRUE(has(streamsan({"run", "--help"}).out, usage));
  const std::string doctor = streamsan({"doctor", "--help"}).out;
  EXPECT_TRUE(has(doctor, "--preload_path"));
  EXPECT_FALSE(has(doctor, "--sarif")) << "it takes it, and has no use for it";
  const std::string manual = streamsan({"help", "man"}).out;
  EXPECT_TRUE(manual.starts_with(".TH STREAMSAN 1 "));
  for (const OptionRow& row : option_rows()) {
    EXPECT_TRUE(has(manual, "\n.B " + std::string(row.name) + "=")) << row.name;
  }
}

TEST(Command, Usage) {
  EXPECT_EQ(streamsan({}).code, 2);
  EXPECT_EQ(streamsan({"--version"}).code, 0);
  EXPECT_TRUE(streamsan({"--version"}).out.starts_with("streamsan "));
  EXPECT_TRUE(has(streamsan({"help"}).out, "streamsan run [options]"));
  EXPECT_TRUE(has(streamsan({"--help"}).out, "streamsan run [options]"));
  EXPECT_TRUE(has(streamsan({"help", "run"}).out, "--halt_on_error"));
  EXPECT_TRUE(has(streamsan({"help", "options"}).out, "halt_on_error=0"));
  EXPECT_EQ(streamsan({"help", "nonsense"}).code, 2);
  EXPECT_EQ(streamsan({"run"}).code, 2);
  EXPECT_EQ(streamsan({"check"}).code, 2);
  EXPECT_TRUE(has(streamsan({"run", "--exitcodes=1", "true"}).error, "did you mean --exitcode?"));
  EXPECT_EQ(streamsan({"run", "--frobnicate", "true"}).error, "streamsan: unknown argument --frobnicate\n");
  EXPECT_EQ(
      streamsan({"run", "--trace_path=x", "true"}).error,
      "streamsan: unknown argument --trace_path=x (only STREAMSAN_OPTIONS takes it, for a program that is run with the "
      "preload library alone)\n");
  EXPECT_TRUE(
      has(streamsan({"report", "--timings", "x.json"}).error, "unknown argument --timings (it is for: run, check"));
  EXPECT_EQ(streamsan({"run", "--json"}).error, "streamsan: --json needs a value\n");
  EXPECT_EQ(streamsan({"check", "--json=a", "--json=b", "x"}).error, "streamsan: --json is given more than once\n");
  Result large = streamsan({"run", "--exitcode=256", "true"});
  EXPECT_EQ(large.code, 2);
  EXPECT_TRUE(has(large.error, "exitcode=256: a number up to 255 is expected\n")) << large.error;
  EXPECT_TRUE(has(streamsan({"run", "--exitcode=x", "true"}).error, "exitcode=x: a number is expected"));
  EXPECT_TRUE(has(streamsan({"run", "true"}, {"STREAMSAN_OPTIONS=help=1"}).out, "halt_on_error=0"));
}

TEST(Command, DoctorTellsWhatIsMissing) {
  Result result = streamsan({"doctor", "--preload_path=/no/such.so"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(has(result.out, "FAIL  libstreamsan.so not found; looked at /no/such.so\n")) << result.out;
  Result loads = streamsan({"doctor", "--preload_path=" STREAMSAN_FAKE_RECORDER});
  EXPECT_EQ(loads.code, 2) << "a library that is preloaded but hooks nothing must not pass";
  EXPECT_TRUE(has(loads.out, "FAIL")) << loads.out;
}

TEST(Command, DoctorTellsWhetherKernelsCanBeMeasured) {
  TemporaryDirectory directory;
  std::string agent = directory / "agent.so", library = directory / "sanitizer.so";
  auto doctor = [&] {
    return streamsan({"doctor", "--preload_path=" STREAMSAN_FAKE_RECORDER, "--agent_path=" + agent,
                      "--sanitizer_library=" + library})
        .out;
  };
  std::string missing = doctor();
  EXPECT_TRUE(has(missing, "\nwarn  no agent " + agent + ": kernels are not measured")) << missing;
  EXPECT_TRUE(has(missing, "\nwarn  no libsanitizer-public.so: kernels are not measured")) << missing;
  for (const std::string& file : {agent, library}) std::ofstream(file) << "x";
  std::string there = doctor();
  EXPECT_TRUE(has(there, "\nok    agent " + agent + "\n")) << there;
  EXPECT_TRUE(has(there, "\nok    Sanitizer library " + library + "\n")) << there;
  EXPECT_FALSE(has(there, "only inferred")) << there;
}

}  // namespace
}  // namespace streamsan::cli
