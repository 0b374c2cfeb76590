// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/loans.h"

#include <cstring>

#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/host/faults.h"
#include "interposer/host/freeable.h"
#include "interposer/host/loan_table.h"
#include "interposer/host/other_readers.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/writer.h"
#include "trace/format.h"

namespace streamsan::recorder {

constinit std::atomic<std::uint32_t> detail::g_loans{0};
constinit std::atomic<std::uint32_t> detail::g_mappings{0};

namespace {

/// What an event has captured: the loans to this stream up to this number.
struct Recorded {
  std::uint32_t stream;  // hash
  std::uint32_t number;
};

// A fork keeps detail::g_loans, detail::g_mappings, which follow the table, and g_last, which only counts up.
constinit std::uint64_t g_last = 0;
constinit HandleTable<Recorded, 1u << 14> g_events{};

std::uint32_t hash_of(const StreamArgument& stream) {
  return static_cast<std::uint32_t>(mix_bits(stream.handle ^ mix_bits(stream.context)));
}

bool same_stream(const StreamArgument& a, const StreamArgument& b) {
  return a.handle == b.handle && a.context == b.context;
}

/// Is the loan to a stream of that context? True also where that is not known.
bool works_in(const Loan& loan, std::uint64_t context) {
  return loan.working == context || loan.working == 0 || context == 0;
}

/// A wait has ended the loan. True: it is kept as a settled one.
bool settle(Loan& loan) {
  if (!options().syncs || others_are_known() || loan.reported || !(loan.guarded.count || loan.freeable)) return false;
  if (loan.guarded.count && !guards_are_affordable()) return false;
  return loan.settled = true;
}

/// Before the lock is taken: may take some microseconds.
void look_for_others() {
  if (options().syncs) others_may_touch();
}

template <typename Condition>
void end_if(Condition condition) {
  visit_loans([&](Loan& loan) {
    if (condition(loan)) remove(loan);
  });
}

/// The host has waited for the loans that meet the condition.
template <typename Condition>
void settle_if(Condition condition) {
  visit_loans([&](Loan& loan) {
    // What the driver has touched was not lent again: nothing is to be seen or said of it any more.
    const bool spent = loan.settled && !loan.freeable && !loan.guarded.count && !is_touched_by_this_call(loan);
    if (spent || (!loan.settled && condition(loan) && !settle(loan))) remove(loan);
  });
}

/// Does the new loan see whatever of the host's could conflict with the old one?
bool takes_over(const Loan& now, const Loan& old) {
  return now.operation.touches_all && now.begin <= old.begin && old.end <= now.end &&
         same_stream(now.stream, old.stream) && (now.use == LoanUse::Writes || old.use == LoanUse::Reads);
}

/// Under g_host_lock.
void add(std::uint64_t begin, std::uint64_t end, LoanUse use, const StreamArgument& stream, HostRegion* region,
         Operation operation) {
  const bool pageable = region == nullptr;
  const Loan now = {.begin = begin,
                    .end = end,
                    .number = ++g_last,
                    .stream = stream,
                    .use = use,
                    .pageable = pageable,
                    .freeable = pageable || region->kind == ordering::MemoryKind::Registered,
                    .non_blocking = is_non_blocking(stream.handle),
                    .working = context_of(stream),
                    .operation = operation,
                    .context = region ? region->context : 0,
                    .guarded = {}};
  Loan* same = nullptr;
  visit_loans([&](Loan& loan) {
    if (loan.begin == begin && loan.end == end && loan.use == use && same_stream(loan.stream, stream)) {
      same = &loan;
    } else if (loan.settled && takes_over(now, loan)) {
      claim(loan, false);
      if (same == &all_loans().back()) same = &loan;  // where remove() puts it
      remove(loan);
    }
  });
  if (same) {
    if (takes_over(now, *same)) claim(*same, false);
    same->number = now.number;
    same->reported = same->settled = false;
    same->operation = operation;
    same->toucher = 0;
    same->lapses = lapses();
    if (!same->guarded.count && region) guard(*same, *region);
    return;
  }
  Loan& loan = keep(now);
  detail::g_mappings.store(1, std::memory_order_relaxed);
  if (loan.freeable) note_freeable(loan);  // first: realloc() of what is guarded must look at it
  if (region) guard(loan, *region);
}

/// Takes the guards of everything that has a guarded page in [begin, end) away. What is settled ends by that.
void unguard_pages(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = page_below(begin);
  visit_loans([&](Loan& loan) {
    if (!loan.guarded.has_in(first, end)) return;
    if (loan.settled) {
      remove(loan);
    } else {
      unguard(loan);
    }
  });
}

/// The same for a touch, by the program or by the driver. True: some of the range is lent so that it matters.
bool make_accessible(std::uint64_t begin, std::uint64_t end, bool writes, bool by_program) {
  const std::uint64_t first = page_below(begin);
  bool matters = false;
  visit_loans([&](Loan& loan) {
    const bool conflicts =
        loan.begin < end && begin < loan.end && !loan.pageable && (writes || loan.use == LoanUse::Writes);
    // What a settled loan guards can be read if the GPU has only read it.
    const bool in_the_way = loan.guarded.has_in(first, end) && (writes || loan.use == LoanUse::Writes || !loan.settled);
    if (!conflicts && !in_the_way) return;
    if (by_program && conflicts) claim(loan, true);
    if (conflicts && !loan.reported) matters = loan.reported = true;
    if (!by_program) {
      if (in_the_way) unguard_for_driver(loan);
    } else if (loan.settled) {
      remove(loan);
    } else if (in_the_way) {
      unguard(loan);
    }
  });
  return matters;
}

template <trace::Kind kKind>
void write_record(const trace::Words<kKind>& words, const char* name, std::uint32_t stack) {
  write_text<kKind>(words, &trace::Words<kKind>::name_bytes, name, std::strlen(name), nullptr, 0, stack);
}

}  // namespace

void IdleMemory::write() {
  while (any_idle()) {
    Idle idle;
    {
      const Holding holding(g_host_lock);
      if (!holding || !take_idle(idle)) return;
    }
    Slot slot = start_record({.kind = trace::Kind::HostIdle});
    if (!slot) continue;
    slot.record->as<trace::Kind::HostIdle>().address = idle.begin;
    slot.record->as<trace::Kind::HostIdle>().bytes = idle.end - idle.begin;
    slot.record->as<trace::Kind::HostIdle>().position = idle.position;
    slot.record->as<trace::Kind::HostIdle>().until_touched = idle.until_touched;
    publish(slot);
  }
}

void lend(std::uint64_t begin, std::uint64_t bytes, LoanUse use, StreamArgument stream, bool pageable,
          Operation operation) {
  if (begin == 0 || bytes == 0) return;
  const bool near = near_host_memory(begin);
  if (!near && !(pageable && options().host_frees)) return;
  const IdleMemory idle;
  const Holding holding(g_host_lock);
  if (!holding) return;
  HostRegion* region = near ? find_host_region(begin) : nullptr;
  if (!region && !(pageable && options().host_frees)) return;
  std::uint64_t end = begin + bytes;
  if (region && end > region->end) end = region->end;
  add(begin, end, use, stream, region, operation);
}

STREAMSAN_HOT_CODE void lend_from(const std::uint64_t* pointers, unsigned count, StreamArgument stream,
                                  std::uint64_t position) {
  std::uint64_t far = ~std::uint64_t{0};  // the part last found to hold nothing: lists of tensors lie close together
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t pointer = trace::word_address(pointers[i]);
    const std::uint64_t part = pointer >> kNearShift;
    if (part == far) continue;
    if (!near_host_memory(pointer)) {
      far = part;
      continue;
    }
    const IdleMemory idle;
    const Holding holding(g_host_lock);
    if (!holding) return;
    if (HostRegion* region = find_host_region(pointer))
      add(pointer, region->end, LoanUse::Writes, stream, region, {.position = position, .touches_all = false});
  }
}

