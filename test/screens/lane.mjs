// A shooter at the screen in the lane.
import { device, open, scene } from "./story.mjs";

export class Lane {
  page;

  static async at(n, options = {}) {
    const screen = new Lane();
    const { id, key } = scene.lanes[n - 1];
    screen.page = await open(await device(options), `${scene.api}/lane/${id}?key=${key}`);
    await screen.page.getByRole("heading", { level: 1, name: `Lane ${n}`, exact: true }).waitFor();
    return screen;
  }

  // shows waits until the middle of the screen says so.
  shows(text) {
    return this.page.locator("main").filter({ hasText: text }).waitFor();
  }

  // inState waits until the screen is in it: idle, waiting, running, paused, ceasefire, closed, over.
  inState(state) {
    return this.page.locator(`body[data-state="${state}"]`).waitFor();
  }

  get shop() {
    return this.page.getByRole("dialog");
  }

  async openShop() {
    await this.page.getByRole("button", { name: "Shop" }).click();
    await this.shop.getByRole("tab", { name: "Time" }).waitFor();
  }

  // more touches the plus of a product.
  more(product) {
    return this.shop.getByRole("button", { name: `More: ${product}` }).click();
  }

  async total() {
    return this.shop.locator(".total strong").textContent();
  }

  buy() {
    return this.shop.getByRole("button", { name: "Buy" }).click();
  }

  // is waits until the shop says so.
  shopSays(text) {
    return this.shop.filter({ hasText: text }).waitFor();
  }

  leaveShop() {
    return this.shop.getByRole("button", { name: /Back to my time|Close/ }).last().click();
  }
}
