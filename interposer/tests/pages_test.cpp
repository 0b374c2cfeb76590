// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of pages that this machine may not have: which pages are guarded, and files that are mapped from the middle of
// a page.
#include "trace/pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "interposer/host/guards.h"
#include "interposer/tests/options_stub.h"
#include "trace/map_file.h"

namespace streamsan::recorder {
namespace {

using ordering::MemoryKind;

class PageSizes : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::uint64_t kRegion = 0x7000'0000'0000;

  [[nodiscard]] std::uint64_t page() const { return GetParam(); }
  [[nodiscard]] GuardedPages chosen(MemoryKind kind, std::uint64_t begin, std::uint64_t end) const {
    const HostRegion region{.begin = begin, .end = end, .kind = kind, .guardable = true, .shared = false, .context = 0};
    return choose_pages(region, begin, end, page());
  }
};

TEST(Pages, TheKernelsSizeIsTaken) {
  EXPECT_EQ(page_bytes(), static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(page_below(0x12345, 0x1000), 0x12000u);
  EXPECT_EQ(page_above(0x12345, 0x1000), 0x13000u);
  EXPECT_EQ(page_below(0x12345, 0x10000), 0x10000u);
  EXPECT_EQ(page_above(0x12345, 0x10000), 0x20000u);
  EXPECT_EQ(page_above(0x20000, 0x10000), 0x20000u);
}

TEST_P(PageSizes, GuardsAreWholePages) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, page(), 3 * page() + 1, 100 * page()}) {
    const GuardedPages guarded = chosen(MemoryKind::Pinned, kRegion + 16, kRegion + 16 + bytes);
    ASSERT_GE(guarded.count, 1u);
    EXPECT_EQ(guarded.run[0].begin, kRegion);
    for (unsigned i = 0; i < guarded.count; ++i) {
      EXPECT_EQ(guarded.run[i].begin % page(), 0u);
      EXPECT_EQ(guarded.run[i].end, guarded.run[i].begin + page());
      EXPECT_LT(guarded.run[i].begin, kRegion + 16 + bytes);
    }
  }
}

TEST_P(PageSizes, OfRegisteredMemoryNoPageIsGuardedThatIsSharedWithOthers) {
  EXPECT_EQ(chosen(MemoryKind::Registered, kRegion + 16, kRegion + page()).count, 0u);
  EXPECT_EQ(chosen(MemoryKind::Registered, kRegion + 16, kRegion + 2 * page() - 1).count, 0u);
  const GuardedPages inner = chosen(MemoryKind::Registered, kRegion + 16, kRegion + 3 * page() - 16);
  ASSERT_EQ(inner.count, 1u);
  EXPECT_EQ(inner.run[0].begin, kRegion + page());
  EXPECT_EQ(inner.run[0].end, kRegion + 2 * page());
}

TEST_P(PageSizes, LongLoansAreGuardedInsideToo) {
  const GuardedPages guarded = chosen(MemoryKind::Pinned, kRegion, kRegion + 64 * page());
  ASSERT_EQ(guarded.count, 4u);
  EXPECT_EQ(guarded.run[0].begin, kRegion);
  EXPECT_EQ(guarded.run[3].end, kRegion + 64 * page());
}

INSTANTIATE_TEST_SUITE_P(Kernels, PageSizes, ::testing::Values(4096, 16384, 65536));

TEST(MapFile, PartsBeginAnywhere) {
  std::FILE* stream = std::tmpfile();
  ASSERT_NE(stream, nullptr);
  const int file = fileno(stream);
  const std::uint64_t page = page_bytes();
  std::string content(4 * page, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / page);
  ASSERT_EQ(pwrite(file, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
  for (const std::uint64_t offset : {std::uint64_t{0}, page / 16, page, 2 * page + 24}) {
    const std::size_t bytes = page + page / 2;
    void* part = trace::map_file(file, static_cast<off_t>(offset), bytes, PROT_READ | PROT_WRITE);
    ASSERT_NE(part, nullptr) << offset;
    EXPECT_EQ(std::memcmp(part, content.data() + offset, bytes), 0);
    static_cast<char*>(part)[8] = content[offset + 8] = 'w';
    trace::unmap_file(part, bytes);
    unsigned char resident[3];
    const std::uint64_t from = page_below(reinterpret_cast<std::uint64_t>(part));
    EXPECT_EQ(mincore(reinterpret_cast<void*>(from), page, resident), -1) << "all of it has gone";
  }
  std::string now(content.size(), '\0');
  ASSERT_EQ(pread(file, now.data(), now.size(), 0), static_cast<ssize_t>(now.size()));
  EXPECT_EQ(now, content);
  std::fclose(stream);
}

}  // namespace
}  // namespace streamsan::recorder
