// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figure of a finding: only the lanes and operations it is about, in their order, large enough to read. The missing
// order is a dashed red arrow, the order that exists and comes nearest a grey one; a synchronisation that may go is
// struck out, what would do instead is a dashed green arrow. Also what print shows in place of the timeline.
import {shortLabel} from './data.js';
import {svg} from './dom.js';

const kLane = 58, kBox = 184, kNames = 172, kMostBoxes = 9;

export function figureOf(run, finding, marks) {
  const nodes = nodesOf(run, finding, marks), arrows = [...marks.arrows];
  // The operations may not be among those kept.
  const earlier = nodes.find((node) => node.role === 'earlier'), later = nodes.find((node) => node.role === 'later');
  if (!finding.sync && earlier && later && !arrows.some((arrow) => arrow.role === 'missing')) {
    arrows.push({from: earlier.index, to: later.index, role: 'missing', text: 'no order'});
  }
  if (nodes.length < 2 && !(finding.sync && nodes.length)) return null;
  // Few boxes have room for long arrows.
  const gap = nodes.length < 4 ? 66 : 36;
  const lanes = [...new Set(nodes.map((node) => node.lane))];
  lanes.sort((a, b) => laneOrder(run, a) - laneOrder(run, b));
  const width = kNames + nodes.length * (kBox + gap) + 10, height = lanes.length * kLane + 26;
  const y = (node) => 13 + lanes.indexOf(node.lane) * kLane + kLane / 2;
  const x = (node) => kNames + node.column * (kBox + gap);
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', class: 'figure', 'aria-label': describe(finding)});
  // It shrinks with the window, as long as it can be read.
  drawing.style.minWidth = `${Math.round(width * 0.66)}px`;
  drawing.append(svg('defs', {}, ['missing', 'existing', 'gone', 'proposed', 'ordered'].map((role) =>
    svg('marker', {id: `head-${role}`, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse'},
        svg('path', {d: 'M0,0 L8,4 L0,8 z', class: `head ${role}`})))));
  lanes.forEach((lane, row) => {
    const middle = 13 + row * kLane + kLane / 2;
    drawing.append(svg('line', {x1: kNames - 8, x2: width, y1: middle, y2: middle, class: 'lane'}),
        svg('text', {x: 0, y: middle + 4, class: 'lane-name'}, cut(lane, 25)));
  });
  for (const node of nodes) {
    const group = svg('g', {class: `node ${node.role} k-${node.kind}`},
        svg('title', {}, node.what),
        svg('rect', {x: x(node), y: y(node) - 14, width: kBox, height: 28, rx: 3}),
        svg('text', {x: x(node) + 8, y: y(node) + 4}, cut((node.number ? `#${node.number} ` : '') + shortLabel(node.what), 22)));
    if (node.role === 'struck') group.append(svg('line', {x1: x(node) - 5, y1: y(node) + 19, x2: x(node) + kBox + 5, y2: y(node) - 19, class: 'strike'}));
    drawing.append(group);
  }
  for (const arrow of arrows) {
    const from = nodes.find((node) => node.index === arrow.from), to = nodes.find((node) => node.index === arrow.to);
    if (!from || !to || from === to) continue;
    drawing.append(...arrowOf(x(from), y(from), x(to), y(to), arrow));
  }
  return drawing;
}

/** From the right end of a box to the left end of another, between the lanes, where no box is in the way. */
function arrowOf(x1, y1, x2, y2, arrow) {
  const strong = !/existing|gone/.test(arrow.role), down = y2 > y1 ? 1 : -1, same = y1 === y2;
  const from = {x: x1 + kBox - (strong ? 14 : 34), y: y1 + (same ? -15 : 15 * down)};
  const to = {x: x2 + (strong ? 20 : 8), y: y2 - (same ? 15 : 17 * down)};
  const bend = same ? -26 : 0, half = same ? 0 : (to.y - from.y) / 2;
  const path = `M${from.x},${from.y} C${from.x + 26},${from.y + half * 1.5 + bend} ${to.x - 40},${to.y - half * 1.5 + bend} ${to.x},${to.y}`;
  const at = strong ? 0.56 : 0.42;
  const label = {x: from.x + (to.x - from.x) * at, y: same ? from.y - 14 : from.y + (to.y - from.y) * (strong ? 0.42 : 0.72) + 4};
  return [svg('path', {d: path, class: `arrow ${arrow.role}`, 'marker-end': `url(#head-${arrow.role})`}),
          svg('text', {x: label.x, y: label.y, class: `arrow-text ${arrow.role}`, 'text-anchor': 'middle'}, arrow.text || '')];
}

/** [{index, number, lane, what, kind, role, column}], in order. */
function nodesOf(run, finding, marks) {
  const nodes = marks.ops.slice(0, 400).map((op) => ({index: op.index, number: run.number[op.index], lane: run.lanes[run.lane[op.index]].name,
    what: run.what(op.index), kind: run.className(op.index), role: op.role, order: op.index}));
  // An operation that is not among those kept is known from the finding.
  finding.accesses.forEach((access, i) => {
    if (nodes.some((node) => node.number === access.op)) return;
    const lane = access.stream.kind ? access.stream.name : `host thread ${access.thread}`;
    nodes.push({index: -2 - i, number: access.op, lane, what: access.what, kind: 'other', role: i === 0 ? 'later' : 'earlier', order: access.op});
  });
  nodes.sort((a, b) => a.number && b.number ? a.number - b.number : a.order - b.order);
  const keep = nodes.filter((node) => node.role !== 'struck' && node.role !== 'sync').slice(0, kMostBoxes - 2);
  // Of the calls of a place, those between the operations that they order say most.
  const calls = nodes.filter((node) => node.role === 'struck' || node.role === 'sync');
  const first = keep[0], after = first ? calls.filter((node) => node.order > first.order) : calls;
  const drawn = calls.filter((node) => marks.arrows.some((arrow) => arrow.to === node.index));
  keep.push(...(drawn.length ? drawn : after.length ? after : calls).slice(0, 2));
  keep.sort((a, b) => a.order - b.order);
  keep.forEach((node, column) => { node.column = column; });
  return keep;
}

function laneOrder(run, name) {
  const at = run.lanes.findIndex((lane) => lane.name === name);
  return at < 0 ? run.lanes.length : at;
}
function cut(text, length) { return text.length > length ? text.slice(0, length - 1) + '…' : text; }

function describe(finding) {
  if (finding.sync) return `${finding.sync.what}: ${finding.sync.verdict}`;
  const [later, earlier] = finding.accesses;
  if (!later || !earlier) return finding.title;
  return `Nothing orders ${earlier.what} on ${earlier.stream.name} before ${later.what} on ${later.stream.name}`;
}
