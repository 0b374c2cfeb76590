# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The timeline of the HTML report: its axes, the mouse, and that long runs stay fluent. Run by page_test.py."""
import os

from page_case import PageCase


class TimelineTest(PageCase):
    def test_mouse(self):
        page = self.open("race")
        box = page.evaluate("(() => { const b = streamsan.timeline.canvas.getBoundingClientRect(); return [b.left, b.top]; })()")
        x = page.evaluate("streamsan.timeline.x(4.5)") + box[0]
        y = page.evaluate("streamsan.timeline.laneY(streamsan.state.run.lane[4])") + box[1] + 15
        page.mouse("mouseMoved", x, y)
        page.settle()
        self.assertIn("kernel consume", self.text(page, ".tip"))
        page.click(x, y)
        self.assertEqual(page.evaluate("streamsan.state.op"), 4)
        span = page.evaluate("streamsan.timeline.to - streamsan.timeline.from")
        page.press("0")
        page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
        page.settle()
        self.assertLessEqual(page.evaluate("streamsan.timeline.to - streamsan.timeline.from"), span)

    def test_real_time(self):
        page = self.open("times")
        page.press("n")
        self.assertEqual(self.count(page, "[aria-label=Axis] button"), 2)
        page.evaluate("document.querySelectorAll('[aria-label=Axis] button')[1].click()")
        self.assertEqual(page.evaluate("streamsan.timeline.axis"), "time")
        self.assertIn("3 operations have no time", self.text(page, ".cut-note"))
        # What is chosen is looked at.
        self.assertLess(page.evaluate("streamsan.timeline.to - streamsan.timeline.from"), page.evaluate("streamsan.timeline.length"))
        self.assertTrue(page.evaluate("streamsan.timeline.marks.focus.length > 0 && streamsan.timeline.marks.focus.every((i) => "
                                      "streamsan.timeline.begin(i) >= streamsan.timeline.from && streamsan.timeline.finish(i) <= streamsan.timeline.to)"))
        self.picture(page, "real-time")
        self.assertEqual(self.count(self.open("race"), "[aria-label=Axis] button"), 0, "without times there is one axis only")

    def test_marks_of_the_axis_can_be_told_apart(self):
        """However far one zooms in, and however late in the run."""
        page = self.open("times")
        page.evaluate("document.querySelectorAll('[aria-label=Axis] button')[1].click()")
        texts = """(() => {
          const t = streamsan.timeline, g = t.painter.context, said = [];
          t.length = 4e9;
          t.look(%s, %s);
          const real = g.fillText;
          g.fillText = function (text, x, y) { if (y === 11) said.push([text, x, x + g.measureText(text).width]); };
          t.draw();
          g.fillText = real;
          return said.slice(0, -1);  // the last one is the name of the axis
        })()"""
        for low, high in ((0, 4e9), (3.2e9, 3.3e9), (3.2e9, 3.2e9 + 5000), (3.2e9, 3.2e9 + 40), (0, 900)):
            said = page.evaluate(texts % (low, high))
            self.assertGreater(len(said), 2)
            self.assertEqual(len({text for text, _, _ in said}), len(said), said)
            for (_, _, end), (_, begin, _) in zip(said, said[1:]):
                self.assertLess(end, begin)

    def test_numbers_of_the_axis_stand_over_their_operations(self):
        page = self.open("race")
        page.press("n")
        said = page.evaluate("""(() => {
          const t = streamsan.timeline, g = t.painter.context, said = [], real = g.fillText;
          g.fillText = function (text, x, y) { if (y === 11 && text[0] === '#') said.push([text, t.at(x - 3)]); };
          t.draw();
          g.fillText = real;
          return said.map(([text, at]) => [text, t.run.byNumber.get(Number(text.slice(1))) - at]);
        })()""")
        self.assertGreater(len(said), 1)
        for text, distance in said:
            self.assertAlmostEqual(distance, 0, places=6, msg=text)

    def test_fifty_thousand_operations(self):
        self.assertLess(os.path.getsize(self.path("big")), 10 << 20)
        page = self.open("big")
        self.assertIn("50,000 of 1,234,567 operations are shown", self.text(page, ".cut-note"))
        rows = page.evaluate("streamsan.timeline.visibleRows.length")
        width = page.evaluate("streamsan.timeline.width")
        for look in ("fit()", "zoom(0.3)", "zoom(0.1)", "zoom(0.1)", "pan(0.7)"):
            page.evaluate(f"streamsan.timeline.{look}")
            page.settle()
            drawn = page.evaluate("streamsan.timeline.drawn")
            self.assertGreater(drawn, 0)
            self.assertLessEqual(drawn, rows * (width + 3), look)
        page.press("0")
        self.picture(page, "big-all")
        page.press("n")
        self.assertLess(page.evaluate("streamsan.timeline.drawn"), 200)
        self.picture(page, "big-finding")
        # Every pixel of a row that has a box under it shows one.
        self.assertEqual(page.evaluate("""(() => {
          const t = streamsan.timeline;
          t.select(-1); t.mark({ops: [], arrows: [], struck: []}); t.fit(); t.draw();
          // Of every other row: the others have a ground of their own, on which no gap would be seen.
          const lane = t.visibleRows.filter((_, row) => row % 2 === 0).sort((a, b) => t.rows[b].length - t.rows[a].length)[0];
          const row = t.rows[lane], y = Math.round((t.laneY(lane) + 15) * devicePixelRatio);
          const line = t.painter.context.getImageData(0, y, t.canvas.width, 1).data;
          return [row.length > 3000, row.filter((i) => line[4 * Math.floor(t.x(t.begin(i)) * devicePixelRatio) + 3] === 0).length];
        })()"""), [True, 0])
