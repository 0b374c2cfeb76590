// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws the timeline on its canvas.
//
// Fluent with tens of thousands of operations because it only ever draws what can be seen: in each visible row the first
// visible box is found by bisection, and once boxes are thinner than a pixel the next one drawn is the first that begins
// a pixel further on. So a frame costs at most rows times pixels, however long the run. `drawn` counts the boxes.
import {firstWhere, markText, shortLabel} from './data.js';
import {kAxis, kGutter, kRow} from './view.js';

const kMinWidth = 1, kPadding = 4;
const kThin = 4;  // a box that is no wider has no outline: it would be nothing else

export class Painter {
  constructor(canvas, view) {
    this.view = view;
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.drawn = 0;
  }

  /** scene: {selected, hovered, marks, hiddenKinds} */
  draw(scene) {
    const g = this.context, view = this.view, ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    this.scene = scene;
    this.colour = this.colours();
    this.font = getComputedStyle(document.body).fontFamily;
    this.roles = new Map(scene.marks.ops.map((op) => [op.index, op.role]));
    this.drawn = 0;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = `12px ${this.font}`;
    g.textBaseline = 'middle';
    const first = Math.max(0, Math.floor(view.scrollTop / kRow));
    const last = Math.min(view.visibleRows.length, Math.ceil((view.scrollTop + height) / kRow));

    g.save();
    g.beginPath();
    g.rect(kGutter, kAxis, width - kGutter, height - kAxis);
    g.clip();
    for (let row = first; row < last; ++row) {
      if (row % 2) this.fill(this.colour.row, kGutter, view.rowY(row), width, kRow);
      this.drawRow(view.rows[view.visibleRows[row]], view.rowY(row));
    }
    this.drawArrows();
    g.restore();

    this.drawAxis(width);
    this.fill(this.colour.back, 0, kAxis, kGutter, height);
    for (let row = first; row < last; ++row) this.drawName(view.run.lanes[view.visibleRows[row]], view.rowY(row));
    this.fill(this.colour.back, 0, 0, kGutter, kAxis);
    g.fillStyle = this.colour.soft;
    g.fillText(view.axis === 'order' ? 'operation' : 'time since the first', 8, kAxis / 2);
    this.fill(this.colour.line, kGutter - 1, 0, 1, height);
    this.fill(this.colour.line, 0, kAxis - 1, width, 1);
  }

  colours() {
    const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
    return {
      classes: this.view.run.data.classes.map((name) => get(`--c-${name}`)), text: get('--text'), soft: get('--soft'), line: get('--line'),
      row: get('--row'), back: get('--back'), danger: get('--danger'), good: get('--good'), mark: get('--accent'), box: get('--box-text'),
    };
  }
  fill(style, x, y, width, height) {
    this.context.fillStyle = style;
    this.context.fillRect(x, y, width, height);
  }

  drawName(lane, y) {
    const g = this.context, stream = lane.kind && lane.kind !== 'thread';
    g.fillStyle = this.colour.text;
    g.fillText(clipped(g, lane.name, kGutter - 20), 8, y + (stream ? 10 : kRow / 2));
    if (!stream) return;
    g.fillStyle = this.colour.soft;
    g.font = `10px ${this.font}`;
    g.fillText(lane.kind, 8, y + 22);
    g.font = `12px ${this.font}`;
  }

  // ---- boxes

  drawRow(row, y) {
    if (row.length === 0) return;
    const view = this.view, {selected, hovered, marks, hiddenKinds} = this.scene, perPixel = view.perPixel;
    const dim = marks.ops.length > 0, outlined = new Set();
    // A box may have begun long before: those that block are few, and one before the first is enough.
    let k = Math.max(0, firstWhere(row.length, (j) => view.begin(row[j]) >= view.from) - 1);
    while (k < row.length) {
      const i = row[k], begin = view.begin(i);
      if (begin >= view.to) break;
      const left = view.x(begin), wide = Math.max(view.x(view.finish(i)) - left, kMinWidth);
      if (left + wide >= kGutter && !hiddenKinds.has(view.run.className(i))) {
        const special = this.roles.has(i) || i === selected || i === hovered;
        this.drawBox(i, left, wide, y, dim && !this.roles.has(i) && i !== selected);
        if (special) outlined.add(i);
      }
      // Nothing else of this pixel would be seen.
      const next = begin + perPixel;
      k = wide <= kMinWidth && k + 1 < row.length && view.begin(row[k + 1]) < next
          ? k + 1 + firstWhere(row.length - k - 1, (j) => view.begin(row[k + 1 + j]) >= next) : k + 1;
    }
    // Those that share their pixel with others are outlined all the same.
    const lane = view.run.lane[row[0]];
    for (const i of [...this.roles.keys(), selected]) {
      if (i >= 0 && view.run.lane[i] === lane && view.hasPlace(i)) outlined.add(i);
    }
    for (const i of outlined) this.outline(i, y + kPadding, kRow - 2 * kPadding);
  }

