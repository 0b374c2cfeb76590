// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timeline: one row for each host thread and stream, a box for each operation, drawn on a canvas.
//
// Fluent with tens of thousands of operations because it only ever draws what can be seen: in each visible row the first
// visible box is found by bisection, and once boxes are thinner than a pixel the next one drawn is the first that begins
// a pixel further on. So a frame costs at most rows times pixels, however long the run. `drawn` counts the boxes.
//
// The x axis is the order of submission (one step for each operation) or, where times are known, real time.
import {firstWhere, shortLabel, timeText} from './data.js';
import {button, h, replace} from './dom.js';

const kRow = 30, kAxis = 22, kGutter = 176, kWidest = 190, kMinWidth = 1;

export class Timeline {
  /** on.select(index), on.view() when what is seen has changed. */
  constructor(host, on) {
    this.on = on;
    this.host = host;
    this.run = null;
    this.axis = 'order';
    this.from = 0;
    this.to = 1;
    this.selected = -1;
    this.hovered = -1;
    this.marks = {ops: [], arrows: [], struck: []};
    this.hiddenKinds = new Set();
    this.drawn = 0;
    this.canvas = h('canvas', {tabindex: 0, role: 'img', 'aria-label': 'Timeline. Arrow keys move between operations, plus and minus zoom.'});
    this.spacer = h('div', {class: 'spacer'});
    this.scroller = h('div', {class: 'scroller'}, this.canvas, this.spacer);
    this.tip = h('div', {class: 'tip', hidden: true});
    this.toolbar = h('div', {class: 'toolbar'});
    this.note = h('p', {class: 'cut-note'});
    replace(host, this.toolbar, this.scroller, this.note, this.tip);
    this.context = this.canvas.getContext('2d');
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.scroller);
  }

  show(run) {
    this.run = run;
    this.selected = this.hovered = -1;
    this.setAxis('order');
    this.resize();
    this.fit();
  }

  setAxis(axis) {
    this.axis = axis;
    const run = this.run;
    // Rows: operations in order of their beginning, those without a time left out of real time.
    this.rows = run.lanes.map(() => []);
    for (let i = 0; i < run.count; ++i) {
      if (axis === 'order' || run.end[i] >= 0) this.rows[run.lane[i]].push(i);
    }
    if (axis === 'time') for (const row of this.rows) row.sort((a, b) => run.start[a] - run.start[b]);
    this.length = axis === 'order' ? Math.max(run.count, 1) : Math.max(1, run.end.reduce((a, b) => Math.max(a, b), 0));
    this.visibleRows = run.lanes.map((_, lane) => lane).filter((lane) => this.rows[lane].length > 0 || axis === 'order');
    this.buildToolbar();
  }

  begin(i) { return this.axis === 'order' ? i : this.run.start[i]; }
  finish(i) {
    if (this.axis === 'time') return this.run.end[i];
    return Math.max(i + 1, this.run.until[i]);
  }
  hasPlace(i) { return this.axis === 'order' || this.run.end[i] >= 0; }

  // ---- what is seen

  get width() { return Math.max(this.canvas.clientWidth - kGutter, 10); }
  x(at) { return kGutter + (at - this.from) / (this.to - this.from) * this.width; }
  at(x) { return this.from + (x - kGutter) / this.width * (this.to - this.from); }
  get narrowest() { return this.axis === 'order' ? this.width / kWidest : 20; }

  look(from, to) {
    const margin = this.length * 0.02 + (this.axis === 'order' ? 0.5 : 0);
    const span = Math.min(Math.max(to - from, Math.min(this.narrowest, this.length)), this.length + 2 * margin);
    let start = (from + to - span) / 2;
    start = Math.min(Math.max(start, -margin), this.length + margin - span);
    this.from = start;
    this.to = start + span;
    this.redraw();
    this.on.view();
  }
  fit() { this.look(0, Math.max(this.length, this.axis === 'order' ? this.narrowest : 1)); }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.look(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  pan(fraction) {
    const by = (this.to - this.from) * fraction;
    this.look(this.from + by, this.to + by);
  }
  /** Shows these operations with some room around them. */
  reveal(indices) {
    const placed = indices.filter((i) => i >= 0 && this.hasPlace(i));
    if (placed.length === 0) return;
    const low = Math.min(...placed.map((i) => this.begin(i))), high = Math.max(...placed.map((i) => this.begin(i) + (this.axis === 'order' ? 1 : this.finish(i) - this.begin(i))));
    const room = Math.max((high - low) * 0.25, this.axis === 'order' ? 3 : 0);
    this.look(low - room, high + room);
    this.scrollTo(this.run.lane[placed[0]]);
  }
  scrollTo(lane) {
    const row = this.visibleRows.indexOf(lane), top = row * kRow;
    const height = this.canvas.clientHeight - kAxis;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    if (top + kRow > this.scroller.scrollTop + height) this.scroller.scrollTop = top + kRow - height;
  }

  select(index, reveal) {
    this.selected = index;
    if (index >= 0 && reveal && this.hasPlace(index)) {
      const begin = this.begin(index);
      if (begin < this.from || begin >= this.to) {
        const half = (this.to - this.from) / 2;
        this.look(begin - half, begin + half);
      }
      this.scrollTo(this.run.lane[index]);
    }
    this.redraw();
  }
  mark(marks) {
    this.marks = marks;
    this.redraw();
  }

  // ---- drawing

  resize() {
    if (!this.run) return;
    const rows = this.visibleRows.length, content = kAxis + rows * kRow + 4;
    const height = Math.min(content, Math.max(140, Math.round(window.innerHeight * 0.42)));
    this.scroller.style.height = `${height}px`;
    this.spacer.style.height = `${content - height}px`;
    this.canvas.style.height = `${height}px`;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.redraw();
  }
  redraw() {
    if (this.frame || !this.run) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }
  colours() {
    const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
    return {
      classes: this.run.data.classes.map((name) => get(`--c-${name}`)), text: get('--text'), soft: get('--soft'), line: get('--line'),
      row: get('--row'), back: get('--back'), danger: get('--danger'), good: get('--good'), mark: get('--accent'), box: get('--box-text'),
    };
  }
  laneY(lane) {
    const row = this.visibleRows.indexOf(lane);
    return row < 0 ? NaN : kAxis + row * kRow - this.scroller.scrollTop;
  }

  draw() {
    const g = this.context, ratio = window.devicePixelRatio || 1, run = this.run;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    const colour = this.colours();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = '12px ' + getComputedStyle(document.body).fontFamily;
    g.textBaseline = 'middle';
    this.drawn = 0;
    const scroll = this.scroller.scrollTop;
    const first = Math.max(0, Math.floor(scroll / kRow)), last = Math.min(this.visibleRows.length, Math.ceil((scroll + height) / kRow));
    const marked = new Map(this.marks.ops.map((op) => [op.index, op.role]));
    const dim = this.marks.ops.length > 0;

    g.save();
    g.beginPath();
    g.rect(kGutter, kAxis, width - kGutter, height - kAxis);
    g.clip();
    for (let row = first; row < last; ++row) {
      const y = kAxis + row * kRow - scroll;
      if (row % 2) { g.fillStyle = colour.row; g.fillRect(kGutter, y, width, kRow); }
      this.drawRow(g, this.rows[this.visibleRows[row]], y, colour, marked, dim);
    }
    this.drawArrows(g, colour);
    g.restore();

    this.drawAxis(g, width, colour);
    g.fillStyle = colour.back;
    g.fillRect(0, 0, kGutter, height);
    for (let row = first; row < last; ++row) {
      const lane = run.lanes[this.visibleRows[row]], y = kAxis + row * kRow - scroll;
      if (y < kAxis - kRow / 2) continue;
      g.fillStyle = colour.text;
      g.fillText(clipped(g, lane.name, kGutter - 20), 8, y + (lane.kind && lane.kind !== 'thread' ? 10 : kRow / 2));
      if (lane.kind && lane.kind !== 'thread') {
        g.fillStyle = colour.soft;
        g.font = '10px ' + getComputedStyle(document.body).fontFamily;
        g.fillText(lane.kind, 8, y + 22);
        g.font = '12px ' + getComputedStyle(document.body).fontFamily;
      }
    }
    g.strokeStyle = colour.line;
    g.beginPath();
    g.moveTo(kGutter - 0.5, 0);
    g.lineTo(kGutter - 0.5, height);
    g.moveTo(0, kAxis - 0.5);
    g.lineTo(width, kAxis - 0.5);
    g.stroke();
  }

  drawRow(g, row, y, colour, marked, dim) {
    const run = this.run, perPixel = (this.to - this.from) / this.width;
    const top = y + 4, tall = kRow - 8;
    // A box may have begun long before: those that block are few, and one before the first is enough.
    let k = Math.max(0, firstWhere(row.length, (j) => this.begin(row[j]) >= this.from) - 1);
    const special = [];
    while (k < row.length) {
      const i = row[k], begin = this.begin(i);
      if (begin >= this.to) break;
      const shown = !this.hiddenKinds.has(run.className(i));
      const left = this.x(begin), wide = Math.max(this.x(this.finish(i)) - left, kMinWidth);
      if (shown && left + wide >= kGutter) {
        ++this.drawn;
        const gap = wide > 4 ? 1 : 0;
        g.globalAlpha = dim && !marked.has(i) && i !== this.selected ? 0.55 : 1;
        g.fillStyle = colour.classes[run.kind[i]];
        g.fillRect(left + gap, top, wide - 2 * gap, tall);
        if (wide > 34) {
          const visible = Math.max(left, kGutter);
          g.fillStyle = colour.box;
          g.fillText(clipped(g, shortLabel(run.what(i)), left + wide - visible - 10), visible + 5, y + kRow / 2);
        }
        g.globalAlpha = 1;
        if (marked.has(i) || i === this.selected || i === this.hovered) special.push(i);
      }
      // Nothing else of this pixel would be seen.
      const next = begin + perPixel;
      k = wide <= kMinWidth && k + 1 < row.length && this.begin(row[k + 1]) < next
          ? k + 1 + firstWhere(row.length - k - 1, (j) => this.begin(row[k + 1 + j]) >= next) : k + 1;
    }
    for (const {index} of this.marks.ops) {
      if (run.lane[index] === run.lane[row[0]] && this.hasPlace(index) && !special.includes(index)) special.push(index);
    }
    if (this.selected >= 0 && row.length && run.lane[this.selected] === run.lane[row[0]] && this.hasPlace(this.selected) && !special.includes(this.selected)) special.push(this.selected);
    for (const i of special) this.outline(g, i, top, tall, marked.get(i), colour);
  }

  outline(g, i, top, tall, role, colour) {
    const left = this.x(this.begin(i)), wide = Math.max(this.x(this.finish(i)) - left, 3);
    if (left > kGutter + this.width || left + wide < kGutter) return;
    const strong = {later: colour.danger, earlier: colour.danger, related: colour.soft, struck: colour.danger, sync: colour.mark}[role];
    if (wide <= 4) { g.fillStyle = strong || colour.mark; g.fillRect(left, top - 2, wide, tall + 4); }
    g.lineWidth = i === this.selected ? 3 : 2;
    g.strokeStyle = i === this.hovered && !role && i !== this.selected ? colour.text : strong || colour.mark;
    if (i === this.selected && role) {
      g.strokeStyle = colour.mark;
      g.strokeRect(left - 2, top - 3, wide + 4, tall + 6);
      g.lineWidth = 2;
      g.strokeStyle = strong;
    }
    g.strokeRect(left, top - 1, wide, tall + 2);
    if (role === 'struck') {
      g.beginPath();
      g.moveTo(left - 3, top + tall + 3);
      g.lineTo(left + Math.min(wide, 60) + 3, top - 3);
      g.stroke();
    }
    g.lineWidth = 1;
  }

  drawArrows(g, colour) {
    const run = this.run;
    const arrows = [...this.marks.arrows];
    if (this.selected >= 0) {
      const known = (edge) => arrows.some((arrow) => arrow.from === edge.from && arrow.to === edge.to);
      const own = [...run.into.get(this.selected) || [], ...(run.outOf.get(this.selected) || []).slice(0, 64)];
      for (const edge of own) if (!known(edge)) arrows.push({from: edge.from, to: edge.to, role: 'edge'});
    }
    // What matters most is drawn last.
    arrows.sort((a, b) => (a.role === 'missing') - (b.role === 'missing'));
    for (const arrow of arrows) {
      if (!this.hasPlace(arrow.from) || !this.hasPlace(arrow.to)) continue;
      const fromEnd = this.axis === 'order' ? this.begin(arrow.from) + 1 : this.finish(arrow.from);
      const x1 = this.x(fromEnd), x2 = this.x(arrow.role === 'edge' && run.until[arrow.to] && this.axis === 'time' ? this.finish(arrow.to) : this.begin(arrow.to));
      const y1 = this.laneY(run.lane[arrow.from]) + kRow / 2, y2 = this.laneY(run.lane[arrow.to]) + kRow / 2;
      if (!(y1 === y1 && y2 === y2) || Math.max(x1, x2) < kGutter || Math.min(x1, x2) > kGutter + this.width) continue;
      const style = {missing: [colour.danger, [6, 4], 2], proposed: [colour.good, [6, 4], 2], ordered: [colour.mark, [], 2],
                     existing: [colour.soft, [], 1.5], gone: [colour.soft, [2, 3], 1.5], edge: [colour.mark, [], 1.5]}[arrow.role];
      this.arrow(g, x1, y1, x2, y2, style);
      const overlapped = arrow.role === 'missing' && this.axis === 'time' && x2 < x1;
      const roomy = Math.abs(x2 - x1) > 70 || Math.abs(y2 - y1) > 1.5 * kRow;
      if (arrow.text && (roomy || arrow.role === 'missing')) this.label(g, overlapped ? 'ran at the same time' : arrow.text, (x1 + x2) / 2, y1 === y2 ? y1 - kRow / 2 : (y1 + y2) / 2, style[0], colour);
    }
  }
  arrow(g, x1, y1, x2, y2, [stroke, dash, width]) {
    const bend = Math.max(18, Math.min(80, Math.abs(x2 - x1) / 2));
    g.strokeStyle = g.fillStyle = stroke;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x1, y1);
    if (y1 === y2) g.bezierCurveTo(x1 + 10, y1 - kRow, x2 - 14, y2 - kRow, x2 - 5, y2 - 4);
    else if (x2 < x1) g.lineTo(x2 - 5, y2);  // they overlapped in real time
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
  label(g, text, x, y, stroke, colour) {
    const wide = g.measureText(text).width + 8;
    g.fillStyle = colour.back;
    g.fillRect(x - wide / 2, y - 8, wide, 16);
    g.fillStyle = stroke;
    g.fillText(text, x - wide / 2 + 4, y);
  }

  drawAxis(g, width, colour) {
    const rough = (this.to - this.from) / Math.max(2, this.width / 110), magnitude = 10 ** Math.floor(Math.log10(rough));
    let step = [1, 2, 5, 10].map((m) => m * magnitude).find((s) => s >= rough);
    if (this.axis === 'order') step = Math.max(1, Math.round(step));
    g.fillStyle = colour.back;
    g.fillRect(0, 0, width, kAxis);
    g.fillStyle = colour.soft;
    for (let at = Math.max(0, Math.ceil(this.from / step) * step); at < Math.min(this.to, this.length + 0.001); at += step) {
      const x = this.x(at);
      if (x < kGutter) continue;
      g.fillRect(Math.round(x), kAxis - 5, 1, 5);
      g.fillText(this.axis === 'order' ? this.numberAt(Math.round(at), Math.min(step, 50)) : timeText(at), x + 3, kAxis / 2);
    }
    g.fillText(this.axis === 'order' ? 'operation' : 'time', 8, kAxis / 2);
  }
  /** The first number that reports give before the next mark; what the host does by itself has none. */
  numberAt(at, step) {
    for (let i = at; i < Math.min(at + step, this.run.count); ++i) if (this.run.number[i]) return `#${this.run.number[i]}`;
    return '';
  }

  // ---- mouse and keys

  hit(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    if (x < kGutter || y < kAxis) return -1;
    const row = this.rows[this.visibleRows[Math.floor((y - kAxis + this.scroller.scrollTop) / kRow)]];
    if (!row) return -1;
    const at = this.at(x), slack = 3 / this.width * (this.to - this.from);
    const next = firstWhere(row.length, (j) => this.begin(row[j]) > at);
    for (const j of [next - 1, next]) {
      if (j >= 0 && j < row.length && this.begin(row[j]) - slack <= at && at <= this.finish(row[j]) + slack) return row[j];
    }
    return -1;
  }
  listen() {
    const canvas = this.canvas;
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.clientX, from: this.from, to: this.to, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (drag) {
        const by = (event.clientX - drag.x) / this.width * (drag.to - drag.from);
        drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
        if (drag.moved) this.look(drag.from - by, drag.to - by);
        return;
      }
      this.hover(this.hit(event), event);
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag && !drag.moved) this.on.select(this.hit(event));
      drag = null;
    });
    canvas.addEventListener('pointercancel', () => { drag = null; });
    canvas.addEventListener('pointerleave', () => this.hover(-1));
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return this.pan((event.deltaX || event.deltaY) / 800);
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), this.at(event.clientX - canvas.getBoundingClientRect().left));
    }, {passive: false});
    this.scroller.addEventListener('scroll', () => this.redraw());
    canvas.addEventListener('keydown', (event) => {
      const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      if (event.shiftKey && step[0]) return this.pan(step[0] * 0.2);
      this.on.select(this.neighbour(step[0], step[1]));
    });
  }
  neighbour(along, across) {
    const run = this.run;
    if (this.selected < 0 || !this.hasPlace(this.selected)) {
      const middle = (this.from + this.to) / 2;
      for (const lane of this.visibleRows) {
        const row = this.rows[lane], k = firstWhere(row.length, (j) => this.begin(row[j]) >= middle);
        if (k < row.length) return row[k];
      }
      return -1;
    }
    const row = this.visibleRows.indexOf(run.lane[this.selected]);
    if (along) {
      const list = this.rows[run.lane[this.selected]], k = list.indexOf(this.selected) + along;
      return list[Math.min(Math.max(k, 0), list.length - 1)];
    }
    for (let other = row + across; other >= 0 && other < this.visibleRows.length; other += across) {
      const list = this.rows[this.visibleRows[other]];
      if (list.length === 0) continue;
      const k = firstWhere(list.length, (j) => this.begin(list[j]) >= this.begin(this.selected));
      return list[Math.min(k, list.length - 1)];
    }
    return this.selected;
  }
  hover(index, event) {
    if (index !== this.hovered) {
      this.hovered = index;
      this.redraw();
    }
    this.tip.hidden = index < 0;
    if (index < 0) return;
    const run = this.run;
    replace(this.tip, h('strong', {}, run.what(index)), h('span', {}, this.on.describe(index)));
    const box = this.host.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX - box.left + 12, box.width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${event.clientY - box.top + 14}px`;
  }

  buildToolbar() {
    const run = this.run;
    const axis = run.gpuTimes && h('span', {class: 'group', role: 'group', 'aria-label': 'Axis'},
        [['order', 'Submission order'], ['time', 'Real time']].map(([value, label]) =>
          button(label, {'aria-pressed': String(this.axis === value), class: 'toggle'}, () => this.changeAxis(value))));
    const kinds = [...new Set(run.kind)].sort((a, b) => a - b).map((kind) => run.data.classes[kind]);
    const legend = h('span', {class: 'group legend', role: 'group', 'aria-label': 'Kinds of operations shown'},
        kinds.map((kind) => button([h('i', {class: `swatch k-${kind}`}), kind.replace('-', ' ')],
          {'aria-pressed': String(!this.hiddenKinds.has(kind)), class: 'toggle'}, (event) => {
            const hide = !this.hiddenKinds.has(kind);
            if (hide) this.hiddenKinds.add(kind); else this.hiddenKinds.delete(kind);
            event.currentTarget.setAttribute('aria-pressed', String(!hide));
            this.redraw();
          })));
    replace(this.toolbar,
        h('span', {class: 'group', role: 'group', 'aria-label': 'Zoom'},
            button('−', {title: 'Zoom out (-)', 'aria-label': 'Zoom out'}, () => this.zoom(1.6)),
            button('+', {title: 'Zoom in (+)', 'aria-label': 'Zoom in'}, () => this.zoom(1 / 1.6)),
            button('Fit', {title: 'Show the whole run (0)'}, () => this.fit())),
        axis, legend);
    const parts = [];
    if (run.count < run.operations) parts.push(`${run.count.toLocaleString('en')} of ${run.operations.toLocaleString('en')} operations are shown: those around findings and synchronisations, and the beginning of the run.`);
    if (this.axis === 'time' && run.timed < run.count) parts.push(`${(run.count - run.timed).toLocaleString('en')} operations have no time and are left out.`);
    this.note.textContent = parts.join(' ');
    this.note.hidden = parts.length === 0;
  }
  changeAxis(axis) {
    this.setAxis(axis);
    this.fit();
    this.reveal(this.marks.ops.map((op) => op.index));
    this.resize();
  }
}

function clipped(g, text, width) {
  if (width < 12) return '';
  if (g.measureText(text).width <= width) return text;
  const keep = firstWhere(text.length, (n) => g.measureText(text.slice(0, n + 1) + '…').width > width);
  return keep > 0 ? text.slice(0, keep) + '…' : '';
}
