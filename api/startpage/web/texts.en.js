// The start page in English.
export default {
  "staff": "Control screen",
  "staff.explained": "For staff: choose the range, then sign in.",
  "staff.none": "No range of this gateway has a control screen. Its operator configures who may sign in.",
  "by_name": "Open a range by its name",
  "documents": "Documents",
  "documents.explained": "For whoever connects a POS, products or lane hardware to this gateway.",
  "document.reference": "Reference of the API",
  "document.openapi": "OpenAPI 3.1",
  "document.openapi-3.0": "OpenAPI 3.0, for tools that do not read 3.1",
  "document.products": "Products API, which the integrator hosts",
  "document.lane-link": "JSON Schema of the lane link",
  "document.reference-1": "Version 1 (deprecated): reference",
  "document.openapi-1": "Version 1 (deprecated): OpenAPI",
  "unreachable": "The gateway cannot be reached. It is tried again and again.",
};
