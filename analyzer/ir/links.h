// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ties a translation unit to others: which of their functions tell it something.
//
// A translation unit learns something from another one that defines a function which it only calls, or that has a
// function of its own which does something to the same global variable or the same field of a class: it may wait, store
// another stream, or free. Work that is enqueued there says nothing, unless both are methods of one class. Functions
// that both have (of a common header) tell nothing new, but what these call in turn may. Only what the functions of the
// source itself use and call counts, directly and in calls. A function of a header that they do not call is the matter
// of one unit, the first by its name that has it: one that calls it looks at it again, with what it calls it with. Two
// translation units that define main() are not of one program: they tell each other nothing.
//
// The text form is one word and one name in a line, so that a program's links are read in little time:
//
//     streamsan-links 1
//     main                 it defines main()
//     f c:@F@fill#         a function of the source, then what is its:
//     u Lane::stream       it uses this field or global
//     t Lane::stream       it changes it, or orders with what others do with it
//     c c:@F@wait#         it calls this function
//     h c:@F@help#         a function of a header, likewise
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

struct Links {
  struct Uses {
    std::set<std::string> used;  ///< fields and globals that the function names
    std::set<std::string>
        changed;                  ///< those that it changes for others, or orders with what they do: it writes, waits,
                                  ///< records, frees; and the fields of the object that it is a method of
    std::set<std::string> calls;  ///< functions, by USR
    bool of_header = false;
  };
  std::map<std::string, Uses> functions;  ///< with a body, by USR
  bool is_program = false;                ///< it defines main()
};

/// `source`: the file, as sites name it.
Links links_of(const Program& program, const std::string& source);

std::string print(const Links& links);
/// False: the text is damaged, or of another version.
bool read_links(std::string_view text, Links& links);

/// What some translation units tell others. Refers to the links that it is made of.
class Neighbours {
 public:
  /// In the order of their names.
  explicit Neighbours(const std::vector<Links>& units);

  struct Needed {
    std::set<std::size_t> units;      ///< by position: those of which it needs a function
    std::set<std::string> functions;  ///< those, by USR
  };
  /// What a unit has to know. `position`: its own among them, or where it would come.
  [[nodiscard]] Needed of(const Links& unit, std::size_t position) const;

 private:
  struct Place {
    std::size_t unit;
    const std::string* usr;
    const Links::Uses* uses;
  };
  using Places = std::vector<Place>;
  const std::vector<Links>& units_;
  std::unordered_map<std::string_view, Places> functions_;  ///< by USR
  std::unordered_map<std::string_view, Places> changers_;   ///< by what they change
};

}  // namespace streamsan::analyzer::ir
