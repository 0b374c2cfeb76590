// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/footprint_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;
using judge::MeasuredLaunch;

constexpr std::uint32_t kToday = 20'000;
constexpr std::uint32_t kOften = FootprintCache::kOften;

trace::Piece piece(std::int64_t offset) {
  trace::Piece out{};
  out.offset = offset;
  out.width = 64;
  out.rows = out.slices = 1;
  return out;
}

MeasuredLaunch launch(std::uint64_t key, std::int64_t offset = 0) {
  return {.key = key, .pieces = {piece(offset)}, .keys = 1, .times = 2, .kernel_launches = kOften};
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

class FootprintCacheTest : public ::testing::Test {
 protected:
  FootprintCacheTest() {
    std::string made = (fs::temp_directory_path() / "cache-test.XXXXXX").string();
    if (mkdtemp(made.data())) folder_ = made;
  }
  ~FootprintCacheTest() override { fs::remove_all(folder_); }

  [[nodiscard]] FootprintCache cache(std::uint32_t today = kToday, std::string tool = "1.0") const {
    return {folder_, std::move(tool), today};
  }
  [[nodiscard]] fs::path file() const { return fs::path(folder_) / "footprints"; }
  /// A run that has shown these. Returns what went wrong.
  std::string run(const std::vector<MeasuredLaunch>& launches, std::uint32_t today = kToday) const {
    FootprintCache of_run = cache(today);
    of_run.add(launches);
    return of_run.save();
  }
  /// What the recorders of the next run are given.
  [[nodiscard]] std::vector<std::uint64_t> extract(std::string* fault = nullptr,
                                                   const std::string& tool = "1.0") const {
    const std::string path = folder_ + "/extract";
    bool written = false;
    const std::string why = cache(kToday, tool).write_extract(path, written);
    if (fault) *fault = why;
    EXPECT_TRUE(written);
    const std::string text = contents(path);
    std::vector<std::uint64_t> words((text.size() + 7) / 8);
    std::memcpy(words.data(), text.data(), text.size());
    const trace::EarlierFile given(words.data(), text.size());
    EXPECT_TRUE(given);
    std::vector<std::uint64_t> keys;
    for (std::size_t i = 0; i < given.count(); ++i) {
      const trace::EarlierLaunch& each = given.launches()[i];
      EXPECT_EQ(given.find(each.key), &each);
      const trace::Piece* pieces = given.pieces(each);
      EXPECT_TRUE(pieces && each.pieces == 1 && pieces->width == 64);
      keys.push_back(each.key);
    }
    EXPECT_EQ(given.find(0x1234'5678), nullptr);
    return keys;
  }

  std::string folder_;
};
using Keys = std::vector<std::uint64_t>;

TEST_F(FootprintCacheTest, TheNextRunIsGivenWhatOneHasShown) {
  EXPECT_EQ(extract(), Keys{}) << "there is no file yet";
  EXPECT_EQ(run({launch(7), launch(3), launch(~std::uint64_t{0})}), "");
  EXPECT_EQ(extract(), (Keys{3, 7, ~std::uint64_t{0}}));
  EXPECT_EQ(run({launch(5)}), "");
  EXPECT_EQ(extract(), (Keys{3, 5, 7, ~std::uint64_t{0}})) << "what this run has not launched stays";
}

TEST_F(FootprintCacheTest, ALaunchWhoseMeasurementMayMatterIsNotGiven) {
  const auto changed = [](auto change) {
    MeasuredLaunch out = launch(1);
    change(out);
    return out;
  };
  const MeasuredLaunch rare = changed([](MeasuredLaunch& l) { l.kernel_launches = kOften - 1; });
  const MeasuredLaunch met = changed([](MeasuredLaunch& l) { l.met = true; });
  const MeasuredLaunch varies = changed([](MeasuredLaunch& l) { l.varies = true; });
  for (const MeasuredLaunch& each : {rare, met, varies}) {
    fs::remove(file());
    EXPECT_EQ(run({each}), "");
    EXPECT_EQ(extract(), Keys{});
  }
  // Conflicts may be gone in the next run, and launches come; bytes that vary stay so.
  for (const MeasuredLaunch& each : {rare, met, varies}) {
    fs::remove(file());
    EXPECT_EQ(run({each}), "");
    EXPECT_EQ(run({launch(1)}), "");
    EXPECT_EQ(extract(), each.varies ? Keys{} : Keys{1});
    EXPECT_EQ(run({met}), "");
    EXPECT_EQ(extract(), Keys{});
  }
}

TEST_F(FootprintCacheTest, TwoRunsThatDifferKnowNothing) {
  EXPECT_EQ(run({launch(1, 0)}), "");
  EXPECT_EQ(run({launch(1, 64)}), "");
  EXPECT_EQ(extract(), Keys{});
  EXPECT_EQ(run({launch(1, 64)}), "");
  EXPECT_EQ(extract(), Keys{}) << "nor later";
}

TEST_F(FootprintCacheTest, OfTwoProcessesTheOneCountsThatNeedsMeasuring) {
  MeasuredLaunch met = launch(1), rare = launch(2), other = launch(3, 64);
  met.met = true;
  rare.kernel_launches = 1;
  for (const bool first : {true, false}) {
    fs::remove(file());
    FootprintCache of_run = cache();
    if (first) of_run.add({met, rare, other});
    of_run.add({launch(1), launch(2), launch(3), launch(4)});
    if (!first) of_run.add({met, rare, other});
    EXPECT_EQ(of_run.save(), "");
    EXPECT_EQ(extract(), Keys{4});
  }
}

TEST_F(FootprintCacheTest, NoByteCanBeDamagedUnnoticed) {
  ASSERT_EQ(run({launch(1), launch(2), launch(3)}), "");
  const std::string whole = contents(file());
  std::string fault;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    write(file(), damaged);
    EXPECT_EQ(extract(&fault), Keys{}) << at;
    EXPECT_NE(fault, "") << at;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(file(), whole.substr(0, size));
    EXPECT_EQ(extract(&fault), Keys{}) << size;
    EXPECT_NE(fault, "") << size;
  }
  write(file(), whole);
  EXPECT_EQ(extract(&fault), (Keys{1, 2, 3}));
  EXPECT_EQ(fault, "");
}

TEST_F(FootprintCacheTest, ADamagedOneAndAnotherVersionsIsReplaced) {
  std::string fault;
  ASSERT_EQ(run({launch(1)}), "");
  EXPECT_EQ(extract(&fault, "2.0"), Keys{});
  EXPECT_EQ(fault, file().string() + " is damaged, or of another version of StreamSan");
  std::string damaged = contents(file());
  damaged[100] ^= 1;
  write(file(), damaged);
  ASSERT_EQ(run({launch(2)}), "");
  EXPECT_EQ(extract(&fault), Keys{2});
  EXPECT_EQ(fault, "");
}

TEST_F(FootprintCacheTest, WhatIsNotOursIsLeftAlone) {
  write(file(), "somebody's notes");
  std::string fault;
  EXPECT_EQ(extract(&fault), Keys{});
  EXPECT_EQ(fault, file().string() + " is not StreamSan's, and is left alone");
  EXPECT_EQ(run({launch(1)}), fault);
  EXPECT_EQ(contents(file()), "somebody's notes");
  fs::remove(file());
  // A pipe that nobody writes: reading it must not wait.
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(extract(&fault), Keys{});
  EXPECT_EQ(fault, "cannot read " + file().string() + ": it is not a regular file");
  EXPECT_EQ(run({launch(1)}), fault);
}

TEST_F(FootprintCacheTest, TheOldestGo) {
  constexpr std::size_t kPieces = 1000, kLaunches = 2 * FootprintCache::kMostBytes / (kPieces * sizeof(trace::Piece));
  MeasuredLaunch large = launch(0);
  large.pieces.assign(kPieces, piece(0));
  std::vector<MeasuredLaunch> old, fresh;
  for (std::uint64_t key = 0; key < kLaunches; ++key) {
    large.key = key;
    (key % 4 == 0 ? fresh : old).push_back(large);
  }
  ASSERT_EQ(run(old, kToday - 1), "");
  ASSERT_EQ(run(fresh, kToday), "");
  EXPECT_LE(fs::file_size(file()), FootprintCache::kMostBytes);
  EXPECT_GT(fs::file_size(file()), FootprintCache::kMostBytes / 2);
  const std::string text = contents(file());
  std::vector<std::uint64_t> words(text.size() / 8 + 1);
  std::memcpy(words.data(), text.data(), text.size());
  const trace::EarlierFile kept(words.data(), text.size());
  ASSERT_TRUE(kept);
  for (const MeasuredLaunch& each : fresh) EXPECT_NE(kept.find(each.key), nullptr) << each.key;
}

TEST_F(FootprintCacheTest, RunsAtTheSameTimeLeaveAWholeFile) {
  std::vector<std::thread> runs;
  runs.reserve(4);
  for (std::uint64_t number = 0; number < 4; ++number) {
    runs.emplace_back([this, number] {
      for (std::uint64_t i = 0; i < 25; ++i) EXPECT_EQ(run({launch(100 * number + i)}), "");
    });
  }
  std::string fault;
  for (int i = 0; i < 25; ++i) {
    EXPECT_LE(extract(&fault).size(), 100u);
    EXPECT_EQ(fault, "");
  }
  for (std::thread& each : runs) each.join();
  // What one has read before another one wrote may be lost, but nothing of a run that ends after all others.
  EXPECT_GE(extract(&fault).size(), 1u);
  EXPECT_EQ(fault, "");
  EXPECT_EQ(run({launch(1'000'000)}), "");
  EXPECT_EQ(extract().back(), 1'000'000u);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name == "footprints" || name == "extract") << name;
  }
}

TEST(FootprintCacheFolder, FollowsTheOptionAndTheEnvironment) {
  const auto folder = [](const std::string& option, const std::string& cache, const std::string& home) {
    return cache_folder(option, [&](const char* name) {
      return name == std::string("HOME") ? home : name == std::string("XDG_CACHE_HOME") ? cache : std::string();
    });
  };
  EXPECT_EQ(folder("auto", "", "/home/me"), "/home/me/.cache/streamsan");
  EXPECT_EQ(folder("auto", "/var/me", "/home/me"), "/var/me/streamsan");
  EXPECT_EQ(folder("auto", "relative", "/home/me"), "/home/me/.cache/streamsan");
  EXPECT_EQ(folder("auto", "", ""), "");
  EXPECT_EQ(folder("off", "/var/me", "/home/me"), "");
  EXPECT_EQ(folder("/my/folder", "/var/me", "/home/me"), "/my/folder");
}

}  // namespace
}  // namespace streamsan::cli
