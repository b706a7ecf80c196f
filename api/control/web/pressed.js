// A button that no accident releases: it has to be held down for a second and a half, by finger, mouse or key. Whoever
// cannot hold, as with a screen reader, touches it and then the second button that comes up beside it for a while.
import { element, setText } from "/screens/element.js";
import { button, perform } from "./act.js";
import { announce } from "./announce.js";

const HELD = 1_500;
const OFFERED = 8_000;

// pressed makes one, with its second button. texts are what it says: {words, holding, hint, now}; hint comes with the
// second button, which says `now`.
export function pressed(desk, texts, kind, trouble, act) {
  const main = button({ words: texts.words, kind: `${kind} pressed` });
  main.prepend(element("i", { "aria-hidden": "true" }));
  const said = main.querySelector("span");
  const second = button({ words: texts.now, kind }, () => run(second));
  const hint = element("span.hint", {}, texts.hint);
  const offer = element("span.offer", { hidden: true }, hint, second);
  let timer = 0;
  let offered = 0;

  main.addEventListener("pointerdown", (event) => {
    if (event.button === 0) {
      main.setPointerCapture(event.pointerId); // the page may move under the finger, when a lane confirms meanwhile
      down();
    }
  });
  main.addEventListener("lostpointercapture", up);
  main.addEventListener("blur", up);
  main.addEventListener("contextmenu", (event) => event.preventDefault());
  main.addEventListener("click", propose);
  for (const [type, then] of [["keydown", down], ["keyup", released]]) {
    main.addEventListener(type, (event) => {
      if (event.key === " " || event.key === "Enter") {
        event.preventDefault(); // no click for it
        event.repeat || then();
      }
    });
  }
  return element("span.pressing", {}, main, offer);

  function down() {
    if (timer || main.getAttribute("aria-disabled") === "true") {
      return;
    }
    main.style.minWidth = `${main.offsetWidth}px`; // shorter words make no smaller button
    main.classList.add("holding");
    setText(said, texts.holding);
    timer = setTimeout(() => {
      up();
      if (main.isConnected) { // a button that is taken away under the finger never hears that it was let go
        run(main);
      }
    }, HELD);
  }

  function up() {
    clearTimeout(timer);
    timer = 0;
    main.classList.remove("holding");
    setText(said, texts.words);
  }

  function released() {
    const short = timer !== 0;
    up();
    if (short) {
      propose();
    }
  }

  function propose() {
    if (main.getAttribute("aria-disabled") === "true") {
      return;
    }
    clearTimeout(offered);
    offered = setTimeout(withdraw, OFFERED);
    offer.hidden = false;
    announce(texts.hint);
  }

  function withdraw() {
    clearTimeout(offered);
    if (second.matches(":focus")) {
      main.focus();
    }
    offer.hidden = true;
  }

  async function run(touched) {
    await perform(desk, touched, trouble, act);
    withdraw();
  }
}
