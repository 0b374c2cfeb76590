// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timeline: one row for each host thread and stream, a box for each operation. This is the element: its toolbar, what
// is selected and marked, mouse and keys. view.js knows what is seen, paint.js draws it.
import {button, h, replace} from './dom.js';
import {noMarks} from './marks.js';
import {Painter} from './paint.js';
import {View, kAxis, kRow} from './view.js';

export class Timeline extends View {
  /** on.select(index), on.view() when what is seen has changed, on.describe(index) for the tip. */
  constructor(host, on) {
    super();
    this.on = on;
    this.host = host;
    this.selected = -1;
    this.hovered = -1;
    this.marks = noMarks();
    this.hiddenKinds = new Set();
    this.canvas = h('canvas', {tabindex: 0, role: 'img', 'aria-label': 'Timeline. Arrow keys move between operations, plus and minus zoom.'});
    this.spacer = h('div', {class: 'spacer'});
    this.scroller = h('div', {class: 'scroller'}, this.canvas, this.spacer);
    this.tip = h('div', {class: 'tip', hidden: true});
    this.toolbar = h('div', {class: 'toolbar'});
    this.note = h('p', {class: 'cut-note'});
    replace(host, this.toolbar, this.scroller, this.note, this.tip);
    this.painter = new Painter(this.canvas, this);
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
    this.arrange(this.run, axis);
    this.buildToolbar();
  }
  changeAxis(axis) {
    this.setAxis(axis);
    this.resize();
    this.fit();
    if (this.selected >= 0) this.reveal([this.selected]);
    else this.revealMarks();
  }
  /** What the marks are about, or if that has no place here the first of them that have one. */
  revealMarks() {
    const placed = (indices) => indices.filter((i) => this.hasPlace(i)), focus = placed(this.marks.focus);
    this.reveal(focus.length ? focus : placed(this.marks.ops.map((op) => op.index)).slice(0, 2));
  }

  moved() {
    this.redraw();
    this.on.view();
  }
  /** Shows these operations with some room around them. */
  reveal(indices) {
    if (this.lookAt(indices)) this.scrollTo(this.run.lane[indices.find((i) => i >= 0 && this.hasPlace(i))]);
  }
  scrollTo(lane) {
    const top = this.visibleRows.indexOf(lane) * kRow, height = this.canvas.clientHeight - kAxis;
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

  resize() {
    if (!this.run) return;
    const rows = this.visibleRows.length, content = kAxis + rows * kRow + 4;
    const height = Math.min(content, Math.max(140, Math.round(window.innerHeight * 0.42)));
    this.scroller.style.height = `${height}px`;
    this.spacer.style.height = `${content - height}px`;
    this.canvas.style.height = `${height}px`;
    const ratio = window.devicePixelRatio || 1;
    this.canvasWidth = this.canvas.clientWidth;
    this.canvas.width = Math.round(this.canvasWidth * ratio);
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
  draw() {
    this.scrollTop = this.scroller.scrollTop;
    this.painter.draw(this);
  }
  get drawn() { return this.painter.drawn; }

  // ---- mouse and keys

  under(event) {
    const box = this.canvas.getBoundingClientRect();
    return this.hit(event.clientX - box.left, event.clientY - box.top);
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
      this.hover(this.under(event), event);
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag && !drag.moved) this.on.select(this.under(event));
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
      this.on.select(this.neighbour(this.selected, step[0], step[1]));
    });
  }
  hover(index, event) {
    if (index !== this.hovered) {
      this.hovered = index;
      this.redraw();
    }
    this.tip.hidden = index < 0;
    if (index < 0) return;
    replace(this.tip, h('strong', {}, this.run.what(index)), h('span', {}, this.on.describe(index)));
    const box = this.host.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX - box.left + 12, box.width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${event.clientY - box.top + 14}px`;
  }

  // ---- the toolbar

  buildToolbar() {
    const run = this.run;
    const axis = run.gpuTimes && h('span', {class: 'group', role: 'group', 'aria-label': 'Axis'},
        [['order', 'Submission order'], ['time', 'Real time']].map(([value, label]) =>
          button(label, {'aria-pressed': String(this.axis === value), class: 'toggle'}, () => this.changeAxis(value))));
    const kinds = [...new Set(run.kind)].sort((a, b) => a - b).map((kind) => run.data.classes[kind]);
    const legend = h('span', {class: 'group legend', role: 'group', 'aria-label': 'Kinds of operations shown'},
        kinds.map((kind) => button([h('i', {class: `swatch k-${kind}`}), kind.replace('-', ' ')],
          {'aria-pressed': String(!this.hiddenKinds.has(kind)), class: 'toggle', title: 'Show or hide'}, (event) => {
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
    if (this.axis === 'time' && run.timed < run.count) parts.push(`${(run.count - run.timed).toLocaleString('en')} operations have no time and are left out: events, waits for them, what was not timed.`);
    this.note.textContent = parts.join(' ');
    this.note.hidden = parts.length === 0;
  }
}