void stream_waited_for(StreamArgument stream) {
  if (!any_loans()) return;
  look_for_others();
  const Holding holding(g_host_lock);
  if (!holding) return;
  const bool legacy = stream.handle == trace::kLegacyStream;
  settle_if([&](const Loan& loan) {
    return same_stream(loan.stream, stream) || (legacy && !loan.non_blocking && works_in(loan, stream.context));
  });
}

void event_recorded(std::uint64_t event, StreamArgument stream) {
  if (!any_loans()) {
    // What it captured before is behind it now, too: there is nothing that waiting for it could give back.
    if (auto* entry = g_events.find(event)) entry->value.store({}, std::memory_order_relaxed);
    return;
  }
  const Holding holding(g_host_lock);
  if (!holding) return;
  auto* entry = g_events.insert(event);
  if (entry) entry->value.store({hash_of(stream), static_cast<std::uint32_t>(g_last)}, std::memory_order_relaxed);
}

void event_waited_for(std::uint64_t event) {
  if (!any_loans()) return;
  const auto* entry = g_events.find(event);
  if (!entry) return;
  const Recorded recorded = entry->value.load(std::memory_order_relaxed);
  if (recorded.number == 0) return;
  look_for_others();
  const Holding holding(g_host_lock);
  if (!holding) return;
  settle_if([&](const Loan& loan) {
    return hash_of(loan.stream) == recorded.stream &&
           static_cast<std::int32_t>(recorded.number - static_cast<std::uint32_t>(loan.number)) >= 0;
  });
}

