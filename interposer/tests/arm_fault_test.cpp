// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distinguishes loads and stores of AArch64: by the syndrome in a signal's frame, and by the instruction. Runs on every
// processor.
#include "interposer/host/arm_fault.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace streamsan::recorder::arm {
namespace {

struct Instruction {
  std::uint32_t word;
  const char* text;  // as an assembler has it
};

constexpr Instruction kStores[] = {
    {0xf9000020, "str x0, [x1]"},
    {0x39000c20, "strb w0, [x1, #3]"},
    {0x78002420, "strh w0, [x1], #2"},
    {0xb8008c20, "str w0, [x1, #8]!"},
    {0xf8226820, "str x0, [x1, x2]"},
    {0xf8227820, "str x0, [x1, x2, lsl #3]"},
    {0xf81f8020, "stur x0, [x1, #-8]"},
    {0xf8000820, "sttr x0, [x1]"},
    {0xa9000440, "stp x0, x1, [x2]"},
    {0xa9bf7bfd, "stp x29, x30, [sp, #-16]!"},
    {0xa8000440, "stnp x0, x1, [x2]"},
    {0xad000440, "stp q0, q1, [x2]"},
    {0x3d800020, "str q0, [x1]"},
    {0x3ca26820, "str q0, [x1, x2]"},
    {0xfd000020, "str d0, [x1]"},
    {0xbd000420, "str s0, [x1, #4]"},
    {0x7d000020, "str h0, [x1]"},
    {0x3d000020, "str b0, [x1]"},
    {0x3c803020, "stur q0, [x1, #3]"},
    {0xc89ffc20, "stlr x0, [x1]"},
    {0x089ffc20, "stlrb w0, [x1]"},
    {0xc8027c20, "stxr w2, x0, [x1]"},
    {0xc802fc20, "stlxr w2, x0, [x1]"},
    {0xc8220c20, "stxp w2, x0, x3, [x1]"},
    {0xd9008020, "stlur x0, [x1, #8]"},
    {0xc8a07c22, "cas x0, x2, [x1]"},
    {0x88e0fc22, "casal w0, w2, [x1]"},
    {0x48207c82, "casp x0, x1, x2, x3, [x4]"},
    {0x4860fc82, "caspal x0, x1, x2, x3, [x4]"},
    {0xf8208022, "swp x0, x2, [x1]"},
    {0xf8200022, "ldadd x0, x2, [x1]"},
    {0xb8e00022, "ldaddal w0, w2, [x1]"},
    {0xf820003f, "stadd x0, [x1]"},
    {0xf8203022, "ldset x0, x2, [x1]"},
    {0xf8206022, "ldumax x0, x2, [x1]"},
    {0x4c007020, "st1 {v0.16b}, [x1]"},
    {0x4c9fa020, "st1 {v0.16b, v1.16b}, [x1], #32"},
    {0x4c000820, "st4 {v0.4s-v3.4s}, [x1]"},
    {0x0d009020, "st1 {v0.s}[1], [x1]"},
    {0x0dbf9020, "st2 {v0.s, v1.s}[1], [x1], #8"},
    {0xd50b7420, "dc zva, x0"},
    {0xe400e020, "st1b {z0.b}, p0, [x1]"},
    {0xe5e24020, "st1d {z0.d}, p0, [x1, x2, lsl #3]"},
    {0xe5418020, "st1w {z0.s}, p0, [x1, z1.s, uxtw]"},
    {0xe5804020, "str z0, [x1]"},
    {0xe5800020, "str p0, [x1]"},
};

constexpr Instruction kLoads[] = {
    {0xf9400020, "ldr x0, [x1]"},
    {0x39400c20, "ldrb w0, [x1, #3]"},
    {0x39800020, "ldrsb x0, [x1]"},
    {0x39c00020, "ldrsb w0, [x1]"},
    {0x78802420, "ldrsh x0, [x1], #2"},
    {0xb8808c20, "ldrsw x0, [x1, #8]!"},
    {0xb8626820, "ldr w0, [x1, x2]"},
    {0xb8a27820, "ldrsw x0, [x1, x2, lsl #2]"},
    {0xf85f8020, "ldur x0, [x1, #-8]"},
    {0xb89f8020, "ldursw x0, [x1, #-8]"},
    {0xf8400820, "ldtr x0, [x1]"},
    {0xa9400440, "ldp x0, x1, [x2]"},
    {0xa8c17bfd, "ldp x29, x30, [sp], #16"},
    {0x69400440, "ldpsw x0, x1, [x2]"},
    {0xa8400440, "ldnp x0, x1, [x2]"},
    {0xad400440, "ldp q0, q1, [x2]"},
    {0x3dc00020, "ldr q0, [x1]"},
    {0x3ce26820, "ldr q0, [x1, x2]"},
    {0xfd400020, "ldr d0, [x1]"},
    {0x3d400020, "ldr b0, [x1]"},
    {0x3cc03020, "ldur q0, [x1, #3]"},
    {0xc8dffc20, "ldar x0, [x1]"},
    {0x08dffc20, "ldarb w0, [x1]"},
    {0xc85f7c20, "ldxr x0, [x1]"},
    {0xc85ffc20, "ldaxr x0, [x1]"},
    {0xc87f0c20, "ldxp x0, x3, [x1]"},
    {0xf8bfc020, "ldapr x0, [x1]"},
    {0x38bfc020, "ldaprb w0, [x1]"},
    {0xd9408020, "ldapur x0, [x1, #8]"},
    {0x99808020, "ldapursw x0, [x1, #8]"},
    {0x58000080, "ldr x0, 144"},
    {0x9c000080, "ldr q0, 148"},
    {0x98000080, "ldrsw x0, 14c"},
    {0xf8200420, "ldraa x0, [x1]"},
    {0xf8a01c20, "ldrab x0, [x1, #8]!"},
    {0x4c407020, "ld1 {v0.16b}, [x1]"},
    {0x4cdfa020, "ld1 {v0.16b, v1.16b}, [x1], #32"},
    {0x4c400820, "ld4 {v0.4s-v3.4s}, [x1]"},
    {0x4d40c820, "ld1r {v0.4s}, [x1]"},
    {0x0d409020, "ld1 {v0.s}[1], [x1]"},
    {0xa400a020, "ld1b {z0.b}, p0/z, [x1]"},
    {0xa5e24020, "ld1d {z0.d}, p0/z, [x1, x2, lsl #3]"},
    {0xa41f6020, "ldff1b {z0.b}, p0/z, [x1, xzr]"},
    {0x8540c020, "ld1rw {z0.s}, p0/z, [x1]"},
    {0x85804020, "ldr z0, [x1]"},
    {0xf9800020, "prfm pldl1keep, [x1]"},
};

TEST(ArmFault, InstructionsAreToldApart) {
  for (const Instruction& each : kStores) EXPECT_TRUE(stores(each.word)) << each.text;
  for (const Instruction& each : kLoads) EXPECT_FALSE(stores(each.word)) << each.text;
}

/// The records of a signal's frame.
class Records {
 public:
  Records& add(std::uint32_t magic, std::uint32_t size, std::uint64_t content = 0) {
    bytes_.resize(at_ + (size < 16 ? 16 : size));
    std::memcpy(&bytes_[at_], &magic, sizeof magic);
    std::memcpy(&bytes_[at_ + 4], &size, sizeof size);
    std::memcpy(&bytes_[at_ + 8], &content, sizeof content);
    at_ += size;
    return *this;
  }
  Records& syndrome(std::uint64_t content) { return add(0x45535201, 16, content); }
  [[nodiscard]] std::optional<bool> stored() const { return stored_by_syndrome(bytes_.data(), bytes_.size()); }

