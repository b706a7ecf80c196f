// The wall board in German.
export default {
  "title": "Anzeigetafel",
  "loading": "Einen Moment",
  "contact": "Kein Kontakt zum Stand seit {time}. Was hier steht, ist alt.",
  "refused.title": "Diese Tafel gehört nicht mehr zu diesem Stand",
  "refused.explained": "Ihr Schlüssel hat sich geändert. Bitte die Adresse mit dem neuen Schlüssel öffnen.",

  "free.one": "freie Bahn",
  "free.other": "freie Bahnen",
  "next": "Endet als Nächstes",
  "help": "Hilfe",
  "help.coming": "Hilfe kommt",
  "clear": "Zu räumen",
  "more": "+ {n}",

  "hours.last_call": "Letzte Runde",
  "hours.last_call_part": "Letzte Runde in {name}",
  "hours.closed_part": "{name} geschlossen",
  "hours.closed": "Geschlossen",

  "state.free": "Frei",
  "state.ended": "Bahn räumen",
  "state.closed": "Geschlossen",
  "state.unusable": "Gestört",
  "state.waiting": "Wartet",
  "state.reserved": "Wird verkauft",
  "starts": "Beginnt in",
  "state.paused": "Pausiert",
  "state.over": "Zeit ist um",
  "locked": "Gesperrt",
  "not_locked": "Sperre nicht bestätigt",
  "no_link": "Keine Verbindung",

  "ceasefire": "FEUER EINSTELLEN",
  "ceasefire.explained": "Nicht mehr schießen. Legen Sie alles ab und treten Sie von der Linie zurück.",
  "ceasefire.locked": "{n} von {all} gesperrt",
  "ceasefire.not_locked": "Sperre nicht bestätigt: {lanes}",
};
