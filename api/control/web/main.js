// The control screen: what stands on it, put together.
import { Stream } from "/screens/stream.js";
import { fillIn, loadTexts } from "/screens/texts.js";
import { send } from "/screens/send.js";
import { Acts } from "./acts.js";
import { Board } from "./board.js";
import { Ceasefire } from "./ceasefire.js";
import { Deliveries } from "./deliveries.js";
import { Desk } from "./desk.js";
import { Health } from "./health.js";
import { History } from "./history.js";
import { Range } from "./model.js";
import { Pages } from "./pages.js";
import { Panel } from "./panel.js";
import { Purchases } from "./purchases.js";
import { RanOn } from "./ranon.js";
import { SignIn } from "./signin.js";
import { Top } from "./top.js";

const at = (id) => document.getElementById(id);

const t = await loadTexts("/control/assets/");
fillIn(document, t);

const range = new Range();
const desk = new Desk(t, range, () => signedOut(t("sign_in.ended")));
const stream = new Stream("/control/stream", {
  heard: (name, data, sentAt) => range.heard(name, data, sentAt),
  earlier: (ms) => range.earlier(ms),
  contact: (lost) => top.contact(lost),
  refused: () => signedOut(range.info ? t("sign_in.ended") : ""),
});
desk.doubted = () => stream.renew();
const signIn = new SignIn(desk, () => stream.open());

const ceasefire = new Ceasefire(desk, at("alarm"), at("begin"));
const top = new Top(desk, signOut);
const panel = new Panel(desk, at("panel"), { shows: (lane) => board.mark(lane), closed: (lane) => board.focus(lane) });
const board = new Board(desk, at("board"), (lane) => panel.open(lane));
const pages = new Pages({
  board,
  purchases: new Purchases(desk, at("purchases")),
  "ran-on": new RanOn(desk, at("ran-on")),
  history: new History(desk, at("history")),
  deliveries: new Deliveries(desk, at("deliveries")),
  acts: new Acts(desk, at("acts")),
  health: new Health(desk, at("health")),
}, () => panel.close());

range.addEventListener("picture", () => {
  if (signIn.elsewhere()) {
    stream.close();
    at("screen").hidden = true;
    pages.stop();
    return;
  }
  signIn.hide();
  at("screen").hidden = false;
  pages.start();
});

function signedOut(why) {
  stream.close();
  panel.close();
  pages.stop();
  range.forget();
  desk.forget();
  ceasefire.show();
  at("screen").hidden = true;
  signIn.show(why);
}

async function signOut() {
  await send("POST", "/control/sign-out");
  location.reload(); // nothing of the range stays behind in the page
}

stream.open();
