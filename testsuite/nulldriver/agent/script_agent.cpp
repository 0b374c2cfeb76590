// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An agent (interposer/footprints/agent.h) for the null driver: kernels do not run there, so what they touched is read
// from a script, see script.h. With it everything behind the agent is tested without a GPU, failures included. As the
// real one it measures one launch at a time, so a second thread gets "busy".
//
// A kernel the script does not know cannot be measured: a test would otherwise prove nothing by a misspelt name.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "interposer/footprints/agent.h"
#include "testsuite/nulldriver/agent/script.h"

namespace {

using streamsan::script::Answer;
using streamsan::script::Script;

struct State {
  Script script;
  std::string obstacle;
  std::map<std::string, unsigned> measured;  ///< kernel -> measurements
  Answer answer;                             ///< of the present one
};

std::atomic<bool> g_busy{false};
/// Leaked: launches may come as late as from destructors of the program.
State* g_state = nullptr;

const char* start(const StreamSanHost* host) {
  g_state = new State;
  std::ifstream file(host->script ? host->script : "");
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open()) {
    g_state->obstacle = "the script cannot be read (agent_script)";
  } else {
    g_state->obstacle = g_state->script.read(text);
    if (g_state->obstacle.empty()) g_state->obstacle = g_state->script.refusal();
  }
  return g_state->obstacle.empty() ? nullptr : g_state->obstacle.c_str();
}

/// By the call that a library finds which looks for the driver: the recorder's.
void wait_for_gpu() {
  const auto wait = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "cuCtxSynchronize"));
  if (!wait || wait() != 0) std::abort();
}

StreamSanMeasurement begin(const StreamSanLaunch* launch) {
  if (g_busy.exchange(true)) return {kStreamSanBusy, nullptr, nullptr, 0};
  std::string name = launch->name ? launch->name : "";
  unsigned number = g_state->measured[name] + 1;
  g_state->answer = g_state->script.answer(name, number, launch->pointer_words, launch->pointer_count);
  Answer& answer = g_state->answer;
  if (!answer.known) {
    answer.at_end = kStreamSanFailed;
    answer.reason = "the script does not know it";
  }
  ++g_state->measured[name];
  if (answer.waits) wait_for_gpu();
  if (answer.at_begin != kStreamSanMeasured) g_busy = false;
  return {answer.at_begin, answer.reason.empty() ? nullptr : answer.reason.c_str(), nullptr, 0};
}

StreamSanMeasurement end(int succeeded) {
  const Answer& answer = g_state->answer;
  if (answer.waits) wait_for_gpu();
  StreamSanMeasurement out{};
  out.outcome = succeeded ? answer.at_end : kStreamSanFailed;
  out.reason = answer.reason.empty() ? nullptr : answer.reason.c_str();
  if (out.outcome == kStreamSanMeasured || out.outcome == kStreamSanIncomplete) {
    out.ranges = answer.ranges.data();
    out.count = answer.ranges.size();
  }
  g_busy = false;
  return out;
}

uint64_t code(void*, int, const char* name) { return g_state->script.code(name); }

/// Nothing of a script's kernel is ever left over.
int settle(uint32_t) { return 1; }
void context_going(void*) {}
void module_going() {}

/// Another thread may have been measuring when the process forked.
void forget() { g_busy = false; }

const StreamSanAgent kAgent = {kStreamSanAgentVersion, start,        begin, end, code, settle,
                               context_going,          module_going, forget};

}  // namespace

extern "C" __attribute__((visibility("default"))) const StreamSanAgent* streamsan_agent(void) { return &kAgent; }
