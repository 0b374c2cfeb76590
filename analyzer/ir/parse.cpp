// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text form of the stream IR, read. The grammar is in print.cpp; ops are in parse_ops.cpp, paths
// and expressions in parse_places.cpp.
//
// Line by line; the first line that cannot be read ends it with one message. A function is added when it was read
// whole, so a program never holds half of one.
#include <utility>

#include "analyzer/ir/cursor.h"
#include "analyzer/ir/parse_ops.h"
#include "analyzer/ir/parse_places.h"
#include "analyzer/ir/text.h"
#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

/// One function, fed with its lines.
class FunctionReader {
 public:
  FunctionReader(Cursor& line, std::uint32_t number)
      : first_line_(number), places_(function_), ops_(function_, places_) {
    header(line);
  }

  void read(Cursor& line, std::uint32_t number) {
    if (!declaration(line)) {
      if (is_label(line)) {
        block(line);
      } else {
        statement(line, number);
      }
    }
    if (!line.at_end()) {
      line.fail("end of the line expected");
    }
  }

  /// The function, all jumps resolved.
  Function finish() {
    for (Jump& jump : jumps_) {
      const auto found = labels_.find(jump.label);
      if (found == labels_.end()) {
        throw Malformed{"no block '" + jump.label + "' in function '" + function_.name + "'"};
      }
      function_.blocks[jump.from].successors.push_back(found->second);
    }
    if (function_.blocks.empty() && function_.incomplete.empty()) {
      throw Malformed{"function '" + function_.name + "' has no block"};
    }
    return std::move(function_);
  }

  [[nodiscard]] std::uint32_t first_line() const { return first_line_; }

 private:
  struct Jump {
    std::size_t from = 0;
    std::string label;
  };

  void header(Cursor& line) {
    function_.name = line.text("function name");
    function_.usr = function_.name;
    while (!line.at_end()) {
      if (line.take_word("usr")) {
        function_.usr = line.text("usr");
      } else if (line.take_word("per_thread_default_stream")) {
        function_.per_thread_default_stream = true;
      } else if (line.take_word("hidden")) {
        function_.hidden = true;
      } else if (line.take_word("incomplete")) {
        function_.incomplete = line.text("reason");
      } else if (line.take(";")) {
        function_.site = ops_.site(line);
      } else {
        line.fail("not an attribute of a function");
      }
    }
  }

  bool declaration(Cursor& line) {
    if (line.take_word("parameter")) {
      parameter(line);
    } else if (line.take_word("local")) {
      variable(line, Place::Kind::Local);
    } else if (line.take_word("temporary")) {
      variable(line, Place::Kind::Temporary);
    } else if (line.take_word("global")) {
      variable(line, Place::Kind::Global);
    } else if (line.take_word("place")) {
      places_.declare_path(line);
    } else {
      return false;
    }
    return true;
  }

  void parameter(Cursor& line) {
    if (line.take_word("none")) {
      function_.parameters.push_back(kNoPlace);
      return;
    }
    Place place{.kind = Place::Kind::Parameter};
    place.reference = line.take("&");
    place.name = line.name("parameter name");
    place.number =
        line.take_adjacent("@") ? line.number("position") : static_cast<std::uint32_t>(function_.parameters.size());
    place.type = type(line);
    function_.parameters.push_back(places_.declare(std::move(place)));
  }

  void variable(Cursor& line, Place::Kind kind) {
    Place place{.kind = kind};
    place.name = line.name("variable name");
    while (kind == Place::Kind::Global && line.take_adjacent("::")) {
      place.name += "::" + line.name("name");
    }
    if (line.take_adjacent("#")) {
      place.number = line.number("number");
    }
    place.type = type(line);
    places_.declare(std::move(place));
  }

  static TypeKind type(Cursor& line) {
    const auto type = find<TypeKind>(line.peek_word());
    if (!type) {
      line.fail("a type expected (other, integer, pointer, stream, event, graph, object)");
    }
    line.word("type");
    return *type;
  }

