// Staff at the control screen, who find what they touch by what it says.
import assert from "node:assert/strict";
import { device, open, scene } from "./story.mjs";

const APART = 400; // ms between two presses on a lane's card

export class Control {
  page;
  #pressed = new Map(); // by lane: when its card was pressed last

  // signedIn is a screen at which somebody has signed in.
  static async signedIn(who = "sam", options = {}) {
    const screen = new Control();
    screen.page = await open(await device(options), `${scene.api}/control/${scene.range}`);
    await screen.signIn(who);
    return screen;
  }

  async signIn(who, pin = scene.pin) {
    await this.page.getByLabel("Name", { exact: true }).fill(who);
    await this.page.getByLabel("PIN", { exact: true }).fill(pin);
    await this.page.getByLabel("PIN", { exact: true }).press("Enter");
    await this.page.locator(".lane").first().waitFor({ state: "attached" }); // on a small screen another view is the first
  }

  card(n) {
    return this.page.locator(`.lane[data-lane="${scene.lanes[n - 1].id}"]`);
  }

  get panel() {
    return this.page.locator("#panel");
  }

  // queue is what needs staff.
  get queue() {
    return this.page.locator("#attention");
  }

  // need is the button of that name for a lane in the queue.
  need(name, n) {
    return this.queue.getByRole("button", { name: `${name}: Lane ${n}`, exact: true });
  }

  // answer presses that button, once presses count after another need has gone.
  async answer(name, n) {
    await this.queue.locator("#needs:not([data-moved])").waitFor({ state: "attached" });
    await this.need(name, n).click();
  }

  // openQueue shows all of it, with all that can be done.
  openQueue() {
    return this.queue.locator(".need-count[aria-expanded=false]").click();
  }

  // view shows a view of a small screen: queue, next, board.
  async view(name) {
    await this.settled();
    await this.page.locator(`.views a[href="#${name}"]`).tap();
    await this.page.locator(`#${name}`).waitFor();
  }

  get alarm() {
    return this.page.locator("#alarm");
  }

