// A button against accidents: it must be held down for a second and a half, by finger, mouse or key. A shorter press by finger or mouse
// only says so. Users who cannot hold, for example with a screen reader, click it, and then a second button that is shown for a while in
// another place and takes no press at first. The button itself never moves.
import { element, setText } from "/screens/element.js";
import { announce, button, perform } from "./actions.js";

const STEP = 100; // ms
const STEPS = 15; // of a hold
const OFFER = 10_000; // ms that the second button, or the hint, is shown
const INERT = 1_500; // ms in which the second button takes no press
const CLICK = 1_000; // ms within which the click of a finger follows its release

// holdButton creates one. what is the text that it belongs to: the hint and the second button lie in its place, which is as large as the
// largest of them and never where the button is. texts are {words, holding, hint, or, now}: hint says to hold the button down, `or` is said
// of the second button, and `now` stands on it.
export function holdButton(client, what, texts, kind, error, act) {
  const main = button({ words: texts.words, kind: `${kind} pressed` });
  main.prepend(element("i", { "aria-hidden": "true" }));
  const label = main.querySelector("span");
  const second = button({ words: texts.now, kind }, (event) => takesPresses() && (event.detail === 0 || counts) && run(second));
  const hint = element("span.hint", {}, texts.hint);
  const offer = element("span.offer", {}, hint, second);
  let timer = 0;
  let steps = 0;
  let pointer = null; // the id of the pointer that is down
  let byHand = false; // the next click is that of a finger or a mouse
  let handled = 0; // the timer of byHand
  let offered = false;
  let shown = 0; // the timer of the hint
  let inert = 0; // the timer of the second button
  let counts = false; // the press on the second button began when it took presses

  withdraw();
  main.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && pointer === null) {
      pointer = event.pointerId;
      byHand = !isVirtual(event);
      clearTimeout(handled);
      main.setPointerCapture(pointer);
      down();
    }
  });
  main.addEventListener("pointermove", (event) => event.pointerId === pointer && !isOver(event) && up());
  main.addEventListener("lostpointercapture", (event) => {
    if (event.pointerId === pointer) {
      pointer = null;
      handled = setTimeout(() => (byHand = false), CLICK);
      up();
    }
  });
  main.addEventListener("blur", up);
  main.addEventListener("contextmenu", (event) => event.preventDefault());
  main.addEventListener("click", () => (byHand ? explain() : propose()));
  for (const [type, handle] of [["keydown", down], ["keyup", released]]) {
    main.addEventListener(type, (event) => {
      if (event.key === " " || event.key === "Enter") {
        event.preventDefault(); // suppresses the click
        event.repeat || handle();
      }
    });
  }
  second.addEventListener("pointerdown", () => (counts = takesPresses()));
  return element("span.pressing", {}, main, element("span.place", {}, what, offer));

  // The hold is counted in steps: a page that was busy has not seen yet that the finger was lifted, and has not counted either.
  function down() {
    if (timer || main.getAttribute("aria-disabled") === "true") {
      return;
    }
    main.style.minWidth = `${main.getBoundingClientRect().width}px`; // a shorter text must not shrink the button
    main.classList.add("holding");
    setText(label, texts.holding);
    steps = 0;
    timer = setTimeout(step, STEP);
  }

  function step() {
    if (!main.isConnected) {
      up(); // a removed button gets no event when it is released
    } else if (++steps < STEPS) {
      timer = setTimeout(step, STEP);
    } else {
      up();
      run(main);
    }
  }

  function up() {
    clearTimeout(timer);
    timer = 0;
    main.classList.remove("holding");
    setText(label, texts.words);
  }

  function isOver({ clientX: x, clientY: y }) {
    const { left, right, top, bottom } = main.getBoundingClientRect();
    return x >= left && x <= right && y >= top && y <= bottom;
  }

  function released() {
    const short = timer !== 0;
    up();
    if (short) {
      propose();
    }
  }

  // takesPresses is true for the second button once it is offered for long enough.
  function takesPresses() {
    return offered && second.getAttribute("aria-disabled") !== "true";
  }

  // explain says what to do, to whoever has pressed the button with a finger or a mouse.
  function explain() {
    if (!offered) {
      show("hint", texts.hint);
    }
  }

  // propose offers the second button, which takes presses from INERT on.
  function propose() {
    if (main.getAttribute("aria-disabled") === "true") {
      return;
    }
    show("second", `${texts.hint} ${texts.or}`);
    if (!offered) {
      offered = true;
      second.setAttribute("aria-disabled", "true");
      inert = setTimeout(() => second.removeAttribute("aria-disabled"), INERT);
    }
  }

  function show(what, sentence) {
    offer.setAttribute("data-shows", what);
    clearTimeout(shown);
    shown = setTimeout(withdraw, OFFER);
    announce(sentence);
  }

  function withdraw() {
    clearTimeout(shown);
    clearTimeout(inert);
    if (second.matches(":focus")) {
      main.focus();
    }
    offered = counts = false;
    second.setAttribute("aria-disabled", "true");
    offer.setAttribute("data-shows", "");
  }

  async function run(pressed) {
    await perform(client, pressed, error, act);
    withdraw();
  }
}

// isVirtual is true for the pointer that a screen reader or a switch makes up for a click: it has no extent. Those of fingers, pens and mice
// have one, of a pixel at least.
function isVirtual({ width, height, pointerType, pressure, detail }) {
  return (width === 0 && height === 0) || (width === 1 && height === 1 && pressure === 0 && detail === 0 && pointerType === "mouse");
}