void before_host_call(const void* begin, std::size_t bytes, bool writes, const char* function, const void* frame) {
  if (bytes == 0 || !any_loans()) return;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  const bool by_program = !is_in_call(frame);
  bool matters = false;
  {
    const IdleMemory idle;
    const Holding holding(g_host_lock);
    if (!holding) return;
    matters = make_accessible(address, address + bytes, writes, by_program);
  }
  if (!matters || !recording() || !by_program) return;
  write_record<trace::Kind::HostAccess>(
      {.address = address, .bytes = bytes, .way = trace::AccessWay::Call, .writes = writes ? 1u : 0u}, function,
      capture_stack(frame));
}

void before_host_free(const void* begin, std::size_t bytes, trace::HostFreeWay way, const char* function,
                      const void* frame) {
  if (bytes == 0 || !any_loans()) return;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  if (!may_be_freeable(begin, bytes)) return;
  bool lent = false;
  {
    const IdleMemory idle;
    const Holding holding(g_host_lock);
    if (!holding) return;
    for (const Loan& loan : all_loans()) lent |= loan.freeable && loan.begin < address + bytes && address < loan.end;
    if (lent) end_loans(address, address + bytes, true);
    // Also pages that only share one with what goes away.
    unguard_pages(address, address + bytes);
  }
  if (!lent || !recording() || (frame && is_in_call(frame))) return;
  write_record<trace::Kind::HostFree>({.address = address, .bytes = bytes, .way = way}, function,
                                      frame ? capture_stack(frame) : 0);
}

void before_host_mapping(const void* begin, std::size_t bytes) {
  if (!any_loans()) return;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  const std::uint64_t end = bytes > ~address ? kEveryEnd : address + bytes;
  const Holding holding(g_host_lock);
  if (holding) unguard_pages(address, end);
}

bool host_touched(std::uint64_t address, bool wrote, bool counts, std::uint64_t pc) {
  const std::uint64_t page = page_below(address);
  bool matters = false;
  {
    const IdleMemory idle;
    const Holding holding(g_host_lock);
    // A signal handler of the guest has interrupted this thread inside of the tables: they cannot be looked at, and the
    // page must be accessible for it to go on.
    if (!holding) {
      note_lapse();
      return near_host_memory(address) && set_protection(page, page + page_bytes(), Protection::Free);
    }
    if (!is_guarded(page)) {
      // Another thread was faster, or the process is a copy. Or it is none of our business.
      const HostRegion* region = find_host_region(address);
      return region && region->guardable && set_protection(page, page + page_bytes(), Protection::Free);
    }
    matters = make_accessible(address, address + 1, wrote, counts);
  }
  if (!matters || !counts) return true;
  write_record<trace::Kind::HostAccess>(
      {.address = address, .bytes = 1, .way = trace::AccessWay::Instruction, .writes = wrote ? 1u : 0u}, "",
      capture_interrupted_stack(pc));
  return true;
}

void end_loans(std::uint64_t begin, std::uint64_t end, bool goes) {
  end_if([&](const Loan& loan) {
    if (loan.begin >= end || begin >= loan.end) return false;
    if (goes && begin <= loan.begin && loan.end <= end) claim(loan, false);
    return true;
  });
}

void context_waited_for(std::uint64_t context) {
  if (!any_loans()) return;
  look_for_others();
  const Holding holding(g_host_lock);
  if (holding) settle_if([context](const Loan& loan) { return works_in(loan, context); });
}

void end_all_loans() {
  if (!any_loans()) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  end_loans(0, kEveryEnd, false);
}

void end_loans_with_context(std::uint64_t context) {
  if (!any_loans()) return;
  const IdleMemory idle;
  const Holding holding(g_host_lock);
  if (!holding) return;
  end_if([&](const Loan& loan) {
    if (context && loan.context == context) claim(loan, false);
    return true;
  });
}

void end_loans_with_process() {
  if (!any_loans()) return;
  if (options().syncs) others_may_touch(true);
  const IdleMemory idle;
  const Holding holding(g_host_lock);
  if (holding) end_loans(0, kEveryEnd, true);
}

void end_loans_of_variables() {
  if (!any_loans()) return;
  const Holding holding(g_host_lock);
  if (!holding) return;
  end_if([](const Loan& loan) {
    const HostRegion* region = loan.pageable ? nullptr : find_host_region(loan.begin);
    return region && region->kind == ordering::MemoryKind::Managed;
  });
  settle_if([](const Loan&) { return true; });
}

void loans_are_copied() { note_lapse(); }

void in_child::loans() {
  g_host_lock.forget();
  end_all_loans();
  g_events.clear();
}

}  // namespace streamsan::recorder
