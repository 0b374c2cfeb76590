// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loans against the reference model of the order (ordering/tests/reference_model.h), on random programs.
//
// A loan ends by a wait when the host has waited for its stream; order between streams is not followed (loans.h). So
// two references are driven with the same program:
//   1. NEVER TOO EARLY. Of the program as it is: what was given back is known to the host by documented order.
//   2. NEVER TOO LATE. Of the program without order between streams, in which a synchronisation with the legacy stream
//      is one with each blocking stream of its context: what the host knows there was given back.
//
// STREAMSAN_RANDOM_PROGRAMS in the environment: how many programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "interposer/host/loan_table.h"
#include "interposer/tests/loans_fixture.h"
#include "ordering/tests/reference_model.h"

namespace streamsan::recorder {
namespace {

using ordering::ContextId;
using ordering::OpId;
using ordering::ReferenceModel;
using ordering::StreamKind;

constexpr ordering::ThreadId kThread{0};

/// What recorder_stub.cpp knows of them, and the model.
struct Stream {
  StreamArgument handle;
  StreamKind kind;
  std::uint32_t context;
};
constexpr Stream kStreams[] = {
    {{16, 0, 0}, StreamKind::Blocking, 7},   {{17, 0, 0}, StreamKind::NonBlocking, 7},
    {{32, 0, 0}, StreamKind::Blocking, 7},   {{trace::kLegacyStream, 7, 0}, StreamKind::Legacy, 7},
    {{4096, 0, 0}, StreamKind::Blocking, 8}, {{trace::kLegacyStream, 8, 0}, StreamKind::Legacy, 8},
};
constexpr std::size_t kCount = std::size(kStreams);
constexpr unsigned kEvents = 3;

/// One reading of the program.
class Reading {
 public:
  explicit Reading(bool between_streams) : between_(between_streams) {
    for (const Stream& each : kStreams) {
      const ContextId context{each.context};
      const bool legacy = each.kind == StreamKind::Legacy;
      streams_.push_back(between_ && legacy
                             ? model_.legacy_stream(context)
                             : model_.create_stream(context, between_ ? each.kind : StreamKind::NonBlocking));
    }
    for (unsigned i = 0; i < kEvents; ++i) events_.push_back(model_.create_event());
  }

  OpId submit(unsigned stream) { return model_.stream_action(kCall, streams_[stream]); }
  void record(unsigned event, unsigned stream) { model_.record_event(kCall, streams_[stream], events_[event]); }
  void wait(unsigned stream, unsigned event) {
    if (between_) model_.wait_event(kCall, streams_[stream], events_[event]);
  }
  void sync_stream(unsigned stream) {
    for (unsigned other = 0; other < kCount; ++other) {
      const bool covered = !between_ && kStreams[stream].kind == StreamKind::Legacy &&
                           kStreams[other].kind == StreamKind::Blocking &&
                           kStreams[other].context == kStreams[stream].context;
      if (other != stream && !covered) continue;
      model_.sync_stream(kCall, streams_[other]);
      model_.returned(kThread, true);
    }
  }
  void sync_event(unsigned event) {
    model_.sync_event(kCall, events_[event]);
    model_.returned(kThread, true);
  }
  void sync_context(std::uint32_t context) {
    model_.sync_context(kCall, ContextId{context});
    model_.returned(kThread, true);
  }
  [[nodiscard]] bool is_known(OpId op) const { return model_.is_known(op, kThread, false); }

 private:
  static constexpr ordering::Call kCall{kThread, ordering::SiteId{1}};
  bool between_;
  ReferenceModel model_{ordering::Options{}};
  std::vector<ordering::StreamId> streams_;
  std::vector<ordering::EventId> events_;
};

class RandomLoans : public Loans {
 protected:
  struct Lent {
    OpId whole, without;  ///< in the two readings
    std::size_t page;
  };

  /// Empty: they agree. Counts what the program has shown.
  std::string disagreement(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    in_child::loans();
    in_child::loan_table();
    in_child::host_memory();
    host_memory_given(MemoryKind::Pinned, address(memory_), kBytes);
    Reading whole(true), without(false);
    std::vector<Lent> lent;
    std::ostringstream program;
    for (unsigned steps = 6 + below(20); steps > 0; --steps) {
      const unsigned stream = below(kCount), event = below(kEvents);
      const StreamArgument handle = kStreams[stream].handle;
      switch (below(9)) {
        case 0:
          program << "record e" << event << " s" << stream << "\n";
          event_recorded(event + 1, handle);
          whole.record(event, stream);
          without.record(event, stream);
          break;
        case 1:
          program << "wait s" << stream << " e" << event << "\n";
          whole.wait(stream, event);
          break;
        case 2:
          program << "syncevent e" << event << "\n";
          event_waited_for(event + 1);
          whole.sync_event(event);
          without.sync_event(event);
          break;
        case 3:
          program << "sync s" << stream << "\n";
          stream_waited_for(handle);
          whole.sync_stream(stream);
          without.sync_stream(stream);
          break;
        case 4:
          if (below(3) != 0) break;
          program << "device " << kStreams[stream].context << "\n";
          context_waited_for(kStreams[stream].context);
          whole.sync_context(kStreams[stream].context);
          without.sync_context(kStreams[stream].context);
          break;
        default: {
          // Pages of their own, not neighbours: which loan takes the place of which is another matter.
          const std::size_t page = lent.size();
          program << "lend " << page << " s" << stream << "\n";
          lend(address(memory_) + page * kPageBytes, kPageBytes, below(2) ? LoanUse::Writes : LoanUse::Reads, handle,
               false);
          lent.push_back({whole.submit(stream), without.submit(stream), page});
          break;
        }
      }
      for (const Lent& each : lent) {
        const bool still = is_lent(each.page);
        still ? ++kept_ : ++given_back_;
        if (!still && !whole.is_known(each.whole))
          return program.str() + "too early: page " + std::to_string(each.page);
        if (still && without.is_known(each.without))
          return program.str() + "too late: page " + std::to_string(each.page);
      }
    }
    return {};
  }

  [[nodiscard]] bool is_lent(std::size_t page) const {
    return std::ranges::any_of(all_loans(), [&](const Loan& loan) {
      return !loan.settled && loan.begin == address(memory_) + page * kPageBytes;
    });
  }

  std::uint64_t kept_ = 0, given_back_ = 0;
};

TEST_F(RandomLoans, AreGivenBackWhenTheHostKnows) {
  const char* text = std::getenv("STREAMSAN_RANDOM_PROGRAMS");
  const unsigned programs = text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 4000;
  for (unsigned seed = 0; seed < programs; ++seed) {
    const std::string wrong = disagreement(seed);
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
  // Programs in which all is given back at once, or nothing ever, would prove little.
  EXPECT_GT(kept_, programs * 5u);
  EXPECT_GT(given_back_, programs * 5u);
}

}  // namespace
}  // namespace streamsan::recorder
