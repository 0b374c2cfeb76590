// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts out of object files as nvcc makes them, whole and damaged.
#include "judge/ptx/fatbin.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>

#include "judge/ptx/evaluate.h"
#include "judge/ptx/library.h"
#include "judge/ptx/parser.h"

namespace streamsan::ptx {
namespace {

const std::vector<std::string> kObjects = {STREAMSAN_PTX_OBJECTS};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Fatbin, HoldsTheTextsOfAllArchitectures) {
  for (const std::string& path : kObjects) {
    SCOPED_TRACE(path);
    const std::string file = contents(path);
    const std::vector<PackedText> texts = find_texts(bytes_of(file));
    ASSERT_FALSE(texts.empty());
    for (const PackedText& text : texts) {
      const std::string unpacked = unpack(bytes_of(file), text);
      EXPECT_GT(find_entries(unpacked).size(), 20u);
      EXPECT_EQ(target_of(unpacked), "sm_" + std::to_string(text.arch));
    }
  }
}

TEST(Library, FindsKernelsInFiles) {
  for (const std::string& path : kObjects) {
    SCOPED_TRACE(path);
    Library library;
    library.add_file(path);
    library.add_file("/nowhere/libmissing.so");
    const KnownKernel* kernel = library.find("vector_add");
    ASSERT_TRUE(kernel);
    ASSERT_TRUE(kernel->facts.known);
    EXPECT_FALSE(kernel->facts.words[0].written);
    EXPECT_TRUE(kernel->facts.words[2].written);
    EXPECT_EQ(library.find("vector_add"), kernel);
    EXPECT_EQ(library.find("vector_ad"), nullptr);
  }
}

TEST(Library, KnowsNothingOfANameThatIsAmbiguous) {
  const std::string one = ".target sm_75\n.entry k(.param .u64 a) { ret; }\n.entry m() { ret; }";
  const std::string other = ".target sm_75\n.entry k(.param .u64 a) { .reg .b64 %rd<2>; ret; }\n.entry m() { ret; }";
  Library library;
  library.add_text(one);
  EXPECT_TRUE(library.find("k"));
  library.add_text(other);
  EXPECT_EQ(library.find("k"), nullptr);
  EXPECT_TRUE(library.find("m"));
}

/// Everything that is done with a text that a file claims to hold.
void use(const std::string& text) {
  for (const Entry& entry : find_entries(text)) {
    const Kernel kernel = parse(entry);
    const Facts facts = facts_of(kernel);
    const std::vector<std::byte> arguments(256, std::byte{7});
    evaluate(kernel, facts, {{3, 2, 1}, {33, 1, 1}, arguments}, {.steps = 500, .boxes = 64, .pieces = 16});
  }
}

TEST(Damaged, FilesDoNoHarm) {
  std::mt19937 random(11);
  for (const std::string& path : kObjects) {
    const std::string file = contents(path);
    for (int round = 0; round < 60; ++round) {
      std::string damaged = file;
      // Headers are few bytes of many: half of the damage goes where a container begins.
      const std::size_t magic = damaged.find("\x50\xed\x55\xba");
      for (int i = 0; i < 8; ++i) {
        const std::size_t at = i % 2 && magic != std::string::npos ? magic + random() % 100 : random() % damaged.size();
        if (at < damaged.size()) damaged[at] = static_cast<char>(random());
      }
      if (round % 4 == 0) damaged.resize(random() % damaged.size());
      for (const PackedText& text : find_texts(bytes_of(damaged))) find_entries(unpack(bytes_of(damaged), text));
    }
  }
}

TEST(Damaged, TextsDoNoHarm) {
  std::mt19937 random(12);
  const std::string text = contents(STREAMSAN_PTX_FUZZED);
  ASSERT_FALSE(text.empty());
  for (int round = 0; round < 40; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 60; ++i) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[at] = "{}[](),;:@!%.+-|\"0\n"[random() % 18];
          break;
        case 1:
          damaged.erase(at, random() % 6);
          break;
        case 2:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 40));
          break;
        default:
          damaged[at] = static_cast<char>(random());
          break;
      }
    }
    if (round % 5 == 0) damaged.resize(random() % damaged.size());
    use(damaged);
  }
}

}  // namespace
}  // namespace streamsan::ptx
