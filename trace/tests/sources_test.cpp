// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the sources must not do: index the words of a record, or those that follow it, outside of trace/, and compare
// the name of a function, look for a part of it, or ask for its group, outside of the tables: ordering/api/ and
// analyzer/models/.
//
// One library is exempt: the interpreter runs the operators of PyTorch ("copy_", "record_stream") by their names, in
// torch_operators.cpp and torch_shapes.cpp. These two files are the tables of what the operators do.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace streamsan {
namespace {

namespace fs = std::filesystem;

bool is_comment(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == line.npos || line.compare(first, 2, "//") == 0;
}

/// An expression, and words of which each line that it is found in has one. Most lines have none, and to look for a
/// word takes far less time than to try the expression at each place.
struct Wanted {
  std::vector<std::string> words;
  std::regex expression;
};

bool is_in(const std::string& line, const Wanted& wanted) {
  return std::ranges::any_of(wanted.words, [&](const std::string& word) { return line.find(word) != line.npos; }) &&
         std::regex_search(line, wanted.expression);
}

/// "file:line: text" of each line in the folders that the expression is found in.
std::vector<std::string> lines_with(const Wanted& wanted, const std::vector<std::string>& folders,
                                    bool with_tests = true) {
  std::vector<std::string> out;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(STREAMSAN_SOURCE_DIR) / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h") continue;
      const std::string name = entry.path();
      if (!with_tests && (name.find("/tests/") != name.npos || name.find("/testing/") != name.npos)) continue;
      std::ifstream file(entry.path());
      std::string line;
      for (int number = 1; std::getline(file, line); ++number) {
        if (is_comment(line) || !is_in(line, wanted)) continue;
        out.push_back(entry.path().string() + ":" + std::to_string(number) + ": " + line);
      }
    }
  }
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

const Wanted kWordIndex{{"w["}, std::regex(R"((^|[^\w])w\[\s*\d)")};

/// The words that follow a record, read or written one by one.
const Wanted kListIndex{{"["}, std::regex(R"(payload\[|continuation\(\)\[)")};

TEST(Sources, WordsOfRecordsHaveNames) {
  const std::vector<std::string> outside = {"interposer", "judge", "cli", "report", "ordering"};
  EXPECT_EQ(joined(lines_with(kWordIndex, outside)), "") << "use Record::as<Kind>()";
  EXPECT_EQ(joined(lines_with(kListIndex, outside, false)), "") << "use Item::list<Kind>(), Slot::list<Kind>()";
}