  drawBox(i, left, wide, y, dim) {
    const g = this.context, gap = wide > kThin ? 1 : 0, run = this.view.run;
    ++this.drawn;
    g.globalAlpha = dim ? 0.4 : 1;
    this.fill(this.colour.classes[run.kind[i]], left + gap, y + kPadding, wide - 2 * gap, kRow - 2 * kPadding);
    g.globalAlpha = 1;
    if (wide <= 34) return;
    const visible = Math.max(left, kGutter), number = this.roles.has(i) && run.number[i] ? `#${run.number[i]} ` : '';
    g.fillStyle = dim ? this.colour.text : this.colour.box;
    g.fillText(clipped(g, number + shortLabel(run.what(i)), left + wide - visible - 10), visible + 5, y + kRow / 2);
  }

  outline(i, top, tall) {
    const g = this.context, view = this.view, {selected, hovered} = this.scene, role = this.roles.get(i);
    const left = view.x(view.begin(i)), wide = Math.max(view.x(view.finish(i)) - left, 3);
    if (left > kGutter + view.width || left + wide < kGutter) return;
    const {danger, soft, mark, text} = this.colour;
    const strong = {later: danger, earlier: danger, related: soft, struck: danger, sync: mark, pair: mark}[role];
    const style = strong || (i === hovered && i !== selected ? text : mark);
    if (wide <= kThin && i !== selected && i !== hovered && /related|struck|sync/.test(role)) {
      // Calls of a place may be many and close to each other: what they are is still to be seen.
      this.fill(style, left, top - 3, wide, 3);
      this.fill(style, left, top + tall, wide, 3);
      return;
    }
    if (wide <= kThin) this.fill(style, left, top - 2, wide, tall + 4);
    g.lineWidth = i === selected && !role ? 3 : 2;
    g.strokeStyle = style;
    g.strokeRect(left, top - 1, wide, tall + 2);
    if (i === selected && role) {
      g.strokeStyle = mark;
      g.strokeRect(left - 2.5, top - 3.5, wide + 5, tall + 7);
      g.strokeStyle = style;
    }
    if (role === 'struck') this.line([[left - 3, top + tall + 3], [left + Math.min(wide, 60) + 3, top - 3]]);
    g.lineWidth = 1;
  }
  line([[x1, y1], [x2, y2]]) {
    this.context.beginPath();
    this.context.moveTo(x1, y1);
    this.context.lineTo(x2, y2);
    this.context.stroke();
  }

  // ---- arrows

