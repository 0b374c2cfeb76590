// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is behind names: wrapper classes after inlining, copies of objects, PyTorch's current stream, library handles,
// containers. Written in the text form of the IR (ir/text.h) and closed by the inliner, as the tool does it.
#include <gtest/gtest.h>

#include <stdexcept>

#include "analyzer/analysis/tests/script.h"
#include "analyzer/ir/inline.h"
#include "analyzer/ir/text.h"

namespace streamsan::analyzer::testing {
namespace {

/// Analyses the function with USR "f" of the program.
std::string reported_of(const std::string& text) {
  Script script;
  std::string error;
  if (!ir::parse(text, script.program, error)) throw std::runtime_error(error);
  script.function = ir::close(script.program, "f");
  return reported(script);
}

/// A class that owns a stream; a helper that launches on a stream.
const std::string kWrapper = R"IR(
function "Stream::Stream()" usr "ctor"
bb0:
  create_stream this.Stream::s_ nonblocking
function "Stream::get()" usr "get"
  place this.Stream::s_ stream
bb0:
  return this.Stream::s_
function "produce(float*, cudaStream_t)" usr "produce"
  parameter p pointer
  parameter s stream
bb0:
  enqueue kernel produce on s writes p
function "consume(float*, cudaStream_t)" usr "consume"
  parameter p pointer
  parameter s stream
bb0:
  enqueue kernel consume on s reads p
)IR";

TEST(Objects, TwoWrappersAreTwoStreams) {
  const std::string head = kWrapper + R"IR(
function "f" usr "f"
  local a object
  local b object
  local d pointer
bb0:
  call "ctor"() object &a
  call "ctor"() object &b
  allocate d device
  call %s1 = "get"() object &a
  call "produce"(d, %s1)
)IR";
  EXPECT_EQ(reported_of(head + "  call %s2 = \"get\"() object &b\n  call \"consume\"(d, %s2)\n"),
            "cross-stream-race definite 18<13");
  EXPECT_EQ(reported_of(head + "  call %s2 = \"get\"() object &a\n  call \"consume\"(d, %s2)\n"), "");
}

TEST(Objects, ACopiedWrapperHasTheSameStream) {
  const std::string head = kWrapper + R"IR(
function "f" usr "f"
  local a object
  local b object
  local d pointer
bb0:
  call "ctor"() object &a
  allocate d device
  enqueue kernel k on a.Stream::s_ writes d
  call "ctor"() object &b
)IR";
  EXPECT_EQ(reported_of(head + "  assign b = a\n  enqueue kernel q on b.Stream::s_ reads d\n"), "");
  EXPECT_EQ(reported_of(head + "  enqueue kernel q on b.Stream::s_ reads d\n"), "cross-stream-race definite 29<27");
}

TEST(Objects, UnknownCodeWithTheObject) {
  const std::string head = kWrapper + R"IR(
function "f" usr "f"
  local a object
  local d pointer
  local s2 stream
bb0:
  call "ctor"() object &a
  allocate d device
  create_stream s2 nonblocking
  enqueue kernel k on a.Stream::s_ writes d
)IR";
  EXPECT_EQ(reported_of(head + "  escape &a\n  enqueue kernel q on s2 reads d\n"), "");
  EXPECT_EQ(reported_of(head + "  enqueue kernel q on s2 reads d\n"), "cross-stream-race definite 29<28");
}

TEST(Objects, CurrentStream) {
  const std::string head = R"IR(
function "f" usr "f"
  local side stream
  local saved stream
  local d pointer
bb0:
  create_stream side nonblocking
  allocate d device
  enqueue kernel k on ::$current_stream writes d
  assign saved = ::$current_stream
  assign ::$current_stream = side
)IR";
  EXPECT_EQ(reported_of(head + "  enqueue kernel q on ::$current_stream reads d\n"), "cross-stream-race definite 12<9");
  EXPECT_EQ(reported_of(head + "  assign ::$current_stream = saved\n  enqueue kernel q on ::$current_stream reads d\n"),
            "");
}

