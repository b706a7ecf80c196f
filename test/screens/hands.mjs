// Hands at a screen: fingers that tap, slide, rest and tremble, and a mouse. Each press is of one control, in the middle unless it says
// something else.

// Fingers are those on a device with touch. Each that is down has an id, and stays down until it is lifted.
export class Fingers {
  #session;
  #down = new Map(); // id → {x, y, id}

  static async on(page) {
    const fingers = new Fingers();
    fingers.#session = await page.context().newCDPSession(page);
    return fingers;
  }

  async down(id, [x, y]) {
    this.#down.set(id, { x, y, id, radiusX: 8, radiusY: 8, force: 0.5 });
    await this.#send("touchStart");
  }

  async move(id, [x, y]) {
    Object.assign(this.#down.get(id), { x, y });
    await this.#send("touchMove");
  }

  async up(id) {
    this.#down.delete(id);
    await this.#send(this.#down.size > 0 ? "touchMove" : "touchEnd"); // the protocol has no end of one finger among several
  }

  #send(type) {
    return this.#session.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [...this.#down.values()].map((finger) => ({ ...finger })) });
  }
}

// middle is the middle of a control.
export async function middle(control) {
  const { x, y, width, height } = await control.boundingBox();
  return [x + width / 2, y + height / 2];
}

const pause = (page, ms) => page.waitForTimeout(ms);

// touches are the ways in which a frightened hand presses a control on a touch screen. Each takes the page, the control, and a place where the
// other hand may rest. What a hand does in one go is sent in one go: on a machine that takes its time between the two, a press would be a hold.
export const touches = {
  async tap(page, control) {
    await page.touchscreen.tap(...(await middle(control)));
  },
  async "double tap"(page, control) {
    const at = await middle(control);
    await page.touchscreen.tap(...at);
    await pause(page, 120);
    await page.touchscreen.tap(...at);
  },
  async "slow double tap"(page, control) {
    const at = await middle(control);
    await page.touchscreen.tap(...at);
    await pause(page, 450);
    await page.touchscreen.tap(...at);
  },
  async "sliding finger"(page, control) {
    const fingers = await Fingers.on(page);
    const [x, y] = await middle(control);
    const way = Array.from({ length: 10 }, (_, step) => 4 * step - 16);
    await Promise.all([fingers.down(1, [x - 20, y]), ...way.map((by) => fingers.move(1, [x + by, y + by / 4])), fingers.up(1)]);
  },
  async "finger that slides off"(page, control) {
    const fingers = await Fingers.on(page);
    const [x, y] = await middle(control);
    const way = Array.from({ length: 12 }, (_, step) => 8 * step + 8);
    await Promise.all([fingers.down(1, [x, y]), ...way.map((by) => fingers.move(1, [x, Math.max(1, y - by)])), fingers.up(1)]);
  },
  async "two fingers"(page, control) {
    const fingers = await Fingers.on(page);
    const [x, y] = await middle(control);
    await Promise.all([fingers.down(1, [x - 12, y]), fingers.down(2, [x + 12, y]), fingers.up(1), fingers.up(2)]);
  },
  async "tap beside a resting hand"(page, control, rest) {
    const fingers = await Fingers.on(page);
    const at = await middle(control);
    await Promise.all([fingers.down(1, rest), fingers.down(2, at), fingers.up(2), fingers.up(1)]);
  },
};

export const clicks = {
  async click(page, control) {
    await page.mouse.click(...(await middle(control)));
  },
  async "double click"(page, control) {
    await page.mouse.dblclick(...(await middle(control)), { delay: 20 });
  },
  async "slow double click"(page, control) {
    const at = await middle(control);
    await page.mouse.click(...at);
    await pause(page, 450);
    await page.mouse.click(...at);
  },
  async "drag off"(page, control) {
    const [x, y] = await middle(control);
    const hand = await page.context().newCDPSession(page);
    const mouse = (type, step, buttons) => hand.send("Input.dispatchMouseEvent", {
      type, x: x + 10 * step, y: Math.max(1, y - 96 * step), buttons, button: buttons > 0 || type === "mouseReleased" ? "left" : "none", clickCount: 1,
    });
    await mouse("mouseMoved", 0, 0);
    const way = Array.from({ length: 6 }, (_, step) => (step + 1) / 6);
    await Promise.all([mouse("mousePressed", 0, 1), ...way.map((step) => mouse("mouseMoved", step, 1)), mouse("mouseReleased", 1, 0)]);
  },
};

export const keys = {
  async Enter(page, control) {
    await control.focus();
    await pressKey(page, "Enter");
  },
  async Space(page, control) {
    await control.focus();
    await pressKey(page, "Space");
  },
};

// pressKey presses a key, down and up in one go, so that it is no hold.
export const pressKey = (page, key) => Promise.all([page.keyboard.down(key), page.keyboard.up(key)]);
