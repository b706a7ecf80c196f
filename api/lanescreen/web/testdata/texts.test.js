import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTexts } from "../screens/texts.js";

// textsIn returns the texts of the lane screen in a language.
function textsIn(language) {
  Object.defineProperty(globalThis, "navigator", { value: { languages: [language] }, configurable: true });
  return loadTexts("../lanescreen/");
}

test("a customer reads the gateway's sentences in the language of the screen, with their values", async () => {
  const { said } = await textsIn("de-DE");
  for (const [sentence, german] of [
    ["Nothing can be bought in this session.", "In dieser Sitzung kann nichts gekauft werden."],
    ["Closing time is 21:45. Nothing was bought.", "Schluss ist um 21:45. Es wurde nichts gekauft."],
    ["Lane time: the least that can be bought is 15 minutes.", "Lane time: Verkauft werden mindestens 15 Minuten."],
    ["Lane time: the most that can be bought is 1 minute.", "Lane time: Verkauft werden höchstens 1 Minute."],
    ["Lane time: can be bought in steps of 30 minutes, from 15 minutes on.", "Lane time: Verkauft wird in Schritten von 30 Minuten, ab 15 Minuten."],
    ["9 mm (box, 50+): the most that can be bought is 10.", "9 mm (box, 50+): Verkauft werden höchstens 10."],
    ['"9mm" is not sold here.', "„9mm“ wird hier nicht verkauft."],
  ]) {
    assert.equal(said(sentence), german);
  }
});

test("what the gateway has not said stays as it is", async () => {
  for (const language of ["en", "de"]) {
    const { said } = await textsIn(language);
    for (const message of ["Your card was declined.", "", "Nothing can be bought in this session, today", "{n} minutes", "Closing time is . Nothing was bought."]) {
      assert.equal(said(message), message);
    }
  }
  assert.equal((await textsIn("en")).said("Closing time is 21:45. Nothing was bought."), "Closing time is 21:45. Nothing was bought.");
});
