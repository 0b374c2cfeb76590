// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is concluded from code alone; the PTX is written by hand here, so that each line counts.
#include "judge/ptx/facts.h"

#include <gtest/gtest.h>

#include <string>

#include "judge/ptx/parser.h"
#include "judge/ptx/tests/helpers.h"

namespace streamsan::ptx {
namespace {

constexpr const char* kParameters = ".param .u64 a, .param .u64 b, .param .u32 n";

Facts facts(const std::string& body, const std::string& parameters = kParameters) {
  const std::string text = ".visible .entry k(" + parameters +
                           ") {\n.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" + "ld.param.u64 %rd1, [a];\n" +
                           body + "\nret;\n}\n";
  return facts_of(only_kernel(text));
}

std::string shown(const Facts& facts, std::size_t word) {
  if (!facts.known) return "unknown";
  const WordFacts& each = facts.words.at(word);
  return std::string(each.read ? "r" : "-") + (each.written ? "w" : "-") + (each.atomic ? "a" : "-") +
         (each.escapes ? "e" : "-");
}

TEST(Facts, LoadsReadAndStoresWrite) {
  EXPECT_EQ(shown(facts("ld.global.u32 %r1, [%rd1+4];"), 0), "r---");
  EXPECT_EQ(shown(facts("st.global.u32 [%rd1], 1;"), 0), "-w--");
  EXPECT_EQ(shown(facts("atom.global.add.u32 %r1, [%rd1], 1;"), 0), "--a-");
  EXPECT_EQ(shown(facts("red.global.add.u32 [%rd1], 1;"), 0), "--a-");
  EXPECT_EQ(shown(facts("ld.global.nc.v4.f32 {%r1, %r2, %r3, %r4}, [%rd1];"), 0), "r---");
  EXPECT_EQ(shown(facts("cp.async.cg.shared.global [%r1], [%rd1], 16;"), 0), "r---");
  EXPECT_EQ(shown(facts("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 64;"), 0), "-w--");
  EXPECT_EQ(
      shown(facts("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 64, [%r2];"), 0),
      "r---");
  EXPECT_EQ(shown(facts("prefetch.global.L2 [%rd1];"), 0), "----");
  EXPECT_EQ(shown(facts("st.shared.u32 [%r1], %r2;"), 0), "----");
}

/// Is what it does through its first pointer by atomic accesses, if anything, atomic for the host, too?
bool for_host(const std::string& body) { return !facts(body).words[0].on_device; }

TEST(Facts, AtomicsOfTheSystemAreAtomicForTheHost) {
  EXPECT_TRUE(for_host("atom.global.sys.add.u32 %r1, [%rd1], 1;"));
  EXPECT_TRUE(for_host("red.release.sys.global.add.u32 [%rd1], 1;"));
  EXPECT_TRUE(for_host("ld.volatile.global.u32 %r1, [%rd1]; st.relaxed.sys.global.u32 [%rd1], 1;"));
  EXPECT_FALSE(for_host("atom.global.add.u32 %r1, [%rd1], 1;"));
  EXPECT_FALSE(for_host("red.relaxed.gpu.global.add.u32 [%rd1], 1;"));
  EXPECT_FALSE(for_host("atom.global.sys.add.u32 %r1, [%rd1], 1; ld.acquire.gpu.u32 %r1, [%rd1];"));
}

TEST(Facts, AtomicsOfTheDeviceThatNoParameterLeadsTo) {
  EXPECT_TRUE(facts("atom.global.add.u32 %r1, [counter], 1;").strays_on_device);
  EXPECT_TRUE(facts("red.global.add.u32 [counter], 1;").strays_on_device);
  EXPECT_TRUE(facts("mov.u64 %rd2, counter; atom.global.add.u32 %r1, [%rd2], 1;").strays_on_device);
  EXPECT_FALSE(facts("atom.global.sys.add.u32 %r1, [counter], 1;").strays_on_device);
  EXPECT_TRUE(facts("ld.global.u64 %rd2, [%rd1]; atom.global.add.u32 %r1, [%rd2], 1;").strays_on_device);
  EXPECT_FALSE(facts("ld.global.u64 %rd2, [%rd1]; atom.global.sys.add.u32 %r1, [%rd2], 1;").strays_on_device);
  EXPECT_FALSE(facts("atom.global.add.u32 %r1, [%rd1], 1;").strays_on_device);
}

TEST(Facts, StoresThatAreAtomic) {
  EXPECT_TRUE(facts("st.release.sys.global.u32 [%rd1], 1;").stores_atomically);
  EXPECT_TRUE(facts("st.release.sys.global.u32 [%rd1], 1;").words[0].stored);
  EXPECT_TRUE(facts("st.volatile.global.u32 [%rd1], 1;").stores_atomically);
  EXPECT_FALSE(facts("st.global.u32 [%rd1], 1;").stores_atomically);
  EXPECT_FALSE(facts("atom.global.sys.add.u32 %r1, [%rd1], 1;").stores_atomically);
  EXPECT_FALSE(facts("ld.volatile.global.u32 %r1, [%rd1];").words[0].stored);
}

std::string textures(const std::string& body, const std::string& parameters = kParameters) {
  const Facts found = facts(body, parameters);
  if (!found.known) return "unknown";
  std::string out;
  for (const TextureUse& use : found.textures.uses) {
    out += std::to_string(use.word) + (use.surface ? "s" : "t") + (use.written ? "w" : "r") + (use.chosen ? "?" : "") +
           " ";
  }
  return out + (found.textures.all_known ? "" : "and others");
}

TEST(Textures, AreParametersThatReachATextureInstruction) {
  EXPECT_EQ(textures("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];"), "0tr ");
  EXPECT_EQ(textures("ld.param.u64 %rd2, [b]; tex.level.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd2, {%r5, %r6}], %r7;"),
            "1tr ");
  EXPECT_EQ(textures("mov.u64 %rd2, %rd1; tld4.r.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd2, {%r5, %r6}];"), "0tr ");
  EXPECT_EQ(textures("suld.b.2d.b32.trap {%r1}, [%rd1, {%r2, %r3}];"), "0sr ");
  EXPECT_EQ(textures("sust.b.2d.b32.zero [%rd1, {%r2, %r3}], {%r1};"), "0sw ");
  EXPECT_EQ(textures("sured.b.add.1d.u32.trap [%rd1, {%r2}], %r1;"), "0sw ");
  EXPECT_EQ(textures("suld.b.1d.b32.trap {%r1}, [%rd1, {%r2}]; sust.b.1d.b32.trap [%rd1, {%r2}], {%r1};"), "0sr 0sw ");
}

TEST(Textures, OtherUsesOfANumberAreNone) {
  EXPECT_EQ(textures("add.s64 %rd2, %rd1, 1; st.global.u64 [%rd3], %rd2;"), "");
  EXPECT_EQ(textures("cvt.u32.u64 %r1, %rd1; ld.param.u64 %rd2, [b]; tex.1d.v4.f32.s32 {%r2, %r3, %r4, %r5}, [%rd2, "
                     "{%r1}];"),
            "1tr ")
      << "a coordinate";
  EXPECT_EQ(textures("txq.width.b32 %r1, [%rd1]; suq.height.b32 %r2, [%rd1];"), "") << "sizes are no memory";
}

TEST(Textures, WhatCannotBeFollowedIsSaid) {
  EXPECT_EQ(textures("add.s64 %rd2, %rd1, 1; tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd2, {%r5}];"), "and others");
  EXPECT_EQ(textures("ld.global.u64 %rd2, [%rd1]; tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd2, {%r5}];"),
            "and others");
  EXPECT_EQ(textures("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [image, {%r5}];"), "and others") << "a reference";
  EXPECT_EQ(
      textures("ld.param.u64 %rd2, [b]; selp.b64 %rd3, %rd1, %rd2, %p1; sust.b.1d.b32.trap [%rd3, {%r2}], {%r1};"),
      "0sw? 1sw? ");
  EXPECT_TRUE(facts("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [image, {%r5}];").strays);
  EXPECT_FALSE(facts("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];").strays);
}

TEST(Textures, MayBeLoadedTogether) {
  const std::string read = "tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, ";
  const auto of_pair = [](const std::string& body) {
    return textures(body, ".param .u64 a, .param .align 8 .b8 s[24]");
  };
  EXPECT_EQ(of_pair("ld.param.v2.u64 {%rd2, %rd3}, [s+8]; " + read + "[%rd3, {%r5}];"), "3tr ");
  EXPECT_EQ(of_pair("ld.param.v2.b64 {%rd2, %rd3}, [s]; " + read + "[%rd2, {%r5}]; " + read + "[%rd3, {%r5}];"),
            "1tr 2tr ");
  EXPECT_EQ(of_pair("ld.param.v2.u64 {%rd2, %rd3}, [s+16]; " + read + "[%rd3, {%r5}];"), "and others") << "behind it";
  EXPECT_EQ(of_pair("ld.param.v2.u32 {%r2, %r3}, [s]; mov.b64 %rd2, {%r2, %r3}; " + read + "[%rd2, {%r5}];"),
            "and others");
}

// Their number must not be multiplied by that of the instructions, and no value is followed by recursion.
TEST(Textures, ManyOfThemTakeNoLonger) {
  constexpr int kMany = 90'000;
  std::string moves = ".reg .b64 %m<90001>; mov.u64 %m0, %rd1;\n", reads;
  for (int i = 0; i < kMany; ++i) {
    moves += "mov.u64 %m" + std::to_string(i + 1) + ", %m" + std::to_string(i) + ";\n";
    reads += "tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%m90000, {%r5}];\n";
  }
  EXPECT_EQ(textures(moves + reads), "0tr ");
}

TEST(Textures, TouchNoMemoryThroughAPointer) {
  EXPECT_EQ(shown(facts("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];"), 0), "----");
  EXPECT_EQ(shown(facts("cvt.u32.u64 %r1, %rd1; ld.param.u64 %rd2, [b]; sust.b.1d.b32.trap [%rd2, {%r2}], {%r1};"), 0),
            "---e")
      << "stored where it cannot be followed";
  EXPECT_TRUE(facts("tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}]; cvt.u64.u32 %rd2, %r1;").origins.size() >
              0);
}

TEST(Facts, FollowArithmetic) {
  EXPECT_EQ(shown(facts("cvta.to.global.u64 %rd2, %rd1; add.s64 %rd3, %rd2, 8; st.global.u32 [%rd3], 1;"), 0), "-w--");
  EXPECT_EQ(shown(facts("mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd2, {%r1, %r2}; st.u32 [%rd2], 1;"), 0), "-w--");
  EXPECT_EQ(shown(facts("selp.b64 %rd2, %rd3, %rd1, %p1; st.u32 [%rd2], 1;"), 0), "-w--");
  // A loop: the store stands before the assignment.
  EXPECT_EQ(shown(facts("L: st.u32 [%rd2], 1; mov.u64 %rd2, %rd1; bra L;"), 0), "-w--");
  EXPECT_EQ(shown(facts("xor.b64 %rd2, %rd1, 5; popc.b64 %r1, %rd2; cvt.u64.u32 %rd3, %r1; st.u32 [%rd3], 1;"), 0),
            "-w--");
}

TEST(Facts, OnePointerSaysNothingOfTheOther) {
  const Facts both = facts("ld.param.u64 %rd2, [b]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1;");
  EXPECT_EQ(shown(both, 0), "r---");
  EXPECT_EQ(shown(both, 1), "-w--");
}

bool confined(const std::string& body, std::vector<std::size_t> pointers = {0}) {
  return is_confined(facts(body), pointers, [](std::size_t word) { return word == 2; });
}

TEST(Facts, WhatArgumentsLeadToIsConfined) {
  EXPECT_TRUE(confined("st.global.u32 [%rd1], 1;"));
  EXPECT_TRUE(confined("ld.global.u64 %rd2, [%rd1]; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 1;"));
  EXPECT_TRUE(confined("ld.shared.u64 %rd2, [%r1]; st.shared.u64 [%rd2], 1;"));
  // A null pointer.
  EXPECT_TRUE(confined("ld.param.u32 %r1, [n]; cvt.u64.u32 %rd2, %r1; st.global.u32 [%rd2], 1;"));
  EXPECT_TRUE(confined("call (%r1), vprintf, (%rd2, %rd3);"));
  EXPECT_TRUE(confined("call cudaGraphSetConditional, (%rd2, %r3);"));
}

TEST(Facts, WhatElseIsNot) {
  // A pointer that was loaded, alone or with a number; one that is not among the pointers; a variable; a call.
  EXPECT_FALSE(confined("ld.global.u64 %rd2, [%rd1]; st.global.u32 [%rd2], 1;"));
  EXPECT_FALSE(
      confined("ld.global.u64 %rd2, [%rd1]; ld.param.u32 %r1, [n]; cvt.u64.u32 %rd3, %r1; "
               "add.s64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], 1;"));
  EXPECT_FALSE(confined("ld.param.u64 %rd2, [b]; st.global.u32 [%rd2], 1;"));
  EXPECT_TRUE(confined("ld.param.u64 %rd2, [b]; st.global.u32 [%rd2], 1;", {1}));
  EXPECT_FALSE(confined("st.global.u32 [kept], 1;"));
  EXPECT_FALSE(confined("mov.u64 %rd2, kept; cvta.global.u64 %rd3, %rd2; ld.u32 %r1, [%rd3];"));
  EXPECT_FALSE(confined("call (%r1), helper, (%rd2);"));
  // A list: first the argument, then what was loaded through it. A choice of the two.
  EXPECT_FALSE(confined("mov.u64 %rd2, %rd1; L: ld.global.u64 %rd3, [%rd2]; mov.u64 %rd2, %rd3; bra L;"));
  EXPECT_FALSE(confined("ld.global.u64 %rd2, [%rd1]; selp.b64 %rd3, %rd2, %rd1, %p1; st.global.u32 [%rd3], 1;"));
  // What the host may copy to a constant.
  EXPECT_FALSE(confined("ld.const.u32 %r1, [coefficient]; st.global.u32 [%rd1], %r1;"));
}

TEST(Facts, TablesOfFunctionsAndStacksAreConfined) {
  EXPECT_TRUE(confined("ld.global.u32 %r1, [__cudart_i2opi_f]; st.global.u32 [%rd1], %r1;"));
  EXPECT_TRUE(
      confined("mov.u64 %rd2, __local_depot0; cvta.local.u64 %rd3, %rd2; ld.global.u64 %rd4, [%rd1]; "
               "add.s64 %rd5, %rd3, %rd4; st.u32 [%rd5], 1;"));
}

TEST(Facts, PrintingIsSeen) {
  EXPECT_TRUE(facts("call (%r1), vprintf, (%rd2, %rd3);").prints);
  EXPECT_FALSE(facts("st.global.u32 [%rd1], 1;").prints);
  EXPECT_FALSE(facts("call cudaGraphSetConditional, (%rd2, %r3);").prints);
}

TEST(Facts, EscapesAreSeen) {
  EXPECT_EQ(shown(facts("st.global.u64 [%rd3], %rd1;"), 0), "---e");
  EXPECT_EQ(shown(facts("st.shared.u64 [%r3], %rd1;"), 0), "---e");
  EXPECT_EQ(shown(facts("{ .param .b64 param0; st.param.b64 [param0], %rd1; call.uni f, (param0); }"), 0), "---e");
  EXPECT_EQ(shown(facts("frobnicate.global.u32 %r1, [%rd1];"), 0), "rwae");
  EXPECT_EQ(shown(facts("atom.global.exch.b64 %rd3, [%rd2], %rd1;"), 0), "---e");
}

TEST(Facts, StructuresAreReadWordByWord) {
  const Facts both = facts("ld.param.v2.u64 {%rd2, %rd3}, [s+8]; ld.global.u32 %r1, [%rd2]; st.global.u32 [%rd3], 1;",
                           ".param .u64 a, .param .align 8 .b8 s[40]");
  EXPECT_EQ(shown(both, 0), "----");
  EXPECT_EQ(shown(both, 1), "----");
  EXPECT_EQ(shown(both, 2), "rw--");  // a vector load is not taken apart
  EXPECT_EQ(shown(both, 3), "rw--");
  EXPECT_EQ(shown(both, 4), "----");
  // The address of the structure in a register: all of it.
  EXPECT_EQ(shown(facts("mov.b64 %rd2, s; ld.param.u64 %rd3, [%rd2+8]; st.u32 [%rd3], 1;",
                        ".param .u64 a, .param .align 8 .b8 s[16]"),
                  2),
            "-w--");
}

TEST(Facts, ScopesKeepNamesApart) {
  const std::string body = "ld.param.u64 %rd2, [b]; { .reg .b64 %rd2; mov.u64 %rd2, %rd1; } st.u32 [%rd2], 1;";
  EXPECT_EQ(shown(facts(body), 0), "----");
  EXPECT_EQ(shown(facts(body), 1), "-w--");
}

TEST(Facts, AreUnknownForDamagedText) {
  EXPECT_EQ(shown(facts("bra NOWHERE;"), 0), "unknown");
  EXPECT_EQ(shown(facts("@%q9 bra L; L:"), 0), "unknown");
  EXPECT_EQ(shown(facts("st.u32 [%clock], 1;"), 0), "unknown");
}

TEST(Parser, LaysParametersOutAsTheHostDoes) {
  const std::string text =
      ".entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .align 16 .b8 c[20], .param .f32 d) { ret; "
      "}";
  const Kernel kernel = parse(find_entries(text).at(0));
  ASSERT_EQ(kernel.parameters.size(), 4u);
  EXPECT_EQ(kernel.parameters[1].offset, 8u);
  EXPECT_EQ(kernel.parameters[2].offset, 16u);
  EXPECT_EQ(kernel.parameters[3].offset, 36u);
}

}  // namespace
}  // namespace streamsan::ptx