TEST(Objects, LibraryHandle) {
  const std::string head = R"IR(
function "f" usr "f"
  local handle object
  local s1 stream
  local s2 stream
  local d pointer
bb0:
  create_stream s1 nonblocking
  create_stream s2 nonblocking
  allocate d device
  assign handle.$stream = s1
  enqueue library cublasSgemm on handle.$stream writes d
)IR";
  EXPECT_EQ(
      reported_of(head + "  assign handle.$stream = s2\n  enqueue library cublasSgemm on handle.$stream reads d\n"),
      "cross-stream-race definite 14<12");
  EXPECT_EQ(reported_of(head + "  enqueue library cublasSgemm on handle.$stream reads d\n"), "");
}

TEST(Objects, ContainerEnds) {
  const std::string head = R"IR(
function "f" usr "f"
  parameter s stream
  parameter d pointer
  local v object
bb0:
  allocate v.$data pageable
  enqueue copy cudaMemcpyAsync on s writes d on_device, reads v.$data on_host
)IR";
  EXPECT_EQ(reported_of(head + "  end_of_life v.$data\n"), "async-copy-lifetime latent 9<8 R-CPY-13");
  EXPECT_EQ(reported_of(head + "  sync_stream s\n  end_of_life v.$data\n"), "");
}

TEST(Objects, ResizedContainerIsAnotherBlock) {
  EXPECT_EQ(reported_of(R"IR(
function "f" usr "f"
  parameter s stream
  parameter d pointer
  local v object
bb0:
  allocate v.$data pinned
  enqueue copy cudaMemcpyAsync on s writes v.$data on_host, reads d on_device
  allocate v.$data pinned
  host reads v.$data
)IR"),
            "");
}

TEST(Objects, EarlyReturnOfACallee) {
  const std::string program = R"IR(
function "wait(bool, cudaStream_t)" usr "wait"
  parameter n integer
  parameter s stream
bb0:
  branch {n} bb1 bb2
bb1:
  return
bb2:
  sync_stream s
  return
function "f" usr "f"
  parameter n integer
  local s1 stream
  local s2 stream
  local d pointer
bb0:
  create_stream s1 nonblocking
  create_stream s2 nonblocking
  allocate d device
  enqueue kernel p on s1 writes d
)IR";
  EXPECT_EQ(reported_of(program + "  call \"wait\"(n, s1)\n  enqueue kernel q on s2 reads d\n"), "");
  EXPECT_EQ(reported_of(program + "  call \"wait\"(n, s2)\n  enqueue kernel q on s2 reads d\n").substr(0, 26),
            "cross-stream-race definite");
}

TEST(Objects, AHelperThatLaunchesOneKernelOnParts) {
  const std::string program = R"IR(
function "launch(float*, int, cudaStream_t)" usr "launch"
  parameter p pointer
  parameter n integer
  parameter s stream
bb0:
  enqueue kernel k on s arguments (none + {n}) writes p
function "f" usr "f"
  local s1 stream
  local s2 stream
  local d pointer
  local i integer
  local j integer
bb0:
  create_stream s1 nonblocking
  create_stream s2 nonblocking
  allocate d device
  fresh i
  fresh j
  call "launch"(d, i, s1)
)IR";
  EXPECT_EQ(reported_of(program + "  call \"launch\"(d, j, s2)\n"), "");
  EXPECT_EQ(reported_of(program + "  call \"launch\"(d, i, s2)\n"), "cross-stream-race definite 7<7");
}

TEST(Objects, LazilyCreatedStream) {
  EXPECT_EQ(reported_of(R"IR(
function "f" usr "f"
  local s2 stream
  local d pointer
bb0:
  create_stream s2 nonblocking
  allocate d device
  branch bb1 bb2
bb1:
  create_stream this.C::s_ nonblocking
  goto bb2
bb2:
  enqueue kernel p on this.C::s_ writes d
  enqueue kernel q on this.C::s_ reads d
)IR"),
            "");
}

TEST(Objects, IncompleteFunctionsAreNotAnalysed) {
  Script script = read("stream s1\nsync s1");
  script.function.incomplete = "omp parallel";
  EXPECT_EQ(analyze(script.function, script.program).gave_up, "omp parallel");
}

}  // namespace
}  // namespace streamsan::analyzer::testing
