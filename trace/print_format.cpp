// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints docs/trace-format.md from records.def: `ninja trace-format`. A test compares the page with what this prints.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "trace/format.h"

namespace streamsan::trace {
namespace {

void print_file(std::ostream& out) {
  out << "# Trace format\n\n"
         "<!-- Printed from trace/records.def by `ninja trace-format`. -->\n\n"
         "A trace is the file that the recorder writes and `streamsan check` reads. Each process has one. This page "
         "describes format "
      << kVersion << "; `streamsan check` reads formats " << kOldestVersion << " to " << kVersion
      << ". All numbers are little-endian.\n\n"
         "| part | size | content |\n|---|---|---|\n"
         "| header | "
      << kHeaderBytes << " bytes (up to format 6: " << kOldHeaderBytes
      << ") | `FileHeader` of `trace/format.h`, then the names of the driver functions |\n"
         "| chunks | "
      << kChunkBytes << " bytes each | " << kChunkSlots << " slots of " << kSlotBytes << " bytes |\n\n";
  out << "## Driver functions\n\n"
         "A record names the function that was called by its place in the header's list of names (`functions_at`, "
         "`functions_bytes`; a NUL ends each name). A reader looks the name up in its own table. So a trace stays "
         "readable when the table gets more functions. If the reader does not know a name, it keeps the record, and "
         "counts and names such calls at the end of the report. Traces of formats 1 to 6 have no names: their "
         "recorders used the table in `trace/old_functions.def`.\n\n";
  out << "## Slots\n\n"
         "A record takes one slot. Data of variable length follow in continuation slots. Records stand in the order of "
         "the calls. No record spans two chunks.\n\n"
         "| bytes | field | meaning |\n|---|---|---|\n"
         "| 0-3 | state | 0: reserved, not yet written; 1: published; 2: cancelled, the call failed |\n"
         "| 4 | kind | see below |\n"
         "| 5 | continuations | number of continuation slots |\n"
         "| 6-7 | api | the driver function: its place in the list of names |\n"
         "| 8-9 | flags | see `trace/format.h` |\n"
         "| 10-11 | thread | number of the host thread, from 1; 0: none; 65535: the 65,535th thread and all later ones "
         "|\n"
         "| 12-15 | stack | id of a `Stack`; 0: none |\n"
         "| 16-63 | words | six words of 8 bytes, by kind |\n\n"
         "In all records, `context` is the CUcontext that was current at the call (0: unknown or not needed). `stream` "
         "is the stream handle of the call; handle 0 is written as 1 (legacy) or 2 (per-thread), whichever the called "
         "function means. Sizes are in bytes.\n\n";
}

void print_record(std::ostream& out, int number, const char* kind, Role role, int since, const char* what) {
  out << "### " << kind << "\n\nKind " << number << ", since format " << since
      << (role == Role::Definition ? ", a definition" : "") << ". " << what << "\n\n";
}

void print_word(std::ostream& out, int number, const char* type, const std::string& name, std::string meaning) {
  if (meaning.empty()) meaning = name == "bytes" || name == "argument_bytes" ? "size" : name;
  if (std::string(type) != "std::uint64_t") meaning = "a value of `" + meaning + "`";
  if (number == 0) out << "| word | name | meaning |\n|---|---|---|\n";
  out << "| " << number << " | " << name << " | " << meaning << " |\n";
}

void print_records(std::ostream& out) {
  out << "## Records\n\n"
         "A *definition* describes something that later records refer to, such as a call stack.\n\n";
  int kind = 0;
  int word = 0;
#define SS_RECORD(kind_, role_, since_, what_) \
  word = 0;                                    \
  print_record(out, kind++, #kind_, Role::role_, since_, what_);
#define SS_WORD(type_, name_, meaning_) print_word(out, word++, #type_, #name_, meaning_);
#define SS_TAIL(text_, ...) out << "\nFollowed by: " << (text_) << ".\n";
#define SS_END(...) \
  if (word > 0) out << "\n";
#include "trace/records.def"
}

}  // namespace
}  // namespace streamsan::trace

int main(int count, char** arguments) {
  std::ostringstream page;
  streamsan::trace::print_file(page);
  streamsan::trace::print_records(page);
  std::string text = page.str();
  while (text.ends_with("\n\n")) text.pop_back();
  if (count < 2) {
    std::cout << text;
    return 0;
  }
  std::ofstream file(arguments[1]);
  file << text;
  file.close();
  if (!file) std::perror(arguments[1]);
  return file ? 0 : 1;
}
