// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a finding is marked in the pictures: the operations it is about, the order that is missing, the order that
// exists and comes nearest, and for a synchronisation what goes and what would do instead.

export function noMarks() { return {ops: [], arrows: [], struck: [], focus: []}; }

/**
 * {ops: [{index, role}], arrows: [{from, to, role, text}], struck: [index], focus: [index]}; indices in run.ops, from < 0:
 * not kept. `focus`: what the picture is centred on, the two operations or the first calls of a place.
 */
export function marksOf(run, finding) {
  const marks = run && finding ? allMarksOf(run, finding) : noMarks();
  const two = marks.ops.filter((op) => /later|earlier|pair/.test(op.role));
  marks.focus = (two.length ? two : marks.ops).slice(0, 2).map((op) => op.index);
  return marks;
}

function allMarksOf(run, finding) {
  const marks = noMarks();
  const add = (number, role) => {
    const index = number ? run.index(number) : -1;
    if (index >= 0 && !marks.ops.some((op) => op.index === index)) marks.ops.push({index, role});
    return index;
  };
  if (finding.sync) return marksOfSync(run, finding.sync, marks, add);
  const [later, earlier] = finding.accesses;
  if (later && earlier) {
    const to = add(later.op, 'later'), from = add(earlier.op, 'earlier');
    if (from >= 0 && to >= 0) {
      const latent = finding.severity === 'latent';
      marks.arrows.push({from, to, role: 'missing', text: latent ? 'not promised' : 'no order'});
    }
  }
  // The record and the wait that come nearest.
  const related = finding.related.map((each) => add(each.op, 'related')).filter((index) => index >= 0);
  for (const to of related) {
    for (const edge of run.into.get(to) || []) {
      add(run.number[edge.from], 'related');
      marks.arrows.push({from: edge.from, to, role: 'existing', text: run.event[to] ? `event ${run.event[to]}` : 'nearest order'});
    }
  }
  for (const from of related) {
    for (const edge of run.outOf.get(from) || []) {
      if (marks.arrows.some((arrow) => arrow.from === from && arrow.to === edge.to)) continue;
      if (marks.arrows.length > 6) break;
      marks.arrows.push({from, to: edge.to, role: 'existing', text: run.event[from] ? `event ${run.event[from]}` : 'nearest order'});
    }
  }
  return marks;
}

const kMostCalls = 200, kMostPairs = 8;

function marksOfSync(run, sync, marks, add) {
  const calls = run.callsAt(sync.api, sync.stack);
  const goes = sync.verdict === 'unneeded' || sync.verdict === 'narrower';
  // Of a free or a copy only the wait could go, not the call.
  const whole = goes && /^(device|stream|event)$/.test(sync.waits);
  for (const index of calls.slice(0, kMostCalls)) {
    marks.ops.push({index, role: whole ? 'struck' : 'sync'});
    if (whole) marks.struck.push(index);
  }
  // Without pairs to show: what the call waits for. One call is enough.
  if (sync.orders.length === 0 && calls.length) {
    const call = calls.find((index) => run.into.has(index)) ?? calls[0];
    for (const edge of (run.into.get(call) || []).slice(0, 4)) {
      if (!marks.ops.some((op) => op.index === edge.from)) marks.ops.push({index: edge.from, role: 'related'});
      marks.arrows.push({from: edge.from, to: call, role: goes ? 'gone' : 'existing', text: goes ? 'not needed' : 'waits for it'});
    }
  }
  for (const pair of sync.orders.slice(0, kMostPairs)) {
    const from = add(pair.earlier.op, 'pair'), to = add(pair.later.op, 'pair');
    if (from < 0 || to < 0) continue;
    const role = sync.verdict === 'narrower' ? 'proposed' : 'ordered';
    marks.arrows.push({from, to, role, text: role === 'proposed' ? 'instead' : 'ordered by it alone'});
  }
  return marks;
}