  static bool is_label(const Cursor& line) {
    Cursor ahead = line;
    return !ahead.peek_word().empty() && ahead.take(ahead.peek_word()) && ahead.take_adjacent(":");
  }

  void block(Cursor& line) {
    const std::string label = line.word("label");
    line.expect(":");
    if (!labels_.emplace(label, BlockId{static_cast<std::uint32_t>(function_.blocks.size())}).second) {
      line.fail("block '" + label + "' is there already");
    }
    function_.blocks.emplace_back().loop_head = line.take_word("loop");
    ended_ = false;
  }

  void statement(Cursor& line, std::uint32_t number) {
    if (function_.blocks.empty()) {
      function_.blocks.emplace_back();
    }
    if (ended_) {
      line.fail("the block has ended: a label expected");
    }
    Block& block = function_.blocks.back();
    const bool two_way = line.take_word("branch");
    if (!two_way && !line.take_word("goto")) {
      block.ops.push_back(ops_.op(line, number));
      return;
    }
    ended_ = true;
    if (two_way && line.peek() == '{') {
      block.condition = places_.expr(line);
    }
    while (!line.at_end()) {
      jumps_.push_back({function_.blocks.size() - 1, line.word("label")});
    }
  }

  std::uint32_t first_line_;
  Function function_;
  PlaceReader places_;
  OpReader ops_;
  std::map<std::string, BlockId> labels_;
  std::vector<Jump> jumps_;
  bool ended_ = false;
};

class ProgramReader {
 public:
  void read(std::string_view text) {
    while (!text.empty()) {
      ++number_;
      const std::size_t end = text.find('\n');
      Cursor line(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (!line.at_end()) {
        read(line);
      }
    }
    finish();
  }

  [[nodiscard]] std::uint32_t line() const { return number_; }
  Program take() { return std::move(program_); }

 private:
  void read(Cursor& line) {
    if (line.take_word("function")) {
      finish();
      reader_.emplace(line, number_);
    } else if (line.take_word("handle")) {
      handle(line);
    } else if (reader_) {
      reader_->read(line, number_);
    } else {
      line.fail("'function' expected");
    }
  }

  void handle(Cursor& line) {
    std::string field = line.name("field");
    while (line.take_adjacent("::")) {
      field += "::" + line.name("field");
    }
    HandleField& known = program_.fields[field];
    while (!line.at_end()) {
      const std::string word = line.word("attribute");
      if (word == "owned") {
        known.owned = true;
      } else if (word == "copied") {
        known.copied = true;
      } else if (word == "timing" || word == "no_timing") {
        known.timing = word == "timing";
      } else if (const auto kind = find<ordering::StreamKind>(word)) {
        known.stream_kind = kind;
      } else {
        line.fail("'" + word + "' is no attribute of a handle");
      }
    }
  }

  void finish() {
    if (!reader_) {
      return;
    }
    const std::uint32_t here = std::exchange(number_, reader_->first_line());
    Function function = reader_->finish();
    const std::string usr = function.usr;
    if (!program_.functions.emplace(usr, std::move(function)).second) {
      throw Malformed{"function '" + usr + "' is there already"};
    }
    number_ = here;
    reader_.reset();
  }

  Program program_;
  std::optional<FunctionReader> reader_;
  std::uint32_t number_ = 0;
};

}  // namespace

bool parse(std::string_view text, Program& program, std::string& error) {
  ProgramReader reader;
  try {
    reader.read(text);
  } catch (const Malformed& malformed) {
    error = "line " + std::to_string(reader.line()) + ": " + malformed.reason;
    return false;
  }
  Program read = reader.take();
  program.functions.merge(read.functions);
  program.fields.merge(read.fields);
  return true;
}

}  // namespace streamsan::analyzer::ir
