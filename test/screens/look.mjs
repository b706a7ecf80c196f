// What a screen must be in every state that a story looks at, light and dark: accessible by axe's rules, and no wider than the display.
import assert from "node:assert/strict";
import axe from "axe-core";

// What depends on colours: the rest is the same in the dark.
const COLOURS = ["color-contrast", "link-in-text-block"];

const violations = [];

// look notes what axe finds on the page in each colour scheme; `what` names its state. With PICTURES, a folder, it takes
// pictures.
export async function look(page, what, schemes = ["dark", "light"]) {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const found = await judge(page, colorScheme === "dark" ? COLOURS : null);
    violations.push(...found.map(({ id, help, nodes }) =>
      `${what}, ${colorScheme}: ${id}: ${help}\n${nodes.slice(0, 5).map(({ html, failureSummary }) => `    ${html}\n    ${failureSummary}`).join("\n")}`));
    if (process.env.PICTURES) {
      await page.screenshot({ path: `${process.env.PICTURES}/${what.replaceAll(/\W+/g, "-")}-${colorScheme}.png` });
    }
  }
  assert.deepEqual(await page.evaluate(beyond), [], `${what}: nothing is wider than the screen`);
}

// judge returns what axe finds by those rules; null: by all of its own. Axe is loaded into a page once, and says nothing of
// the elements that pass: both would take most of its time.
async function judge(page, rules) {
  if (!(await page.evaluate(() => "axe" in window))) {
    await page.evaluate(axe.source);
  }
  return page.evaluate(async (runOnly) => {
    // What can be read on a control is in its name (WCAG 2.5.3), for those who say what they press: axe leaves the rule out by itself.
    const rules = runOnly ? {} : { "label-content-name-mismatch": { enabled: true } };
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], rules, ...(runOnly && { runOnly }) });
    return violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })) }));
  }, rules);
}

// beyond runs in the page: if that is wider than the window, which elements reach beyond it.
function beyond() {
  if (document.documentElement.scrollWidth <= innerWidth) {
    return [];
  }
  const wide = [...document.body.querySelectorAll("*")].filter((of) => of.checkVisibility() && of.getBoundingClientRect().right > innerWidth + 0.5);
  return wide.map((of) => `${of.localName}.${of.className}: to ${Math.round(of.getBoundingClientRect().right)} px`);
}

// requireAccessible is called at the end of a story that looks.
export function requireAccessible() {
  assert.equal(violations.length, 0, violations.join("\n"));
}
