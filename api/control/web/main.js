// The control screen: creates and connects its parts.
import { onTick } from "/screens/clock.js";
import { reached } from "/screens/recovery.js";
import { guardReplaced } from "/screens/replaced.js";
import { send } from "/screens/send.js";
import { Stream } from "/screens/stream.js";
import { fillTexts, loadTexts } from "/screens/texts.js";
import { Acts } from "./acts.js";
import { Attention } from "./attention.js";
import { Board } from "./board.js";
import { Ceasefire } from "./ceasefire.js";
import { Client } from "./client.js";
import { Deliveries } from "./deliveries.js";
import { Header } from "./header.js";
import { Health } from "./health.js";
import { History } from "./history.js";
import { keepStill } from "./keepstill.js";
import { Range } from "./model.js";
import { NextEnding } from "./nextending.js";
import { Notifications } from "./notifications.js";
import { Outcome } from "./outcome.js";
import { Pages } from "./pages.js";
import { Panel } from "./panel.js";
import { SelectionBar } from "./selectionbar.js";
import { guardPresses } from "./settling.js";
import { isSmall, useSmallScreen } from "./smallscreen.js";
import { confirmSale } from "./shootercode.js";
import { SignIn } from "./signin.js";
import { SwitchUser } from "./switchuser.js";

const byId = (id) => document.getElementById(id);

const t = await loadTexts("/control/assets/");
fillTexts(document, t);
guardPresses();
guardReplaced();

const range = new Range();
const notifications = new Notifications();
const client = new Client(t, range, () => switchUser.isUnderWay || signedOut(t("sign_in.ended")));
const stream = new Stream("/control/stream", {
  message(name, data, sentAt) {
    reached();
    range.receive(name, data, sentAt);
  },
  sentEarlier: (ms) => range.shiftSentAt(ms),
  contact(lost) {
    header.contact(lost);
    ceasefire.show();
  },
  neededHidden: () => notifications.keepsConnection,
  refused: () => switchUser.isSending || signedOut(range.info ? t("sign_in.ended") : ""),
});
client.onStale = () => stream.renew();
const signIn = new SignIn(client, (send) => switchUser.attempt(send, connect));
client.onConfirmed = (asked, reply) => signIn.begun(asked, reply);

const ceasefire = new Ceasefire(client, byId("alarm"), byId("begin"), byId("sign-in-unset"));
const notReached = () => [...byId("board").querySelectorAll(".lane[data-missing]")].filter((lane) => lane.checkVisibility());
keepStill(byId("main"), [document.querySelector(".alarm-place"), byId("contact")], notReached);
const header = new Header(client, signOut);
const switchUser = new SwitchUser(client, signIn, byId("switch-user"), byId("who"));
client.outcome = new Outcome(client, byId("outcome"));
const panel = new Panel(client, byId("panel"), {
  onShow: (lane) => board.mark(lane),
  onClose: (lane) => (pages.isShown("board") ? board.focus(lane) : pages.isShown("next") ? next.focus(lane) : byId("main").focus()),
  pick: (customer, isStill) => {
    pages.open("board", false);
    return board.pick(customer, isStill);
  },
  onSold: (session, lane) => confirmSale(client, session, lane),
});
const board = new Board(client, byId("board"), byId("picking"), (lane) => panel.open(lane));
new SelectionBar(client, byId("selection"), board.selecting, () => panel.close());
const next = new NextEnding(client, byId("next"), (lane) => panel.open(lane));
const pages = new Pages({
  board,
  queue: { show() {}, hide() {} },
  next,
  history: new History(client, byId("history"), pickOnBoard),
  deliveries: new Deliveries(client, byId("deliveries")),
  acts: new Acts(client, byId("acts")),
  health: new Health(client, byId("health")),
}, () => panel.close());
onTick((at) => range.tick(at));
const attention = new Attention(client, byId("attention"), notifications, (lane) => {
  isSmall() || pages.open("board");
  panel.open(lane);
});
useSmallScreen(attention, pages);

range.addEventListener("picture", () => {
  if (signIn.isForAnotherRange()) {
    stream.close();
    byId("screen").hidden = true;
    pages.stop();
    return;
  }
  signIn.hide();
  byId("screen").hidden = false;
  pages.start();
});

// pickOnBoard has a free lane chosen on the board, whatever page is open.
function pickOnBoard(customer) {
  pages.open("board");
  return board.pick(customer);
}

// connect opens the stream for who has signed in. After a wrong PIN it does so only if the stream has ended meanwhile.
function connect(accepted = true) {
  if (accepted) {
    client.users++;
    client.outcome.hide(); // which would be recorded under another name
    stream.close();
  }
  stream.isOpen || stream.open();
}

function signedOut(reason) {
  stream.close();
  switchUser.forget();
  panel.endSignIn();
  pages.stop();
  range.forget();
  attention.forget();
  client.outcome.hide();
  byId("said").textContent = "";
  ceasefire.show();
  byId("screen").hidden = true;
  signIn.show(reason);
}

async function signOut() {
  await send("POST", "/control/sign-out");
  if (client.ceasefires.unconfirmed.length > 0) {
    signedOut("");
    return;
  }
  location.reload(); // removes all data of the range from the page
}

stream.open();
