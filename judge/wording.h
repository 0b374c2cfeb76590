// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sentences of a report: the cause, the explanation and the repair of one hazard. See explain.h.
//
// Each sentence is made from the same few nouns, prepared once in Nouns, so that all cases use the same words and a new
// case is one more row in a switch.
#pragma once

#include <string>

#include "judge/framework.h"
#include "judge/handles.h"
#include "ordering/hazard.h"
#include "report/finding.h"

namespace streamsan::judge {

/// The words for a call that failed and would have ordered the two; none when `call` is empty.
struct FailureNouns {
  std::string call;         ///< "cudaEventRecord(event 3)"
  std::string at;           ///< " (train.cu:60)", or empty
  std::string result;       ///< "invalid resource handle (400)"
  std::string consequence;  ///< "nothing was recorded"
  std::string advice;       ///< "create the event on the device of the stream", or empty
};

/// "cudaEventRecord(event 3) (train.cu:60) failed with invalid resource handle (400): nothing was recorded."
std::string failure(const FailureNouns& nouns);
/// "check the result of cudaEventRecord(event 3) (train.cu:60); create the event on the device of the stream."
std::string failure_fix(const FailureNouns& nouns);

/// The words both sentences of a hazard are made of.
struct Nouns {
  std::string later_actor;    ///< "kernel consume(float const*)", "the host"
  std::string earlier_actor;  ///< "cudaMemcpyAsync (host to device)"
  std::string later;          ///< what it did: the same, but "the host's read"
  bool later_itself = false;  ///< by the host itself, so: no call
  std::string earlier;
  std::string later_at;  ///< later with its place: "kernel consume(float const*) (train.cu:88)"
  std::string earlier_at;
  std::string later_stream;  ///< "stream 2", see stream_report()
  std::string earlier_stream;
  StreamLife later_life;  ///< the same streams
  StreamLife earlier_life;
  std::string event;      ///< "event 1"
  std::string record_at;  ///< "cudaEventRecord (train.cu:60)"
  std::string wait_at;
  bool in_wait_stream = false;  ///< the record is one of PyTorch's, which records and waits in one call
  bool event_gone = false;      ///< destroyed before the later access
  bool record_in_reach = true;  ///< false: of an event that PyTorch or a library made for itself
  bool wait_in_reach = true;
  std::string between;  ///< DependentLaunch: the kernel right in front of the later one, if it is another
  std::string between_at;
  std::string waited_for;  ///< by the host, in vain: "device 0", "the current context"
  std::string runs_where;  ///< the earlier operation: "on device 1", "in another context"
  std::string runs_in;     ///< "device 1", "the context of stream 2"
  std::string freed_at;    ///< " (pool.cpp:12)", where the earlier life of the memory ended; or empty
  std::string memory;      ///< "device memory", with the name that the program gave it
  FailureNouns failed;
  bool unseen = false;     ///< the later access is a change of bytes that nobody saw
  bool runtime = true;     ///< the program uses the run-time API
  bool measuring = false;  ///< kernels are measured in this process
  /// Submitted both: then the places are lines of Python, and kernels have their bare names in them.
  Framework framework = Framework::None;
  bool memory_of_framework = false;  ///< and allocated the memory
  /// Both are done inside of one call of a library of CUDA's, where no call can be added: "cusolverDnXgeev
  /// (geev.cpp:88)"; or, where the library's own thread does them, the library: "libnccl.so.2". Else empty.
  std::string inside;
};

/// " (op #3)"; nothing for a node of a graph that was not launched yet.
std::string op(const ordering::Access& access);

report::Hazard hazard_of(const ordering::Hazard& hazard);
report::Cause cause_of(ordering::NearestEdge nearest);
const char* memory_name(ordering::MemoryKind kind);

report::Verb verb_of(const ordering::Access& access);

/// Does the host write what a copy may still have to read?
bool overwrites_source(const ordering::Hazard& hazard);

/// May a repair speak of the event that the explanation is about? It may be gone, or in nobody's hands.
bool event_at_hand(const ordering::Hazard& hazard, const Nouns& nouns);

std::string message(const ordering::Hazard& hazard, const Nouns& nouns);
std::string explanation(const ordering::Hazard& hazard, const Nouns& nouns);
std::string fix(const ordering::Hazard& hazard, const Nouns& nouns);

}  // namespace streamsan::judge
