// The start page in German.
export default {
  "staff": "Leitstelle",
  "staff.explained": "Für das Personal: den Stand wählen, dann anmelden.",
  "staff.none": "Kein Stand dieses Gateways hat eine Leitstelle. Wer sich anmelden darf, legt der Betreiber fest.",
  "by_name": "Einen Stand mit seinem Namen öffnen",
  "documents": "Dokumente",
  "documents.explained": "Für alle, die eine Kasse, Produkte oder die Technik der Bahnen mit diesem Gateway verbinden (auf Englisch).",
  "document.reference": "Referenz der API",
  "document.openapi": "OpenAPI 3.1",
  "document.openapi-3.0": "OpenAPI 3.0, für Programme, die 3.1 nicht lesen",
  "document.products": "Produkt-API, die der Integrator betreibt",
  "document.lane-link": "JSON-Schema der Verbindung zur Bahn",
  "document.reference-1": "Version 1 (überholt): Referenz",
  "document.openapi-1": "Version 1 (überholt): OpenAPI",
  "unreachable": "Das Gateway ist nicht zu erreichen. Es wird immer wieder versucht.",
};