  // quick is the button of that name on the lane's card. It is pressed as people press: not at once after another one of the lane, which is not
  // taken.
  quick(name, n) {
    const button = this.card(n).getByRole("button", { name: `${name}: Lane ${n}`, exact: true });
    for (const press of ["click", "tap"]) {
      const pressNow = button[press].bind(button);
      button[press] = async (options) => {
        await this.page.waitForTimeout(Math.max(0, (this.#pressed.get(n) ?? -Infinity) + APART - performance.now()));
        await pressNow(options);
        this.#pressed.set(n, performance.now());
      };
    }
    return button;
  }

  // inState waits until the lane's card says so: free, ended, waiting, running, paused, closed.
  inState(n, state) {
    return this.page.locator(`.lane[data-lane="${scene.lanes[n - 1].id}"][data-state="${state}"]`).waitFor();
  }

  // says waits until the lane's card shows the text.
  says(n, text) {
    return this.card(n).filter({ hasText: text }).waitFor();
  }

  async openLane(n) {
    await this.settled();
    await this.card(n).getByRole("button", { name: `Lane ${n}`, exact: true }).click();
    await this.panel.getByRole("heading", { name: `Lane ${n}` }).waitFor();
    await this.opened();
  }

  // opened waits until presses in the panel count, after it was opened.
  opened() {
    return this.page.locator("#panel:not([data-just-opened])").waitFor();
  }

  // create makes a session, with the minutes of one of the buttons.
  async create(n, customer, { minutes = 60, onEntry = false, purchasing = false } = {}) {
    await this.quick("New session", n).click();
    await this.panel.getByLabel("Customer", { exact: true }).fill(customer);
    await this.opened();
    await this.panel.getByLabel(onEntry ? "when the customer enters the lane" : "now", { exact: true }).check();
    await this.panel.getByLabel("Buying at the lane").setChecked(purchasing);
    await this.panel.getByRole("button", { name: `Sell ${minutes} minutes` }).click();
    await this.inState(n, onEntry ? "waiting" : "running");
    await this.says(n, customer);
  }

  // move has the session that is shown go on in another lane.
  async move(n) {
    await this.panel.getByRole("button", { name: "Move …" }).click();
    await this.card(n).getByRole("button", { name: `Lane ${n}`, exact: true }).click();
  }

  // stop takes two touches, with a moment between them, as a hand that has slipped does not.
  async stop(n) {
    await this.quick("Stop", n).click();
    await this.card(n).locator(".sure:not([aria-disabled])").click();
    await this.inState(n, "free");
  }

  // signOut takes two touches too.
  async signOut() {
    await this.page.getByRole("button", { name: "Sign out" }).click();
    await this.page.locator(".who .sure:not([aria-disabled])").click();
  }

  beginCeasefire() {
    return this.page.getByRole("button", { name: "Ceasefire over the whole range" }).click();
  }

  // bang presses a control that begins a ceasefire, and goes on pressing the same place. For 1.5 s nothing else comes under the
  // finger, and the control stays where it is.
  async bang(control, { touch }) {
    await control.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await control.boundingBox();
    const at = [x + width / 2, y + height / 2];
    await control.evaluate((pressed, [x, y]) => {
      const before = JSON.stringify(pressed.getBoundingClientRect());
      window.underTheFinger = new Promise((resolve) => {
        const other = new Set();
        document.addEventListener("click", ({ timeStamp: began }) => requestAnimationFrame(function look() {
          if (performance.now() - began >= 1500) { // by the clock: on a busy machine a frame has an earlier time
            resolve([...other]);
            return;
          }
          const found = document.elementFromPoint(x, y).closest("button, a, input, select, label, summary");
          if (found !== pressed) {
            other.add(`${found?.outerHTML}`);
          }
          const rect = JSON.stringify(pressed.getBoundingClientRect());
          if (rect !== before) {
            other.add(`moved from ${before} to ${rect}`);
          }
          requestAnimationFrame(look);
        }), { capture: true, once: true });
      });
    }, at);
    let other;
    const watched = this.page.evaluate(() => window.underTheFinger).then((seen) => (other = seen));
    while (other === undefined) {
      await (touch ? this.page.touchscreen.tap(...at) : this.page.mouse.click(...at));
      await Promise.race([watched, this.page.waitForTimeout(150)]);
    }
    assert.deepEqual(other, []);
  }

  // clearance is the distance, in px, between the control that begins a ceasefire over the range and any other that can be pressed.
  clearance() {
    return this.page.evaluate(() => {
      const main = document.getElementById("main").getBoundingClientRect();
      const begin = document.querySelector("#begin button");
      const box = begin.getBoundingClientRect();
      const distances = [...document.querySelectorAll("button, a, input, select, summary")].filter((of) => of !== begin && of.checkVisibility()).map((of) => {
        const rect = of.getBoundingClientRect();
        const bottom = of.closest(".middle") ? Math.min(rect.bottom, main.bottom) : rect.bottom; // what is scrolled away cannot be pressed
        return rect.top >= bottom ? Infinity : Math.max(box.top - bottom, rect.top - box.bottom, box.left - rect.right, rect.left - box.right);
      });
      return Math.min(...distances);
    });
  }

  // isInReach is true if presses on the control that begins a ceasefire over the range hit it, in its middle and at its corners.
  isInReach() {
    return this.page.evaluate(() => {
      const control = document.querySelector("#begin button");
      const { left, top, right, bottom } = control.getBoundingClientRect();
      const points = [[(left + right) / 2, (top + bottom) / 2], [left + 8, top + 8], [right - 8, bottom - 8], [left + 8, bottom - 8], [right - 8, top + 8]];
      return points.every(([x, y]) => control.contains(document.elementFromPoint(x, y)));
    });
  }

  // settled waits until presses count again, after one that began a ceasefire and after the alarm has come or gone.
  settled() {
    return this.page.locator("body:not([data-ignores-presses])").waitFor();
  }

  // endCeasefire holds the button down until the ceasefire is over.
  async endCeasefire() {
    await this.settled();
    await this.alarm.getByRole("button", { name: "Hold down to end: whole range" }).hover();
    await this.page.mouse.down();
    await this.alarm.waitFor({ state: "hidden" });
    await this.page.mouse.up();
    await this.settled();
  }

  async go(tab) {
    await this.settled();
    if (await this.page.locator("#menu[aria-expanded=false]").isVisible()) {
      await this.page.locator("#menu").click();
    }
    await this.page.getByRole("navigation").getByRole("link", { name: tab }).click();
  }

  // row is the line of a page's table that has all of these texts.
  row(...texts) {
    return texts.reduce((row, text) => row.filter({ hasText: text }), this.page.locator("main section:not([hidden]) tbody tr")).first();
  }
}
