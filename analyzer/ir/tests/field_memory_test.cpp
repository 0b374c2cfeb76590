// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinds of memory that fields hold: each that is known stands before a twin that is not.
#include "analyzer/ir/field_memory.h"

#include <gtest/gtest.h>

#include "analyzer/ir/text.h"

namespace streamsan::analyzer::ir {
namespace {

using ordering::MemoryKind;

std::map<std::string, MemoryKind> memory_of(const std::string& text) {
  Program program;
  std::string error;
  EXPECT_TRUE(parse(text, program, error)) << error;
  std::map<std::string, MemoryKind> kinds;
  for (const auto& [key, kept] : field_memory(program)) kinds.emplace(key, kept.kind);
  return kinds;
}

/// The line of kField at which the field's memory is allocated; 0: no one place.
std::uint32_t line_of_field(const std::string& text) {
  Program program;
  std::string error;
  EXPECT_TRUE(parse(text, program, error)) << error;
  return field_memory(program).at("C::p_").made.line;
}

const std::string kField = R"(
function f
  place this object
  place this.C::p_ pointer
  local q pointer
  allocate this.C::p_ device
)";
const std::map<std::string, MemoryKind> kDevice{{"C::p_", MemoryKind::Device}};

TEST(FieldMemory, AllStoresAreOfOneKind) {
  EXPECT_EQ(memory_of(kField), kDevice);
  EXPECT_EQ(memory_of(kField + "  assign this.C::p_ = null\n"), kDevice);
  EXPECT_TRUE(memory_of(kField + "  allocate this.C::p_ pinned\n").empty());
}

TEST(FieldMemory, AVariableIsWhatItIsGiven) {
  EXPECT_EQ(memory_of(kField + "  allocate q device\n  assign this.C::p_ = q\n"), kDevice);
  EXPECT_TRUE(memory_of(kField + "  allocate q pinned\n  assign this.C::p_ = q\n").empty());
  EXPECT_TRUE(memory_of(kField + "  fresh q\n  assign this.C::p_ = q\n").empty());
}

TEST(FieldMemory, ItIsAllocatedAtOnePlaceOrAtSeveral) {
  const std::uint32_t line = line_of_field(kField);
  EXPECT_NE(line, 0U);
  EXPECT_EQ(line_of_field(kField + "  assign this.C::p_ = null\n"), line);
  EXPECT_EQ(line_of_field(kField + "  allocate this.C::p_ device\n"), 0U);
}

TEST(FieldMemory, AHelperMayStoreAnything) {
  EXPECT_EQ(memory_of(kField + "  call \"g\"(this.C::p_)\n"), kDevice);
  EXPECT_TRUE(memory_of(kField + "  call \"g\"(&this.C::p_)\n").empty());
}

TEST(FieldMemory, AFunctionReturnsWhatItMakes) {
  const std::string maker = R"(
function g
  local p pointer
  allocate p device
  return p
)";
  EXPECT_EQ(memory_of(maker + kField + "  call this.C::p_ = \"g\"()\n"), kDevice);
  EXPECT_EQ(memory_of(maker + kField + "  call q = \"g\"()\n  assign this.C::p_ = q\n"), kDevice);
  EXPECT_TRUE(memory_of(kField + "  call this.C::p_ = \"g\"()\n").empty());
}

TEST(FieldMemory, AVariableThatOnlyThisFileNames) {
  const std::string variables = "function f\n  global own#1 pointer\n  global shared pointer\n";
  const std::map<std::string, MemoryKind> pinned{{"::own", MemoryKind::Pinned}};
  EXPECT_EQ(memory_of(variables + "  allocate ::own#1 pinned\n  allocate ::shared pinned\n"), pinned);
  EXPECT_TRUE(memory_of(variables + "  allocate ::own#1 pinned\n  escape &::own#1\n").empty());
}

TEST(FieldMemory, TheBlockOfATensorIsKnownByItsField) {
  const std::string tensor = R"(
function f
  place this object
  place this.C::t_ object
  place this.C::t_.at::Tensor::$data pointer
  place this.C::u_ object
  place this.C::u_.at::Tensor::$data pointer
  allocate this.C::t_.at::Tensor::$data pinned tensor
)";
  const std::map<std::string, MemoryKind> pinned{{"C::t_.$data", MemoryKind::Pinned}};
  EXPECT_EQ(memory_of(tensor), pinned);
  EXPECT_EQ(memory_of(tensor + "  fresh this.C::u_.at::Tensor::$data\n"), pinned);
  EXPECT_TRUE(memory_of(tensor + "  fresh this.C::t_.at::Tensor::$data\n").empty());
}

}  // namespace
}  // namespace streamsan::analyzer::ir