const Wanted kComparedName{
    {"\"", "Index::"},
    std::regex(
        R"re(([!=]= ?|isStr\(|Idents\.get\(|lookup\()"(__)?((cu(da)?|hip|curand|hiprand)[A-Z])|(starts_with|find|contains|compare)\("(cu[A-Z]|Ipc|(To|From)?Symbol)|(kRow|row|api) [!=]= (api::)?Index::)re")};

/// The same without its prefix: "EventElapsedTime".
const Wanted kBareName{{"\""}, std::regex(R"re(([!=]= ?|isStr\()"[A-Z][a-z]+[A-Z]\w*")re")};

/// In the manner of a function's name: "Query", "lloc", "::to", or the prefix of an API.
const Wanted kPartOfName{
    {"\""},
    std::regex(
        R"re((find|contains(_insensitive)?|(starts|ends)_with|consume_(front|back))\("([a-z]*[A-Z]+[a-z]|lloc|::\w|(__)?(cu|cuda|hip)"|__(cu|cuda|hip)(_|[A-Z])))re")};

/// The group of a row is a heading of the page; its names are compared by find_row() only.
const Wanted kComparedRow{
    {"group", "base", "symbol"},  // fields
    std::regex(
        R"re((row|api::kRows\[.*\])(\.|->)(group\b|(base|symbol) ?([!=]=|\.(starts_with|ends_with|find|contains|compare)))|[.>]group [!=]= "|" [!=]= \w+(\.|->)group)re",
        std::regex::icase)};

/// What such text is that names no function.
constexpr const char* kOtherNames[] = {
    "(\"ProgrammaticStreamSerialization\")",      // an enumerator
    "record->getName().contains_insensitive(",    // a class
    "of->getName().starts_with(\"cudaLaunch\")",  // a class
    "getAsString()).contains(\"Tensor\")",        // a type
    "judge/frames.cpp",                           // symbols in call stacks
    "name.starts_with(\"PyInit_\")",              // what makes functions known to Python
    "name.starts_with(\"__hip_atomic\")",         // what the compiler's headers make of atomics
    "ecl()->getName() == ",                       // types
    "arent()->getName() == ",
    "arent()->getName() != ",
    "record->getName() == ",
};

/// Lines with `wanted` that are about names of functions, tables and tests left out.
std::vector<std::string> lines_about_functions(const Wanted& wanted, const std::vector<std::string>& folders) {
  std::vector<std::string> lines = lines_with(wanted, folders, false);
  std::erase_if(lines, [](const std::string& line) {
    return std::ranges::any_of(kOtherNames, [&](const char* other) { return line.find(other) != line.npos; });
  });
  return lines;
}

const std::vector<std::string> kOutsideOfTables = {"interposer",
                                                   "judge",
                                                   "cli",
                                                   "report",
                                                   "trace",
                                                   "analyzer/analysis",
                                                   "analyzer/interpreter",
                                                   "analyzer/ir",
                                                   "analyzer/lowering",
                                                   "analyzer/tidy",
                                                   "analyzer/tool"};

// What is asked of a function is a field of its row.
TEST(Sources, FunctionsAreNotToldApartByTheirNames) {
  auto compared = lines_with(kComparedName, {"interposer", "judge", "cli", "report", "trace", "analyzer"}, false);
  // A class, not a function.
  std::erase_if(compared, [](const std::string& line) { return line.find("== \"hipGraphNode\"") != line.npos; });
  EXPECT_EQ(joined(compared), "") << "add a field to api::Effect, or to a Model of the analyzer";
  EXPECT_EQ(joined(lines_about_functions(kBareName, kOutsideOfTables)), "")
      << "add a field to api::Effect, or to a Model of the analyzer, or a row to host_calls.def";
  EXPECT_EQ(joined(lines_about_functions(kPartOfName, kOutsideOfTables)), "")
      << "add a field to api::Effect, or to a Model of the analyzer";
  EXPECT_EQ(joined(lines_with(kComparedRow, kOutsideOfTables, false)), "") << "add a field to api::Effect";
}

TEST(Sources, TheExpressionsFindWhatTheyLookFor) {
  for (const char* line : {"row.base == \"cuCtxDestroy\"", "base != \"cuMemFree\"", "name.find(\"IpcOpen\")",
                           "base.starts_with(\"cuGraph\")", "name.find(\"FromSymbol\")", "name == \"cudaMalloc\"",
                           "kRow == api::Index::cuLibraryGetKernel", "name->isStr(\"cudaPointerGetAttributes\")",
                           "name == \"__cudaX\"", "name == \"__hipPushCallConfiguration\"",
                           "table.lookup(\"cudaMalloc\")", "context.Idents.get(\"curandCreateGeneratorHost\")"}) {
    EXPECT_TRUE(is_in(line, kComparedName)) << line;
  }
  EXPECT_TRUE(is_in("rest == \"EventElapsedTime\"", kBareName));
  EXPECT_FALSE(is_in("kind == \"Event\"", kBareName));
  for (const char* line :
       {"runtime ? \"cudaFree\" : \"cuMemFree\"", "name.starts_with(\"cuda\")", "driver_entry(api::Index::cuInit)"}) {
    EXPECT_FALSE(is_in(line, kComparedName)) << line;
  }
  EXPECT_NE(joined(lines_with(kComparedName, {"ordering/api"})), "") << "the table's own code may";
  for (const char* line :
       {"name.contains(\"Create\")", "callee->getName().contains(\"Query\")", "call.find(\"lloc\")",
        "call.ends_with(\"Async\")", "name.starts_with(\"cuda\")", "text.starts_with(\"hip\")",
        "name.starts_with(\"__cuda\")", "name.starts_with(\"__cudaLaunchKernel\")", "op.name.find(\"CUDAEvent\")",
        "name.find(\"getStreamFromPool\")", "op.name.ends_with(\"::to\")"}) {
    EXPECT_TRUE(is_in(line, kPartOfName)) << line;
  }
  for (const char* line :
       {"text.find(\"==\")", "name.starts_with(\"the \")", "name.contains(\"mem\")", "find(\"::\")"}) {
    EXPECT_FALSE(is_in(line, kPartOfName)) << line;
  }
  EXPECT_NE(joined(lines_about_functions(kPartOfName, {"analyzer/models"})), "") << "the analyzer's tables may";
  for (const char* line :
       {"return row.group == \"Launch\" || row.group == \"Graph\";", "switch_on(api::kRows[Call::kRow].group)",
        "row->base == wanted", "api::kRows[of[i]].symbol.starts_with(prefix)", "kRow.base != other",
        "a.group == \"Event\"", "\"Event\" == each->group"}) {
    EXPECT_TRUE(is_in(line, kComparedRow)) << line;
  }
  for (const char* line :
       {"site.group != 0", "api::kRows[row].symbol.data()", "out.base = row.base;", "row.group_size"}) {
    EXPECT_FALSE(is_in(line, kComparedRow)) << line;
  }
  EXPECT_NE(joined(lines_with(kComparedRow, {"ordering/api", "analyzer/models"})), "") << "the tables may";
  for (const char* line : {"x = record.w[0];", "w[ 3 ] = 1;", "item.record->w[5]"}) {
    EXPECT_TRUE(is_in(line, kWordIndex)) << line;
  }
  for (const char* line : {"row[0]", "w[length_word]", "view[2]"}) {
    EXPECT_FALSE(is_in(line, kWordIndex)) << line;
  }
  EXPECT_NE(joined(lines_with(kWordIndex, {"trace"})), "") << "the tests of trace/ may";
  for (const char* line : {"item.payload[2 * i]", "slot.continuation()[i] = 1;"}) {
    EXPECT_TRUE(is_in(line, kListIndex)) << line;
  }
  EXPECT_FALSE(is_in("item.list<Kind::GraphEdges>()[i]", kListIndex));
}

}  // namespace
}  // namespace streamsan
