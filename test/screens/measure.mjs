// Every control and text of the control screen at every size: telephones, tablets and desks, in two languages, with few lanes and many,
// in every state of a range. What is cut, lies over something else, is too small or too near is said with its size, language and state.
import assert from "node:assert/strict";
import { join } from "node:path";
import { Control } from "./control.mjs";
import { EVERY, LANGUAGES, SIZES } from "./sizes.mjs";
import { device, open, scene, story, tell } from "./story.mjs";

const LANES = [12, 60, 200];
// Each size is measured in one of the languages with one of the numbers of lanes, by make soak in both with all of them. 200 lanes take eight
// times as long as 12, and 60 twice as long: they are measured on a desk, and on a telephone and a tablet, by their numbers in SIZES.
const CROWDED = { 60: [3, 9], 200: [16] };
const lanesAt = (size) => LANES.find((lanes) => CROWDED[lanes]?.includes(size)) ?? LANES[0];
const isMeasured = (size, language, lanes) => EVERY || (language === size % LANGUAGES.length && lanesAt(size) === lanes);
const SHOWN = 80; // lines of what is wrong

await story(async () => {
  const wrong = [];
  for (const lanes of LANES) {
    tell(`${lanes} lanes at ${SIZES.length} sizes, in ${LANGUAGES.length} languages`);
    await Promise.all(LANGUAGES.map(async (locale, language) => {
      const context = await device({ locale, viewport: null });
      await context.addInitScript({ path: "measuring.js" });
      const staff = new Control();
      const page = (staff.page = await open(context, `${scene.api}/control/11111111-0000-4000-8000-${String(lanes).padStart(12, "0")}`));
      const window = await context.newCDPSession(page);
      await staff.signIn("sam");
      let size = "";
      if (process.env.PICTURES) {
        await page.exposeFunction("picture", (name) => page.screenshot({ path: join(process.env.PICTURES, `${size}-${locale}-${lanes}-${name.replaceAll(/\W+/g, "-")}.png`) }));
      }
      const sizes = SIZES.filter((_, size) => isMeasured(size, language, lanes));
      for (const [width, height, touch] of sizes) {
        await window.send("Emulation.setTouchEmulationEnabled", { enabled: touch, maxTouchPoints: 5 });
        await window.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: touch });
        size = `${width}x${height}`;
        const found = await page.evaluate((options) => window.measuring.all(options), { touch });
        wrong.push(...found.wrong.map(({ scene: state, of, rule }) => ({ where: `${width}×${height} ${locale.slice(0, 2)}, ${lanes} lanes (${found.density}), ${state}`, of, rule })));
      }
      await page.close();
    }));
  }
  assert.equal(wrong.length, 0, `${wrong.length} faults:\n${lines(wrong).join("\n")}`);
});

// lines are one for each place and rule, with an example of an element.
function lines(wrong) {
  const groups = new Map();
  for (const { where, of, rule } of wrong) {
    const key = `${where} ${rule.replace(/[\d.]+|“.*”/g, "")}`;
    groups.set(key, { where, of, rule, n: (groups.get(key)?.n ?? 0) + 1 });
  }
  const all = [...groups.values()].map(({ where, of, rule, n }) => `  ${where}: ${of}: ${rule}${n > 1 ? ` (and ${n - 1} like it)` : ""}`);
  return all.length > SHOWN ? [...all.slice(0, SHOWN), `  … and ${all.length - SHOWN} more`] : all;
}
