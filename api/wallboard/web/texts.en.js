// The wall board in English.
export default {
  "title": "Wall board",
  "loading": "One moment",
  "contact": "No contact with the range since {time}. What is shown is old.",
  "refused.title": "This board is no longer one of this range",
  "refused.explained": "Its key has changed. Please open the address with the new key.",

  "free.one": "free lane",
  "free.other": "free lanes",
  "next": "Next to end",
  "help": "Help",
  "help.coming": "Help is coming",
  "clear": "To be cleared",
  "more": "+ {n}",

  "hours.last_call": "Last call",
  "hours.last_call_part": "Last call in {name}",
  "hours.closed_part": "{name} closed",
  "hours.closed": "Closed",

  "state.free": "Free",
  "state.ended": "Clear the lane",
  "state.closed": "Closed",
  "state.unusable": "Out of order",
  "state.waiting": "Waiting",
  "state.reserved": "Being sold",
  "starts": "Starts in",
  "state.paused": "Paused",
  "state.over": "Time up",
  "locked": "Locked",
  "not_locked": "Lock not confirmed",
  "no_link": "No link",

  "ceasefire": "CEASEFIRE",
  "ceasefire.explained": "Stop shooting. Put everything down and step back from the line.",
  "ceasefire.locked": "{n} of {all} locked",
  "ceasefire.not_locked": "Lock not confirmed: {lanes}",
};
