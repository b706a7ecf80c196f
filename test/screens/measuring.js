// In the page of the control screen, for measure.mjs: feeds the page's stream with the states of a range, and measures every control and
// text that is shown. The first picture is the gateway's own; the states are made of it.
(() => {
  const { fetch: ask } = window;
  let picture = null; // the gateway's
  let numbers = null; // of its lanes, by id, from 0
  let fed = null; // the picture that was fed last
  let stream; // the controller of the page's stream
  let pictured;
  const ready = new Promise((resolve) => (pictured = resolve));

  // The stream begins with the gateway's messages up to the first picture, and goes on with what is fed. A page that falls behind renews its
  // stream, as it does on a busy machine: the next one begins with what was fed last. What is asked of the gateway about a lane succeeds.
  window.fetch = async (url, options = {}) => {
    if (String(url).endsWith("/sessions") && options.method === "POST") {
      return Response.json(session(picture.lanes.length, 60, 60), { status: 201 });
    }
    if (String(url).includes("/control/api/") && options.method !== undefined && options.method !== "GET") {
      return new Response(null, { status: 204 });
    }
    if (!String(url).endsWith("/control/stream")) {
      return ask(url, options);
    }
    if (fed) {
      return streamOf(message(fed));
    }
    const real = new AbortController();
    const response = await ask(url, { ...options, signal: real.signal });
    if (!response.ok) {
      return response;
    }
    const text = await firstPicture(response.body.getReader());
    real.abort();
    picture = JSON.parse(/^data: (.*)$/m.exec(text)[1]);
    return streamOf(text);
  };

  const streamOf = (text) => new Response(new ReadableStream({
    start(controller) {
      stream = controller;
      stream.enqueue(new TextEncoder().encode(text));
      pictured();
    },
  }), { headers: { "Content-Type": "text/event-stream" } });

  async function firstPicture(reader) {
    let text = "";
    while (!/event: picture\ndata: .*\n\n/.test(text)) {
      const { value } = await reader.read();
      text += new TextDecoder().decode(value);
    }
    return /event: picture\ndata: .*\n\n/.exec(text)[0];
  }

  const message = (of) => `event: picture\ndata: ${JSON.stringify({ ...of, now: new Date().toISOString() })}\n\n`;

  function feed(of) {
    fed = of;
    stream.enqueue(new TextEncoder().encode(message(of)));
  }

  setInterval(() => stream?.enqueue(new TextEncoder().encode(`event: beat\ndata: ${JSON.stringify({ now: new Date().toISOString() })}\n\n`)), 1_000);

  // frame waits until the browser has laid out what was fed.
  const frame = () => new Promise((resolve) => setTimeout(() => requestAnimationFrame(() => setTimeout(resolve))));

  // still waits until the board has the form that the window's size gives it: it is the same in three frames. On a busy machine that takes
  // some more of them.
  async function still() {
    const form = () => JSON.stringify([find("#board").dataset, ...document.querySelectorAll(".lane")].map((of) => (of.dataset ? placeIn(of) : of)));
    for (let last = "", same = 0, n = 0; same < 2 && n < 60; n++) {
      const now = form();
      [same, last] = [now === last ? same + 1 : 0, now];
      await frame();
    }
  }

  // STATES of a range, each made of the picture of a quiet one.
  const NAMES = ["Jo Smith", "Maximiliane Oberhuber-Kratzenstein", "Li", "Walk-in 12"];
  const since = new Date(Date.now() - 83 * 60_000).toISOString();
  function session(i, minutes, leftMinutes, more = {}) {
    return {
      session_id: `77777777-0000-4000-8000-${String(i).padStart(12, "0")}`, customer_name: NAMES[i % NAMES.length], group_id: picture.groups[0].id, duration: minutes,
      left_ms: leftMinutes * 60_000 + 30_500, began_at: since, created_at: since, purchasing: true, paused_by_hold: false, external_id: "", ran_on_ms: 0, ...more,
    };
  }
  const KINDS = [
    (lane, i) => ({ ...lane, phase: "running", session: session(i, 45, 24) }),
    (lane, i) => ({ ...lane, phase: "running", session: session(i, 480, 478) }),
    (lane, i) => ({ ...lane, phase: "paused", session: session(i, 60, 3) }),
    (lane, i) => ({ ...lane, phase: "waiting", session: session(i, 30, 29) }),
    (lane) => lane,
    (lane, i) => ({ ...lane, phase: "running", session: session(i, 90, 3), purchase: { purchase_id: "p", phase: "pending", minutes: 30 } }),
    (lane) => ({ ...lane, uncleared: { session_id: "s", since, left_ms: 600_000 } }),
    (lane) => ({ ...lane, for_sale: false, sale: "closed" }),
    (lane, i) => ({ ...lane, phase: "running", session: session(i, 60, 31), link: "down", link_since: since }),
    (lane) => ({ ...lane, usable: false, not_usable_because: "target does not move", for_sale: false }),
    (lane) => lane,
  ];
  const lanes = (of, change) => ({ ...of, lanes: of.lanes.map(change) });
  const evening = () => lanes(picture, (lane, i) => KINDS[i % KINDS.length](lane, i));
  const isMissed = (i) => i === 1 || i === picture.lanes.length - 2;
  const ceasefire = () => ({
    ...lanes(evening(), (lane, i) => ({
      ...lane, held: true, locked: !isMissed(i), ...(lane.phase === "running" ? { phase: "paused", session: { ...lane.session, paused_by_hold: true } } : {}),
    })),
    holds: [{ scope: "range", id: null, who: "sam", since }],
  });
  const help = () => lanes(evening(), (lane, i) => ({ ...lane, help: i % 5 === 0 ? { at: since, coming: i % 2 === 1 } : null }));
  const longNames = () => {
    const of = evening();
    return {
      ...of, who: "maximiliane.oberhuber-kratzenstein", range: { ...of.range, name: "Schießsportzentrum Musterstadt-Nord, Raumschießanlage" },
      bays: of.bays.map((bay, i) => ({ ...bay, name: `Kurzwaffenhalle ${i + 1}, 25 m und 50 m` })),
      lanes: of.lanes.map((lane, i) => ({ ...lane, name: `Langwaffenbahn ${i + 1}` })),
    };
  };

  const find = (selector) => document.querySelector(selector);
  const isShown = (of) => of !== null && of.checkVisibility({ visibilityProperty: true });
  const view = async (name) => {
    if (location.hash !== `#${name}`) {
      location.hash = `#${name}`;
      await frame();
    }
  };
  const isPhone = () => isShown(find(".views"));

  // SCENES are what is measured one after the other: feed, do, undo. Scenes of phones are views of their own. What does not depend on how
  // many lanes there are is measured with few.
  const FEW = 12;
  const SCENES = [
    { name: "an evening", feed: evening },
    { name: "what needs staff", feed: evening, phone: true, do: () => view("queue"), undo: () => view("board") },
    { name: "who ends next", few: true, feed: evening, phone: true, do: () => view("next"), undo: () => view("board") },
    { name: "the menu is open", few: true, do: () => isShown(find("#menu")) && find("#menu").click(), undo: () => isShown(find("#menu")) && find("#menu").click() },
    { name: "a call for help", feed: help, check: checkHelp },
    { name: "time was added", few: true, feed: evening, do: addTime, check: checkOutcome, undo: () => hide("#outcome") },
    { name: "a free lane is open", few: true, do: async () => {
      find(".lane[data-state=free] .open").click();
      await until(() => !find("#panel[data-just-opened]"));
    } },
    { name: "time was sold", few: true, do: async () => {
      find("#panel [data-minutes='60']").click();
      await outcome();
    }, check: checkOutcome, undo: () => hide("#outcome") },
    { name: "lanes are selected", do: () => {
      find(".toolbar > .button.quiet").click();
      find(".many-which > .button").click();
    }, undo: () => find("#selection .many-end").click() },
    { name: "several lanes are sold", few: true, do: async () => {
      find(".toolbar > .button.quiet").click();
      find(".many-which > .button").click();
      await until(() => !find(".many-actions[data-moved]"));
      find(".many-menu:has(.many-sell) summary").click();
    }, undo: () => {
      find(".many-menu:has(.many-sell)").open = false;
      find("#selection .many-end").click();
    } },
    { name: "several lanes were extended", few: true, do: async () => {
      find(".toolbar > .button.quiet").click();
      find(".many-which > .button").click();
      await until(() => !find(".many-actions[data-moved]"));
      find(".many-actions > .button").click();
      await outcome();
    }, check: checkOutcome, undo: () => {
      hide("#outcome");
      find("#selection .many-end").click();
    } },
    { name: "a lane is open", few: true, do: () => find(".lane .open").click(), undo: () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })) },
    { name: "the moment of a ceasefire", feed: ceasefire, before: settle, check: checkBegin },
    { name: "a ceasefire", do: () => document.body.removeAttribute("data-settling"), check: checkCeasefire },
    { name: "a ceasefire, time was added", few: true, do: addTime, check: checkOutcome, undo: () => hide("#outcome") },
    { name: "a ceasefire, what needs staff", phone: true, do: () => view("queue"), undo: () => view("board") },
    { name: "long names", feed: longNames },
    { name: "long names, time was added", few: true, do: addTime, check: checkOutcome, undo: () => hide("#outcome") },
    { name: "long names, the menu is open", few: true, do: () => isShown(find("#menu")) && find("#menu").click(), undo: () => isShown(find("#menu")) && find("#menu").click() },
    { name: "long names, a ceasefire", feed: () => ({ ...longNames(), holds: ceasefire().holds, lanes: ceasefire().lanes.map((lane, i) => ({ ...lane, name: `Langwaffenbahn ${i + 1}` })) }) },
  ];

  const hide = (selector) => (find(selector).hidden = true);
  // until waits for what a busy machine may need some frames for.
  async function until(is) {
    for (let n = 0; !is() && n < 600; n++) {
      await frame();
    }
  }
  const outcome = () => until(() => isShown(find("#outcome")));
  async function addTime() {
    find(".lane[data-session] .quick .one-tap, .ending .button").click();
    await outcome();
  }
  async function settle() {
    (await import("/control/assets/settling.js")).settle();
  }

  // all measures every scene at the size that the window has, and returns what is wrong.
  async function all({ touch }) {
    await ready;
    const wrong = [];
    const places = new Map();
    let begin = null;
    feed(evening());
    await view("board");
    await still();
    for (const scene of SCENES) {
      if (scene.phone && !isPhone() || scene.few && picture.lanes.length > FEW) {
        continue;
      }
      await scene.before?.();
      if (scene.feed) {
        feed(scene.feed());
        await frame();
        await frame(); // a busy machine may need the second one
      }
      if (scene.do) {
        await scene.do();
        await frame();
      }
      const note = (of, rule) => wrong.push({ scene: scene.name, of: describe(of), rule });
      await window.picture?.(scene.name);
      measure({ touch, note });
      scene.check?.({ touch, note });
      begin ??= rectOf(find("#begin button"));
      if (!same(begin, rectOf(find("#begin button")))) {
        note(find("#begin button"), `is not where it was, ${show(begin)}, but at ${show(rectOf(find("#begin button")))}`);
      }
      if (!scene.name.includes("ceasefire") && !scene.name.includes("long")) {
        for (const tile of document.querySelectorAll(".lane")) {
          const [before, now] = [places.get(tile.dataset.lane), placeIn(tile)];
          places.set(tile.dataset.lane, before ?? now);
          if (before && isShown(tile) && !same(before, now)) {
            note(tile, `has moved from ${show(before)} to ${show(now)}`);
          }
        }
      }
      if (scene.undo) {
        await scene.undo();
        await frame();
      }
    }
    return { wrong, density: find("#board").dataset.density };
  }

  const rectOf = (of) => of.getBoundingClientRect();
  const same = (a, b) => ["left", "top", "width", "height"].every((side) => Math.abs(a[side] - b[side]) < 0.6);
  const show = ({ left, top, width, height }) => `${Math.round(width)}×${Math.round(height)} at ${Math.round(left)}, ${Math.round(top)}`;
  function placeIn(tile) {
    const [{ left, top, width, height }, main] = [rectOf(tile), find("#main")];
    return isShown(tile) ? { left: left - rectOf(main).left, top: top - rectOf(main).top + main.scrollTop, width, height } : null;
  }

  // describe names an element for whoever reads what is wrong.
  function describe(of) {
    const name = (one) => `${one.tagName.toLowerCase()}${one.id ? `#${one.id}` : ""}${[...one.classList].map((c) => `.${c}`).join("")}`;
    const text = (of.getAttribute("aria-label") ?? of.textContent).trim().slice(0, 40);
    const within = of.parentElement?.closest("[id], .lane, .bay-head, .need, .ending, .quick, .views");
    return `${within ? `${name(within)} ` : ""}${name(of)} “${text}”`;
  }

  const CONTROLS = "button, a[href], input:not(.chip input, .check input, .choice input), select, textarea, summary, label.chip, label.check, label.choice";
  // What lies over the page for a while: it may cover anything but CEASEFIRE.
  const OVERLAYS = "#panel, #outcome, #selection, .many-sell, #picking, #switch-user, #alarm, .top [data-menu-items], .top[data-menu] .tabs, .top[data-menu] .who, .attention[data-open] .drawer, .toolbar, .lane > .trouble";
  // What may be scrolled sideways, as its end is seen to be cut.
  const SIDEWAYS = ".toolbar, .toolbar .chips";
  // Texts that give way: each is whole in the panel of its lane, in the queue, or in its title.
  const SHORTENED = ".customer, .open .word, .need .which, .need .line span, .bay-head h2, .bay-head .free, .badge span, .open-lane .about *, .range h1, #tally, #who";
  // The word of a lane's name, whose number is never cut.
  // In a line of the queue what has no room is in its drawer.
  const BEFORE_NUMBER = ".open .word:has(+ .number:not(:empty)), .need .line";
  const HIDDEN_WHOLE = "#tally span, .lane .badges *";

  function measure({ touch, note }) {
    const clips = new Map();
    const root = document.documentElement;
    if (root.scrollWidth > innerWidth || root.scrollHeight > innerHeight) {
      note(root, `the page is ${root.scrollWidth} × ${root.scrollHeight}, larger than the window`);
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT, (of) => (of.matches(".lane") && isLeftOut(of) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
    for (let of = walker.nextNode(); of; of = walker.nextNode()) {
      if (of.scrollWidth > of.clientWidth + 1 && of.clientWidth > 1 && /auto|scroll/.test(getComputedStyle(of).overflowX) && isShown(of) && !of.matches(SIDEWAYS)) {
        note(of, `is ${of.scrollWidth} px wide in ${of.clientWidth} px, and scrolled sideways`);
      }
    }
    for (const of of document.querySelectorAll(".need .line > *")) {
      const line = rectOf(of.parentElement);
      if (isShown(of) && rectOf(of).width > 0 && rectOf(of).right > line.right + 1) {
        note(of, `lies ${Math.round(rectOf(of).right - line.right)} px beyond its line, under what is beside it`);
      }
    }
    checkTexts(clips, note);
    checkControls(clips, touch, note);
    checkTiles(touch, note);
  }

  // clipOf returns the rectangle in which an element's content can be seen, and whether it can be scrolled there by direction.
  function clipOf(of, clips) {
    const known = clips.get(of);
    if (known) {
      return known;
    }
    const { position, overflowX, overflowY } = getComputedStyle(of);
    let clip;
    if (position === "fixed" || of === document.body) {
      clip = { left: 0, top: 0, right: innerWidth, bottom: innerHeight, x: false, y: false };
    } else {
      let parent = of.parentElement;
      if (position === "absolute") {
        while (parent !== document.body && getComputedStyle(parent).position === "static") {
          parent = parent.parentElement;
        }
      }
      clip = { ...clipOf(parent, clips) };
    }
    if (overflowX !== "visible" || overflowY !== "visible") {
      const box = rectOf(of);
      const [left, top] = [box.left + of.clientLeft, box.top + of.clientTop];
      clip = {
        left: Math.max(clip.left, left), top: Math.max(clip.top, top), right: Math.min(clip.right, left + of.clientWidth), bottom: Math.min(clip.bottom, top + of.clientHeight),
        x: clip.x || (/auto|scroll/.test(overflowX) && of.scrollWidth > of.clientWidth), y: clip.y || (/auto|scroll/.test(overflowY) && of.scrollHeight > of.clientHeight),
      };
    }
    clips.set(of, clip);
    return clip;
  }

  // Of many lanes the first and the last ones are measured: each kind is among both, and all tiles have one size.
  function isLeftOut(of) {
    const n = numberOf(of);
    return n !== null && n >= KINDS.length && n < picture.lanes.length - KINDS.length;
  }

  // numberOf is the number of the lane in whose tile an element is, from 0; null outside of tiles.
  function numberOf(of) {
    numbers ??= new Map(picture.lanes.map(({ lane_id: id }, i) => [id, i]));
    return numbers.get(of.closest(".lane")?.dataset.lane) ?? null;
  }

  const visiblePart = (rect, clip) => ({
    left: Math.max(rect.left, clip.left), top: Math.max(rect.top, clip.top), right: Math.min(rect.right, clip.right), bottom: Math.min(rect.bottom, clip.bottom),
  });
  const isEmpty = ({ left, top, right, bottom }) => right - left < 1 || bottom - top < 1;

  // isForReaders is true for what only screen readers have.
  const isForReaders = (of) => of.closest(".unseen") !== null || (rectOf(of).width <= 1.5 && getComputedStyle(of).overflowX !== "visible") || getComputedStyle(of).clipPath !== "none" || getComputedStyle(of).fontSize === "0px";

  function checkTexts(clips, note) {
    const walker = document.createTreeWalker(find("#screen"), NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const of = node.parentElement;
      if (node.data.trim() === "" || isLeftOut(of) || !isShown(of) || isForReaders(of) || of.closest(".skip")) {
        continue;
      }
      range.selectNodeContents(node);
      const rect = range.getBoundingClientRect();
      const clip = clipOf(of, clips);
      const part = visiblePart(rect, clip);
      const [x, y] = [clip.x, clip.y];
      const cutX = !x && Math.max(clip.left - rect.left, rect.right - clip.right);
      const cutY = !y && Math.max(clip.top - rect.top, rect.bottom - clip.bottom);
      if (of.closest(BEFORE_NUMBER)) {
        continue;
      }
      if (isEmpty(part)) {
        if ((!x && !y) && !of.closest(HIDDEN_WHOLE)) {
          note(of, `its text “${node.data.slice(0, 30)}” is out of sight`);
        }
        continue;
      }
      const shortened = of.closest(SHORTENED);
      if (cutX > 1.5 && !(shortened && part.right - part.left >= Math.min(16, rect.width))) {
        note(of, `its text “${node.data.slice(0, 30)}” is cut by ${Math.round(cutX)} px of ${Math.round(rect.width)}`);
      }
      if (cutY > 4 && !shortened && !of.closest(HIDDEN_WHOLE)) {
        note(of, `its text “${node.data.slice(0, 30)}” is cut by ${Math.round(cutY)} px of its ${Math.round(rect.height)} px of height`);
      }
      const control = of.closest("button, a, summary, .chip");
      if (control && !control.matches(".open, .which, .open-lane") && (rect.left < rectOf(control).left - 1 || rect.right > rectOf(control).right + 1)) {
        note(of, `its text “${node.data.slice(0, 30)}” is wider than its control`);
      }
    }
  }

  function checkControls(clips, touch, note) {
    const begin = find("#begin button");
    const from = rectOf(begin);
    const clearance = isPhone() ? 48 : 16;
    for (const of of document.querySelectorAll(CONTROLS)) {
      if (isLeftOut(of) || !isShown(of) || isForReaders(of) || of.closest("[inert], .skip")) {
        continue;
      }
      const tile = of.matches(".open") ? of.closest(".lane") : of;
      const rect = rectOf(tile);
      const clip = clipOf(tile, clips);
      const part = visiblePart(rect, clip);
      const cut = Math.max(clip.x ? 0 : Math.max(clip.left - rect.left, rect.right - clip.right), clip.y ? 0 : Math.max(clip.top - rect.top, rect.bottom - clip.bottom));
      if (cut > 2) {
        note(of, `is cut by ${Math.round(cut)} px: ${show(rect)}`);
      }
      if (isEmpty(part)) {
        continue;
      }
      if (of !== begin && !of.closest("[data-settles]")) {
        const distance = Math.max(from.left - part.right, part.left - from.right, from.top - part.bottom, part.top - from.bottom);
        if (distance < clearance) {
          note(of, `is ${Math.round(distance)} px from CEASEFIRE, and not ${clearance}`);
        }
      }
      checkSize(of, tile, rect, touch, note);
      checkUnder(of, tile, part, clip, note);
    }
    if (from.height < 56 || from.width < 120) {
      note(begin, `is only ${show(from)}`);
    }
  }

  // Targets are 44 px for fingers. Quick actions of tiles have a rule of their own; what is a link in a text is as high as its line.
  function checkSize(of, tile, { width, height }, touch, note) {
    const least = of.closest(".quick") ? 0 : of.matches(".which") ? 20 : touch ? 44 : 32;
    if (Math.min(width, height) < least - 0.6) {
      note(of, `is ${width.toFixed(0)} × ${height.toFixed(0)} px, and not ${least}`);
    }
  }

  // A press on a control hits that control, in its middle and near its corners. With many lanes a press is tried in the middle of the controls
  // of the last tiles alone: the tiles are alike, and to find what is under a point takes longer the more there is on the page.
  function checkUnder(of, tile, part, clip, note) {
    const isOneOfMany = picture.lanes.length > FEW && numberOf(of) !== null;
    if (isOneOfMany && numberOf(of) < picture.lanes.length - KINDS.length) {
      return;
    }
    if (part.bottom - part.top < 12 || part.right - part.left < 12 || (of.closest("#alarm") && document.body.hasAttribute("data-settling"))) {
      return; // nearly scrolled away, or no target yet
    }
    const inset = Math.min(6, (part.right - part.left) / 4, (part.bottom - part.top) / 4);
    const [left, right, top, bottom] = [part.left + inset, part.right - inset, part.top + inset, part.bottom - inset];
    const [x0, y0] = [(left + right) / 2, (top + bottom) / 2];
    const middle = tile === of ? [x0, y0] : [left, y0]; // beside the actions of a tile
    const corners = tile === of ? [[left, top], [right, top], [left, bottom], [right, bottom]] : [[left, top]];
    const points = isOneOfMany ? [middle] : [middle, ...corners];
    for (const [x, y] of points) {
      const hit = document.elementFromPoint(x, y);
      if (hit === null || of.contains(hit) || hit.closest("label")?.contains(of)) {
        continue;
      }
      const over = hit.closest(OVERLAYS);
      if (over && !over.contains(of) && !of.matches("#begin button")) {
        continue;
      }
      note(of, `a press on it at ${Math.round(x)}, ${Math.round(y)} hits ${describe(hit)}`);
      return;
    }
  }

  // The tiles: the sign of the state is always there, apart from the actions, and the actions are targets for their pointer.
  function checkTiles(touch, note) {
    if (!isShown(find("#board"))) {
      return;
    }
    const compact = find("#board").dataset.density !== "full";
    const room = compact ? roomPerTile() : 0;
    for (const tile of document.querySelectorAll(".lane")) {
      if (isLeftOut(tile) || !isShown(tile)) {
        continue;
      }
      const box = rectOf(tile);
      const sign = tile.querySelector(".state .icon");
      const seen = isShown(sign) ? rectOf(sign) : null;
      if (!seen || seen.width < 10 || seen.right > box.right + 0.5 || seen.bottom > box.bottom + 0.5) {
        note(tile, `${tile.dataset.state}: the sign of its state is not there`);
      }
      const actions = [...tile.querySelectorAll(".quick .button")].filter(isShown).map((of) => ({ of, rect: rectOf(of) }));
      const apart = touch ? 8 : 4;
      actions.forEach(({ of, rect }, i) => {
        if (seen && overlaps(seen, rect)) {
          note(of, "lies on the sign of the state");
        }
        if (of.querySelector(".icon")?.checkVisibility() && tile.dataset.state === "paused" && of.matches(".state *")) {
          note(of, "is in the place of the state");
        }
        for (const other of actions.slice(i + 1)) {
          const gap = Math.max(other.rect.left - rect.right, rect.left - other.rect.right, other.rect.top - rect.bottom, rect.top - other.rect.bottom);
          if (gap < (compact ? apart : 5) - 0.6) {
            note(of, `is ${gap.toFixed(1)} px from ${describe(other.of)}, and not ${apart}`);
          }
        }
        if (compact) {
          const high = touch ? Math.min(44, (room - 14) / 2) : 24;
          const least = [touch ? 44 : 28, Math.max(high, touch ? 32 : 24)];
          if (rect.width < least[0] - 0.6 || rect.height < least[1] - 0.6) {
            note(of, `is ${rect.width.toFixed(0)} × ${rect.height.toFixed(0)} px, and not ${least.map(Math.round).join(" × ")}`);
          }
        }
      });
      const start = tile.querySelector('.quick [data-command="start"], .quick [data-command="resume"]');
      if (tile.hasAttribute("data-held") && isShown(start)) {
        note(start, "is offered on a lane that is locked");
      }
      if (tile.dataset.state === "paused" && tile.dataset.urgent === "soon") {
        note(tile, "is paused, and shown as ending soon");
      }
    }
  }
  const overlaps = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;

  // roomPerTile is how high a tile may be so that all of them are in sight.
  function roomPerTile() {
    const tiles = [...document.querySelectorAll(".lane, .bay-head")].filter(isShown);
    const rows = new Set(tiles.map((of) => Math.round(rectOf(of).top))).size;
    const toolbar = isPhone() ? rectOf(find(".toolbar")).height : 0;
    return (find("#main").clientHeight - (rectOf(tiles[0]).top - rectOf(find("#main")).top + find("#main").scrollTop) - toolbar - 12) / rows - 7;
  }

  function luminance(colour) {
    const [r, g, b] = /rgba?\((\d+), (\d+), (\d+)/.exec(colour).slice(1).map((n) => (n / 255 <= 0.04045 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  // A call for help fills its tile, and is a sign and a word too.
  function checkHelp({ note }) {
    const others = luminance(getComputedStyle(find(".lane:not([data-help])[data-state=running]")).backgroundColor);
    for (const tile of document.querySelectorAll(".lane[data-help=called]")) {
      const style = getComputedStyle(tile);
      const [ground, box] = [luminance(style.backgroundColor), rectOf(tile)];
      if (Math.abs(ground - others) < 0.15) {
        note(tile, `calls for help, and its ground is ${style.backgroundColor}`);
      }
      const call = [...tile.querySelectorAll(".call")].find(isShown);
      if (!call || !isShown(call.querySelector(".icon")) || call.innerText.trim() === "" || rectOf(call).right > box.right || rectOf(call).bottom > box.bottom) {
        note(tile, "calls for help without a sign and a word");
      }
    }
    if (document.querySelectorAll(".lane[data-help=called]").length === 0) {
      note(find("#board"), "has no tile that says that it calls for help");
    }
  }

  // CEASEFIRE stays under the finger that has begun it.
  function checkBegin({ note }) {
    const begin = find("#begin button");
    const { left, top, right, bottom } = rectOf(begin);
    if (!begin.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2))) {
      note(begin, "is not under the finger that has pressed it");
    }
  }

  // What became of the last action lies on no lane, and is away from CEASEFIRE.
  function checkOutcome({ note }) {
    const told = find("#outcome");
    if (!isShown(told)) {
      note(told, "is not shown");
      return;
    }
    const [at, begin] = [rectOf(told), rectOf(find("#begin button"))];
    if (at.bottom > rectOf(find(".middle")).top + 0.6 || at.top < 0 || at.left < 0 || at.right > innerWidth) {
      note(told, `lies beyond the head, at ${show(at)}`);
    }
    const away = Math.max(begin.left - at.right, at.left - begin.right, begin.top - at.bottom, at.top - begin.bottom);
    if (away < 16) {
      note(told, `is ${Math.round(away)} px from the ceasefire`);
    }
  }

  // In a ceasefire lanes are in sight that were not reached: whole tiles, with nothing over them.
  function checkCeasefire({ note }) {
    const main = rectOf(find("#main"));
    const whole = [...document.querySelectorAll(".lane[data-missing]")].filter((of) => {
      const { left, top, right, bottom } = rectOf(of);
      return isShown(of) && top >= main.top - 1 && bottom <= main.bottom + 1 && of.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    });
    if (whole.length < 1) {
      note(find("#main"), `has no lane in sight that was not reached: it is ${show(main)}`);
    }
  }

  window.measuring = { all, ready, frame };
})();
