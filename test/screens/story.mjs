// A story's browser: its screens, each with cookies of its own as on a device of its own, and what becomes of the story.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

// scene is what the test tells of the world (story_test.go).
export const scene = JSON.parse(process.argv[2]);

// PATIENCE is for what has to come. On a machine at a quarter of the usual speed, with all other tests running, a page that was opened took
// more than half a minute until it showed its first state.
export const PATIENCE = 120_000;

const browser = await chromium.launch({ executablePath: scene.chromium, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--in-process-gpu"] });
const pages = [];

// device is a browser of its own, in English unless options say something else.
export async function device(options = {}) {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  await context.addInitScript(giveTime);
  return context;
}

// giveTime runs in a page: what asks "sure?", what was done and its Undo, and the second button of one that is held down stay 20 times as long, as
// a busy machine comes to press them so much later; so does the click that follows a press, and a stream that says nothing. A request's answer
// may take 20 times as long: some stories hold it back. What is refused because the store takes its time is sent again, as a user does: nothing
// was changed. A ceasefire is not: the page itself sends it again, and stories count that.
function giveTime() {
  const { setTimeout, fetch } = window;
  const { timeout } = AbortSignal;
  const calledFrom = (modules) => modules.test(new Error().stack.split("\n")[3]);
  window.setTimeout = (act, ms, ...rest) => {
    const isWaiting = ([5_000, 10_000, 30_000].includes(ms) && calledFrom(/\/(confirmbutton|actionbutton|outcome|holdbutton)\.js/)) ||
      (ms === 1_000 && calledFrom(/\/beginbutton\.js/)) || (ms === 7_000 && calledFrom(/\/frames\.js/));
    return setTimeout(act, isWaiting ? 20 * ms : ms, ...rest);
  };
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, calledFrom(/\/(gateway|send)\.js/) ? 20 * ms : ms);
  const isRepeated = (path) => /^\/(control\/api\/(sessions|lanes|starts)|lane)\b/.test(path);
  window.fetch = async function again(path, options) {
    const response = await fetch(path, options);
    const code = response.status === 503 && isRepeated(path) ? (await response.clone().json().catch(() => null))?.code : "";
    if (code !== "store_unavailable") {
      return response;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    return again(path, options);
  };
}

// open is a page of the device. A fault in its code, or something that its Content-Security-Policy keeps it from, ends the
// story badly.
export async function open(context, address) {
  const page = await context.newPage();
  pages.push(page);
  // Whoever sees that another control has come looks for a moment before pressing it: see api/screens/web/replaced.js.
  await page.addLocatorHandler(page.locator("body[data-replaced]"), () => page.locator("body:not([data-replaced])").waitFor(), { noWaitAfter: true });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.stack ?? error}`));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/.test(message.text()) && [scene.api, scene.operations].some((address) => page.url().startsWith(address))) {
      complaints.push(`${page.url()}: ${message.text()}`);
    }
  });
  if (address) {
    await page.goto(address);
  }
  return page;
}

const complaints = [];
let chapter = "";
let begun = Date.now();

// tell begins a chapter: where a story fails is said by the chapter that it was in.
export function tell(sentence) {
  if (chapter) {
    console.log(`  ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
  [chapter, begun] = [sentence, Date.now()];
  console.log(sentence);
}

// story plays it, and ends the process: with 1 and pictures of every page when something went wrong.
export async function story(play) {
  try {
    await play();
    if (complaints.length > 0) {
      throw new Error(`the pages complained:\n${complaints.join("\n")}`);
    }
  } catch (failure) {
    process.exitCode = 1;
    console.log(`FAILED: ${chapter}\n${failure.stack ?? failure}`);
    complaints.forEach((complaint) => console.log(complaint));
    for (const [n, page] of pages.entries()) {
      await keep(page, join(scene.kept, String(n + 1))).catch((error) => console.log(`no picture of page ${n + 1}: ${error.message}`));
    }
  }
  await browser.close();
}

async function keep(page, path) {
  if (page.isClosed()) {
    return;
  }
  await writeFile(`${path}.html`, await page.content());
  await page.screenshot({ path: `${path}.png`, timeout: 5_000 });
  console.log(`page ${page.url()}: ${path}.png, .html`);
}

// eventually waits until ask() answers something true, and answers that.
export async function eventually(what, ask, patience = PATIENCE) {
  const end = Date.now() + patience;
  let last;
  do {
    last = await ask();
    if (last) {
      return last;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  } while (Date.now() < end);
  throw new Error(`it never came: ${what}; the last answer was ${JSON.stringify(last)}`);
}
