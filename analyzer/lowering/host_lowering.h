// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering of one function: a walk over its CFG that writes stream IR, then passes over what was written.
//
// WHO KNOWS WHAT. Each part has one subject and keeps the state of that subject alone:
//
//   Scan             what has to be known of the statements before the walk: what a value initialises, and the like
//   FunctionBuilder  the function that is written: its tables, its sites, the block that ops are put into
//   Numbers          arithmetic on the table of expressions. No state of its own
//   Places           what the names of the source stand for: variables, references, iterators, captures
//   Values           what the expressions that were evaluated are worth; how any expression is an operand
//   Assignments      values that move into places; where c ? a : b puts the chosen one
//   Touches          the host's own accesses of memory
//   Ends             where host memory ends; the temporaries of the call at hand that die with its statement
//   Arguments        what stands at the positions that a model names; what code that is not seen does to its arguments
//   Calls            which kind of function is called. It gives the call to
//     StandardLibrary    what moves values, steps iterators or calls a lambda
//     Algorithms         what moves elements
//     Tuples, Optionals, Maps   std::pair and std::tuple; std::optional; std::map
//     MapKeys            what a key is
//     ModelledCalls      what a model describes: one action each, lowered by Effects (the words of the driver's table),
//                        Launches, Libraries, Messages, Containers, Tensors, or there
//   Lifetimes        construction and destruction
//   Walk             the blocks, and which statement is lowered by whom; what a block returns
//
// WHO MAY CALL WHOM. A part keeps references to the parts that it calls, and to no others: its header is the list. It
// calls what stands above it in the table. Three groups call each other in both directions, as the source does:
//
//   Places, Values, Assignments   `p[i]` is a place, by the value of p; the value of `x` is that of a place; a braced
//                                 list is an object whose parts are assigned
//   Assignments, Tensors          a copy of a tensor shares its memory
//   Calls, Lifetimes              a constructor is called; make_unique() constructs. From a call the way to Lifetimes
//                                 is through ModelledCalls, Containers and Tuples
//
// Only Walk evaluates expressions: the CFG holds every subexpression in the order of evaluation, each is lowered when
// it is met, and the parts ask Values for what it left. A part takes its references from Parts (host_parts.h) when it
// is made; nobody keeps Parts itself.
//
// THE PASSES take the finished ir::Function and ask about its source through host_source.h. Of the parts they use only
// Numbers:
//
//   trim             what nobody can notice (host_trim.cpp); calls the other two
//   spread_accesses  loops in which only the host works: one access for all rounds (host_rounds.cpp, host_counting.cpp)
//   settle_refills   containers that are emptied and filled again (host_refills.cpp)
//   flatten_loops, outline   paths that nobody needs (host_paths.cpp)
#pragma once

#include <optional>

#include "analyzer/ir/ir.h"

namespace clang {
class FunctionDecl;
}

namespace streamsan::analyzer::host {

struct Unit;

ir::Function lower(Unit& unit, const clang::FunctionDecl& definition);

/// The values that the initialisers of the function's static local variables leave in them, as a function that nothing
/// calls. Absent: there are none that run.
std::optional<ir::Function> lower_initialisers(Unit& unit, const clang::FunctionDecl& definition);

}  // namespace streamsan::analyzer::host