  drawArrows() {
    const view = this.view, run = view.run, {selected, marks} = this.scene, {danger, good, mark, soft} = this.colour;
    const styles = {missing: [danger, [6, 4], 2], proposed: [good, [6, 4], 2], ordered: [mark, [], 2], existing: [soft, [], 1.5],
                    gone: [soft, [2, 3], 1.5], edge: [mark, [], 1.5]};
    const arrows = [...marks.arrows];
    if (selected >= 0) {
      const known = (edge) => arrows.some((arrow) => arrow.from === edge.from && arrow.to === edge.to);
      const own = [...run.into.get(selected) || [], ...(run.outOf.get(selected) || []).slice(0, 64)];
      for (const edge of own) if (!known(edge)) arrows.push({from: edge.from, to: edge.to, role: 'edge'});
    }
    // What matters most is drawn last.
    arrows.sort((a, b) => (a.role === 'missing') - (b.role === 'missing'));
    for (const {from, to, role, text} of arrows) {
      if (!view.hasPlace(from) || !view.hasPlace(to)) continue;
      // A call that blocks is reached by what it waited for when it returns.
      const returns = view.axis === 'time' && run.until[to] && role !== 'missing';
      const x1 = view.x(view.leaves(from)), x2 = view.x(returns ? view.finish(to) : view.begin(to));
      const y1 = view.laneY(run.lane[from]) + kRow / 2, y2 = view.laneY(run.lane[to]) + kRow / 2;
      if (!(y1 === y1 && y2 === y2) || Math.max(x1, x2) < kGutter || Math.min(x1, x2) > kGutter + view.width) continue;
      const overlapped = role === 'missing' && view.axis === 'time' && x2 < x1;
      if (overlapped) this.overlap(from, to, y1, y2, danger);
      else this.arrow(x1, y1, x2, y2, styles[role]);
      const roomy = Math.min(x1, x2) >= kGutter && (Math.abs(x2 - x1) > 70 || Math.abs(y2 - y1) > 1.5 * kRow);
      if (text && (roomy || role === 'missing')) {
        const middle = Math.min(Math.max((x1 + x2) / 2, kGutter + 50), kGutter + view.width - 50);
        this.label(overlapped ? 'ran at the same time' : text, middle, y1 === y2 ? y1 - kRow / 2 : (y1 + y2) / 2, styles[role][0]);
      }
    }
  }
  /** Two that raced and did run at the same time: the time that they share, from one row to the other. */
  overlap(from, to, y1, y2, stroke) {
    const g = this.context, view = this.view;
    const left = view.x(Math.max(view.begin(from), view.begin(to)));
    const right = Math.max(view.x(Math.min(view.finish(from), view.finish(to))), left + 2);
    const half = kRow / 2 - kPadding + 2, low = Math.max(y1, y2) + half, high = Math.min(y1, y2) - half;
    g.globalAlpha = 0.18;
    this.fill(stroke, left, high, right - left, low - high);
    g.globalAlpha = 1;
    g.strokeStyle = stroke;
    g.lineWidth = 2;
    g.setLineDash([6, 4]);
    for (const x of [left, right]) this.line([[x, high], [x, low]]);
    g.setLineDash([]);
    g.lineWidth = 1;
  }
  arrow(x1, y1, x2, y2, [stroke, dash, width]) {
    const g = this.context, bend = Math.max(18, Math.min(80, Math.abs(x2 - x1) / 2));
    g.strokeStyle = g.fillStyle = stroke;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x1, y1);
    if (y1 === y2) g.bezierCurveTo(x1 + 10, y1 - kRow, x2 - 14, y2 - kRow, x2 - 5, y2 - 4);
    else g.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.moveTo(x2, y2);
    g.lineTo(x2 - 8, y2 - 4);
    g.lineTo(x2 - 8, y2 + 4);
    g.fill();
    g.lineWidth = 1;
  }
  label(text, x, y, style) {
    const g = this.context, wide = g.measureText(text).width + 8;
    this.fill(this.colour.back, x - wide / 2, y - 8, wide, 16);
    g.fillStyle = style;
    g.fillText(text, x - wide / 2 + 4, y);
  }

  // ---- the axis

  drawAxis(width) {
    const g = this.context, view = this.view;
    const rough = (view.to - view.from) / Math.max(2, view.width / 110), magnitude = 10 ** Math.floor(Math.log10(rough));
    let step = [1, 2, 5, 10].map((m) => m * magnitude).find((s) => s >= rough);
    if (view.axis === 'order') step = Math.max(1, Math.round(step));
    this.fill(this.colour.back, kGutter, 0, width, kAxis);
    g.fillStyle = this.colour.soft;
    let free = kGutter;
    for (let at = Math.max(0, Math.ceil(view.from / step) * step); at < Math.min(view.to, view.length + 0.001); at += step) {
      const [place, text] = view.axis === 'order' ? this.numberAt(Math.round(at), Math.min(step, 50)) : [at, markText(at, step)];
      const x = view.x(place);
      if (x < free || !text) continue;
      g.fillRect(Math.round(x), kAxis - 6, 1, 6);
      g.fillText(text, x + 3, kAxis / 2);
      free = x + g.measureText(text).width + 14;
    }
  }
  /** The first operation before the next mark that reports give a number; what the host does by itself has none. */
  numberAt(at, step) {
    const run = this.view.run;
    for (let i = at; i < Math.min(at + step, run.count); ++i) if (run.number[i]) return [i, `#${run.number[i]}`];
    return [at, ''];
  }
}

function clipped(g, text, width) {
  if (width < 12) return '';
  if (g.measureText(text).width <= width) return text;
  const keep = firstWhere(text.length, (n) => g.measureText(text.slice(0, n + 1) + '…').width > width);
  return keep > 0 ? text.slice(0, keep) + '…' : '';
}
