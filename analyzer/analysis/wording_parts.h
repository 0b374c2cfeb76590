// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of speech that the words of all checks are made of. Private to wording*.cpp.
//
// A Draft is a Finding under way. It knows where both sides meet: the innermost function that the ways to both pass
// through, which is the one that lacks the order. The warning stands at the later side itself, with the calls in
// between as notes; but not in another file than that function's: an error is not reported in the header whose wrapper
// it uses. Calls further out, which only made the hazard possible, close the list.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/analysis/hazard.h"

namespace streamsan::analyzer::wording {

/// A name in a sentence.
struct Named {
  std::string text;
  bool described = false;  ///< the source has no name for it: "the current stream"
  /// In single quotes, unless it is a description.
  [[nodiscard]] std::string quoted() const { return described ? text : "'" + text + "'"; }
};
Named named(const Thing& thing);
std::string quoted(std::string_view name);  ///< the name of a function, a variable or a part of one
/// "stream 's1'", "non-blocking stream 's1'" if the kind is asked for and known, "the default stream"; empty: none.
std::string stream(const Thing& thing, bool with_kind = false);
std::string on_stream(const Thing& thing, bool with_kind = false);  ///< " on stream 's1'", or nothing
/// As stream(); `otherwise` where the source has no name for it: a stream inside an object.
std::string named_stream(const Thing& thing, std::string_view otherwise);
/// ", on stream 's'": the words behind a comma; empty if there are none.
std::string comma(const std::string& words);
std::string buffer(const Thing& thing);  ///< "'d_buf'", or "the same memory"
std::string event(const Thing& thing);   ///< "event 'e'", or "an event"
std::string what(const Action& action);  ///< "kernel 'scale'"; "the host" if it has no name
inline bool is_host(const Action& action) { return action.what.empty(); }

// What an action does to memory, by its mode; an allocation in stream order, which the IR has as a write, by its name.
std::string may_do(ir::Mode mode);             ///< "may write"
std::string still_does(const Action& action);  ///< "still writes"
std::string is_done(const Action& action);     ///< "is written"
std::string act(const Action& action);         ///< "the write"

/// The names of the API that the program uses: CUDA runtime, driver or HIP.
struct Dialect {
  std::string synchronize_stream = "cudaStreamSynchronize";
  std::string wait_event = "cudaStreamWaitEvent";
  std::string record_event = "cudaEventRecord";
  std::string synchronize_event = "cudaEventSynchronize";
  std::string legacy_stream = "cudaStreamLegacy";
  std::string per_thread_stream = "cudaStreamPerThread";
  std::string allocate_pinned = "cudaMallocHost";
};

/// How a program writes this stream, event or buffer; empty if no such text is known to be right.
std::string spelling(const Thing& thing, const Dialect& dialect);

class Draft {
 public:
  explicit Draft(const Hazard& hazard);

  [[nodiscard]] const Hazard& hazard() const { return hazard_; }
  [[nodiscard]] const Dialect& dialect() const { return dialect_; }
  [[nodiscard]] const Action& later() const { return hazard_.later; }
  /// Only for hazards with two sides.
  [[nodiscard]] const Action& earlier() const { return *hazard_.earlier; }

  /// Sets the message, and adds how certain it is.
  void say(std::string message);
  void note(const Where& where, std::string message, const std::string& note_lane = kHostLane);
  void note_edge(std::string message, const std::string& note_lane = kHostLane);  ///< at Hazard::edge, if there is one
  void note_origin(const Thing& thing, const char* noun);  ///< where it was created; noun "stream", "event", ""
  void advise(std::string message);                        ///< where the warning stands

  /// A repair, unless something about it is not certain: a name that cannot be written there, a site in a macro.
  void insert_before_later(std::string text, std::initializer_list<Thing> names);
  void repair(Fix::Kind kind, std::string text, std::vector<std::string> names = {});

  Finding take();

 private:
  std::vector<ir::Site> stripped(const Where& where) const;  ///< the way from where both meet, innermost first

  void add_note(const ir::Site& site, std::string message, const std::string& note_lane);

  const Hazard& hazard_;
  Dialect dialect_;
  Finding finding_;
  std::vector<ir::Site> context_;  ///< calls that both sides came through, innermost first
  std::size_t stand_ = 0;          ///< of the way to the later side: where the warning stands
};

std::string lane(const Thing& stream);  ///< for code flows: "s1", or "host"

/// Fills the draft with the words of its check. Each row of checks.def has a specialisation, in the file of its family;
/// the linker names one that is missing.
template <Check kCheck>
void words_of(Draft& draft);

#define SS_CHECK(enumerator, id, group, summary) \
  template <>                                    \
  void words_of<Check::enumerator>(Draft & draft);
#include "analyzer/analysis/checks.def"
#undef SS_CHECK

/// The words of each race between work of two streams, whatever its check.
void word_race(Draft& draft);

}  // namespace streamsan::analyzer::wording