 private:
  std::vector<unsigned char> bytes_;
  std::size_t at_ = 0;
};

constexpr std::uint32_t kVectors = 0x46508001;  // "FPS"; the first of every frame
constexpr std::uint64_t kReadFault = 0x92000007, kWriteFault = 0x92000047;

TEST(ArmFault, TheSyndromeTellsWhereverItStands) {
  EXPECT_EQ(Records().syndrome(kWriteFault).stored(), true);
  EXPECT_EQ(Records().syndrome(kReadFault).stored(), false);
  EXPECT_EQ(Records().add(kVectors, 528).syndrome(kWriteFault).add(0, 0).stored(), true);
  EXPECT_EQ(Records().add(kVectors, 528).syndrome(kReadFault).add(0, 0).stored(), false);
  EXPECT_EQ(Records().syndrome(0x92000147).stored(), false) << "maintenance of a cache changes nothing";
}

TEST(ArmFault, WithoutASyndromeNothingIsKnown) {
  EXPECT_EQ(Records().add(kVectors, 528).add(0, 0).stored(), std::nullopt);
  EXPECT_EQ(Records().add(0, 16).syndrome(kWriteFault).stored(), std::nullopt) << "behind the end";
  EXPECT_EQ(Records().syndrome(0x82000007).stored(), std::nullopt) << "a fetch of an instruction";
  EXPECT_EQ(Records().add(kVectors, 4).stored(), std::nullopt) << "damaged";
  EXPECT_EQ(Records().add(kVectors, 528).stored(), std::nullopt) << "cut off";
  EXPECT_EQ(stored_by_syndrome(nullptr, 0), std::nullopt);
}

}  // namespace
}  // namespace streamsan::recorder::arm
