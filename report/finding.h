// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A finding: one hazard with everything a person needs to understand and repair it, as plain data.
//
// The judge fills it in; text.h and json.h print it, with no logic of their own. Each value with a fixed set of words
// is an enumerator, whose words are in common/words.def only. Equal findings (same fingerprint) are folded before they
// come here; `count` says how many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/common/words.h"

namespace streamsan::report {

/// Can the call go, or do less?
constexpr bool is_improvable(Verdict verdict) { return verdict == Verdict::Unneeded || verdict == Verdict::Narrower; }

struct Frame {
  std::uint64_t address = 0;  ///< absolute, as captured
  std::string function;       ///< demangled; empty: not known
  std::string file;           ///< empty: no line information
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string module;                    ///< path of the ELF file
  std::uint64_t offset = 0;              ///< address relative to the module's load bias
  Language language = Language::Native;  ///< Python: function, file and line are Python's, and there is no address
  bool forward = false;     ///< Python's, and not on this stack: it leads to the forward operation whose gradient is
                            ///< computed. Behind all others
  bool library = false;     ///< inside CUDA's libraries, the loader or libc, or Python's packages: folded in text
  bool symbolised = false;  ///< the module's own file was asked; if it is and file is empty, there is no line there
};

struct Stream {
  std::string name;                    ///< "stream 2", "the legacy default stream", or a user-given name in quotes
  StreamKind kind = StreamKind::Host;  ///< Host: name is "the host"; Graph: "the graph"
  std::uint64_t handle = 0;            ///< raw handle, for matching with a debugger
};

struct AccessReport {
  Verb verb = Verb::None;
  std::string what;    ///< "kernel consume(float const*)", "cudaMemcpyAsync (host to device)", "write()", "the host"
  std::string api;     ///< the function called, of the driver (cuMemcpyHtoDAsync_v2) or of libc (write); empty: none
  std::string kernel;  ///< demangled kernel name; empty if not a kernel
  Stream stream;
  std::uint64_t op = 0;      ///< number of the operation, as everywhere in this run's reports
  std::uint32_t thread = 0;  ///< small number of the host thread
  std::string thread_name;   ///< that the thread was given; empty: none
  bool main_thread = false;  ///< the process began with it
  Evidence evidence = Evidence::Exact;
  std::uint64_t begin = 0;  ///< bytes touched, those of the piece that overlaps
  std::uint64_t end = 0;
  std::vector<Frame> stack;  ///< innermost first
  std::string mark;          ///< part of the run it was submitted in, by the program's word; empty: none
};

struct BufferReport {
  std::string memory;     ///< "device memory", "pinned host memory", ...
  std::string name;       ///< given by the program; empty: none
  std::string allocator;  ///< "cudaMalloc", ...; "the pool" for a block of the program's own; empty: not known. Of a
                          ///< variable of a module nobody allocated it: the function that looked it up
  bool variable = false;  ///< of a module: __device__, __constant__ or __managed__
  std::uint64_t address = 0;  ///< 0: a CUDA array, which has none. All bytes of the finding are then counted from its
                              ///< first
  std::uint64_t bytes = 0;
  std::vector<Frame> stack;
};

/// All bytes that two accesses have in common, where they are several runs.
struct OverlapReport {
  std::uint64_t bytes = 0;
  std::uint64_t runs = 0;   ///< without a gap
  std::uint64_t width = 0;  ///< of each run, if all are as long and as far apart (rows of a matrix); else 0
  std::uint64_t pitch = 0;  ///< from the begin of one to that of the next; 0: see width
  std::uint64_t end = 0;    ///< of the last run
  bool more = false;        ///< there are more, which were not counted
};

/// An operation referred to by the explanation: the record or the wait of the event that comes nearest, where memory
/// was freed, a call that failed. For a misuse of an event, which has no accesses: the operations themselves.
struct RelatedOp {
  std::string what;  ///< "cudaEventRecord", "freed by cudaFreeAsync"
  std::string api;   ///< the function called, as AccessReport::api
  Stream stream;     ///< misuse of an event only; no name: not known
  std::uint64_t op = 0;
  std::vector<Frame> stack;
};

/// Two operations that a synchronisation alone orders.
struct OrderedPair {
  AccessReport earlier;
  AccessReport later;
  std::optional<BufferReport> buffer;
  std::string rule;         ///< without the synchronisation today's driver still orders them, by this rule; empty: not
  std::uint64_t count = 1;  ///< pairs of the same two places
};

/// What a replay without a synchronising call says about it. One call site.
struct SyncReport {
  Verdict verdict = Verdict::Unknown;
  Waits waits = Waits::Device;
  std::string what;  ///< "cudaDeviceSynchronize"
  std::string api;
  Stream stream;  ///< that it waits for; no name: all
  std::uint64_t calls = 0;
  std::uint64_t idle_calls = 0;  ///< of these, calls that had nothing to wait for
  std::vector<Frame> stack;
  std::string library;               ///< the call is made inside of this library; empty: by the program
  std::vector<OrderedPair> orders;   ///< needed, narrower: what it alone orders; the most important first
  std::vector<std::string> reasons;  ///< unknown, needed, timing: what else speaks for it, one sentence each
  std::string replacement;           ///< narrower: what would do instead, concrete
  KernelBytes evidence = KernelBytes::Inferred;
  std::uint32_t group = 0;  ///< unneeded one by one, but not all of the same group; 0: none
  bool removable = false;   ///< unneeded: all that are removable were left out together, and the replay was clean
  std::optional<double> blocked_ms;   ///< the host was blocked in it
  std::optional<double> gpu_idle_ms;  ///< the GPU had nothing to do because of it
  std::optional<double> overlap_ms;   ///< GPU work that could have run beside other work but for it
};

struct Finding {
  std::uint32_t pid = 0;  ///< process it was found in
  Kind kind = Kind::Race;
  Severity severity = Severity::Error;
  Word<Hazard> hazard;                 ///< of a synchronising call the word of its verdict
  Word<Cause> cause;                   ///< of a race; of all else the word of the hazard
  std::string rule;                    ///< Latent: "R-ALC-02"; else empty
  std::string message;                 ///< one sentence
  std::vector<AccessReport> accesses;  ///< the later one first, then the earlier; none: misuse of an event
  std::optional<BufferReport> buffer;
  std::uint64_t overlap_begin = 0;
  std::uint64_t overlap_end = 0;         ///< of the first run of common bytes, if there are several
  std::optional<OverlapReport> overlap;  ///< all of them, if there are several
  std::string explanation;               ///< why nothing orders the two
  std::vector<RelatedOp> related;
  std::optional<SyncReport> sync;  ///< UnneededSync
  std::string fix;                 ///< concrete
  std::string mark;                ///< no accesses: the part of the run it was met in, by the program's word
  std::vector<std::string> tests;  ///< in which its operations were submitted, by their test runner's names
  std::string fingerprint;         ///< 16 hex digits; the same for the same pair of places in another run
  std::uint64_t count = 1;         ///< conflicts that are folded into this one, each as severe as it
  std::uint64_t weaker = 0;        ///< conflicts of the same two places that are less severe: not in `count`
  /// Possible only because another host thread had waited for the earlier operation by then, and may have passed that
  /// on in a way that is not seen. In a run in which it waits later the finding is an error.
  bool passed_on = false;
  /// Findings of one process that one missing edge explains share this: the fingerprint of the first of the most
  /// severe. `fix` is the same in all of them, and repairs all. Empty: the finding belongs to no group.
  std::string group;
  bool suppressed = false;
};

/// "host thread 3 \"loader\"", "host thread 1 (main)".
std::string host_thread(std::uint32_t number, std::string_view name, bool main);

/// The call stacks that say where it is: of its accesses, of the synchronising call, or else of the operations on the
/// event.
std::vector<const std::vector<Frame>*> stacks(const Finding& finding);

struct Summary {
  std::uint64_t errors = 0;  ///< unsuppressed, distinct
  std::uint64_t latent = 0;
  std::uint64_t possible = 0;
  std::uint64_t notes = 0;
  std::uint64_t suppressed = 0;
  std::uint64_t operations = 0;
  std::uint32_t processes = 0;        ///< that used CUDA
  bool syncs = false;                 ///< synchronising calls were judged, too
  bool whole = true;                  ///< all that used CUDA was recorded, and every trace read to its end
  std::vector<std::string> warnings;  ///< what was not seen, not modelled or cut short; each one line

  Summary& operator+=(const Summary& other);
};

}  // namespace streamsan::report
