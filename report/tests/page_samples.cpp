// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes pages that no small program makes, for testsuite/html: names that would be markup, very many operations,
// findings of synchronisation, several processes, real times. `streamsan_page_samples NAME` writes one to stdout.
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "report/html/page.h"
#include "report/perfetto.h"
#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

/// Would run a script, or load a picture, wherever it is taken for markup.
constexpr const char* kHostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&lt;${alert(3)}";

Frame frame(const std::string& function, const std::string& file, std::uint32_t line) {
  Frame out;
  out.function = function;
  out.file = file;
  out.line = line;
  out.module = "/opt/app/train";
  out.offset = 0x1000 + line;
  return out;
}

ViewOp op(std::uint64_t number, OpClass kind, std::uint32_t lane, std::uint32_t site) {
  ViewOp out;
  out.number = number;
  out.position = number;
  out.kind = kind;
  out.lane = lane;
  out.site = site;
  return out;
}

/// Two streams, eight operations: upload on one and kernel on the other in turn, and the host waits for all in between.
RunView small_run(std::uint32_t pid) {
  RunView run;
  run.pid = pid;
  run.program = "/opt/app/train";
  run.command = "./train --steps 2";
  run.lanes = {{.name = "host thread 1", .stream = {}},
               {"stream \"copies\"", StreamKind::NonBlocking, 0x10},
               {"stream 2", StreamKind::NonBlocking, 0x20}};
  run.sites = {{"cudaMemcpyAsync (host to device)", "cuMemcpyHtoDAsync_v2", {frame("load()", "/src/train.cu", 61)}},
               {"kernel consume(float const*)", "cuLaunchKernel", {frame("step()", "/src/train.cu", 88)}},
               {"cudaDeviceSynchronize", "cuCtxSynchronize", {frame("main", "/src/train.cu", 120)}},
               {"cudaEventRecord", "cuEventRecord", {frame("load()", "/src/train.cu", 60)}},
               {"cudaStreamWaitEvent", "cuStreamWaitEvent", {frame("step()", "/src/train.cu", 87)}},
               {"cudaMalloc", "cuMemAlloc_v2", {frame("main", "/src/train.cu", 40)}}};
  run.buffers = {{0x7f000000a000, 8192, "device memory", 5}};
  run.touches = {{0, false, true}, {0, false, true}, {0, true, false}, {0, false, true}, {0, true, false}};
  run.ops = {op(0, OpClass::Alloc, 0, 5), op(14, OpClass::Event, 1, 3),  op(15, OpClass::Copy, 1, 0),
             op(17, OpClass::Wait, 2, 4), op(18, OpClass::Kernel, 2, 1), op(0, OpClass::Sync, 0, 2),
             op(19, OpClass::Copy, 1, 0), op(20, OpClass::Kernel, 2, 1), op(0, OpClass::Sync, 0, 2)};
  const std::uint32_t touches[] = {1, 0, 1, 0, 1, 0, 1, 1, 0};
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < run.ops.size(); ++i) {
    run.ops[i].first_touch = next;
    run.ops[i].touches = touches[i];
    next += touches[i];
  }
  run.ops[1].event = run.ops[3].event = 1;
  run.ops[5].until = 6;
  run.ops[8].until = 9;
  run.edges = {{1, 3, EdgeKind::Event},
               {2, 5, EdgeKind::Sync},
               {4, 5, EdgeKind::Sync},
               {6, 8, EdgeKind::Sync},
               {7, 8, EdgeKind::Sync}};
  run.operations = run.ops.size();
  return run;
}

void give_times(RunView& run) {
  std::uint64_t at = 1'000'000'000;
  for (ViewOp& each : run.ops) {
    if (each.kind == OpClass::Alloc || each.kind == OpClass::Event || each.kind == OpClass::Wait) continue;
    each.start_ns = at;
    each.end_ns = at + 42'000;
    at += each.lane == 0 ? 50'000 : 30'000;
  }
  run.gpu_times = true;
}

Finding race(std::uint32_t pid) {
  Finding f = sample_race();
  f.pid = pid;
  f.fingerprint = "00000000000000aa";
  f.related = {{.what = "cudaEventRecord",
                .api = "cuEventRecord",
                .stream = {},
                .op = 14,
                .stack = {frame("load()", "/src/train.cu", 60)}},
               {.what = "cudaStreamWaitEvent",
                .api = "cuStreamWaitEvent",
                .stream = {},
                .op = 17,
                .stack = {frame("step()", "/src/train.cu", 87)}}};
  return f;
}

Finding sync(Verdict verdict, const char* fingerprint) {
  Finding f;
  f.pid = 4711;
  f.kind = Kind::UnneededSync;
  f.severity = Severity::Note;
  f.hazard = Word<Hazard>::of(name(verdict));
  f.message = std::string("cudaDeviceSynchronize is ") + name(verdict) + ".";
  f.fingerprint = fingerprint;
  SyncReport s;
  s.verdict = verdict;
  s.waits = Waits::Device;
  s.what = "cudaDeviceSynchronize";
  s.api = "cuCtxSynchronize";
  s.calls = 2;
  s.idle_calls = 1;
  s.stack = {frame("main", "/src/train.cu", 120)};
  s.evidence = KernelBytes::Measured;
  s.blocked_ms = 12.5;
  s.gpu_idle_ms = 3.25;
  s.overlap_ms = 1.75;
  if (verdict == Verdict::Unneeded) {
    s.removable = true;
    f.fix = "remove it";
  } else if (verdict == Verdict::Unknown) {
    s.reasons = {"the host may read what cudaMemcpyAsync wrote (op #15): nobody saw whether it does"};
  } else {
    OrderedPair pair;
    pair.earlier = race(4711).accesses[0];
    pair.later = race(4711).accesses[1];
    pair.later.op = 19;
    pair.later.stream = {"stream \"copies\"", StreamKind::NonBlocking, 0x10};
    pair.earlier.stream = {"stream 2", StreamKind::NonBlocking, 0x20};
    pair.buffer = race(4711).buffer;
    pair.count = 2;
    s.orders = {pair};
    s.replacement =
        "record an event on stream 2 after kernel consume and let stream \"copies\" wait for it; the replay was clean";
  }
  f.sync = s;
  return f;
}

