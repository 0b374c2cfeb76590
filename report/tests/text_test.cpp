// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wording and layout of text reports, literally. The words of the judge are tested in judge/tests/wording_test.cpp.
#include "report/text.h"

#include <gtest/gtest.h>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

TEST(Text, WholeReport) {
  EXPECT_EQ(
      text(sample_race(), {}),
      R"(==4711== ERROR: streamsan: read-after-write race on device memory 0x7f000000a000 [up to 4096 bytes overlap]
  Read by kernel consume(float const*) on stream 2 (non-blocking), op #18 (a pointer argument)
      #0 step() /src/train.cu:88:5
      #1 main /src/train.cu:120
  Previous write by cudaMemcpyAsync (host to device) on stream 1 (blocking), op #15
      #0 load() (train+0x1444)
  Buffer 0x7f000000a000 [8192 bytes] allocated by cudaMalloc
      #0 main /src/train.cu:40
  No ordering: stream 2 waits for event 1 (op #17), but it was recorded at op #12, BEFORE the copy (op #15).
    cudaEventRecord, op #12
      #0 load() /src/train.cu:60
  Fix: move cudaEventRecord (train.cu:60) behind cudaMemcpyAsync (host to device).
  [properties] kind=race hazard=read-after-write severity=error cause=event-recorded-too-early streams=stream-1,stream-2 ops=15,18 count=1 fingerprint=00112233445566ff
)");
}

TEST(Text, HostThreadsAreNamedWhereTheyAreTwo) {
  Finding f = sample_race();
  f.accesses[0].thread = 3;
  f.accesses[0].thread_name = "load\ner";
  f.accesses[0].main_thread = false;
  f.accesses[1].main_thread = true;
  const std::string out = text(f, {});
  EXPECT_NE(out.find(" on stream 2 (non-blocking), op #18, host thread 3 \"load er\" (a pointer argument)\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find(" on stream 1 (blocking), op #15, host thread 1 (main)\n"), std::string::npos) << out;
  EXPECT_NE(follower_text(f, {}).find(", host thread 3 \"load er\""), std::string::npos);
  f.accesses[0].thread = 1;
  EXPECT_EQ(text(f, {}).find("host thread"), std::string::npos);
  EXPECT_EQ(host_thread(1, "training", true), "host thread 1 \"training\" (main)");
}

TEST(Text, FramesOfPythonAreABlockOfTheirOwn) {
  const std::string torch = "/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
  std::vector<Frame> stack{
      {.module = "/x/libcuda.so.1", .offset = 0x10, .library = true},
      {.function = "cudaLaunchKernel", .module = "/x/libcudart.so.12", .offset = 0x20, .library = true},
      {.function = "at::native::add()", .module = torch, .offset = 0x30, .library = true},
      {.function = "Linear.forward",
       .file = "/venv/lib/python3.12/site-packages/torch/nn/linear.py",
       .line = 125,
       .language = Language::Python,
       .library = true},
      {.function = "train_step", .file = "/home/me/train.py", .line = 42, .language = Language::Python}};
  std::string out;
  append_stack(out, stack, {});
  EXPECT_EQ(out, R"(      #0 cudaLaunchKernel (libcudart.so.12+0x20)
      #1 at::native::add() (libtorch_cuda.so+0x30)
      Python:
      #0 train_step /home/me/train.py:42
)");
  Finding f = sample_race();
  f.accesses[0].stack = stack;
  EXPECT_EQ(place(f, {}), "/home/me/train.py:42 in train_step");
  EXPECT_FALSE(lacks_lines(f));

  stack.back().library = true;
  out.clear();
  append_stack(out, stack, {});
  EXPECT_NE(out.find("      Python:\n      #0 Linear.forward /venv"), std::string::npos) << out;
}

TEST(Text, FramesOfTheForwardOperationAreABlockOfTheirOwn) {
  const Frame kernel{.function = "at::native::mul()", .module = "/x/libtorch_cuda.so", .offset = 0x30, .library = true};
  const Frame forward{
      .function = "loss", .file = "/home/me/train.py", .line = 12, .language = Language::Python, .forward = true};
  const Frame hook{.function = "hook", .file = "/home/me/train.py", .line = 40, .language = Language::Python};
  std::string out;
  append_stack(out, {kernel, forward}, {});
  EXPECT_EQ(out, R"(      #0 at::native::mul() (libtorch_cuda.so+0x30)
      Python, where the forward operation was called:
      #0 loss /home/me/train.py:12
)");
  out.clear();
  append_stack(out, {kernel, hook, forward}, {});
  EXPECT_EQ(out, R"(      #0 at::native::mul() (libtorch_cuda.so+0x30)
      Python:
      #0 hook /home/me/train.py:40
      Python, where the forward operation was called:
      #0 loss /home/me/train.py:12
)");
  Finding f = sample_race();
  f.accesses[0].stack = {kernel, forward};
  EXPECT_EQ(place(f, {}), "/home/me/train.py:12 in loss");
}

TEST(Text, LatentNamesItsRule) {
  Finding f = sample_race();
  f.severity = Severity::Latent;
  f.rule = "R-ALC-02";
  f.explanation = "today's driver does it.";
  std::string out = text(f, {});
  EXPECT_TRUE(out.starts_with("==4711== LATENT: streamsan: read-after-write race")) << out;
  EXPECT_NE(out.find("\n  Not promised: today's driver does it.\n"), std::string::npos) << out;
  EXPECT_NE(out.find(" severity=latent cause=event-recorded-too-early rule=R-ALC-02 streams="), std::string::npos)
      << out;
}

TEST(Text, HeadwordOfEverySeverity) {
  Finding f = sample_race();
  f.severity = Severity::Possible;
  EXPECT_TRUE(text(f, {}).starts_with("==4711== POSSIBLE: streamsan: "));
  f.severity = Severity::Note;
  EXPECT_TRUE(text(f, {}).starts_with("==4711== NOTE: streamsan: "));
}

TEST(Text, FoldedReportsSayHowOften) {
  Finding f = sample_race();
  EXPECT_EQ(text(f, {}).find("Seen"), std::string::npos);
  f.count = 37;
  EXPECT_NE(text(f, {}).find("\n  Seen 37 times between these two places, going by"), std::string::npos);
  EXPECT_NE(text(f, {}).find(" count=37 "), std::string::npos);
}

TEST(Text, SaysHowTheBytesOfAKernelAreKnown) {
  Finding f = sample_race();
  const auto later_line = [&f](Evidence evidence) {
    f.accesses[0].evidence = evidence;
    std::string out = text(f, {});
    std::size_t begin = out.find("op #18") + 6;
    return out.substr(begin, out.find('\n', begin) - begin);
  };
  EXPECT_EQ(later_line(Evidence::Inferred), " (a pointer argument)");
  EXPECT_EQ(later_line(Evidence::Learned), " (bytes of an earlier launch with the same arguments)");
  EXPECT_EQ(later_line(Evidence::Widened), " (at most these bytes)");
  EXPECT_NE(text(f, {}).find(" [up to 4096 bytes overlap]"), std::string::npos);
  EXPECT_EQ(later_line(Evidence::Exact), " (exact bytes)");
  EXPECT_NE(text(f, {}).find(" [4096 bytes overlap]"), std::string::npos) << "both sides are exact";
  EXPECT_EQ(text(f, {}).find("op #15 ("), std::string::npos) << "of a copy it goes without saying";
}

TEST(Text, HostSideIsNamedAsTheHost) {
  Finding f = sample_race();
  f.kind = Kind::PrematureFree;
  f.hazard = Hazard::FreeWhileInUse;
  f.accesses[0].verb = Verb::Free;
  f.accesses[0].what = "cudaFree";
  f.accesses[0].kernel.clear();
  f.accesses[0].evidence = Evidence::Exact;
  f.accesses[0].stream = {.name = "the host", .kind = StreamKind::Host, .handle = 0};
  std::string out = text(f, {});
  EXPECT_TRUE(
      out.starts_with("==4711== ERROR: streamsan: free-while-in-use on device memory 0x7f000000a000 [4096 bytes "
                      "overlap]\n  Free by cudaFree on the host, op #18\n"))
      << out;
  EXPECT_NE(out.find(" streams=stream-1,host "), std::string::npos) << out;
}

TEST(Text, StackOfLibraryFramesOnlyShowsThree) {
  Finding f = sample_race();
  for (Frame& frame : f.accesses[0].stack) frame.library = true;
  std::string out = text(f, {});
  EXPECT_NE(out.find("      #0 cudaLaunchKernel (train+0x1110)\n      #1 step() /src/train.cu:88:5\n      #2 main "
                     "/src/train.cu:120\n  Previous"),
            std::string::npos)
      << out;
}

TEST(Text, StripPathPrefix) {
  TextOptions options{.strip_path_prefix = "/src"};
  EXPECT_NE(text(sample_race(), options).find("#0 step() train.cu:88:5\n"), std::string::npos);
  EXPECT_EQ(place(sample_race(), options), "train.cu:88:5 in step()");
}

TEST(Text, ColorOnlyWhenAsked) {
  EXPECT_EQ(text(sample_race(), {}).find('\033'), std::string::npos);
  EXPECT_NE(text(sample_race(), {.color = true}).find("\033[1;31mERROR: streamsan:"), std::string::npos);
}

TEST(Text, LacksLinesLooksAtUserFramesOnly) {
  Finding f = sample_race();
  EXPECT_FALSE(lacks_lines(f));
  for (AccessReport& access : f.accesses) {
    for (Frame& frame : access.stack) frame.file.clear();
  }
  EXPECT_FALSE(lacks_lines(f)) << "nobody looked for lines, or the module is not here";
  for (AccessReport& access : f.accesses) {
    for (Frame& frame : access.stack) frame.symbolised = true;
  }
  EXPECT_TRUE(lacks_lines(f));
  f.accesses[0].stack.clear();
  f.accesses[1].stack.clear();
  EXPECT_FALSE(lacks_lines(f)) << "without stacks, -g would not help";
}

TEST(Text, TheHostItselfIsNamedOnce) {
  Finding f = sample_race();
  f.kind = Kind::HostRace;
  f.accesses[0].what = "the host";
  f.accesses[0].api.clear();
  f.accesses[0].kernel.clear();
  f.accesses[0].evidence = Evidence::Exact;
  f.accesses[0].stream = {.name = "the host", .kind = StreamKind::Host, .handle = 0};
  EXPECT_NE(text(f, {}).find("\n  Read by the host, op #18\n"), std::string::npos) << text(f, {});
  f.accesses[0].what = "write()";
  f.accesses[0].api = "write";
  EXPECT_NE(text(f, {}).find("\n  Read by write() on the host, op #18\n"), std::string::npos) << text(f, {});
}

TEST(Text, NodesOfOneGraphAreInTheGraph) {
  Finding f = sample_race();
  for (AccessReport& access : f.accesses) {
    access.stream = {.name = "the graph", .kind = StreamKind::Graph, .handle = 0};
    access.op = 0;
  }
  EXPECT_NE(text(f, {}).find(" in the graph"), std::string::npos) << text(f, {});
  EXPECT_NE(text(f, {}).find(" streams=graph,graph ops=0,0 "), std::string::npos) << text(f, {});
  EXPECT_EQ(text(f, {}).find("on the graph"), std::string::npos) << text(f, {});
}

TEST(Text, BuffersHaveTheirNamesAndPerhapsNoAllocator) {
  Finding f = sample_race();
  f.buffer->name = "kv cache";
  EXPECT_NE(text(f, {}).find("\n  Buffer \"kv cache\" 0x7f000000a000 [8192 bytes] allocated by cudaMalloc\n"),
            std::string::npos);
  f.buffer->name.clear();
  f.buffer->allocator.clear();
  f.buffer->stack.clear();
  EXPECT_NE(text(f, {}).find("\n  Buffer 0x7f000000a000 [8192 bytes]\n  No ordering"), std::string::npos);
}

TEST(Text, AMisuseOfAnEventHasNoAccesses) {
  EXPECT_EQ(text(sample_misuse(), {}),
            R"(==4711== LATENT: streamsan: event-never-recorded: stream 2 waits for event 1, which is never recorded.
  No ordering: such a wait does nothing.
    cudaStreamWaitEvent on stream 2 (blocking), op #3
      #0 step() /src/train.cu:70
    cudaEventRecord(event 1), failed with invalid resource handle (400)
  Fix: record it.
  [properties] kind=event-misuse hazard=event-never-recorded severity=latent cause=event-never-recorded streams=stream-2 ops=3 count=1 fingerprint=0011223344556677
)");
  EXPECT_EQ(place(sample_misuse(), {}), "/src/train.cu:70 in step()");
  EXPECT_FALSE(lacks_lines(sample_misuse()));
  const Finding f = sample_misuse();
  EXPECT_EQ(summary_line({.latent = 1}, &f, {}),
            "SUMMARY: streamsan: 1 latent: event-never-recorded /src/train.cu:70 in step()");
}

TEST(Text, Hint) {
  const Finding f = sample_hint();
  EXPECT_EQ(text(f, {}),
            R"(==4711== NOTE: streamsan: alloc-in-loop: cudaMalloc is called again and again.
  Evidence: 100 calls.
    cudaMalloc
      #0 step() /src/train.cu:70
  Fix: allocate before the loop.
  [properties] kind=hint hazard=alloc-in-loop severity=note cause=alloc-in-loop count=2 fingerprint=0011223344556677
)");
  EXPECT_EQ(place(f, {}), "/src/train.cu:70 in step()");
}

TEST(Text, Summary) {
  Finding first = sample_race();
  Summary one{.errors = 1};
  EXPECT_EQ(summary_line(one, &first, {}),
            "SUMMARY: streamsan: 1 error: read-after-write race /src/train.cu:88:5 in step()");
  Summary many{.errors = 2, .latent = 1, .possible = 3, .suppressed = 4};
  EXPECT_EQ(
      summary_line(many, &first, {}),
      "SUMMARY: streamsan: 2 errors, 1 latent, 3 possible (shown with min_severity=possible), 4 suppressed; first: "
      "read-after-write race /src/train.cu:88:5 in step()");
  Summary none{.possible = 1, .operations = 42, .processes = 1};
  EXPECT_EQ(summary_line(none, nullptr, {}),
            "SUMMARY: streamsan: no errors, 1 possible (shown with min_severity=possible); 42 operations in 1 process");
}

TEST(Text, FunctionsOfTheLibrarysHeadersAreLeftOutWithAndWithoutTheirResults) {
  Finding f = sample_race();
  auto& stack = f.accesses[0].stack;
  const auto insert = [&](const char* function) {
    stack.insert(stack.begin() + 2, {.function = function, .file = "/usr/include/c++/12/x.h", .line = 1});
  };
  insert("std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::'lambda'()> > >::_M_run()");
  insert("void std::thread::_Invoker<std::tuple<main::'lambda'()> >::_M_invoke<0ul>(std::_Index_tuple<0ul>)");
  insert("std::enable_if<(is_x), void>::type std::__invoke_r<void, f&>(f&)");
  EXPECT_EQ(text(f, {}).find("x.h:1"), std::string::npos) << text(f, {});
  insert("std_like::run(std::function<void ()>)");
  insert("void run<std::vector<int> >(std::vector<int>)");
  const std::string out = text(f, {});
  EXPECT_NE(out.find("std_like::run("), std::string::npos) << out;
  EXPECT_NE(out.find("void run<"), std::string::npos) << out;
}

}  // namespace
}  // namespace streamsan::report
