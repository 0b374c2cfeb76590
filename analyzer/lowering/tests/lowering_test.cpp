// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering, on small sources against the mock headers: what a function becomes, as the text of ir/text.h without
// sites. What must not become an op stands beside what does.
#include "analyzer/lowering/lowering.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/lowering/tests/lowered.h"

namespace streamsan::analyzer {
namespace {

// ---- launches and copies

TEST(Lowering, LaunchOnAStream) {
  EXPECT_EQ(ops_of("void f(float* d, const float* e, cudaStream_t s) { k<<<1, 32, 0, s>>>(d, e, 3); }"),
            "enqueue kernel k on s limited writes d, reads e\nreturn none\n");
}

TEST(Lowering, LaunchWithoutAStream) {
  EXPECT_EQ(ops_of("void f(float* d) { k<<<1, 32>>>(d, d + 4, 3); }"),
            "enqueue kernel k on default implicit_stream limited writes d, reads d + {4 @* 4}\nreturn none\n");
  EXPECT_EQ(ops_of("void f(float* d) { k<<<1, 32, 0, cudaStreamLegacy>>>(d, d, 3); }"),
            "enqueue kernel k on legacy limited writes d, reads d\nreturn none\n");
  EXPECT_EQ(ops_of("void f(float* d) { k<<<1, 32, 0, nullptr>>>(d, d, 3); }"),
            "enqueue kernel k on default limited writes d, reads d\nreturn none\n");
}

TEST(Lowering, CopyKindSaysWhichSideIsHost) {
  EXPECT_EQ(ops_of("void f(float* d, const float* h, size_t n, cudaStream_t s) {\n"
                   "  cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, s); }"),
            "enqueue copy cudaMemcpyAsync on s writes d bytes {n} on_device, reads h bytes {n} on_host\nreturn none\n");
  EXPECT_EQ(ops_of("void f(float* d, const float* h, size_t n, cudaStream_t s) {\n"
                   "  cudaMemcpyAsync(d, h, n, cudaMemcpyDefault, s); }"),
            "enqueue copy cudaMemcpyAsync on s writes d bytes {n}, reads h bytes {n}\nreturn none\n");
  EXPECT_EQ(ops_of("void f(float* d, const float* h, size_t n) { cudaMemcpy(d, h, n, cudaMemcpyDeviceToHost); }"),
            "enqueue copy cudaMemcpy on default synchronous writes d bytes {n} on_host, reads h bytes {n} on_device\n"
            "return none\n");
}

TEST(Lowering, EventsOfOtherProcesses) {
  EXPECT_EQ(ops_of("void f(cudaIpcEventHandle_t* h, cudaEvent_t e) { cudaIpcGetEventHandle(h, e);\n"
                   "  cudaEventSynchronize(e); }"),
            "escape e\nsync_event e\nreturn none\n");
  EXPECT_EQ(ops_of("void f(cudaEvent_t e) { cudaEventSynchronize(e); }"), "sync_event e\nreturn none\n");
  const std::string wait = "cudaStreamWaitEvent(s, e, 0); }";
  EXPECT_EQ(
      ops_of("void f(cudaStream_t s, cudaIpcEventHandle_t h) { cudaEvent_t e; cudaIpcOpenEventHandle(&e, h);" + wait),
      "fresh e detail \"is opened\"\nwait s for e\nreturn none\n");
  EXPECT_EQ(ops_of("void f(cudaStream_t s) { cudaEvent_t e; cudaEventCreate(&e);" + wait),
            "create_event e timing\nwait s for e\nreturn none\n");
}

TEST(Lowering, KernelsThatDoNotTouchAParameterSaySo) {
  EXPECT_EQ(ops_of("__global__ void idle(float* a, float* b) { b[0] = 1; }\n"
                   "void f(float* a, float* b) { idle<<<1, 1>>>(a, b); }"),
            "enqueue kernel idle on default implicit_stream writes b single 0\nreturn none\n");
}

TEST(Lowering, KernelArgumentsInAStruct) {
  EXPECT_EQ(ops_of("struct Two { float* a; float* b; };\n"
                   "__global__ void two(Two t) { t.a[0] = t.b[0]; }\n"
                   "void f(Two t, cudaStream_t s) { two<<<1, 1, 0, s>>>(t); }"),
            "assign %``#1 = t\nenqueue kernel two on s writes %``#1.Two::a single 0, reads %``#1.Two::b single "
            "0\nreturn none\n");
}

TEST(Lowering, LaunchThroughTheRuntimesFunctions) {
  EXPECT_EQ(ops_of("void f(float* d, const float* e, int n, cudaStream_t s) {\n"
                   "  void* args[] = {&d, &e, &n};\n"
                   "  cudaLaunchKernel((void*)k, dim3(1), dim3(1), args, 0, s); }"),
            "enqueue kernel k on s limited writes d, reads e\nreturn none\n");
  EXPECT_EQ(ops_of("void f(float* d, cudaStream_t s) { cudaLaunchConfig_t c = {}; c.stream = s;\n"
                   "  cudaLaunchKernelEx(&c, k, d, (const float*)d, 1); }")
                    .find("enqueue kernel k on c.cudaLaunchConfig_st::stream") == std::string::npos,
            false);
}

// ---- places

TEST(Lowering, Indices) {
  EXPECT_EQ(ops_of("void f(cudaStream_t* s, float** b) {\n"
                   "  for (int i = 0; i < 2; ++i) k<<<1, 1, 0, s[i]>>>(b[i], b[i + 1], 0); }"),
            "assign i = number + {0}\ngoto bb1\nbb1: loop\nbranch {i < 2} bb2 bb3\nbb2:\n"
            "enqueue kernel k on s[i] limited writes b[i], reads b[i + 1]\n"
            "assign i = number + {i + 1}\ngoto bb1\nbb3:\nreturn none\n");
}

TEST(Lowering, ReferencesAreThePlaceTheyAreBoundTo) {
  EXPECT_EQ(ops_of("void f(cudaStream_t* streams, float* d) { auto& s = streams[1]; k<<<1, 1, 0, s>>>(d, d, 0); }"),
            "enqueue kernel k on streams[1] limited writes d, reads d\nreturn none\n");
}

TEST(Lowering, RangeForOverAVector) {
  EXPECT_EQ(ops_of("#include <vector>\nvoid f(std::vector<cudaStream_t>& v) { for (auto& s : v) "
                   "cudaStreamSynchronize(s); }"),
            "assign each = number + {0}\ngoto bb1\nbb1: loop\nbranch {each < v.$size @ each, v.$size} bb2 bb3\nbb2:\n"
            "sync_stream v[each]\nassign each = number + {each + 1}\ngoto bb1\nbb3:\nreturn none\n");
}

TEST(Lowering, Iterators) {
  EXPECT_EQ(ops_of("#include <vector>\nvoid f(std::vector<cudaStream_t>& v) {\n"
                   "  for (auto it = v.begin(); it != v.end(); ++it) cudaStreamSynchronize(*it); }"),
            "fresh it\ngoto bb1\nbb1: loop\nbranch bb2 bb3\nbb2:\nsync_stream v[it]\n"
            "assign it = number + {it + 1}\ngoto bb1\nbb3:\nreturn none\n");
}

TEST(Lowering, ConditionalStream) {
  EXPECT_EQ(ops_of("void f(bool b, cudaStream_t s, cudaStream_t t) { cudaStreamSynchronize(b ? s : t); }"),
            "branch {b} bb1 bb2\nbb1:\nassign %``#1 = s\ngoto bb3\nbb2:\nassign %``#1 = t\ngoto bb3\nbb3:\n"
            "sync_stream %``#1\nreturn none\n");
}

TEST(Lowering, SwapIsThreeAssignments) {
  EXPECT_EQ(ops_of("#include <utility>\nvoid f(float* a, float* b) { std::swap(a, b); k<<<1, 1>>>(a, b, 0); }"),
            "assign %``#1 = a\nassign a = b\nassign b = %``#1\n"
            "enqueue kernel k on default implicit_stream limited writes a, reads b\nreturn none\n");
}

TEST(Lowering, ConstantIndicesAreFolded) {
  EXPECT_EQ(ops_of("constexpr int kLast = 3;\nvoid f(cudaStream_t* s) { cudaStreamSynchronize(s[kLast - 1]); }"),
            "sync_stream s[2]\nreturn none\n");
}

// ---- handles and order

TEST(Lowering, HandlesAreMade) {
  EXPECT_EQ(ops_of("void f() { cudaStream_t a, b; cudaEvent_t e, t;\n  cudaStreamCreate(&a);\n"
                   "  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);\n  cudaEventCreate(&t);\n"
                   "  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);\n  cudaEventRecord(e, a);\n"
                   "  cudaStreamWaitEvent(b, e, 0);\n  cudaEventDestroy(e); }"),
            "create_stream a blocking\ncreate_stream b nonblocking\ncreate_event t timing\ncreate_event e no_timing\n"
            "record e on a\nwait b for e\ndestroy e\nreturn none\n");
}

TEST(Lowering, PerThreadDefaultStream) {
  const Lowered lowered =
      lower_source(kKernel + "void f(float* d) { k<<<1, 1>>>(d, d, 0); }", {"-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1"});
  ASSERT_NE(find(lowered, "f"), nullptr);
  EXPECT_TRUE(find(lowered, "f")->per_thread_default_stream);
  const Lowered legacy = lower_source(kKernel + "void f(float* d) { k<<<1, 1>>>(d, d, 0); }");
  EXPECT_FALSE(find(legacy, "f")->per_thread_default_stream);
}

TEST(Lowering, LibraryHandlesCarryTheirStream) {
  EXPECT_EQ(ops_of("#include <cublas_v2.h>\nvoid f(cublasHandle_t h, cudaStream_t s, float* x, float* y, float a) {\n"
                   "  cublasSetStream(h, s); cublasSaxpy(h, 4, &a, x, 1, y, 1); }"),
            "assign h->$stream = s\nenqueue library cublasSaxpy_v2 on h->$stream reads x, updates y\nreturn none\n");
}

// ---- calls

TEST(Lowering, RaiiIsSeenThrough) {
  EXPECT_EQ(closed("struct Stream { Stream() { cudaStreamCreate(&s_); } ~Stream() { cudaStreamDestroy(s_); }\n"
                   "  operator cudaStream_t() const { return s_; } cudaStream_t s_; };\n"
                   "void f(float* d) { Stream s; k<<<1, 1, 0, s>>>(d, d, 0); }"),
            "create_stream s.Stream::s_ blocking\nassign %``#1 = s.Stream::s_\n"
            "enqueue kernel k on %``#1 limited writes d, reads d\ndestroy s.Stream::s_\nreturn none\n");
}

TEST(Lowering, LambdasCaptureTheirPlaces) {
  EXPECT_EQ(closed("void f(float* d) { cudaStream_t s; cudaStreamCreate(&s);\n"
                   "  auto go = [&] { k<<<1, 1, 0, s>>>(d, d, 0); }; go(); }"),
            "create_stream s blocking\nassign go.lambda::s = &s\nassign go.lambda::d = &d\n"
            "enqueue kernel k on *go.lambda::s limited writes *go.lambda::d, reads "
            "*go.lambda::d\nreturn none\n");
}

TEST(Lowering, LambdaGivenToAnAlgorithmIsCalledInALoop) {
  const std::string text = ops_of(
      "#include <algorithm>\n#include <vector>\nvoid f(std::vector<cudaStream_t>& v) {\n"
      "  std::for_each(v.begin(), v.end(), [](cudaStream_t s) { cudaStreamSynchronize(s); }); }");
  EXPECT_NE(text.find("loop\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(v[each])"), std::string::npos) << text;
}

TEST(Lowering, UnknownCallsMaySynchronise) {
  EXPECT_EQ(ops_of("void f(void (*g)(float*), float* d) { k<<<1, 1>>>(d, d, 0); g(d); }"),
            "enqueue kernel k on default implicit_stream limited writes d, reads d\nescape d\nmay_sync\n"
            "return none\n");
  EXPECT_EQ(ops_of("#include <math.h>\nvoid f(float* d, float x) { sqrtf(x); k<<<1, 1>>>(d, d, 0); }"),
            "enqueue kernel k on default implicit_stream limited writes d, reads d\nreturn none\n");
}

TEST(Lowering, VirtualFunctionsAreNotGuessed) {
  const std::string base = "struct B { virtual void go(float* d) { k<<<1, 1>>>(d, d, 0); } };\n";
  const std::string other = "struct C : B { void go(float* d) override { k<<<1, 1>>>(d, d, 1); } };\n";
  EXPECT_EQ(ops_of(base + other + "void f(B& b, float* d) { b.go(d); }"),
            "escape d\nescape &b\nmay_sync\nreturn none\n");
  // Another file may override it, too.
  EXPECT_EQ(ops_of(base + "void f(B& b, float* d) { b.go(d); }"), "escape d\nescape &b\nmay_sync\nreturn none\n");
  const std::string last = "struct B final { virtual void go(float* d) { k<<<1, 1>>>(d, d, 0); } };\n";
  EXPECT_EQ(ops_of(last + "void f(B& b, float* d) { b.go(d); }"),
            "call \"c:@S@B@F@go#*f#\"(d) object &b\nreturn none\n");
  EXPECT_EQ(closed(base + "void f(float* d) { B b; b.go(d); }"),
            "assign d#1 = d\nenqueue kernel k on default implicit_stream limited writes d#1, reads d#1\n"
            "return none\n");
}

TEST(Lowering, Instantiations) {
  const Lowered lowered = lower_source(kKernel +
                                       "template <class T> void go(T* d) { k<<<1, 1>>>((float*)d, (float*)d, 0); }\n"
                                       "void f(float* a, int* b) { go(a); go(b); }");
  EXPECT_NE(find(lowered, "go<float>"), nullptr);
  EXPECT_NE(find(lowered, "go<int>"), nullptr);
  EXPECT_EQ(lowered.roots.size(), 3u);
}

TEST(Lowering, OnlyWhatMattersIsLowered) {
  const Lowered lowered = lower_source(
      kKernel +
      "int parse(int x) { return x + 1; }\nvoid fill(float* h) { h[0] = 1; }\nvoid other(float* h) { h[0] = 1; }\n"
      "void f(float* h, float* d) { fill(h); cudaMemcpy(d, h, 4, cudaMemcpyHostToDevice); }");
  EXPECT_NE(find(lowered, "fill"), nullptr);
  EXPECT_EQ(find(lowered, "parse"), nullptr);
  EXPECT_EQ(find(lowered, "other"), nullptr);
  EXPECT_EQ(lowered.roots.size(), 1u);
  EXPECT_EQ(lowered.functions_seen, 4u);
}

TEST(Lowering, OffsetsSayHowLongAStepIs) {
  const std::string copy = "cudaMemcpyAsync(d, at, 4, cudaMemcpyDeviceToDevice, s); }";
  const auto from = [&](const std::string& body) {
    const std::string ops = ops_of(
        "struct Item { double x, y; };\nvoid f(float* d, float* p, Item* q, int n, cudaStream_t s) {" + body + copy);
    const std::size_t reads = ops.find("reads ") + 6;
    return ops.find("assign at = ") == std::string::npos ? ops.substr(reads, ops.find(" bytes", reads) - reads)
                                                         : ops.substr(12, ops.find('\n') - 12);
  };
  EXPECT_EQ(from("void* at = p + n;"), "p + {n @* 4}");
  EXPECT_EQ(from("void* at = &p[n + 1];"), "p + {n + 1 @* 4}");
  EXPECT_EQ(from("void* at = p - 2;"), "p + {-2 @* 4}");
  EXPECT_EQ(from("void* at = q + 3;"), "q + {3 @* 16}");
  EXPECT_EQ(from("void* at = reinterpret_cast<char*>(p) + 256;"), "p + {256 @* 1}");
  EXPECT_EQ(from("void* at = reinterpret_cast<float*>(reinterpret_cast<char*>(q + 1) + 8) + n;"),
            "q + {24 + (n) * 4 @* 1}");
}

// ---- what cannot be lowered

TEST(Lowering, WhatClangDidNotUnderstandIsNamed) {
  const Lowered lowered = lower_source(kKernel +
                                       "void f(float* d) { k<<<1, 1>>>(d, d, 0); nonsense(d); }\n"
                                       "void g(float* d) { k<<<1, 1>>>(d, d, 0); }");
  ASSERT_EQ(lowered.skipped.size(), 1u);
  EXPECT_EQ(lowered.skipped[0].function, "f");
  EXPECT_EQ(lowered.skipped[0].reason, "an expression could not be parsed");
  EXPECT_EQ(find(lowered, "f")->incomplete, "an expression could not be parsed");
  EXPECT_EQ(find(lowered, "g")->incomplete, "");
}

TEST(Lowering, ParallelRegionsAreOneThreadsCodeAndTasksAreGivenUp) {
  const std::string source = kKernel + "void f(float* d) {\n#pragma omp parallel\n  { k<<<1, 1>>>(d, d, 0); }\n}";
  EXPECT_EQ(lower_source(source, {"-fopenmp"}).skipped.size(), 0u);
  const std::string task = kKernel + "void f(float* d) {\n#pragma omp task\n  { k<<<1, 1>>>(d, d, 0); }\n}";
  EXPECT_EQ(lower_source(task, {"-fopenmp"}).skipped.size(), 1u);
  EXPECT_EQ(lower_source(task).skipped.size(), 0u);
}

TEST(Lowering, JumpsOutOfTheOrderOfStatements) {
  EXPECT_EQ(ops_of("#include <setjmp.h>\nvoid f(float* d) { jmp_buf b; if (setjmp(b)) return; k<<<1, 1>>>(d, d, 0); }")
                .substr(0, 11),
            "incomplete:");
}

// ---- sites

TEST(Lowering, SitesStandWhereTheCallIsWritten) {
  const Lowered lowered = lower_source(kKernel +
                                       "#define CHECK(x) do { if (x) throw 1; } while (0)\n"
                                       "#define SYNC(s) cudaStreamSynchronize(s)\n"
                                       "void f(cudaStream_t s) {\n"
                                       "  CHECK(cudaStreamSynchronize(s));\n"
                                       "  SYNC(s);\n"
                                       "  if (s) cudaStreamSynchronize(s);\n}");
  const ir::Function* function = find(lowered, "f");
  ASSERT_NE(function, nullptr);
  std::vector<const ir::Site*> sites;
  for (const ir::Block& block : function->blocks)
    for (const ir::Op& op : block.ops)
      if (op.kind == ir::OpKind::SyncStream) sites.push_back(&(*function)[op.site]);
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0]->line, 6u);
  EXPECT_EQ(sites[0]->column, 9u);
  EXPECT_FALSE(sites[0]->in_macro);
  EXPECT_NE(sites[0]->statement, 0u);
  EXPECT_EQ(sites[1]->line, 7u);
  EXPECT_TRUE(sites[1]->in_macro);
  EXPECT_EQ(sites[2]->statement, 0u) << "no line can be put before it";
  EXPECT_EQ(sites[0]->function, "f");
}

TEST(Lowering, StreamSlots) {
  const Lowered lowered = lower_source(kKernel +
                                       "void f(float* d, cudaStream_t s) {\n"
                                       "  k<<<1, 1>>>(d, d, 0); k<<<1, 1, 8>>>(d, d, 0); k<<<1, 1, 8, s>>>(d, d, 0);\n"
                                       "  cudaMemsetAsync(d, 0, 4);\n}");
  std::vector<std::string> prefixes;
  const ir::Function* function = find(lowered, "f");
  for (const ir::Block& block : function->blocks)
    for (const ir::Op& op : block.ops)
      if (op.kind == ir::OpKind::Enqueue) {
        const ir::Site& site = (*function)[op.site];
        EXPECT_NE(site.stream_begin, 0u);
        prefixes.push_back(site.stream_end == 0 ? site.stream_prefix : "written");
      }
  EXPECT_EQ(prefixes, (std::vector<std::string>{", 0, ", ", ", "written", ", "}));
}

}  // namespace
}  // namespace streamsan::analyzer
