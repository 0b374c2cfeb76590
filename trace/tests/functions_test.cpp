// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of driver functions as traces carry them, beside the table of this program.
#include "trace/functions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ordering/api/row.h"

namespace streamsan::trace {
namespace {

std::string table_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) (out += name) += '\0';
  return out;
}

std::optional<Functions> carried(const std::vector<std::string>& names) {
  const std::string table = table_of(names);
  return Functions::carried(table, static_cast<std::uint32_t>(names.size()), api::table_hash(table));
}

std::vector<std::string> own_names() {
  std::vector<std::string> out;
  for (const api::Row& row : api::kRows) out.emplace_back(row.symbol);
  return out;
}

std::uint16_t own(std::string_view symbol) { return static_cast<std::uint16_t>(api::find_row(symbol) - api::kRows); }

TEST(Functions, TheOwnTableNeedsNoNumbers) {
  const auto functions = carried(own_names());
  ASSERT_TRUE(functions);
  EXPECT_TRUE(functions->same());
  for (std::uint16_t i = 0; i < api::kRowCount; ++i) EXPECT_EQ(functions->here(i), i);
}

TEST(Functions, ARowThatCameOrWentMovesTheOthers) {
  std::vector<std::string> more = own_names();
  more.insert(more.begin() + 3, "cuArrayNobodyKnows");
  std::vector<std::string> fewer = own_names();
  fewer.pop_back();
  const std::vector<std::string> names = own_names();
  const std::vector<std::string> other(names.rbegin(), names.rend());
  for (const std::vector<std::string>& each : {more, fewer, other}) {
    const auto functions = carried(each);
    ASSERT_TRUE(functions);
    EXPECT_FALSE(functions->same());
    for (std::uint16_t i = 0; i < each.size(); ++i) {
      const api::Row* row = api::find_row(each[i]);
      EXPECT_EQ(functions->here(i), row ? static_cast<std::size_t>(row - api::kRows) : api::kRowCount) << each[i];
      EXPECT_EQ(functions->foreign(functions->here(i)), row ? "" : "cuArrayNobodyKnows");
    }
    EXPECT_EQ(functions->here(static_cast<std::uint16_t>(each.size())), kNoFunction);
  }
}

TEST(Functions, EachUnknownNameHasANumberOfItsOwn) {
  const auto functions = carried({"cuNew", "cuInit", "cuNewer"});
  ASSERT_TRUE(functions);
  EXPECT_EQ(functions->here(0), api::kRowCount);
  EXPECT_EQ(functions->here(1), own("cuInit"));
  EXPECT_EQ(functions->here(2), api::kRowCount + 1);
  EXPECT_EQ(functions->foreign(functions->here(0)), "cuNew");
  EXPECT_EQ(functions->foreign(functions->here(1)), "");
  EXPECT_EQ(functions->foreign(functions->here(2)), "cuNewer");
  EXPECT_EQ(functions->foreign(static_cast<std::uint16_t>(api::kRowCount + 2)), "");
  EXPECT_EQ(functions->foreign(kNoFunction), "");
}

TEST(Functions, WhatIsNoTableIsRefused) {
  const auto refused = [](std::string table, std::uint32_t rows) {
    return !Functions::carried(table, rows, api::table_hash(table));
  };
  const std::string whole = table_of({"cuInit", "cuCtxCreate"});
  EXPECT_FALSE(refused(whole, 2));
  EXPECT_TRUE(refused(whole, 1));
  EXPECT_TRUE(refused(whole, 3));
  EXPECT_TRUE(refused("", 0));
  EXPECT_TRUE(refused(whole.substr(0, whole.size() - 1), 1)) << "the last name has no end";
  EXPECT_TRUE(refused(table_of({"cu\x1b[31m"}), 1)) << "names are printed";
  EXPECT_FALSE(Functions::carried(whole, 2, api::table_hash(whole) + 1));
}

// What every recorder of formats 1 to 6 had; cuda_api.def may become what it likes.
TEST(Functions, OldTracesHaveTheTableOfTheirTime) {
  constexpr std::uint64_t kHash = 0x2cea66c8de964439;
  const auto functions = Functions::of_old_trace(637, kHash);
  ASSERT_TRUE(functions);
  EXPECT_EQ(functions->here(0), own("cuArray3DCreate"));
  EXPECT_EQ(functions->here(636), own("cuWaitExternalSemaphoresAsync_ptsz"));
  EXPECT_EQ(functions->here(637), kNoFunction);
  EXPECT_FALSE(Functions::of_old_trace(638, kHash));
  EXPECT_FALSE(Functions::of_old_trace(637, kHash + 1));
}

}  // namespace
}  // namespace streamsan::trace
