// The buttons that choose the next answer. The stream tells which one is on, as another page may choose too.
const buttons = [...document.querySelectorAll("[data-answer]")];
const message = document.querySelector("#message");
const once = document.querySelector("#once");
const next = document.querySelector("#next");
const problem = document.querySelector("#problem");

const outcomes = { refuse: "refused", hang: "not answered", error: "answered with an error" };

export function showNext(chosen) {
  for (const button of buttons) {
    button.setAttribute("aria-pressed", String(button.dataset.answer === chosen.answer));
  }
  next.dataset.answer = chosen.answer;
  if (chosen.answer === "accept") {
    next.textContent = "Everything is accepted.";
    return;
  }
  const words = chosen.user_message ? ` with “${chosen.user_message}”` : "";
  const outcome = outcomes[chosen.answer] + words;
  next.textContent = chosen.once
    ? `The next event is ${outcome}; after it everything is accepted again.`
    : `Every event is ${outcome}, until you change it.`;
}

async function choose(answer) {
  problem.hidden = true;
  try {
    const response = await fetch("answer", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ answer, user_message: message.value, once: once.checked }),
    });
    if (!response.ok) {
      throw new Error(`it answered with status ${response.status}`);
    }
  } catch (cause) {
    problem.textContent = `The answer could not be set: ${cause.message}.`;
    problem.hidden = false;
  }
}

for (const button of buttons) {
  button.addEventListener("click", () => choose(button.dataset.answer));
}
