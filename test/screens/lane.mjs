// A shooter at the screen in the lane.
import assert from "node:assert/strict";
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

  // inState waits until the screen is in it: idle, shut, waiting, barred, running, paused, ceasefire, closed, over.
  inState(state) {
    return this.page.locator(`body[data-state="${state}"]`).waitFor();
  }

  // isRed is true of a ceasefire's screen: all of it is red, and the word is the largest text, as wide as the screen allows.
  async isRed(word) {
    const seen = await this.page.evaluate(() => {
      const style = (of) => getComputedStyle(document.querySelector(of));
      const title = document.querySelector("main .title");
      const line = Math.max(...[...title.children].map((of) => of.getBoundingClientRect().width));
      const sizes = [...document.body.querySelectorAll("*")].filter((of) => of.checkVisibility() && of.textContent.trim()).map((of) => parseFloat(getComputedStyle(of).fontSize));
      return {
        word: title.textContent.trim(), red: [style("body").backgroundColor, style(".top").backgroundColor], largest: Math.max(...sizes) === parseFloat(getComputedStyle(title).fontSize),
        fits: document.documentElement.scrollWidth <= innerWidth && line <= innerWidth, wide: line >= innerWidth * 0.75 || title.getBoundingClientRect().height >= innerHeight * 0.25,
      };
    });
    assert.deepEqual(seen, { word, red: ["rgb(163, 15, 21)", "rgb(163, 15, 21)"], largest: true, fits: true, wide: true });
  }

  // digits is the colour of the time left.
  digits() {
    return this.page.locator(".left").evaluate((of) => getComputedStyle(of).color);
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

  // review shows what is in the cart, and asks whether to buy it.
  review() {
    return this.shop.getByRole("button", { name: "Look and buy" }).click();
  }

  async buy() {
    await this.review();
    await this.shop.getByRole("button", { name: "Buy for" }).click();
  }

  // is waits until the shop says so.
  shopSays(text) {
    return this.shop.filter({ hasText: text }).waitFor();
  }

  leaveShop() {
    return this.shop.getByRole("button", { name: /Back to my time|Close/ }).last().click();
  }
}
