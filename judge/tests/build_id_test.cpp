// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ELF files made by hand, since linkers make only good ones.
#include "judge/build_id.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "judge/tests/temporary_file.h"

namespace streamsan::judge {
namespace {

template <typename T>
std::string raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string note(std::uint32_t type, std::string name, std::string contents, std::size_t alignment = 4) {
  Elf64_Nhdr header{static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(contents.size()), type};
  for (std::string* part : {&name, &contents}) part->resize((part->size() + alignment - 1) / alignment * alignment);
  return raw(header) + name + contents;
}
const std::string kGnu("GNU", 4);

/// A file of one PT_NOTE segment.
std::string elf(const std::string& notes, std::uint64_t alignment = 4) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = notes.size();
  segment.p_align = alignment;
  return raw(header) + raw(segment) + notes;
}

std::string id_in(const std::string& bytes) { return build_id_of(TemporaryFile(bytes).path()); }

TEST(BuildId, IsFoundAmongOtherNotes) {
  std::string id = "\x01\x02\x03\x04\x05";
  EXPECT_EQ(id_in(elf(note(NT_GNU_BUILD_ID, kGnu, id))), id);
  EXPECT_EQ(id_in(elf(note(NT_GNU_ABI_TAG, kGnu, "abc") + note(NT_GNU_BUILD_ID, "Go\0\0", "no") +
                      note(NT_GNU_BUILD_ID, kGnu, id))),
            id);
  EXPECT_EQ(id_in(elf(note(5, kGnu, "property", 8) + note(NT_GNU_BUILD_ID, kGnu, id, 8), 8)), id);
  EXPECT_EQ(id_in(elf(note(NT_GNU_ABI_TAG, kGnu, "abc"))), "");
}

TEST(BuildId, DamagedFilesHaveNone) {
  std::string whole = elf(note(NT_GNU_BUILD_ID, kGnu, "12345678"));
  ASSERT_EQ(id_in(whole), "12345678");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_EQ(id_in(whole.substr(0, size)), "") << size;
  std::size_t notes = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  for (std::size_t at : {notes, notes + 4}) {
    std::string absurd = whole;
    absurd.replace(at, 4, "\xff\xff\xff\xff");
    EXPECT_EQ(id_in(absurd), "") << at;
  }
  EXPECT_EQ(build_id_of("/no/such/file"), "");
  EXPECT_EQ(build_id_of("/"), "");
}

TEST(BuildId, Standing) {
  TemporaryFile with(elf(note(NT_GNU_BUILD_ID, kGnu, "12345678")));
  TemporaryFile without("no ELF file at all");
  EXPECT_EQ(standing_of(with.path(), "12345678"), Standing::Same);
  EXPECT_EQ(standing_of(with.path(), "12345679"), Standing::Rebuilt);
  EXPECT_EQ(standing_of(with.path(), "1234"), Standing::Rebuilt);
  EXPECT_EQ(standing_of(with.path(), ""), Standing::Same);
  EXPECT_EQ(standing_of(without.path(), "12345678"), Standing::Same);
  EXPECT_EQ(standing_of("/no/such/file", "12345678"), Standing::Missing);
  EXPECT_EQ(standing_of("/no/such/file", ""), Standing::Missing);
  EXPECT_EQ(standing_of("/dev/zero", ""), Standing::Missing) << "nobody reads a device or a pipe";
  EXPECT_EQ(build_id_of("/dev/zero"), "");
}

}  // namespace
}  // namespace streamsan::judge
