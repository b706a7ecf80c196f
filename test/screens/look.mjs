// What a screen must be in every state that a story looks at, light and dark: accessible by axe's rules, and no wider than the display.
import assert from "node:assert/strict";
import AxeBuilder from "@axe-core/playwright";

// What depends on colours: the rest is the same in the dark.
const COLOURS = ["color-contrast", "link-in-text-block"];

const violations = [];

// look notes what axe finds on the page; `what` names its state. With PICTURES, a folder, it takes pictures.
export async function look(page, what) {
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const axe = new AxeBuilder({ page }).setLegacyMode(); // which is for pages without frames
    const found = (await (colorScheme === "dark" ? axe.withRules(COLOURS) : axe).analyze()).violations;
    violations.push(...found.map(({ id, help, nodes }) =>
      `${what}, ${colorScheme}: ${id}: ${help}\n${nodes.slice(0, 5).map(({ html, failureSummary }) => `    ${html}\n    ${failureSummary}`).join("\n")}`));
    if (process.env.PICTURES) {
      await page.screenshot({ path: `${process.env.PICTURES}/${what.replaceAll(/\W+/g, "-")}-${colorScheme}.png` });
    }
  }
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${what}: nothing is wider than the screen`);
}

// requireAccessible is called at the end of a story that looks.
export function requireAccessible() {
  assert.deepEqual(violations, []);
}
