// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figure of a finding: only the lanes and operations it is about, in their order, large enough to read. The missing
// order is a dashed red arrow, the order that exists and comes nearest a grey one; a synchronisation that may go is
// struck out, what would do instead is a dashed green arrow. Also what print shows in place of the timeline.
import {shortLabel} from './data.js';
import {h, svg} from './dom.js';

const kLane = 58, kMostBoxes = 9, kMostNames = 172;
const kLetter = 6.9;  // width of one, about

const kLegend = {
  race: 'one of the two operations', missing: 'order that is missing', related: 'operation nearby', existing: 'order that there is', sync: 'the call',
  pair: 'operation that it orders', ordered: 'order that it alone makes', struck: 'could go', gone: 'order that nothing needs',
  proposed: 'order that would do instead',
};

export function figureOf(run, finding, marks) {
  const nodes = nodesOf(run, finding, marks), arrows = [...marks.arrows];
  // The operations may not be among those kept.
  const earlier = nodes.find((node) => node.role === 'earlier'), later = nodes.find((node) => node.role === 'later');
  if (!finding.sync && earlier && later && !arrows.some((arrow) => arrow.role === 'missing')) {
    arrows.push({from: earlier.index, to: later.index, role: 'missing', text: 'no order'});
  }
  if (nodes.length < 2 && !(finding.sync && nodes.length)) return null;
  // Few boxes have room for long names and arrows.
  const box = nodes.length < 3 ? 240 : nodes.length < 5 ? 204 : 184, gap = nodes.length < 3 ? 96 : nodes.length < 4 ? 66 : 36;
  const lanes = [...new Set(nodes.map((node) => node.lane))];
  lanes.sort((a, b) => laneOrder(run, a) - laneOrder(run, b));
  const names = Math.min(kMostNames, Math.max(...lanes.map((lane) => lane.length)) * kLetter + 14);
  const width = names + nodes.length * (box + gap) + 10, height = lanes.length * kLane + 26;
  const y = (node) => 13 + lanes.indexOf(node.lane) * kLane + kLane / 2;
  const x = (node) => names + node.column * (box + gap);
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', class: 'figure', 'aria-label': describe(finding)});
  // It shrinks with the window, as long as it can be read.
  drawing.style.minWidth = `${Math.round(width * 0.66)}px`;
  drawing.append(svg('defs', {}, ['missing', 'existing', 'gone', 'proposed', 'ordered'].map((role) =>
    svg('marker', {id: `head-${role}`, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse'},
        svg('path', {d: 'M0,0 L8,4 L0,8 z', class: `head ${role}`})))));
  lanes.forEach((lane, row) => {
    const middle = 13 + row * kLane + kLane / 2;
    drawing.append(svg('line', {x1: names - 8, x2: width, y1: middle, y2: middle, class: 'lane'}),
        svg('text', {x: 0, y: middle + 4, class: 'lane-name'}, cut(lane, 25)));
  });
  const drawn = arrows.map((arrow) => ({...arrow, start: nodes.find((node) => node.index === arrow.from), end: nodes.find((node) => node.index === arrow.to)}))
      .filter(({start, end}) => start && end && start !== end)
      .map((arrow) => ({...arrow, curve: curveOf(x(arrow.start), y(arrow.start), x(arrow.end), y(arrow.end), box, arrow.role)}));
  // Order that there is goes behind the boxes in its way.
  const path = ({curve, role}) => svg('path', {d: curve.path, class: `arrow ${role}`, 'marker-end': `url(#head-${role})`});
  drawing.append(...drawn.filter(({role}) => !strong(role)).map(path));
  for (const node of nodes) {
    const group = svg('g', {class: `node ${node.role} k-${node.kind}`},
        svg('title', {}, node.what),
        svg('rect', {x: x(node), y: y(node) - 14, width: box, height: 28, rx: 3}),
        svg('text', {x: x(node) + 8, y: y(node) + 4}, cut((node.number ? `#${node.number} ` : '') + shortLabel(node.what), Math.floor((box - 16) / kLetter))));
    if (node.role === 'struck') group.append(svg('line', {x1: x(node) - 5, y1: y(node) + 19, x2: x(node) + box + 5, y2: y(node) - 19, class: 'strike'}));
    drawing.append(group);
  }
  drawing.append(...drawn.filter(({role}) => strong(role)).map(path));
  const taken = nodes.map((node) => ({left: x(node), right: x(node) + box, top: y(node) - 15, bottom: y(node) + 15}));
  for (const {curve, role, text} of drawn) {
    if (!text) continue;
    const at = placeFor(text, curve, taken);
    const half = text.length * kLetter / 2;
    drawing.append(svg('rect', {x: at.x - half, y: at.y - 8, width: 2 * half, height: 16, class: 'behind'}),
        svg('text', {x: at.x, y: at.y + 4, class: `arrow-text ${role}`, 'text-anchor': 'middle'}, text));
  }
  return drawing;
}

/** What the lines of the figure mean, as far as they are in it. */
export function legendOf(marks, finding) {
  const words = {...kLegend, ...(finding.sync && {related: 'what it waits for'}), ...(finding.severity === 'latent' && {missing: 'order that is not promised'})};
  const roles = [...marks.ops.map((op) => (/later|earlier/.test(op.role) ? 'race' : op.role)), ...marks.arrows.map((arrow) => arrow.role)];
  const shown = Object.keys(words).filter((role) => roles.includes(role));
  return shown.length > 0 && h('p', {class: 'key'}, shown.map((role) => h('span', {},
      svg('svg', {width: 30, height: 14, 'aria-hidden': 'true'}, /race|related|sync|pair|struck/.test(role)
        ? svg('g', {class: `node k-${/sync|struck/.test(role) ? 'sync' : 'other'} ${role === 'race' ? 'later' : role}`}, svg('rect', {x: 4, y: 2, width: 22, height: 10, rx: 2}),
              role === 'struck' && svg('line', {x1: 2, y1: 13, x2: 28, y2: 1, class: 'strike'}))
        : [svg('path', {d: 'M1,7 H23', class: `arrow ${role}`}), svg('path', {d: 'M22,3 L30,7 L22,11 z', class: `head ${role}`})]), ` ${words[role]}`)));
}

function strong(role) { return !/existing|gone/.test(role); }

/** From the right end of a box to the left end of another, between the lanes, where no box is in the way. */
function curveOf(x1, y1, x2, y2, box, role) {
  const down = y2 > y1 ? 1 : -1, same = y1 === y2;
  const from = {x: x1 + box - (strong(role) ? 14 : 34), y: y1 + (same ? -15 : 15 * down)};
  const to = {x: x2 + (strong(role) ? 20 : 8), y: y2 - (same ? 15 : 17 * down)};
  const bend = same ? -26 : 0, half = same ? 0 : (to.y - from.y) / 2;
  const points = [from, {x: from.x + 26, y: from.y + half * 1.5 + bend}, {x: to.x - 40, y: to.y - half * 1.5 + bend}, to];
  const [a, b, c, d] = points.map((point) => `${point.x},${point.y}`);
  return {path: `M${a} C${b} ${c} ${d}`, points};
}
/** Where on the curve a text covers no box and no other text; it is then taken. */
function placeFor(text, {points: [a, b, c, d]}, taken) {
  const half = text.length * kLetter / 2 + 3, mix = (t, axis) =>
    (1 - t) ** 3 * a[axis] + 3 * (1 - t) ** 2 * t * b[axis] + 3 * (1 - t) * t ** 2 * c[axis] + t ** 3 * d[axis];
  const places = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82, 0.1, 0.9].map((t) => ({x: mix(t, 'x'), y: mix(t, 'y')}));
  const area = (place) => ({left: place.x - half, right: place.x + half, top: place.y - 7, bottom: place.y + 7});
  const free = (place) => taken.every((each) => {
    const own = area(place);
    return own.right < each.left || own.left > each.right || own.bottom < each.top || own.top > each.bottom;
  });
  const place = places.find(free) || places[0];
  taken.push(area(place));
  return place;
}

/** [{index, number, lane, what, kind, role, column}], in order. */
function nodesOf(run, finding, marks) {
  const nodes = marks.ops.slice(0, 400).map((op) => ({index: op.index, number: run.number[op.index], lane: run.lanes[run.lane[op.index]].name,
    what: run.what(op.index), kind: run.className(op.index), role: op.role, order: op.index}));
  // An operation that is not among those kept is known from the finding.
  finding.accesses.forEach((access, i) => {
    if (nodes.some((node) => node.number === access.op)) return;
    const lane = access.stream.kind ? access.stream.name : access.thread;
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
