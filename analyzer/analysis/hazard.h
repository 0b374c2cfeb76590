// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the analysis found, as plain data: a Hazard. And what the user reads about it: a Finding.
//
// The engine (engine.h) raises hazards and knows no sentences; word() (wording.cpp) turns a hazard into a message,
// notes and fix-its and knows no analysis. Everything in both is owned by value: they outlive the Program they came
// from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/ir/ir.h"
#include "report/common/words.h"

namespace streamsan::analyzer {

using report::Cause;
using report::CheckCase;
using report::Group;
using report::kEach;
using report::Level;
using report::name;
using report::UnnamedStream;

enum class Check : std::uint8_t {
#define SS_CHECK(enumerator, id, group, summary) enumerator,
#include "analyzer/analysis/checks.def"
#undef SS_CHECK
};

inline constexpr Check kChecks[] = {
#define SS_CHECK(enumerator, id, group, summary) Check::enumerator,
#include "analyzer/analysis/checks.def"
#undef SS_CHECK
};

const char* id(Check check);       ///< "cross-stream-race"
const char* summary(Check check);  ///< one clause
Group group(Check check);

/// A site with the way to it, outermost call last, copied out of the Function.
struct Where {
  ir::Site site;
  std::vector<ir::Site> calls;
};

/// The place of a site of the function. Empty for kNoSite.
Where where(const ir::Function& function, ir::SiteId site);
/// What messages call the op: by its site's text, or else by its name.
const std::string& name_of(const ir::Function& function, const ir::Op& op);

/// A stream, event or buffer as messages name it.
struct Thing {
  std::string name;  ///< "s1", "this->streams_[i]", "the default stream"; empty: there is none
  UnnamedStream unnamed = UnnamedStream::None;
  bool described = false;  ///< `name` is a description: the source has no name for it
  /// The variable of the function analysed that `name` begins with, see first_of().
  ir::PlaceId part_of = ir::kNoPlace;
  std::optional<ordering::StreamKind> stream_kind;
  std::optional<ordering::MemoryKind> memory_kind;
  std::optional<Where> origin;  ///< where it was created, allocated or declared
  bool allocated = false;       ///< it was allocated at `origin`
  bool by_class = false;        ///< its class makes all such handles at `origin`

  void describe(std::string description) {
    name = std::move(description);
    described = true;
  }
};

/// A stream by its description.
inline Thing unnamed(UnnamedStream stream) {
  return {.name = name(stream), .unnamed = stream, .stream_kind = {}, .memory_kind = {}, .origin = {}};
}

/// One side of a conflict.
struct Action {
  Where where;
  std::string what;  ///< "kernel 'scale'", "cudaMemcpyAsync (host to device)", "cudaFree"; empty: the host
  ir::Mode mode = ir::Mode::Unknown;
  ir::Work work = ir::Work::Other;
  Thing stream;
  bool allocates = false;  ///< a stream-ordered allocation: in the IR it is a write
};

/// A reason to assume something that is not certain.
struct Evidence {
  std::string what;  ///< a sentence: "stream 'copy' waits for work of stream 'compute' here"
  Where where;
};

/// One finding before it has words. `later` is always set: the warning stands there. What the other fields mean depends
/// on the check: the comment above its row in checks.def says so.
struct Hazard {
  Check check = Check::CrossStreamRace;
  Level level = Level::Definite;
  Action later;                   ///< where the warning stands, if that is in the file of the function at fault
  std::optional<Action> earlier;  ///< the other side, where there is one
  Thing buffer;                   ///< the memory that both sides use
  Thing event;
  Cause cause = Cause::NoEdge;
  std::optional<Where> edge;  ///< the misplaced, missing or useless edge that exists, see Cause
  std::string rule;  ///< Latent: id of the ordering rule that the program relies on, "R-ALC-02". Definite race: id of
                     ///< the rule by which `earlier`, a synchronous call, returns before its work is done
  std::vector<Evidence> evidence;  ///< Likely: at least one
  std::string condition;           ///< Maybe: under what, "'a' and 'b' are one buffer"; empty: on some path
  bool at_the_end = false;         ///< MissingRecordStream: the function ends before anything is done with the block
  bool supposed = false;           ///< it needs a loop with as many rounds as the analysis supposed
  bool of_calls = false;           ///< between two calls of methods, in an order that users of the object choose
  CheckCase which = CheckCase::Usual;  ///< the case of its check
  std::string detail;                  ///< more text for the message, see checks.def; no code decides by it
  std::string function;                ///< name of the function analysed, and its USR
  std::string usr;
};

struct Note {
  std::string message;
  ir::Site site;
};

/// A repair that is certain. Applied by the tidy layer to the site's raw locations.
struct Fix {
  enum class Kind : std::uint8_t {
    InsertBefore,  ///< a line before the site's statement, with its indentation
    ReplaceCall,   ///< the text from Site::begin to Site::end
    RemoveStatement,
    PassStream,  ///< put `text` where the stream argument stands or belongs
  };
  Kind kind = Kind::InsertBefore;
  ir::Site site;
  std::string text;
  std::vector<std::string> names;  ///< variables in `text`: each must mean one thing in the function and at the site
};

/// The lane of actions that happen on no stream.
inline constexpr const char* kHostLane = "host";

struct Finding {
  Check check = Check::CrossStreamRace;
  Level level = Level::Definite;
  std::string message;  ///< one line, without the check's name
  ir::Site site;
  std::vector<Note> notes;
  std::vector<Fix> fixes;          ///< the repair is all of them together
  std::string function;            ///< for fingerprints, which depend on check, file, function and message
  std::vector<std::string> lanes;  ///< SARIF code flows: for the site and each note the stream or "host", in that order
  std::vector<ir::Site> sites;     ///< of both sides, and of the calls where they meet; one finding per such list
  std::string fingerprint;         ///< the same in the next run, even if lines moved; set by the tidy layer
  std::size_t depth = 0;           ///< calls between the analysed function and the two sites; the least is reported
};

Finding word(const Hazard& hazard);

}  // namespace streamsan::analyzer
