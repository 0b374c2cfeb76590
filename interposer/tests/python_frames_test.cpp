// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frames of the four builds of CPython that describe their structures, in an image of each (python_image.h). Real
// interpreters are in testsuite/runtime/python.
#include "interposer/python_frames.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "interposer/python_lines.h"
#include "interposer/tests/python_image.h"

namespace streamsan::recorder {
namespace {

using testing::PythonImage;

std::string utf8(const PythonText& text) {
  std::string out(text.bytes(), '\0');
  text.write(out.data(), out.size(), false);
  return out;
}

/// Frames as a report has them: "function file:line"; "?": no offset of an instruction.
std::vector<std::string> stack(const PythonStructures& python, const void* innermost) {
  std::vector<std::string> out;
  const auto at = reinterpret_cast<std::uint64_t>(innermost);
  const FrameWalk walk = each_frame<Care::Checked>(python, at, 40, [&](const PythonFrame& frame) {
    std::uint32_t offset = 0;
    if (!instruction_offset(python.layout, frame, offset)) {
      out.emplace_back("?");
      return;
    }
    const std::string_view lines = lines_of(python, frame.code);
    const auto line =
        python_line(python.layout.lines, reinterpret_cast<const unsigned char*>(lines.data()), lines.size(),
                    load_at<std::int32_t>(frame.code + python.layout.code_first_line), offset);
    out.push_back(utf8(text_at(python, frame.code + python.layout.code_function)) + " " +
                  utf8(text_at(python, frame.code + python.layout.code_file)) + ":" + std::to_string(line));
  });
  if (walk == FrameWalk::Broken) out.emplace_back("broken");
  return out;
}

using Lines = std::vector<std::string>;

template <typename Image>
class PythonFrames : public ::testing::Test {
 protected:
  Image image_;
};
class Names {
 public:
  template <typename Image>
  static std::string GetName(int) {
    return "3_" + std::to_string(Image::kMinor) + (Image::kLock ? "" : "t");
  }
};
using Images =
    ::testing::Types<PythonImage<13, true>, PythonImage<13, false>, PythonImage<14, true>, PythonImage<14, false>>;
TYPED_TEST_SUITE(PythonFrames, Images, Names);

TYPED_TEST(PythonFrames, HaveNamesAndLines) {
  auto& image = this->image_;
  auto* module = image.code("<module>", "/home/me/train.py", 1);
  auto* step = image.code("Trainer.step", "/home/me/train.py", 30);
  auto* outer = image.frame(module, 5u);
  auto* inner = image.frame(step, 19u, image.entry(outer));
  EXPECT_EQ(stack(image.structures(), inner),
            (Lines{"Trainer.step /home/me/train.py:50", "<module> /home/me/train.py:7"}));
}

TYPED_TEST(PythonFrames, ReferToTheirCodeByAWordWithATag) {
  auto& image = this->image_;
  auto* frame = image.frame(image.code("f", "a.py", 1), 0u);
  frame->executable |= 1;
  EXPECT_EQ(stack(image.structures(), frame), (Lines{"f a.py:2"}));
}

TYPED_TEST(PythonFrames, OfSomethingThatIsNoCodeAreLeftOut) {
  auto& image = this->image_;
  auto* frame = image.frame(image.code("f", "a.py", 1), 0u);
  auto* other = image.frame(image.code("g", "a.py", 1), 0u, frame);
  other->executable = image.address(image.text("no code"));
  EXPECT_EQ(stack(image.structures(), other), (Lines{"f a.py:2"}));
}

TYPED_TEST(PythonFrames, ThatLeadNowhereAreBroken) {
  auto& image = this->image_;
  void* gone = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* frame = image.frame(image.code("f", "a.py", 1), 0u);
  frame->previous = gone;
  EXPECT_EQ(stack(image.structures(), frame), (Lines{"f a.py:2", "broken"}));
  munmap(gone, 4096);
}

TYPED_TEST(PythonFrames, HaveTextsOfAnyWidth) {
  auto& image = this->image_;
  const PythonStructures python = image.structures();
  const void* text = nullptr;
  const auto read = [&] { return utf8(text_at(python, image.address(&text))); };
  for (const unsigned interned : {0u, 1u, 2u, 3u}) {
    text = image.text(std::string_view("step"), true, interned);
    EXPECT_EQ(read(), "step");
    text = image.text(std::string_view("gr\xf6\xdf"
                                       "e"),
                      false, interned);
    EXPECT_EQ(read(), "gr\u00f6\u00dfe");
    text = image.text(std::u16string_view(u"\u8a08\u7b97"), false, interned);
    EXPECT_EQ(read(), "\u8a08\u7b97");
    text = image.text(std::u32string_view(U"\U0001d564"), false, interned);
    EXPECT_EQ(read(), "\U0001d564");
  }
  text = image.bytes("no text");
  EXPECT_EQ(read(), "");
}

TYPED_TEST(PythonFrames, HaveANumberOfTheirCode) {
  auto& image = this->image_;
  const PythonStructures python = image.structures();
  ASSERT_NE(python.layout.code_version, PythonLayout::kNone);
  auto* code = image.code("f", "a.py", 1);
  EXPECT_EQ(load_at<std::uint32_t>(image.address(code) + python.layout.code_version), code->version);
  EXPECT_EQ(load_at<std::uint64_t>(python.code_type + python.layout.type_basic_size()), python.layout.code_size);
}

TYPED_TEST(PythonFrames, AnInstructionOutsideOfTheCodeHasNoLine) {
  auto& image = this->image_;
  char elsewhere[64];
  auto* frame = image.frame(image.code("f", "a.py", 1), elsewhere);
  // Where there are copies it may be in one that is not found.
  EXPECT_EQ(stack(image.structures(), frame), (Lines{TypeParam::kCopies ? "f a.py:0" : "?"}));
}

TYPED_TEST(PythonFrames, DescriptionsAreChecked) {
  const auto accepted = [&](std::string_view word, std::uint64_t value) {
    auto description = this->image_.description();
    if (!word.empty()) TypeParam::set(description, word, value);
    PythonLayout layout;
    return described_layout(description.data(), TypeParam::kMinor, layout);
  };
  EXPECT_TRUE(accepted("", 0));
  EXPECT_FALSE(accepted("cookie", 0));
  EXPECT_FALSE(accepted("version", 0x030c00f0));
  EXPECT_FALSE(accepted("free_threaded", TypeParam::kLock)) << "objects with the head of the other build";
  EXPECT_FALSE(accepted("free_threaded", 2));
  EXPECT_FALSE(accepted("ob_type", 16));
  EXPECT_FALSE(accepted("instr_ptr", 1 << 20));
  if constexpr (TypeParam::kMinor >= 14) {
    EXPECT_EQ(accepted("co_tlbc", 0), TypeParam::kLock);
    EXPECT_EQ(accepted("tlbc_index", 0), TypeParam::kLock);
    EXPECT_EQ(accepted("co_tlbc", 1 << 20), TypeParam::kLock);
  }
}

// ---- copies of the code

class PythonCopies : public ::testing::Test {
 protected:
  using Image = PythonImage<14, false>;

