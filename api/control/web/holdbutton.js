// A button against accidents: it must be held down for a second and a half, by finger, mouse or key. Users who cannot hold,
// for example with a screen reader, click it and then a second button that appears beside it for a while.
import { element, setText } from "/screens/element.js";
import { announce, button, perform } from "./actions.js";

const HOLD = 1_500; // ms
const OFFER = 8_000; // ms that the second button is shown

// holdButton creates one with its second button. texts are {words, holding, hint, now}: hint is shown with the second button,
// whose text is `now`.
export function holdButton(client, texts, kind, error, act) {
  const main = button({ words: texts.words, kind: `${kind} pressed` });
  main.prepend(element("i", { "aria-hidden": "true" }));
  const label = main.querySelector("span");
  const second = button({ words: texts.now, kind }, () => run(second));
  const hint = element("span.hint", {}, texts.hint);
  const offer = element("span.offer", { hidden: true }, hint, second);
  let timer = 0;
  let offered = 0;

  main.addEventListener("pointerdown", (event) => {
    if (event.button === 0) {
      main.setPointerCapture(event.pointerId); // the page may move under the finger when a lane confirms
      down();
    }
  });
  main.addEventListener("lostpointercapture", up);
  main.addEventListener("blur", up);
  main.addEventListener("contextmenu", (event) => event.preventDefault());
  main.addEventListener("click", propose);
  for (const [type, handle] of [["keydown", down], ["keyup", released]]) {
    main.addEventListener(type, (event) => {
      if (event.key === " " || event.key === "Enter") {
        event.preventDefault(); // suppresses the click
        event.repeat || handle();
      }
    });
  }
  return element("span.pressing", {}, main, offer);

  function down() {
    if (timer || main.getAttribute("aria-disabled") === "true") {
      return;
    }
    main.style.minWidth = `${main.offsetWidth}px`; // a shorter text must not shrink the button
    main.classList.add("holding");
    setText(label, texts.holding);
    timer = setTimeout(() => {
      up();
      if (main.isConnected) { // a removed button gets no event when it is released
        run(main);
      }
    }, HOLD);
  }

  function up() {
    clearTimeout(timer);
    timer = 0;
    main.classList.remove("holding");
    setText(label, texts.words);
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
    offered = setTimeout(withdraw, OFFER);
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

  async function run(clicked) {
    await perform(client, clicked, error, act);
    withdraw();
  }
}