/// Of four findings all but the second are of one missing edge.
std::vector<Finding> group() {
  std::vector<Finding> out(4, race(4711));
  const std::string prints[] = {"00000000000000c0", "00000000000000c1", "00000000000000c2", "00000000000000c3"};
  for (std::size_t i = 0; i < out.size(); ++i) {
    Finding& f = out[i];
    f.fingerprint = prints[i];
    if (i == 1) continue;
    f.group = prints[0];
    f.accesses[0].op = 18 + i;
    f.accesses[0].stack[1].line = static_cast<std::uint32_t>(90 + i);
  }
  out[3].severity = Severity::Latent;
  return out;
}

RunView big_run(std::size_t count) {
  RunView run = small_run(4711);
  run.lanes.clear();
  run.lanes.push_back({.name = "host thread 1", .stream = {}});
  for (int i = 1; i <= 12; ++i)
    run.lanes.push_back({"stream " + std::to_string(i), StreamKind::NonBlocking, static_cast<std::uint64_t>(i)});
  run.ops.clear();
  run.touches.clear();
  run.edges.clear();
  std::uint32_t state = 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    const std::uint32_t lane = 1 + (state >> 24) % 12, what = (state >> 16) % 10;
    const bool waits = i % 97 == 96;
    ViewOp each = waits      ? op(0, OpClass::Sync, 0, 2)
                  : what < 6 ? op(i + 1, OpClass::Kernel, lane, 1)
                  : what < 8 ? op(i + 1, OpClass::Copy, lane, 0)
                  : what < 9 ? op(i + 1, OpClass::Event, lane, 3)
                             : op(i + 1, OpClass::Wait, lane, 4);
    each.first_touch = static_cast<std::uint32_t>(run.touches.size());
    if (each.kind == OpClass::Kernel || each.kind == OpClass::Copy) {
      each.touches = 3;
      for (int t = 0; t < 3; ++t) run.touches.push_back({0, each.kind == OpClass::Kernel, true});
    }
    if (i > 20) run.edges.push_back({i - 1 - (state >> 8) % 16, i, waits ? EdgeKind::Sync : EdgeKind::Event});
    run.ops.push_back(each);
  }
  run.operations = 1'234'567;
  return run;
}

void make_hostile(RunView& run, Finding& finding) {
  run.program = std::string("/opt/") + kHostile;
  run.command = kHostile;
  for (ViewLane& lane : run.lanes) lane.name += kHostile;
  for (ViewSite& site : run.sites) {
    site.what += kHostile;
    for (Frame& each : site.stack) each.function = each.file = kHostile;
  }
  for (ViewBuffer& buffer : run.buffers) buffer.memory = kHostile;
  for (std::string* text : {&finding.message, &finding.explanation, &finding.fix, &finding.rule, &finding.fingerprint})
    *text += kHostile;
  for (AccessReport& access : finding.accesses) {
    access.what += kHostile;
    access.stream.name += kHostile;
    for (Frame& each : access.stack) each.function = each.file = each.module = kHostile;
  }
  finding.buffer->name = kHostile;
  finding.buffer->allocator = kHostile;
  for (RelatedOp& related : finding.related) related.what += kHostile;
}

std::string sample(const std::string_view name) {
  std::vector<RunView> runs = {small_run(4711)};
  std::vector<Finding> findings = {race(4711)};
  Summary summary{.errors = 1, .operations = 9, .processes = 1};
  if (name == "syncs" || name == "times") {
    findings.push_back(sync(Verdict::Unneeded, "00000000000000b1"));
    findings.push_back(sync(Verdict::Narrower, "00000000000000b2"));
    findings.push_back(sync(Verdict::Needed, "00000000000000b3"));
    findings.push_back(sync(Verdict::Unknown, "00000000000000b4"));
    summary.notes = 4;
  }
  if (name == "times") give_times(runs[0]);
  if (name == "hostile") {
    make_hostile(runs[0], findings[0]);
    summary.warnings.push_back(kHostile);
  }
  if (name == "big") {
    runs = {big_run(50'000)};
    summary.operations = 1'234'567;
    Finding& f = findings[0];
    f.related.clear();
    f.accesses[0].op = 30'003;
    f.accesses[1].op = 30'001;
  }
  if (name == "processes") {
    runs.push_back(small_run(4712));
    findings.push_back(race(4712));
    findings.back().severity = Severity::Latent;
    findings.back().suppressed = true;
    summary.suppressed = 1;
    summary.processes = 2;
  }
  if (name == "group") {
    findings = group();
    summary.errors = 3;
    summary.latent = 1;
  }
  if (name == "no-view" || name == "unwatched") runs.clear();
  if (name == "nothing" || name == "partial" || name == "unwatched") {
    findings.clear();
    summary.errors = 0;
    summary.whole = name == "nothing";
  }
  if (name == "unwatched") summary = {.whole = false, .warnings = {"nothing was checked: it did not use CUDA"}};
  if (name == "perfetto") return perfetto(findings, runs);
  return html(findings, summary, runs, {.version = "test", .strip_path_prefix = "/src/"});
}

}  // namespace
}  // namespace streamsan::report

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string page = streamsan::report::sample(argv[1]);
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
