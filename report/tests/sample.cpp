// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/tests/sample.h"

namespace streamsan::report {

Finding sample_race() {
  Finding f;
  f.pid = 4711;
  f.hazard = Hazard::ReadAfterWrite;
  f.cause = Cause::RecordedTooEarly;
  f.message =
      "kernel consume(float const*) on stream 2 reads device memory that cudaMemcpyAsync (host to device) on stream 1 "
      "may "
      "still be writing.";
  AccessReport later;
  later.verb = Verb::Read;
  later.what = "kernel consume(float const*)";
  later.api = "cuLaunchKernel";
  later.kernel = "consume(float const*)";
  later.stream = {"stream 2", StreamKind::NonBlocking, 0x5580};
  later.op = 18;
  later.thread = 1;
  later.thread_name = "loader";
  later.main_thread = true;
  later.evidence = Evidence::Inferred;
  later.begin = 0x7f000000a000;
  later.end = 0x7f000000c000;
  later.stack = {{.address = 0x401110,
                  .function = "cudaLaunchKernel",
                  .module = "/opt/app/train",
                  .offset = 0x1110,
                  .library = true},
                 {.address = 0x401234,
                  .function = "step()",
                  .file = "/src/train.cu",
                  .line = 88,
                  .column = 5,
                  .module = "/opt/app/train",
                  .offset = 0x1234},
                 {.address = 0x401300,
                  .function = "main",
                  .file = "/src/train.cu",
                  .line = 120,
                  .module = "/opt/app/train",
                  .offset = 0x1300},
                 {.address = 0x7f11,
                  .function = "__libc_start_main",
                  .module = "/lib/libc.so.6",
                  .offset = 0x11,
                  .library = true}};
  AccessReport earlier;
  earlier.verb = Verb::Write;
  earlier.what = "cudaMemcpyAsync (host to device)";
  earlier.api = "cuMemcpyHtoDAsync_v2";
  earlier.stream = {"stream 1", StreamKind::Blocking, 0x5570};
  earlier.op = 15;
  earlier.thread = 1;
  earlier.begin = 0x7f000000a000;
  earlier.end = 0x7f000000b000;
  earlier.stack = {{.address = 0x401444, .function = "load()", .module = "/opt/app/train", .offset = 0x1444}};
  f.accesses = {later, earlier};
  f.buffer = BufferReport{.memory = "device memory",
                          .name = "",
                          .allocator = "cudaMalloc",
                          .address = 0x7f000000a000,
                          .bytes = 8192,
                          .stack = {{.address = 0x401500,
                                     .function = "main",
                                     .file = "/src/train.cu",
                                     .line = 40,
                                     .module = "/opt/app/train",
                                     .offset = 0x1500}}};
  f.overlap_begin = 0x7f000000a000;
  f.overlap_end = 0x7f000000b000;
  f.explanation = "stream 2 waits for event 1 (op #17), but it was recorded at op #12, BEFORE the copy (op #15).";
  f.related = {{.what = "cudaEventRecord",
                .api = "cuEventRecord",
                .op = 12,
                .stack = {{.address = 0x401600,
                           .function = "load()",
                           .file = "/src/train.cu",
                           .line = 60,
                           .module = "/opt/app/train",
                           .offset = 0x1600}}}};
  f.fix = "move cudaEventRecord (train.cu:60) behind cudaMemcpyAsync (host to device).";
  f.fingerprint = "00112233445566ff";
  return f;
}

Finding sample_misuse() {
  Finding f;
  f.pid = 4711;
  f.kind = Kind::EventMisuse;
  f.severity = Severity::Latent;
  f.hazard = Hazard::EventNeverRecorded;
  f.cause = Cause::NeverRecorded;
  f.message = "stream 2 waits for event 1, which is never recorded.";
  f.explanation = "such a wait does nothing.";
  f.related = {{.what = "cudaStreamWaitEvent",
                .api = "cuStreamWaitEvent",
                .stream = {"stream 2", StreamKind::Blocking, 0x5580},
                .op = 3,
                .stack = {{.address = 0x401700,
                           .function = "step()",
                           .file = "/src/train.cu",
                           .line = 70,
                           .module = "/opt/app/train",
                           .offset = 0x1700,
                           .symbolised = true}}},
               {.what = "cudaEventRecord(event 1), failed with invalid resource handle (400)",
                .api = "cuEventRecord",
                .stream = {},
                .op = 0,
                .stack = {}}};
  f.fix = "record it.";
  f.fingerprint = "0011223344556677";
  return f;
}

Finding sample_sync() {
  Finding f;
  f.pid = 4711;
  f.kind = Kind::UnneededSync;
  f.severity = Severity::Note;
  f.hazard = Word<Hazard>::of("unneeded-sync");
  f.message = "cudaDeviceSynchronize is needed only between stream 1 and stream 2.";
  f.fix = "let stream 2 wait for an event.";
  f.fingerprint = "1111111111111111";
  SyncReport sync;
  sync.verdict = Verdict::Narrower;
  sync.waits = Waits::Device;
  sync.what = "cudaDeviceSynchronize";
  sync.api = "cuCtxSynchronize";
  sync.stream = {"stream 1", StreamKind::Blocking, 0x5570};
  sync.calls = 12;
  sync.idle_calls = 2;
  sync.stack = {{.address = 0x401800,
                 .function = "frame()",
                 .file = "/src/train.cu",
                 .line = 99,
                 .column = 3,
                 .module = "/opt/app/train",
                 .offset = 0x1800,
                 .symbolised = true}};
  sync.library = "libfoo.so";
  const Finding race = sample_race();
  sync.orders = {
      {.earlier = race.accesses[1], .later = race.accesses[0], .buffer = race.buffer, .rule = "R-ALC-02", .count = 7}};
  sync.reasons = {"the host reads a clock behind it.", "a graph was launched."};
  sync.replacement = "cudaStreamWaitEvent(stream 2, event)";
  sync.evidence = KernelBytes::Measured;
  sync.group = 3;
  sync.removable = true;
  sync.blocked_ms = 1.5;
  sync.gpu_idle_ms = 0.25;
  f.sync = sync;
  return f;
}

Finding sample_nasty() {
  Finding f = sample_race();
  const std::string nasty = kNastyName;
  f.accesses[0].kernel = nasty;
  f.accesses[0].what = "kernel " + nasty;
  f.accesses[0].stream.name = nasty;
  for (Frame& frame : f.accesses[0].stack) frame.function = nasty;
  f.accesses[0].stack[1].file =
      "/src/caf\xc3\xa9 dir/\xff"
      "a%b:c,d\n.cu";
  f.buffer->name = nasty;
  f.message = "kernel " + nasty + " reads.";
  f.explanation = f.fix = nasty;
  return f;
}

Finding sample_hint() {
  Finding f = sample_misuse();
  f.kind = Kind::Hint;
  f.severity = Severity::Note;
  f.hazard = Hazard::AllocInLoop;
  f.cause = Word<Cause>::of("alloc-in-loop");
  f.message = "cudaMalloc is called again and again.";
  f.explanation = "100 calls.";
  f.related.resize(1);
  f.related[0].what = "cudaMalloc";
  f.related[0].api = "cuMemAlloc_v2";
  f.related[0].stream = {};
  f.related[0].op = 0;
  f.fix = "allocate before the loop.";
  f.count = 2;
  return f;
}

}  // namespace streamsan::report