  /// The line that a frame in a copy with this number has.
  std::string line_in(std::int32_t number) {
    auto* frame = image_.frame(code_, own_ + 2 * 7);
    frame->copy = number;
    return stack(image_.structures(), frame).at(0);
  }

  Image image_;
  Image::Code* code_ = image_.code("f", "a.py", 100);
  char own_[2 * Image::kInstructions] = {};
  char other_[2 * Image::kInstructions] = {};
};

TEST_F(PythonCopies, AFrameIsInTheOneWithItsNumber) {
  code_->copies = image_.array({code_->instructions, other_, own_, nullptr});
  EXPECT_EQ(line_in(2), "f a.py:108");
}

TEST_F(PythonCopies, TheFirstIsTheCodeObjectsOwn) {
  const PythonStructures python = image_.structures();
  std::uint64_t start = 0;
  EXPECT_EQ(find_copy(python.layout, image_.address(code_), 0, start), KernelRead::Done);
  EXPECT_EQ(start, image_.address(code_->instructions));
  // Without an array, as with PYTHON_TLBC=0 for all threads: it is not needed.
  code_->copies = nullptr;
  EXPECT_EQ(stack(python, image_.frame(code_, 7u)).at(0), "f a.py:108");
}

TEST_F(PythonCopies, ThatAreNotFoundCostTheLineOnly) {
  // What stands behind an array is not of it.
  const void* array = image_.array({code_->instructions, other_, own_, nullptr, own_});
  *const_cast<std::uint64_t*>(static_cast<const std::uint64_t*>(array)) = 4;
  code_->copies = array;
  EXPECT_EQ(line_in(2), "f a.py:108");
  EXPECT_EQ(line_in(3), "f a.py:0") << "no copy with that number";
  EXPECT_EQ(line_in(4), "f a.py:0") << "beyond the array";
  EXPECT_EQ(line_in(1 << 30), "f a.py:0");
  EXPECT_EQ(line_in(-1), "f a.py:0");
  EXPECT_EQ(line_in(1), "f a.py:0") << "not the copy that the instruction lies in";
  code_->copies = nullptr;
  EXPECT_EQ(line_in(2), "f a.py:0");
  void* gone = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  code_->copies = gone;
  EXPECT_EQ(line_in(2), "f a.py:0");
  munmap(gone, 4096);
  EXPECT_EQ(line_in(2), "f a.py:0");
}

TEST_F(PythonCopies, AreFoundWhileTheArrayIsReplaced) {
  // Each array has a page of its own. That is used for something else once the next one is in its place, and then goes.
  // (The interpreter replaces one for each doubling of the number of threads.)
  constexpr unsigned kReplaced = 20'000;
  constexpr std::size_t kPage = 4096;
  void* pages =
      mmap(nullptr, kReplaced * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const auto write = [](void* page, const char* first, const char* last) {
    const void* words[] = {reinterpret_cast<const void*>(3), first, last, last};
    std::memcpy(page, words, sizeof words);
  };
  const auto fresh = [&](unsigned index) {
    void* page = static_cast<char*>(pages) + index * kPage;
    write(page, code_->instructions, own_);
    return page;
  };
  std::atomic_ref<const void*> array(code_->copies);
  array.store(fresh(0));
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (unsigned i = 1; i < kReplaced; ++i) {
      void* old = const_cast<void*>(array.exchange(fresh(i), std::memory_order_acq_rel));
      write(old, other_, other_);
      munmap(old, kPage);
    }
    done = true;
  });
  unsigned tries = 0;
  unsigned found = 0;
  unsigned wrong = 0;
  const PythonStructures python = image_.structures();
  for (; !done.load(std::memory_order_relaxed); ++tries) {
    std::uint64_t start = 0;
    if (find_copy(python.layout, image_.address(code_), 2, start) != KernelRead::Done) continue;
    ++found;
    wrong += start != image_.address(own_);
  }
  other.join();
  munmap(const_cast<void*>(array.load()), kPage);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(found, tries / 2);
}

}  // namespace
}  // namespace streamsan::recorder
